//! The integer view of a quantised row: every GGML block format is small integers times a scale, plus a minimum.
//!
//! One zero-sized type per format implements [`IntFormat`], the only place that takes a format's bits apart.
//! [`crate::decode`] is `scale * q + min` over it, in f32 and in that order, as in GGML's own `dequantize_row_*`, so
//! the values agree bit for bit.
//!
//! The methods are `#[inline(always)]` loops over fixed-size arrays: a caller that enables an instruction set
//! compiles them for that instruction set.

use crate::GgmlType;

pub use crate::grid_quants::{IQ1_M, IQ1_S, IQ2_S, IQ2_XS, IQ2_XXS, IQ3_S, IQ3_XXS};
pub use crate::iquants::{IQ4_NL, IQ4_XS, MXFP4, NVFP4};
pub use crate::kquants::{Q2_K, Q3_K, Q4_K, Q5_K, Q6_K};
pub use crate::legacy::{Q4_0, Q4_1, Q5_0, Q5_1, Q8_0};
pub use crate::ternary::{TQ1_0, TQ2_0};

/// How a type's blocks map to integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntLayout {
    /// The number of consecutive values that share a scale (and a minimum): 16 or 32.
    pub group: usize,
    /// Whether a group has a minimum; otherwise `value = scale * q`.
    pub has_min: bool,
}

/// A fixed-size array that can be split off a slice: the parts of a block in [`IntFormat`].
pub trait Part<T>: sealed::Sealed + Copy + AsRef<[T]> + AsMut<[T]> + 'static {
    /// A zeroed array.
    const ZERO: Self;

    /// Splits the first array off a slice; `None` if the slice is too short.
    fn split(slice: &[T]) -> Option<(&Self, &[T])>;

    /// Like [`Part::split`], mutable.
    fn split_mut(slice: &mut [T]) -> Option<(&mut Self, &mut [T])>;
}

/// A block format, read as integers.
///
/// ```
/// use weft_quant::ints::{IntFormat, Part, Q8_0};
///
/// let mut row = vec![0u8; 34];
/// row[1] = 0x3c; // the half 1.0
/// row[2] = 0xff; // -1
/// let (block, rest) = <Q8_0 as IntFormat>::Block::split(&row).unwrap();
/// let (mut q, mut scales, mut mins) = ([0; 32], [0.0; 1], []);
/// Q8_0::unpack_block(block, &mut q, &mut scales, &mut mins);
/// assert_eq!((q[0], q[1], scales[0], rest.len()), (-1, 0, 1.0, 0));
/// ```
pub trait IntFormat: sealed::Sealed {
    /// The type with this format.
    const TYPE: GgmlType;

    /// The groups of a block.
    const LAYOUT: IntLayout;

    /// The bytes of a block: `[u8; TYPE.block_bytes()]`.
    type Block: Part<u8>;

    /// The integers of a block, in the order of its values: `[i8; TYPE.block_len()]`.
    type Quants: Part<i8>;

    /// A scale per group: `[f32; TYPE.block_len() / LAYOUT.group]`.
    type Scales: Part<f32>;

    /// A minimum per group: `[f32; 0]` without [`IntLayout::has_min`].
    type Mins: Part<f32>;

    /// Unpacks one block, so that value `i` is `scales[i / group] * q[i]`, plus `mins[i / group]` if there are
    /// minima.
    ///
    /// Scales and minima may be negative, and are infinite or NaN where the block's half-precision numbers are.
    fn unpack_block(
        block: &Self::Block,
        q: &mut Self::Quants,
        scales: &mut Self::Scales,
        mins: &mut Self::Mins,
    );
}

/// Runs `$body` with `$F` as the [`IntFormat`] of a type, or `$other` if the type has none, or is not one of those listed after `of`.
///
/// ```
/// use weft_quant::{GgmlType, ints::IntFormat, with_int_format};
///
/// let group = with_int_format!(GgmlType::Q6_K, F => F::LAYOUT.group, else 1);
/// assert_eq!(group, 16);
/// ```
#[macro_export]
macro_rules! with_int_format {
    ($ty:expr, $F:ident => $body:expr, else $other:expr) => {
        $crate::with_int_format!(@match $ty, $F, $body, $other,
            Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ1_S IQ1_M IQ2_XXS IQ2_XS IQ2_S IQ3_XXS IQ3_S
            IQ4_NL IQ4_XS TQ1_0 TQ2_0 MXFP4 NVFP4)
    };
    ($ty:expr, of $($format:ident)*, $F:ident => $body:expr, else $other:expr) => {
        $crate::with_int_format!(@match $ty, $F, $body, $other, $($format)*)
    };
    (@match $ty:expr, $F:ident, $body:expr, $other:expr, $($format:ident)*) => {
        match $ty {
            $($crate::GgmlType::$format => {
                type $F = $crate::ints::$format;
                $body
            })*
            _ => $other,
        }
    };
}

