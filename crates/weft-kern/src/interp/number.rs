//! The numbers that a kernel is interpreted with.

use weft_ir::{Binary, Unary};

use super::attend::Attention;
use crate::q8;

/// A value of the interpreter, and what travels with it: nothing (`f32`), or for instance how far off a device's value may
/// be.
///
/// The interpreter computes every value itself, always in the same way, and gives it to these functions as `value`; they add
/// what follows for the result from what is known about the operands. So whatever travels along, the values are the same.
pub trait Number: Copy {
    /// What travels with a sum of products while it is added up.
    type Sum: Copy + Default;

    /// Whether [`add`](Number::add) needs the magnitudes of weights. They cost about as much as the weights themselves.
    const MAGNITUDES: bool = false;

    /// A value that is as it is: a constant, or one in memory.
    fn exact(value: f32) -> Self;

    /// The value.
    fn value(self) -> f32;

    /// Of `op(x)`.
    fn unary(value: f32, op: Unary, x: Self) -> Self {
        let _ = (op, x);
        Self::exact(value)
    }

    /// Of `op(a, b)`.
    fn binary(value: f32, op: Binary, a: Self, b: Self) -> Self {
        let _ = (op, a, b);
        Self::exact(value)
    }

    /// Of the sum of these terms.
    fn sum(value: f32, terms: &[Self]) -> Self {
        let _ = terms;
        Self::exact(value)
    }

    /// Of the largest of these terms.
    fn max(value: f32, terms: &[Self]) -> Self {
        let _ = terms;
        Self::exact(value)
    }

    /// Adds `x · weight`. The magnitude is that of the terms that the weight is computed from: its own, or
    /// `|scale · q| + |minimum|`; it is 0 unless [`MAGNITUDES`](Number::MAGNITUDES).
    fn add(sum: &mut Self::Sum, x: Self, weight: f32, magnitude: f64);

    /// Of a sum of `terms` products.
    fn product(value: f32, sum: Self::Sum, terms: usize) -> Self {
        let _ = (sum, terms);
        Self::exact(value)
    }

    /// Of the indices of the `k` largest of `x`. `order` are all indices, the largest first.
    fn top_k(x: &[Self], order: &[usize], k: usize) -> Vec<Self> {
        let _ = x;
        order[..k].iter().map(|i| Self::exact(*i as f32)).collect()
    }

    /// Of `self`, picked out of others by the index `id`.
    fn picked(self, id: Self) -> Self {
        let _ = id;
        self
    }

    /// Of a block that was rounded to `q8` and read back.
    fn rounded_q8(block: &[Self; q8::BLOCK], rounded: &q8::Block) -> [Self; q8::BLOCK] {
        let _ = block;
        rounded.values().map(Self::exact)
    }

    /// Of a row that attention made.
    fn attended(values: &[f32], attention: &Attention<'_>) -> Vec<Self> {
        let _ = attention;
        values.iter().map(|value| Self::exact(*value)).collect()
    }
}

impl Number for f32 {
    type Sum = ();

    fn exact(value: f32) -> f32 {
        value
    }

    fn value(self) -> f32 {
        self
    }

    #[inline(always)]
    fn add(_: &mut (), _: f32, _: f32, _: f64) {}
}
