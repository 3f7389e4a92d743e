//! Vectors of sixteen lanes, one a weight row: what the leaf that multiplies packed weights is written in.
//!
//! Every operation has one result, whatever the instruction set: integers are exact, and floats are rounded once an operation, a fused
//! multiplication and addition counting as one.

/// Vectors of an instruction set.
pub(crate) trait Lanes: Copy {
    /// 64 bytes, four of each lane.
    type Bytes: Copy;
    /// An `i32` a lane.
    type Ints: Copy;
    /// An `f32` a lane.
    type Floats: Copy;

    /// Whether bytes of any size are multiplied as signed ones, because that takes less.
    const SIGNED: bool;

    /// Bytes from memory.
    fn bytes(self, from: &[u8; 64]) -> Self::Bytes;

    /// Each byte shifted right, or left if `right` is negative, and masked: bits that come from a neighbouring byte must be masked out.
    fn field(self, x: Self::Bytes, right: i32, mask: u8) -> Self::Bytes;

    /// Bitwise or.
    fn or(self, a: Self::Bytes, b: Self::Bytes) -> Self::Bytes;

    /// What a table has for each byte, which are below 16.
    fn look_up(self, table: &[u8; 16], x: Self::Bytes) -> Self::Bytes;

    /// The upper bit of each byte the other way: an unsigned byte less 128 is a signed one.
    fn flip(self, x: Self::Bytes) -> Self::Bytes;

    /// The same integer in all lanes.
    fn int(self, x: i32) -> Self::Ints;

    /// Adds to each lane the products of its four bytes, which are below 128, and `x`. No factor of `x` is −128.
    fn dot(self, acc: Self::Ints, w: Self::Bytes, x: &[i8; 4]) -> Self::Ints;

    /// The same for bytes of any size, signed if [`SIGNED`](Self::SIGNED), and otherwise unsigned.
    fn dot_large(self, acc: Self::Ints, w: Self::Bytes, x: &[i8; 4]) -> Self::Ints;

    /// Sums.
    fn add_ints(self, a: Self::Ints, b: Self::Ints) -> Self::Ints;

    /// Integers as floats, rounded to nearest, ties to even.
    fn to_floats(self, x: Self::Ints) -> Self::Floats;

    /// The same float in all lanes.
    fn float(self, x: f32) -> Self::Floats;

    /// Products.
    fn mul(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;

    /// `a · b + c`, rounded once.
    fn mul_add(self, a: Self::Floats, b: Self::Floats, c: Self::Floats) -> Self::Floats;

    /// Half-precision numbers.
    fn halves(self, from: &[u8; 32]) -> Self::Floats;

    /// Floats of which only the upper halves are stored.
    fn upper_halves(self, from: &[u8; 32]) -> Self::Floats;

    /// Unsigned bytes.
    fn unsigned(self, from: &[u8; 16]) -> Self::Floats;

    /// Signed bytes.
    fn signed(self, from: &[u8; 16]) -> Self::Floats;

    /// Floats to memory.
    fn store(self, x: Self::Floats, to: &mut [f32; 16]);
}
