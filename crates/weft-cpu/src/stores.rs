//! Proof that no two threads write the same place.
//!
//! The parts of a kernel, the rows of a part, and the columns of a program that can compute them separately, are divided
//! between threads in any way. This is sound only if no two of them store to the same place. The compiler makes no other
//! kernels, but a device must not rely on that. [`owned`] proves that no two parts store to one argument (`compile` checks
//! that a written argument overlaps no other); [`check`] proves it for the rows and columns of a part, from the strides;
//! a kernel without proof is refused. For rows picked by index, [`Numbers::distinct`] checks the numbers of each step.

use weft_kern::{Access, Indexed, Instr, Kernel, ParamId, Part, View};

use crate::memory::Arg;
use crate::rows::{Coords, Fault, MAX_AXES, RowPick, Space};

/// A store's view and number of values.
struct Stored<'a> {
    view: &'a View,
    indexed: Option<&'a Indexed>,
    len: usize,
}

/// Checks that each argument is written by one part only.
///
/// # Errors
/// A sentence that names the parts.
pub(crate) fn owned(kernel: &Kernel) -> Result<(), String> {
    let stores = |part: &Part, param: ParamId| {
        let updates =
            kernel.params[param].access == Access::ReadWrite && part.anchor.states().contains(&param);
        updates || part.body.iter().any(|i| matches!(i, Instr::Store { view, .. } if view.param == param))
    };
    for param in 0..kernel.params.len() {
        let mut writers = (0..kernel.parts.len()).filter(|part| stores(&kernel.parts[*part], param));
        if let (Some(a), Some(b)) = (writers.next(), writers.next()) {
            return Err(format!("p{param} is written by part {a} and by part {b}"));
        }
    }
    Ok(())
}

/// Checks that rows of a part store to different places, whatever the data. `axes` is the row space at the largest sizes.
///
/// Returns whether columns do as well: if not, a row must be computed as a whole.
///
/// # Errors
/// A sentence that names two stores.
pub(crate) fn check(part: &Part, axes: [usize; MAX_AXES]) -> Result<bool, String> {
    let lens = part.lens();
    let stores: Vec<(usize, Stored<'_>)> = (part.body.iter().enumerate())
        .filter_map(|(i, instr)| match instr {
            Instr::Store { value, view, indexed } => {
                Some((i, Stored { view, indexed: indexed.as_ref(), len: lens[*value] }))
            }
            _ => None,
        })
        .collect();
    let mut columns_apart = true;
    for (n, (i, a)) in stores.iter().enumerate() {
        for (j, b) in stores[..=n].iter().filter(|(_, b)| b.view.param == a.view.param) {
            if !a.rows_apart(b, axes) {
                return Err(format!("v{j} and v{i} may store values of different rows to the same place"));
            }
            columns_apart &= i == j || disjoint(a.span(), b.span());
        }
    }
    Ok(columns_apart)
}

/// Whether two inclusive ranges are disjoint.
fn disjoint(a: (usize, usize), b: (usize, usize)) -> bool {
    a.1 < b.0 || b.1 < a.0
}

impl Stored<'_> {
    /// First and last place of row 0.
    fn span(&self) -> (usize, usize) {
        (self.view.offset, self.view.offset + (self.len - 1) * self.view.step)
    }

    /// First and last place of all rows, or of all in one entry.
    fn reach(&self, axes: [usize; MAX_AXES]) -> (usize, usize) {
        let strides = self.view.strides.iter().zip(axes);
        (self.view.offset, strides.fold(self.span().1, |end, (stride, n)| end + stride * (n - 1)))
    }

    /// Whether no two different rows of this store, nor a row of this and a row of the other, overlap.
    fn rows_apart(&self, other: &Stored<'_>, axes: [usize; MAX_AXES]) -> bool {
        if self.indexed != other.indexed {
            return false;
        }
        if disjoint(self.reach(axes), other.reach(axes)) {
            return true;
        }
        // Rows with different indices are in different entries. So only axes along which the index stays the same are free.
        let same_entry = |axis: &usize| self.indexed.is_none_or(|i| i.index.strides[*axis] == 0);
        let mut free: Vec<(usize, usize)> = (0..self.view.strides.len())
            .filter(|axis| axes[*axis] > 1 && same_entry(axis))
            .map(|axis| (self.view.strides[axis], axes[axis]))
            .collect();
        // Along each axis, from the densest on, a step must pass everything that the denser axes reach.
        free.sort_unstable();
        let (a, b) = (self.span(), other.span());
        let mut width = a.1.max(b.1) - a.0.min(b.0) + 1;
        for (stride, n) in free {
            if stride < width {
                return false;
            }
            width += stride * (n - 1);
        }
        self.view.strides == other.view.strides
    }
}

