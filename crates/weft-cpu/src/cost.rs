//! What work costs: estimates, in picoseconds of one thread, by which it is cut between threads.
//!
//! No bit depends on them, only how evenly threads are loaded. They are rounded from what the leaves reach on one core
//! with AVX-512 VNNI; on others everything is slower, by about the same factor. A `u64` of picoseconds is two hundred
//! days.

use weft_kern::Unary;
use weft_quant::GgmlType;

/// Starting an instruction of a row program.
pub(crate) const START: u64 = 10_000;

/// A value of an instruction that is little more than a load, an operation and a store.
pub(crate) const VALUE: u64 = 50;

/// A value that passes through a selection of the largest.
pub(crate) const SELECT: u64 = 2_000;

/// A query or key or value of attention, for one head and one position.
pub(crate) const ATTEND: u64 = 20;

/// Fetching a value of a weight from memory: one thread of two reads about 12 GB/s, and unpacking is faster.
pub(crate) fn unpack(ty: GgmlType) -> u64 {
    80 * ty.block_bytes() as u64 / ty.block_len() as u64
}

/// Multiplying a value of a weight that is at hand.
pub(crate) fn multiply(ty: GgmlType) -> u64 {
    if ty.is_quantised() { 7 } else { 60 }
}

/// A value of an elementwise function.
pub(crate) fn unary(op: Unary) -> u64 {
    match op {
        Unary::Neg | Unary::Rsqrt => VALUE,
        Unary::Exp | Unary::Sigmoid | Unary::Silu => 8 * VALUE,
        Unary::Cos | Unary::Sin => 200 * VALUE,
    }
}
