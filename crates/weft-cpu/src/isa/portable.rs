//! Vectors in plain Rust: the definition that the other instruction sets are tested against.

use weft_quant::f16_to_f32;

use super::lanes::Lanes;
use super::pairs::{Line, Numbers, Pairs};
use super::pieces::Pieces;
use super::rounding::Rounding;
use super::simd::{Arch, Isa, Simd};

/// [`Isa::Portable`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Portable;

impl Lanes for Portable {
    type Bytes = [u8; 64];
    type Ints = [i32; 16];
    type Floats = [f32; 16];

    const SIGNED: bool = false;

    #[inline(always)]
    fn bytes(self, from: &[u8; 64]) -> [u8; 64] {
        *from
    }

    #[inline(always)]
    fn field(self, x: [u8; 64], right: i32, mask: u8) -> [u8; 64] {
        x.map(|x| if right < 0 { x << -right } else { x >> right } & mask)
    }

    #[inline(always)]
    fn or(self, a: [u8; 64], b: [u8; 64]) -> [u8; 64] {
        std::array::from_fn(|i| a[i] | b[i])
    }

    #[inline(always)]
    fn look_up(self, table: &[u8; 16], x: [u8; 64]) -> [u8; 64] {
        x.map(|x| table[usize::from(x & 15)])
    }

    #[inline(always)]
    fn flip(self, x: [u8; 64]) -> [u8; 64] {
        x.map(|x| x ^ 0x80)
    }

    #[inline(always)]
    fn less(self, x: [u8; 64], by: u8) -> [u8; 64] {
        x.map(|x| x.wrapping_sub(by))
    }

    #[inline(always)]
    fn ints(self, from: &[i32; 16]) -> [i32; 16] {
        *from
    }

    #[inline(always)]
    fn int(self, x: i32) -> [i32; 16] {
        [x; 16]
    }

    #[inline(always)]
    fn dot(self, acc: [i32; 16], w: [u8; 64], x: &[i8; 4]) -> [i32; 16] {
        let w = w.as_chunks::<4>().0;
        let sum = |lane: usize| (0..4).map(|i| i32::from(w[lane][i]) * i32::from(x[i])).sum::<i32>();
        std::array::from_fn(|lane| acc[lane] + sum(lane))
    }

    #[inline(always)]
    fn dot_large(self, acc: [i32; 16], w: [u8; 64], x: &[i8; 4]) -> [i32; 16] {
        self.dot(acc, w, x)
    }

    #[inline(always)]
    fn add_ints(self, a: [i32; 16], b: [i32; 16]) -> [i32; 16] {
        std::array::from_fn(|i| a[i].wrapping_add(b[i]))
    }

    #[inline(always)]
    fn to_floats(self, x: [i32; 16]) -> [f32; 16] {
        x.map(|x| x as f32)
    }

    #[inline(always)]
    fn float(self, x: f32) -> [f32; 16] {
        [x; 16]
    }

    #[inline(always)]
    fn mul(self, a: [f32; 16], b: [f32; 16]) -> [f32; 16] {
        std::array::from_fn(|i| a[i] * b[i])
    }

    #[inline(always)]
    fn larger(self, a: [f32; 16], b: [f32; 16]) -> [f32; 16] {
        std::array::from_fn(|i| if a[i] > b[i] { a[i] } else { b[i] })
    }

    #[inline(always)]
    fn mul_add(self, a: [f32; 16], b: [f32; 16], c: [f32; 16]) -> [f32; 16] {
        std::array::from_fn(|i| a[i].mul_add(b[i], c[i]))
    }

    #[inline(always)]
    fn halves(self, from: &[u8; 32]) -> [f32; 16] {
        let halves = from.as_chunks::<2>().0;
        std::array::from_fn(|i| f16_to_f32(u16::from_le_bytes(halves[i])))
    }

    #[inline(always)]
    fn upper_halves(self, from: &[u8; 32]) -> [f32; 16] {
        let halves = from.as_chunks::<2>().0;
        std::array::from_fn(|i| f32::from_bits(u32::from(u16::from_le_bytes(halves[i])) << 16))
    }

    #[inline(always)]
    fn unsigned(self, from: &[u8; 16]) -> [f32; 16] {
        from.map(f32::from)
    }

    #[inline(always)]
    fn signed(self, from: &[u8; 16]) -> [f32; 16] {
        from.map(|x| f32::from(x as i8))
    }

    #[inline(always)]
    fn floats(self, from: &[f32; 16]) -> [f32; 16] {
        *from
    }

    #[inline(always)]
    fn store(self, x: [f32; 16], to: &mut [f32; 16]) {
        *to = x;
    }
}

/// Bytes to numbers, as [`Pairs::numbers`] has them.
#[inline(always)]
fn halves(bytes: &[u8; 64]) -> [i16; 32] {
    let pairs = bytes.as_chunks::<2>().0;
    std::array::from_fn(|i| i16::from_le_bytes(pairs[i]))
}

