//! Cost estimates, in picoseconds of one thread, by which work is divided between threads.
//!
//! No bit depends on them, only the load balance. They are rounded from measurements of the leaves on one core with
//! AVX-512 VNNI; on other processors everything is slower by about the same factor. A `u64` of picoseconds is two
//! hundred days.

use weft_kern::Unary;
use weft_quant::GgmlType;

/// Starting an instruction of a row program.
pub(crate) const START: u64 = 10_000;

/// One value of an instruction that is little more than a load, an operation and a store.
pub(crate) const VALUE: u64 = 50;

/// One value in a selection of the largest.
pub(crate) const SELECT: u64 = 2_000;

/// One value of a query, key or value in attention, for one head and one position.
pub(crate) const ATTEND: u64 = 20;

/// Reading one value of a weight from memory: each of two threads reads about 12 GB/s, and unpacking is faster.
pub(crate) fn unpack(ty: GgmlType) -> u64 {
    80 * ty.block_bytes() as u64 / ty.block_len() as u64
}

/// Multiplying one unpacked value of a weight.
pub(crate) fn multiply(ty: GgmlType) -> u64 {
    if ty.is_quantised() { 7 } else { 20 }
}

/// One value of an elementwise function.
pub(crate) fn unary(op: Unary) -> u64 {
    match op {
        Unary::Neg | Unary::Rsqrt => VALUE,
        Unary::Exp | Unary::Sigmoid | Unary::Silu | Unary::Softplus => 8 * VALUE,
        Unary::Cos | Unary::Sin => 200 * VALUE,
    }
}
