//! The kinds of numbers that a kernel can be interpreted with.

use weft_ir::{Binary, Unary};

use crate::anchor::{Attention, Indexing};
use crate::program::Instr;
use crate::q8;

/// A value of the interpreter, and what it carries: nothing (`f32`), or, say, a bound on the error of a device's value.
///
/// The interpreter computes every value itself, always in the same way, and passes it to these functions as `value`; they
/// add what follows for the result from what the operands carry. So the values are the same for every kind of number.
pub trait Number: Copy {
    /// The state of a sum of products while it is added up.
    type Sum: Copy + Default;

    /// What is known of the scalars of a row together.
    type Scalars: Default;

    /// Whether [`add`](Number::add) needs the magnitudes of weights, which cost about as much as the weights themselves.
    const MAGNITUDES: bool = false;

    /// An exact value: a constant, or one in memory.
    fn exact(value: f32) -> Self;

    /// The value.
    fn value(self) -> f32;

    /// The result of `op(x)`.
    fn unary(value: f32, op: Unary, x: Self) -> Self {
        let _ = (op, x);
        Self::exact(value)
    }

    /// The result of `op(a, b)`.
    fn binary(value: f32, op: Binary, a: Self, b: Self) -> Self {
        let _ = (op, a, b);
        Self::exact(value)
    }

    /// The sum of these terms.
    fn sum(value: f32, terms: &[Self]) -> Self {
        let _ = terms;
        Self::exact(value)
    }

    /// The largest of these terms.
    fn max(value: f32, terms: &[Self]) -> Self {
        let _ = terms;
        Self::exact(value)
    }

    /// Adds `x · weight` to a sum. `magnitude` is that of the terms that the weight is computed from: its own, or
    /// `|scale · q| + |minimum|`. It is 0 unless [`MAGNITUDES`](Number::MAGNITUDES).
    fn add(sum: &mut Self::Sum, x: Self, weight: f32, magnitude: f64);

    /// The scalar that instruction `at` of a row program returned, with what follows from the scalars before it.
    fn scalar(scalars: &mut Self::Scalars, at: usize, instr: &Instr, result: Self) -> Self {
        let _ = (scalars, at, instr);
        result
    }

    /// The result of a sum of `terms` products.
    fn product(value: f32, sum: Self::Sum, terms: usize) -> Self {
        let _ = (sum, terms);
        Self::exact(value)
    }

    /// The indices of the `k` largest of `x`. `order` holds all indices, the largest first.
    fn top_k(x: &[Self], order: &[usize], k: usize) -> Vec<Self> {
        let _ = x;
        order[..k].iter().map(|i| Self::exact(*i as f32)).collect()
    }

    /// `self`, selected from other values by the index `id`.
    fn picked(self, id: Self) -> Self {
        let _ = id;
        self
    }

    /// A block that was rounded to `q8` and back.
    fn rounded_q8(block: &[Self; q8::BLOCK], rounded: &q8::Block) -> [Self; q8::BLOCK] {
        let _ = block;
        rounded.values().map(Self::exact)
    }

    /// A row of results of attention.
    fn attended(values: &[f32], attention: &Attention<'_>) -> Vec<Self> {
        let _ = attention;
        values.iter().map(|value| Self::exact(*value)).collect()
    }

    /// The list that an indexer makes for a token.
    fn listed(list: &[f32], indexing: &Indexing) -> Vec<Self> {
        let _ = indexing;
        list.iter().map(|position| Self::exact(*position)).collect()
    }
}

impl Number for f32 {
    type Sum = ();
    type Scalars = ();

    fn exact(value: f32) -> f32 {
        value
    }

    fn value(self) -> f32 {
        self
    }

    #[inline(always)]
    fn add(_: &mut (), _: f32, _: f32, _: f64) {}
}