/// Numbers to bytes.
#[inline(always)]
fn bytes(numbers: [i16; 32]) -> [u8; 64] {
    std::array::from_fn(|i| numbers[i / 2].to_le_bytes()[i % 2])
}

impl Pairs for Portable {
    const WIDE: bool = false;

    #[inline(always)]
    fn load(self, line: &Line) -> [f32; 16] {
        line.0
    }

    #[inline(always)]
    fn numbers(self, from: &[i16; 32]) -> [u8; 64] {
        bytes(*from)
    }

    #[inline(always)]
    fn repeat(self, eight: &[i16; 8]) -> [u8; 64] {
        bytes(std::array::from_fn(|i| eight[i % 8]))
    }

    #[inline(always)]
    fn pair(self, pair: &[i16; 2]) -> [u8; 64] {
        bytes(std::array::from_fn(|i| pair[i % 2]))
    }

    #[inline(always)]
    fn dot_pairs(self, acc: [i32; 16], a: [u8; 64], b: [u8; 64]) -> [i32; 16] {
        let (a, b) = (halves(&a), halves(&b));
        let product = |i: usize| i32::from(a[i]) * i32::from(b[i]);
        std::array::from_fn(|lane| acc[lane].wrapping_add(product(2 * lane) + product(2 * lane + 1)))
    }

    #[inline(always)]
    fn sum_quarters(self, v: [[i32; 16]; 4]) -> [i32; 16] {
        std::array::from_fn(|at| {
            let quarter = &v[at % 4][at / 4 * 4..][..4];
            quarter.iter().fold(0i32, |sum, x| sum.wrapping_add(*x))
        })
    }

    #[inline(always)]
    fn lower_halves(self, a: [f32; 16], b: [f32; 16]) -> [u8; 64] {
        bytes(std::array::from_fn(|i| if i < 16 { a[i] } else { b[i - 16] }.to_bits() as i16))
    }

    #[inline(always)]
    fn widen(self, x: &[u8; 32], m: [u8; 64]) -> [u8; 64] {
        let m = halves(&m);
        let product = |i: usize| i32::from(x[i] as i8) * i32::from(m[i]);
        bytes(std::array::from_fn(|i| ((product(i) + (1 << 8)) >> 9) as i16))
    }

    #[inline(always)]
    fn widen_fives(self, low: &[u8; 16], high: &[u8; 4], m: [u8; 64], c: [u8; 64]) -> [u8; 64] {
        let (m, c, high) = (halves(&m), halves(&c), u32::from_le_bytes(*high));
        let number = |i: usize| {
            let low = i32::from(low[i % 16] >> (i / 16 * 4)) & 15;
            low + 16 * ((high >> i) as i32 & 1) - 16
        };
        bytes(std::array::from_fn(|i| {
            (((number(i) * i32::from(m[i]) + (1 << 5)) >> 6) as i16).wrapping_add(c[i])
        }))
    }

    #[inline(always)]
    fn interleave(self, a: [u8; 64], b: [u8; 64]) -> [[u8; 64]; 2] {
        let both = [halves(&a), halves(&b)];
        std::array::from_fn(|half| bytes(std::array::from_fn(|i| both[i % 2][16 * half + i / 2])))
    }

    #[inline(always)]
    fn store_numbers(self, x: [u8; 64], to: &mut Numbers) {
        to.0 = halves(&x);
    }

    #[inline(always)]
    fn store_ints(self, x: [i32; 16], to: &mut [i32; 16]) {
        *to = x;
    }
}

impl Pieces for Portable {
    type Piece = [f32; 16];

    const PIECES: usize = 1;

    #[inline(always)]
    fn piece(self, from: &[f32; 16], _: usize) -> [f32; 16] {
        *from
    }

    #[inline(always)]
    fn singles_piece(self, from: &[u8; 64], _: usize) -> [f32; 16] {
        let singles = from.as_chunks::<4>().0;
        std::array::from_fn(|i| f32::from_le_bytes(singles[i]))
    }

    #[inline(always)]
    fn halves_piece(self, from: &[u8; 32], _: usize) -> [f32; 16] {
        self.halves(from)
    }

    #[inline(always)]
    fn upper_halves_piece(self, from: &[u8; 32], _: usize) -> [f32; 16] {
        self.upper_halves(from)
    }

    #[inline(always)]
    fn mul_add_pieces(self, a: [f32; 16], b: [f32; 16], c: [f32; 16]) -> [f32; 16] {
        self.mul_add(a, b, c)
    }

    #[inline(always)]
    fn store_piece(self, x: [f32; 16], to: &mut [f32; 16], _: usize) {
        *to = x;
    }
}

impl Rounding for Portable {}

impl Simd for Portable {
    #[inline(always)]
    fn arch(self) -> Arch {
        Arch(Isa::Portable)
    }

    #[inline(always)]
    fn prefetch(self, _: &[u8], _: usize) {}

    #[inline(always)]
    fn fetch(self, _: &[u8], _: usize) {}
}