impl GgmlType {
    /// How this type's blocks map to integers; `None` for plain number types, and for formats without a codec here.
    pub const fn int_layout(self) -> Option<IntLayout> {
        with_int_format!(self, F => Some(F::LAYOUT), else None)
    }
}

/// Unpacks a row of whole blocks into integers, scales and minima.
///
/// For a row of `n` values, `bytes` holds `ty.row_bytes(n)` bytes, `q` has `n` elements, `scales` has `n / group`,
/// and `mins` as many as `scales` with [`IntLayout::has_min`], otherwise none.
///
/// # Panics
///
/// If `ty` has no [`GgmlType::int_layout`], or a slice has another length.
#[inline(always)]
pub fn unpack_row(ty: GgmlType, bytes: &[u8], q: &mut [i8], scales: &mut [f32], mins: &mut [f32]) {
    with_int_format!(ty, F => unpack_row_as::<F>(bytes, q, scales, mins), else panic!("{ty} has no integer view"));
}

/// [`unpack_row`] for a format known at compile time.
///
/// # Panics
///
/// If a slice has another length than [`unpack_row`] requires.
#[inline(always)]
pub fn unpack_row_as<F: IntFormat>(
    mut bytes: &[u8],
    mut q: &mut [i8],
    mut scales: &mut [f32],
    mut mins: &mut [f32],
) {
    while let Some((block, rest)) = F::Block::split(bytes) {
        bytes = rest;
        let (block_q, rest) = F::Quants::split_mut(q).expect("one quant per value");
        q = rest;
        let (block_scales, rest) = F::Scales::split_mut(scales).expect("one scale per group");
        scales = rest;
        let (block_mins, rest) = F::Mins::split_mut(mins).expect("one minimum per group");
        mins = rest;
        F::unpack_block(block, block_q, block_scales, block_mins);
    }
    let left = (bytes.len(), q.len(), scales.len(), mins.len());
    assert_eq!(left, (0, 0, 0, 0), "{}: bytes, quants, scales and minima left after the last block", F::TYPE);
}

macro_rules! impl_part {
    ($($number:ty = $zero:literal),*) => {$(
        impl<const N: usize> sealed::Sealed for [$number; N] {}

        impl<const N: usize> Part<$number> for [$number; N] {
            const ZERO: Self = [$zero; N];

            #[inline(always)]
            fn split(slice: &[$number]) -> Option<(&Self, &[$number])> {
                slice.split_first_chunk()
            }

            #[inline(always)]
            fn split_mut(slice: &mut [$number]) -> Option<(&mut Self, &mut [$number])> {
                slice.split_first_chunk_mut()
            }
        }
    )*};
}

impl_part!(u8 = 0, i8 = 0, f32 = 0.0);

/// `N` bytes of a block from byte `AT` on, checked at compile time.
#[inline(always)]
pub(crate) fn part<const AT: usize, const N: usize, const B: usize>(block: &[u8; B]) -> &[u8; N] {
    const { assert!(AT + N <= B) };
    block[AT..].first_chunk().expect("checked at compile time")
}

/// Implements [`IntFormat`] for a new zero-sized type, whose associated types follow from the layout table.
macro_rules! int_format {
    ($(#[$doc:meta])* $name:ident, group $group:literal, min $min:literal,
     |$block:ident, $q:ident, $scales:ident, $mins:ident| $body:block) => {
        $(#[$doc])*
        #[allow(non_camel_case_types, reason = "the name is GGML's own")]
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl $crate::ints::sealed::Sealed for $name {}

        impl $crate::ints::IntFormat for $name {
            const TYPE: $crate::GgmlType = $crate::GgmlType::$name;
            const LAYOUT: $crate::IntLayout = $crate::IntLayout { group: $group, has_min: $min };
            type Block = [u8; $crate::GgmlType::$name.block_bytes()];
            type Quants = [i8; $crate::GgmlType::$name.block_len()];
            type Scales = [f32; $crate::GgmlType::$name.block_len() / $group];
            type Mins = [f32; if $min { $crate::GgmlType::$name.block_len() / $group } else { 0 }];

            #[inline(always)]
            fn unpack_block(
                $block: &Self::Block,
                $q: &mut Self::Quants,
                $scales: &mut Self::Scales,
                $mins: &mut Self::Mins,
            ) $body
        }
    };
}
pub(crate) use int_format;

pub(crate) mod sealed {
    /// Keeps other crates from implementing the traits of this module.
    pub trait Sealed {}
}
