//! Shapes: row-major, with sizes that may be known only when a step runs.

use std::fmt;

/// A size that is known only when a step runs.
///
/// The set is closed on purpose: these five numbers are all that changes from one step to the next, and a compiled
/// program takes exactly them (see [`Sizes`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Sym {
    /// `T`: tokens in the step, over all sequences.
    Tokens,
    /// `R`: rows of the step whose logits are wanted.
    Rows,
    /// `S`: rows a KV state has room for.
    Slots,
    /// `P`: entries in the step's page list.
    Pages,
    /// `Q`: sequences in the step.
    Sequences,
}

impl Sym {
    /// Every symbol.
    pub const ALL: [Sym; 5] = [Sym::Tokens, Sym::Rows, Sym::Slots, Sym::Pages, Sym::Sequences];

    /// The letter the text form uses.
    pub const fn letter(self) -> &'static str {
        match self {
            Sym::Tokens => "T",
            Sym::Rows => "R",
            Sym::Slots => "S",
            Sym::Pages => "P",
            Sym::Sequences => "Q",
        }
    }
}

/// The values of the symbols in one step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sizes {
    /// Value of [`Sym::Tokens`].
    pub tokens: usize,
    /// Value of [`Sym::Rows`].
    pub rows: usize,
    /// Value of [`Sym::Slots`].
    pub slots: usize,
    /// Value of [`Sym::Pages`].
    pub pages: usize,
    /// Value of [`Sym::Sequences`].
    pub sequences: usize,
}

impl Sizes {
    /// A step of `tokens` tokens; every other size is 0.
    pub const fn of(tokens: usize) -> Sizes {
        Sizes { tokens, rows: 0, slots: 0, pages: 0, sequences: 0 }
    }

    /// The same with this many rows whose logits are wanted.
    pub const fn rows(self, rows: usize) -> Sizes {
        Sizes { rows, ..self }
    }

    /// The same with states of this many rows.
    pub const fn slots(self, slots: usize) -> Sizes {
        Sizes { slots, ..self }
    }

    /// The same with a page list of this many entries.
    pub const fn pages(self, pages: usize) -> Sizes {
        Sizes { pages, ..self }
    }

    /// The same with this many sequences.
    pub const fn sequences(self, sequences: usize) -> Sizes {
        Sizes { sequences, ..self }
    }

    /// The value of one symbol.
    pub const fn get(&self, sym: Sym) -> usize {
        match sym {
            Sym::Tokens => self.tokens,
            Sym::Rows => self.rows,
            Sym::Slots => self.slots,
            Sym::Pages => self.pages,
            Sym::Sequences => self.sequences,
        }
    }

    /// Returns whether no size exceeds the same size of `max`.
    pub fn fit(&self, max: &Sizes) -> bool {
        Sym::ALL.iter().all(|s| self.get(*s) <= max.get(*s))
    }
}

/// The size of one axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Dim {
    /// Known now.
    Const(usize),
    /// Known when the step runs.
    Sym(Sym),
}

impl Dim {
    /// Tokens in the step.
    pub const T: Dim = Dim::Sym(Sym::Tokens);
    /// Rows whose logits are wanted.
    pub const R: Dim = Dim::Sym(Sym::Rows);
    /// Slots of a KV state.
    pub const S: Dim = Dim::Sym(Sym::Slots);
    /// Entries of the page list.
    pub const P: Dim = Dim::Sym(Sym::Pages);
    /// Sequences in the step.
    pub const Q: Dim = Dim::Sym(Sym::Sequences);

    /// The size in a step with these sizes.
    pub const fn eval(self, sizes: &Sizes) -> usize {
        match self {
            Dim::Const(n) => n,
            Dim::Sym(s) => sizes.get(s),
        }
    }

    /// The size, if it is known now.
    pub const fn known(self) -> Option<usize> {
        match self {
            Dim::Const(n) => Some(n),
            Dim::Sym(_) => None,
        }
    }
}

impl From<usize> for Dim {
    fn from(n: usize) -> Dim {
        Dim::Const(n)
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Const(n) => write!(f, "{n}"),
            Dim::Sym(s) => f.write_str(s.letter()),
        }
    }
}

