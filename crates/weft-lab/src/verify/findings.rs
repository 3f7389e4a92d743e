//! The results of verifying a launch: differences and faults, with their places.

use std::fmt;
use std::mem::discriminant;

/// The place of a value: the part of the kernel that writes it, the parameter, the row and the column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// Index among the kernel's parameters.
    pub param: usize,
    /// Index among its parts.
    pub part: usize,
    /// The row's index along each axis of the part: token, or token and head.
    pub row: Vec<usize>,
    /// The column.
    pub column: usize,
}

/// A value that was compared.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference {
    /// Where it is.
    pub place: Place,
    /// The value of the interpreter.
    pub expected: f32,
    /// The value of the device.
    pub found: f32,
    /// How far from the expected value rounding can bring a device.
    pub bound: f64,
}

impl Difference {
    /// The error as a share of the bound. More than 1 is not rounding.
    pub fn share(&self) -> f64 {
        let error = (f64::from(self.expected) - f64::from(self.found)).abs();
        match self.expected == self.found {
            true => 0.0,
            // Not a number, or infinite.
            false if !error.is_finite() => f64::INFINITY,
            false => error / self.bound,
        }
    }
}

/// Something that is wrong with a launch.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    /// The fault: the worst of its kind, or the first.
    pub kind: FaultKind,
    /// How many values it affects.
    pub count: u64,
}

/// A fault of a launch.
#[derive(Clone, PartialEq, Debug)]
pub enum FaultKind {
    /// A value is further off than rounding explains.
    Value(Difference),
    /// A value that the kernel should write was not written.
    Unwritten(Place),
    /// Something was written where the kernel writes nothing.
    Stray {
        /// The parameter.
        param: usize,
        /// Which value of the argument.
        value: usize,
    },
    /// A value is NaN, on the device and in the interpreter: the model or its file is at fault.
    NotNumber(Place),
    /// The sums of a block of rounded activations are not those of its quants.
    Sums(Place),
    /// An index is out of bounds.
    Index {
        /// The interpreter's message, if it found the fault.
        oracle: Option<String>,
        /// Whether the device found it.
        device: bool,
    },
    /// A whole step gives other bits than its launches one by one.
    WholeStep {
        /// The parameter of this launch, the last that wrote there.
        param: usize,
        /// Which byte of the argument.
        byte: usize,
    },
}

impl FaultKind {
    /// The parameter that it shows in.
    pub fn param(&self) -> Option<usize> {
        match self {
            FaultKind::Value(difference) => Some(difference.place.param),
            FaultKind::Unwritten(place) | FaultKind::NotNumber(place) | FaultKind::Sums(place) => {
                Some(place.param)
            }
            FaultKind::Stray { param, .. } | FaultKind::WholeStep { param, .. } => Some(*param),
            FaultKind::Index { .. } => None,
        }
    }
}

/// The result of checking a launch.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Checked {
    /// Values it writes.
    pub values: u64,
    /// Values that were compared.
    pub compared: u64,
    /// Values that could not be compared, because they depend on a choice that rounding decides: which of two experts comes first,
    /// say.
    pub unknown: u64,
    /// The compared value with the largest error, as a share of its bound.
    pub worst: Option<Difference>,
    /// The faults.
    pub faults: Vec<Fault>,
}

impl Checked {
    /// Compares a value.
    pub(super) fn compare(&mut self, found: Difference) {
        self.compared += 1;
        let share = found.share();
        if self.worst.as_ref().is_none_or(|worst| share > worst.share()) {
            self.worst = Some(found.clone());
        }
        if share > 1.0 {
            self.fault(FaultKind::Value(found), 1);
        }
    }

