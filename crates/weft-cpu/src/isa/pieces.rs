//! Vectors of sixteen floats in pieces: the operations that products with float weights use.
//!
//! A piece is as many lanes as leave room in registers for the sums of a few rows times a few rows. Which lanes are computed
//! together changes no bit: lanes do not meet before they are folded.

/// Pieces of an instruction set.
pub(crate) trait Pieces: Copy {
    /// Sixteen lanes divided by [`PIECES`](Self::PIECES).
    type Piece: Copy;

    /// Pieces of a vector.
    const PIECES: usize;

    /// A piece of floats.
    fn piece(self, from: &[f32; 16], piece: usize) -> Self::Piece;

    /// A piece of `f32` numbers as they are in a file.
    fn singles_piece(self, from: &[u8; 64], piece: usize) -> Self::Piece;

    /// A piece of `f16` numbers.
    fn halves_piece(self, from: &[u8; 32], piece: usize) -> Self::Piece;

    /// A piece of `bf16` numbers.
    fn upper_halves_piece(self, from: &[u8; 32], piece: usize) -> Self::Piece;

    /// `a · b + c`, rounded once.
    fn mul_add_pieces(self, a: Self::Piece, b: Self::Piece, c: Self::Piece) -> Self::Piece;

    /// Stores a piece where [`piece`](Self::piece) loads it.
    fn store_piece(self, x: Self::Piece, to: &mut [f32; 16], piece: usize);
}
