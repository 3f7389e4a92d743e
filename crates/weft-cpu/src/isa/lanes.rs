//! Vectors of sixteen lanes, one for each weight row: the operations that the leaf for packed weights uses.
//!
//! Every operation has one result, whatever the instruction set: integers are exact, and floats are rounded once per operation; a fused
//! multiplication and addition counts as one.

/// Vectors of an instruction set.
pub(crate) trait Lanes: Copy {
    /// 64 bytes, four in each lane.
    type Bytes: Copy;
    /// An `i32` in each lane.
    type Ints: Copy;
    /// An `f32` in each lane.
    type Floats: Copy;

    /// Whether full-range bytes are multiplied as signed ones, because that is faster.
    const SIGNED: bool;

    /// Loads bytes.
    fn bytes(self, from: &[u8; 64]) -> Self::Bytes;

    /// Shifts each byte right, or left if `right` is negative, and masks it. The mask must clear bits from neighbouring bytes.
    fn field(self, x: Self::Bytes, right: i32, mask: u8) -> Self::Bytes;

    /// Bitwise or.
    fn or(self, a: Self::Bytes, b: Self::Bytes) -> Self::Bytes;

    /// The table's entry for each byte, which is below 16.
    fn look_up(self, table: &[u8; 16], x: Self::Bytes) -> Self::Bytes;

    /// Flips the upper bit of each byte: turns an unsigned byte into a signed one that is 128 less.
    fn flip(self, x: Self::Bytes) -> Self::Bytes;

    /// Subtracts a number from each byte; what is below zero wraps around, and so is a signed byte.
    fn less(self, x: Self::Bytes, by: u8) -> Self::Bytes;

    /// Loads integers.
    fn ints(self, from: &[i32; 16]) -> Self::Ints;

    /// An integer in all lanes.
    fn int(self, x: i32) -> Self::Ints;

    /// Adds to each lane the products of its four bytes, which are below 128, and `x`. No factor of `x` is −128.
    fn dot(self, acc: Self::Ints, w: Self::Bytes, x: &[i8; 4]) -> Self::Ints;

    /// The same for full-range bytes, signed if [`SIGNED`](Self::SIGNED), otherwise unsigned.
    fn dot_large(self, acc: Self::Ints, w: Self::Bytes, x: &[i8; 4]) -> Self::Ints;

    /// Sums, in 32 bits.
    fn add_ints(self, a: Self::Ints, b: Self::Ints) -> Self::Ints;

    /// Integers as floats, rounded to nearest, ties to even.
    fn to_floats(self, x: Self::Ints) -> Self::Floats;

    /// A float in all lanes.
    fn float(self, x: f32) -> Self::Floats;

    /// Products.
    fn mul(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;

    /// The larger of two floats; that of `b` if one is NaN.
    fn larger(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;

    /// `a · b + c`, rounded once.
    fn mul_add(self, a: Self::Floats, b: Self::Floats, c: Self::Floats) -> Self::Floats;

    /// Adds to each of eight rows `(sums · scale) · by`, rounded as the operations above do. Sums are below 2²² in size.
    #[inline(always)]
    fn add_scaled(
        self,
        acc: &mut [Self::Floats; 8],
        sums: &[[i32; 16]; 8],
        scale: Self::Floats,
        by: &[f32; 8],
    ) {
        // Not iterators with closures: these would be compiled without the instruction set.
        for ((acc, sums), by) in acc.iter_mut().zip(sums).zip(by) {
            let scaled = self.mul(self.to_floats(self.ints(sums)), scale);
            *acc = self.mul_add(scaled, self.float(*by), *acc);
        }
    }

    /// Loads `f16` numbers.
    fn halves(self, from: &[u8; 32]) -> Self::Floats;

    /// Loads `bf16` numbers.
    fn upper_halves(self, from: &[u8; 32]) -> Self::Floats;

    /// Loads unsigned bytes.
    fn unsigned(self, from: &[u8; 16]) -> Self::Floats;

    /// Loads signed bytes.
    fn signed(self, from: &[u8; 16]) -> Self::Floats;

    /// Loads floats.
    fn floats(self, from: &[f32; 16]) -> Self::Floats;

    /// Stores floats.
    fn store(self, x: Self::Floats, to: &mut [f32; 16]);
}