/// The sizes of a tensor's axes, outermost first; the last axis is contiguous in memory.
///
/// Only the first axis may be symbolic ([`crate::verify`] checks it), so that every stride is a plain number, whatever
/// the number of tokens.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Shape(Vec<Dim>);

impl Shape {
    /// Creates a shape from its axes.
    pub fn new(dims: impl Into<Vec<Dim>>) -> Shape {
        Shape(dims.into())
    }

    /// Number of axes; 0 for a scalar.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// The axes.
    pub fn dims(&self) -> &[Dim] {
        &self.0
    }

    /// The size of the last axis, if it is known; 1 for a scalar.
    pub fn last(&self) -> Option<usize> {
        self.0.last().map_or(Some(1), |d| d.known())
    }

    /// The same shape with one axis replaced.
    ///
    /// # Panics
    /// If `axis` is not below the rank.
    pub fn with(&self, axis: usize, dim: impl Into<Dim>) -> Shape {
        let mut dims = self.0.clone();
        dims[axis] = dim.into();
        Shape(dims)
    }

    /// The sizes of all axes in a step.
    pub fn eval(&self, sizes: &Sizes) -> Vec<usize> {
        self.0.iter().map(|d| d.eval(sizes)).collect()
    }

    /// Number of values in a step, or `None` on overflow.
    pub fn count(&self, sizes: &Sizes) -> Option<usize> {
        self.0.iter().try_fold(1usize, |n, d| n.checked_mul(d.eval(sizes)))
    }

    /// Values per entry of the symbolic first axis: the product of all known axes, or `None` on overflow.
    pub fn known_count(&self) -> Option<usize> {
        self.0.iter().filter_map(|d| d.known()).try_fold(1usize, usize::checked_mul)
    }

    /// The symbol of the first axis, if it has one.
    pub fn sym(&self) -> Option<Sym> {
        match self.0.first() {
            Some(Dim::Sym(s)) => Some(*s),
            _ => None,
        }
    }

    /// The shape of an elementwise operation on two operands: axes are matched from the last, and where two sizes
    /// differ one must be 1 (NumPy's rule).
    pub fn broadcast(&self, other: &Shape) -> Option<Shape> {
        let rank = self.rank().max(other.rank());
        let axis = |s: &Shape, i: usize| match (i + s.rank()).checked_sub(rank) {
            Some(j) => s.0[j],
            None => Dim::Const(1),
        };
        (0..rank)
            .map(|i| match (axis(self, i), axis(other, i)) {
                (a, b) if a == b => Some(a),
                (Dim::Const(1), b) => Some(b),
                (a, Dim::Const(1)) => Some(a),
                _ => None,
            })
            .collect::<Option<Vec<_>>>()
            .map(Shape)
    }
}

impl<const N: usize> From<[Dim; N]> for Shape {
    fn from(dims: [Dim; N]) -> Shape {
        Shape(dims.to_vec())
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, d) in self.0.iter().enumerate() {
            write!(f, "{}{d}", if i > 0 { ", " } else { "" })?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting_matches_axes_from_the_last() {
        let a = Shape::from([Dim::T, Dim::Const(20), Dim::Const(64)]);
        let b = Shape::from([Dim::Const(64)]);
        assert_eq!(a.broadcast(&b), Some(a.clone()));
        assert_eq!(b.broadcast(&a), Some(a.clone()));
        assert_eq!(Shape::default().broadcast(&b), Some(b.clone()));
        assert_eq!(a.broadcast(&Shape::from([Dim::T, Dim::Const(1), Dim::Const(64)])), Some(a.clone()));
        assert_eq!(a.broadcast(&Shape::from([Dim::Const(63)])), None);
        assert_eq!(a.broadcast(&Shape::from([Dim::R, Dim::Const(20), Dim::Const(64)])), None);
    }

    #[test]
    fn counts_are_checked() {
        let huge = Shape::from([Dim::T, Dim::Const(usize::MAX), Dim::Const(2)]);
        assert_eq!(huge.known_count(), None);
        assert_eq!(Shape::from([Dim::T, Dim::Const(3)]).count(&Sizes::of(5)), Some(15));
    }
}