    /// Adds a fault of `count` values.
    pub(super) fn fault(&mut self, kind: FaultKind, count: u64) {
        let same = |known: &&mut Fault| {
            discriminant(&known.kind) == discriminant(&kind) && known.kind.param() == kind.param()
        };
        let Some(known) = self.faults.iter_mut().find(same) else {
            return self.faults.push(Fault { kind, count });
        };
        known.count += count;
        if let (FaultKind::Value(worst), FaultKind::Value(found)) = (&mut known.kind, kind)
            && found.share() > worst.share()
        {
            *worst = found;
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { param, part, row, column } = self;
        write!(f, "p{param}, part {part}, row {row:?}, column {column}")
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { place, expected, found, bound } = self;
        write!(f, "{place}: {found:e}, expected {expected:e} ± {bound:.1e}")
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.count;
        match &self.kind {
            FaultKind::Value(worst) => write!(f, "{count} values are off, most at {worst}"),
            FaultKind::Unwritten(first) => write!(f, "{count} values were never written, first at {first}"),
            FaultKind::Stray { param, value } => {
                write!(
                    f,
                    "{count} values were written where nothing belongs, first value {value} of p{param}"
                )
            }
            FaultKind::NotNumber(first) => {
                write!(f, "{count} values are NaN, in the interpreter too, first at {first}: check the model")
            }
            FaultKind::Sums(first) => {
                write!(f, "the sums of {count} blocks are not those of their quants, first at {first}")
            }
            FaultKind::Index { oracle: Some(why), device: true } => {
                write!(f, "an index is out of bounds: {why}")
            }
            FaultKind::Index { oracle: Some(why), device: false } => {
                write!(f, "an index is out of bounds, and the device did not notice: {why}")
            }
            FaultKind::Index { oracle: None, .. } => {
                f.write_str("the device refuses an index that the interpreter accepts")
            }
            FaultKind::WholeStep { param, byte } => write!(
                f,
                "{count} bytes differ when the whole step runs at once, first byte {byte} of p{param}: a launch does not wait for another"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(param: usize, column: usize) -> Place {
        Place { param, part: 0, row: vec![1, 2], column }
    }

    #[test]
    fn the_worst_of_several_wrong_values_is_reported() {
        let mut checked = Checked::default();
        for (column, found, bound) in [(0, 1.5, 1.0), (1, 3.0, 0.5), (2, 2.0, 0.5), (3, f32::NAN, 9.0)] {
            checked.compare(Difference { place: at(4, column), expected: 1.0, found, bound });
            if column == 2 {
                assert_eq!(
                    checked.faults[0].to_string(),
                    "2 values are off, most at p4, part 0, row [1, 2], column 1: 3e0, expected 1e0 ± 5.0e-1"
                );
            }
        }
        assert_eq!((checked.compared, checked.faults.len(), checked.faults[0].count), (4, 1, 3));
        let worst = checked.worst.unwrap();
        assert!(worst.place.column == 3 && worst.share() == f64::INFINITY, "NaN is worst");
    }

    #[test]
    fn faults_of_a_kind_and_a_parameter_are_counted_together() {
        let mut checked = Checked::default();
        for (param, column) in [(1, 5), (1, 6), (2, 7)] {
            checked.fault(FaultKind::Unwritten(at(param, column)), 32);
            checked.fault(FaultKind::Stray { param, value: column }, 1);
        }
        let told: Vec<_> = checked.faults.iter().map(|fault| (fault.kind.param(), fault.count)).collect();
        assert_eq!(told, [(Some(1), 64), (Some(1), 2), (Some(2), 32), (Some(2), 1)]);
        assert!(checked.faults[0].to_string().ends_with("first at p1, part 0, row [1, 2], column 5"));
    }

    #[test]
    fn equal_values_are_no_error_even_with_a_bound_of_0() {
        for value in [0.0, 1.0, f32::INFINITY] {
            let same = Difference { place: at(0, 0), expected: value, found: value, bound: 0.0 };
            assert_eq!(same.share(), 0.0);
        }
        let zero = Difference { place: at(0, 0), expected: 0.0, found: 1e-9, bound: 0.0 };
        assert_eq!(zero.share(), f64::INFINITY);
    }
}