/// The numbers of an indexed store, to be checked before its part runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbers {
    pick: RowPick,
    target: usize,
}

impl Numbers {
    /// The numbers of all indexed stores of a part, each once.
    pub(crate) fn of(part: &Part) -> Vec<Numbers> {
        let mut all = Vec::new();
        for instr in &part.body {
            if let Instr::Store { view, indexed: Some(indexed), .. } = instr {
                let numbers = Numbers { pick: RowPick::new(indexed), target: view.param };
                if !all.contains(&numbers) {
                    all.push(numbers);
                }
            }
        }
        all
    }

    /// Checks that all are in range and none occurs twice. `room` has space for one number per row.
    pub(crate) fn distinct(&self, args: &[Arg], space: &Space, room: &mut [usize]) -> Result<(), Fault> {
        let mut axes = space.axes();
        for (n, stride) in axes.iter_mut().zip(self.pick.index.strides) {
            // Along other axes the number stays the same by definition.
            if stride == 0 && *n > 0 {
                *n = 1;
            }
        }
        let mut coords: Coords = [0; MAX_AXES];
        let room = room.get_mut(..axes.iter().product()).ok_or(Fault)?;
        for offset in room.iter_mut() {
            *offset = self.pick.offset(args, &coords, self.target)?;
            for (coord, n) in coords.iter_mut().zip(axes).rev() {
                *coord += 1;
                if *coord < n {
                    break;
                }
                *coord = 0;
            }
        }
        room.sort_unstable();
        if room.windows(2).all(|pair| pair[0] < pair[1]) { Ok(()) } else { Err(Fault) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_kern::{Access, Anchor, Dim, F32, Format, Param};

    /// A part of rows `[4, 3]` that stores `(offset, strides, step, len)`s, by index if `indexed`.
    fn part(stores: &[(usize, [usize; 2], usize, usize)], indexed: Option<usize>) -> Part {
        let view = |param, offset, strides: [usize; 2], step| View {
            param,
            offset,
            strides: strides.to_vec(),
            step,
        };
        let mut body = vec![Instr::Const(F32(1.0))];
        for (offset, strides, step, len) in stores {
            let load = Instr::Load { view: view(0, 0, [0, 0], 1), indexed: None, len: *len };
            let value = body.len();
            let indexed = indexed.map(|stride| Indexed { index: view(1, 0, [1, 0], 0), stride });
            body.extend([load, Instr::Store { value, view: view(2, *offset, *strides, *step), indexed }]);
        }
        let rows = vec![Dim::Const(4), Dim::Const(3)];
        Part { rows, cols: 8, prologue: None, anchor: Anchor::Map, body }
    }

    fn verdict(stores: &[(usize, [usize; 2], usize, usize)], indexed: Option<usize>) -> Result<bool, String> {
        check(&part(stores, indexed), [4, 3, 1, 1])
    }

    #[test]
    fn rows_side_by_side_are_apart() {
        assert_eq!(verdict(&[(0, [24, 8], 1, 8)], None), Ok(true));
        // The axes exchanged, gaps between rows, columns apart.
        assert_eq!(verdict(&[(5, [8, 32], 1, 8)], None), Ok(true));
        // Two parts of one row, and two halves of a buffer.
        assert_eq!(verdict(&[(0, [48, 16], 1, 8), (8, [48, 16], 1, 8)], None), Ok(true));
        assert_eq!(verdict(&[(0, [24, 8], 1, 8), (96, [24, 8], 1, 8)], None), Ok(true));
    }

    #[test]
    fn rows_that_meet_are_refused() {
        for stores in [
            &[(0, [24, 7], 1, 8)][..],
            &[(0, [0, 8], 1, 8)],
            &[(0, [8, 8], 1, 8)],
            &[(0, [24, 8], 1, 8), (8, [24, 8], 1, 8)],
            &[(0, [24, 8], 1, 8), (0, [8, 32], 1, 8)],
        ] {
            assert!(verdict(stores, None).unwrap_err().contains("same place"), "{stores:?}");
        }
    }

    #[test]
    fn columns_that_meet_keep_a_row_together() {
        assert_eq!(verdict(&[(0, [48, 16], 1, 8), (4, [48, 16], 1, 8)], None), Ok(false));
        assert_eq!(verdict(&[(0, [48, 16], 2, 8), (1, [48, 16], 2, 8)], None), Ok(false));
    }

    #[test]
    fn picked_rows_are_apart_within_an_entry() {
        assert_eq!(verdict(&[(0, [0, 8], 1, 8)], Some(24)), Ok(true));
        assert!(verdict(&[(0, [0, 4], 1, 8)], Some(24)).is_err());
    }

    #[test]
    fn an_argument_is_written_by_one_part() {
        let param = |access| Param { access, format: Format::F32 };
        let params = [Access::Read, Access::Read, Access::Write, Access::Write].map(param).to_vec();
        let kernel = |parts| Kernel { name: "k".into(), params: params.clone(), parts, texts: Vec::new() };
        let one = part(&[(0, [24, 8], 1, 8), (96, [24, 8], 1, 8)], None);
        let mut other = one.clone();
        // Even in places that the first part leaves out.
        assert_eq!(owned(&kernel(vec![one.clone()])), Ok(()));
        let refused = owned(&kernel(vec![one.clone(), other.clone()])).unwrap_err();
        assert!(refused.contains("p2 is written by part 0 and by part 1"), "{refused}");
        for instr in &mut other.body {
            if let Instr::Store { view, .. } = instr {
                view.param = 3;
            }
        }
        assert_eq!(owned(&kernel(vec![one, other])), Ok(()));
    }

    #[test]
    fn numbers_must_be_in_range_and_differ() {
        let part = part(&[(0, [0, 8], 1, 8), (0, [0, 8], 1, 8)], Some(24));
        let [numbers] = Numbers::of(&part)[..] else { panic!("one set of numbers") };
        let space = Space::new(&part.rows, &weft_kern::Sizes::default());
        for (slots, good) in [
            ([3, 0, 4, 1], true),
            ([3, 0, 3, 1], false),
            ([3, 0, 5, 1], false),
            ([3, 0, -1, 1], false),
            ([i32::MIN, 0, 2, 1], false),
        ] {
            let result = with_args(&slots, 5 * 24, |args| numbers.distinct(args, &space, &mut [0; 12]));
            assert_eq!(result.is_ok(), good, "{slots:?}");
        }
    }

    /// Calls `f` with arguments; the second holds `slots` and the third has room for `values` values.
    fn with_args<T>(slots: &[i32], values: usize, f: impl FnOnce(&[Arg]) -> T) -> T {
        use crate::memory::Memory;
        let mut memory = Memory::zeroed(1024).unwrap();
        for (slot, bytes) in slots.iter().zip(memory.bytes_mut().as_chunks_mut().0) {
            *bytes = slot.to_le_bytes();
        }
        let arg = |values, format, access| Arg::test(&memory, values, format, access);
        f(&[
            arg(8, Format::F32, Access::Read),
            arg(slots.len(), Format::I32, Access::Read),
            arg(values, Format::F32, Access::Write),
        ])
    }
}
