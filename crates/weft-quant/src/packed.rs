//! The packed layout for integer products: sixteen rows interleaved, so that each 32-bit lane of a vector is a row.
//!
//! A tile is 16 rows of a weight. It begins with the rows' numbers, 32 columns at a time, and ends with their scales; both are
//! padded to 64 bytes. Four columns of all 16 rows make 64 bytes, `row · 4 + column`, a *quad*; 32 columns are eight quads.
//! Numbers are unsigned and below 2^bits; subtracting [`Layout::offset`] gives the format's own. Quads of
//!
//! - 8 bits are stored as they are: eight vectors;
//! - 4 bits are stored in pairs: vector `v` has quad `v` in its low nibbles and quad `v + 4` in its high ones;
//! - 2 bits are stored in fours: bits `2j` and `2j + 1` of vector `v` are quad `4v + j`;
//! - 5 and 6 bits have their low four bits as above and then the others: one vector whose bit `j` belongs to quad `j`, or two as
//!   for 2 bits;
//! - 3 bits have their low two bits as above, and then one vector with the third.
//!
//! Nothing is rounded: scales are kept as the format has them, and the products of super-block and group scales are exact in
//! `f32`. Apart from padding, a tile holds just the file's bits, so it is hardly larger than its rows, and
//! [`restore_tile`](crate::restore_tile) gives them back.

use crate::GgmlType;
use crate::floats::{f16_bytes, f16_to_f32};
use crate::grid_quants::{self, Tables};
pub use crate::interleave::ROWS;
use crate::interleave::interleave;
use crate::iquants::{IQ4_VALUES, doubled_e2m1, half_e4m3, half_e8m0, iq4_xs_scales, nvfp4_codes};
use crate::kquants::{q2_scales_and_mins, q3_scales, scales_and_mins};
use crate::legacy::nibbles;
use crate::unpack_row;

/// The columns that are stored together.
pub const COLUMNS: usize = 32;

/// The bytes of a vector: four columns of all rows, 8 bits each.
const VECTOR: usize = 64;

/// The values of a super-block.
const SUPER: usize = 256;

/// How the scales of a tile are stored, each as one value per row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scales {
    /// A half for each group.
    Half,
    /// A half for each 32 columns, and a half for their minimum.
    HalfMin,
    /// The upper half of an `f32` for each 32 columns: a power of two.
    Power,
    /// A half for each 256 columns, divided by 2^[`halvings`](Layout::halvings); then for each group an `i8` factor of it.
    Super,
    /// Two halves for each 256 columns, for scales and minima; then for each group a `u8` factor of each. The minimum is the
    /// negative of its product.
    SuperMin,
}

/// How a type is packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// The bits of a number: 2, 3, 4, 5, 6 or 8.
    pub bits: usize,
    /// Subtracted from a number, or from its table entry.
    pub offset: u8,
    /// The values of the numbers, unless they are the numbers themselves.
    pub table: Option<[u8; 16]>,
    /// The number of columns that share a scale: 16 or 32.
    pub group: usize,
    /// The scales.
    pub scales: Scales,
    /// By which power of two the halves of [`Scales::Super`] are divided.
    pub halvings: u32,
}

impl Layout {
    /// The layout of a type; `None` for types without a [`GgmlType::int_layout`].
    pub const fn of(ty: GgmlType) -> Option<Layout> {
        const fn layout(bits: usize, offset: u8, group: usize, scales: Scales) -> Option<Layout> {
            Some(Layout { bits, offset, table: None, group, scales, halvings: 0 })
        }
        const fn table(table: [u8; 16], group: usize, scales: Scales) -> Option<Layout> {
            Some(Layout { bits: 4, offset: 128, table: Some(table), group, scales, halvings: 0 })
        }
        const fn grid(bits: usize, table: [u8; 16], group: usize, halvings: u32) -> Option<Layout> {
            Some(Layout { bits, offset: 128, table: Some(table), group, scales: Scales::Super, halvings })
        }
        match ty {
            GgmlType::Q4_0 => layout(4, 8, 32, Scales::Half),
            GgmlType::Q4_1 => layout(4, 0, 32, Scales::HalfMin),
            GgmlType::Q5_0 => layout(5, 16, 32, Scales::Half),
            GgmlType::Q5_1 => layout(5, 0, 32, Scales::HalfMin),
            GgmlType::Q8_0 => layout(8, 128, 32, Scales::Half),
            GgmlType::Q2_K => layout(2, 0, 16, Scales::SuperMin),
            GgmlType::Q3_K => layout(3, 4, 16, Scales::Super),
            GgmlType::Q4_K => layout(4, 0, 32, Scales::SuperMin),
            GgmlType::Q5_K => layout(5, 0, 32, Scales::SuperMin),
            GgmlType::Q6_K => layout(6, 32, 16, Scales::Super),
            GgmlType::IQ1_S => grid(3, Tables::IQ1, 32, 3),
            GgmlType::IQ1_M => grid(3, Tables::IQ1, 16, 3),
            GgmlType::IQ2_XXS => grid(3, Tables::IQ2, 32, 3),
            GgmlType::IQ2_XS | GgmlType::IQ2_S => grid(3, Tables::IQ2, 16, 3),
            GgmlType::IQ3_XXS => grid(4, Tables::IQ3_XXS, 32, 2),
            GgmlType::IQ3_S => grid(4, Tables::IQ3_S, 32, 0),
            GgmlType::IQ4_NL => table(IQ4_TABLE, 32, Scales::Half),
            GgmlType::IQ4_XS => table(IQ4_TABLE, 32, Scales::Super),
            GgmlType::TQ1_0 | GgmlType::TQ2_0 => layout(2, 1, 32, Scales::Super),
            GgmlType::MXFP4 => table(E2M1_TABLE, 32, Scales::Power),
            GgmlType::NVFP4 => table(E2M1_TABLE, 16, Scales::Half),
            _ => None,
        }
    }

    /// The bytes of the numbers of 32 columns.
    pub const fn numbers_bytes(&self) -> usize {
        self.bits * VECTOR
    }

    /// The offset of the scales, for rows of `k` values.
    pub const fn scales_at(&self, k: usize) -> usize {
        k / COLUMNS * self.numbers_bytes()
    }

    /// The offset of the groups' scales from the first scale: they follow those of the super-blocks.
    pub const fn groups_at(&self, k: usize) -> usize {
        match self.scales {
            Scales::Half | Scales::HalfMin | Scales::Power => 0,
            Scales::Super => k / SUPER * 2 * ROWS,
            Scales::SuperMin => k / SUPER * 4 * ROWS,
        }
    }

    /// Whether groups have minima.
    pub const fn has_min(&self) -> bool {
        matches!(self.scales, Scales::HalfMin | Scales::SuperMin)
    }

    /// The bytes of a group's scales, or of those of 32 columns if scales are halves.
    pub const fn group_bytes(&self) -> usize {
        match self.scales {
            Scales::Half | Scales::Power | Scales::SuperMin => 2 * ROWS,
            Scales::HalfMin => 4 * ROWS,
            Scales::Super => ROWS,
        }
    }

    /// The bytes of a tile of rows of `k` values, a multiple of 64; `None` on overflow.
    pub const fn tile_bytes(&self, k: usize) -> Option<usize> {
        let Some(numbers) = (k / COLUMNS).checked_mul(self.numbers_bytes()) else { return None };
        let scales = self.groups_at(k) + k / self.group * self.group_bytes();
        match numbers.checked_add(scales) {
            Some(bytes) => bytes.checked_next_multiple_of(VECTOR),
            None => None,
        }
    }
}

const IQ4_TABLE: [u8; 16] = {
    let mut table = [0; 16];
    let mut i = 0;
    while i < 16 {
        table[i] = (IQ4_VALUES[i] as i16 + 128) as u8;
        i += 1;
    }
    table
};

const E2M1_TABLE: [u8; 16] = {
    let mut table = [0; 16];
    let mut i = 0;
    while i < 16 {
        table[i] = (doubled_e2m1(i as u8) as i16 + 128) as u8;
        i += 1;
    }
    table
};

/// Packs at most [`ROWS`] whole rows of `k` values. Missing rows are packed as zeros.
///
/// # Panics
/// If the type has no [`Layout`], `rows` are not whole rows or too many, or `out` is not [`Layout::tile_bytes`] long.
pub fn pack_tile(ty: GgmlType, k: usize, rows: &[u8], out: &mut [u8]) {
    let layout = Layout::of(ty).expect("the type has no packed layout");
    let row_bytes = k / ty.block_len() * ty.block_bytes();
    assert!(k.is_multiple_of(ty.block_len()) && row_bytes > 0, "{k} values of {ty} are not whole blocks");
    assert!(
        rows.len().is_multiple_of(row_bytes) && rows.len() <= ROWS * row_bytes,
        "expected whole rows, at most {ROWS}"
    );
    assert_eq!(Some(out.len()), layout.tile_bytes(k), "the length of a tile of {ty}");
    out.fill(0);
    let (numbers, scales) = out.split_at_mut(layout.scales_at(k));
    if !interleave(ty, row_bytes, rows, numbers) {
        unpack_and_pack(ty, &layout, k, row_bytes, rows, numbers);
    }
    for (row, bytes) in rows.chunks_exact(row_bytes).enumerate() {
        pack_scales(ty, &layout, k, row, bytes, scales);
    }
    // Missing rows have scales of 0, whatever their numbers.
}

/// Puts the numbers of whole rows in their places: of every format, slowly.
fn unpack_and_pack(
    ty: GgmlType,
    layout: &Layout,
    k: usize,
    row_bytes: usize,
    rows: &[u8],
    numbers: &mut [u8],
) {
    let codes = layout.table.map(|table| codes(&table, layout.offset));
    let (mut q, mut floats, mut mins) = (vec![0i8; k], vec![0.0; k / layout.group], Vec::new());
    if ty.int_layout().is_some_and(|l| l.has_min) {
        mins = vec![0.0; k / layout.group];
    }
    for (row, bytes) in rows.chunks_exact(row_bytes).enumerate() {
        unpack_row(ty, bytes, &mut q, &mut floats, &mut mins);
        let groups = numbers.chunks_exact_mut(layout.numbers_bytes());
        for (i, (q, out)) in q.as_chunks::<COLUMNS>().0.iter().zip(groups).enumerate() {
            let u = match &codes {
                // Their codes 0 and 8 are both zero, and the file says which.
                _ if ty == GgmlType::MXFP4 => mxfp4_codes(&bytes[i * ty.block_bytes()..]),
                _ if ty == GgmlType::NVFP4 => half_nvfp4_codes(&bytes[i / 2 * ty.block_bytes()..], i % 2),
                Some(codes) => q.map(|q| codes[usize::from(q as u8)]),
                None => q.map(|q| (q as u8).wrapping_add(layout.offset)),
            };
            let words: [u32; 8] = std::array::from_fn(|i| {
                u32::from_le_bytes([u[4 * i], u[4 * i + 1], u[4 * i + 2], u[4 * i + 3]])
            });
            pack_numbers(layout.bits, row, &words, out.as_chunks_mut().0);
        }
    }
}

/// For each integer of a format (as `u8`), its index in the table.
fn codes(table: &[u8; 16], offset: u8) -> [u8; 256] {
    let mut codes = [0; 256];
    for (q, code) in codes.iter_mut().enumerate() {
        let value = (q as u8).wrapping_add(offset);
        *code = table.iter().position(|v| *v == value).unwrap_or(0) as u8;
    }
    codes
}

/// The codes of a block of MXFP4, which follow its scale.
fn mxfp4_codes(block: &[u8]) -> [u8; COLUMNS] {
    nibbles(&block[1..].first_chunk().copied().unwrap_or_default())
}

/// The codes of the first or the second half of a block of NVFP4.
fn half_nvfp4_codes(block: &[u8], half: usize) -> [u8; COLUMNS] {
    let codes = nvfp4_codes(&block[4..].first_chunk().copied().unwrap_or_default());
    codes.as_chunks().0[half]
}

/// Puts 32 numbers of a row, one quad per word, in their places among those of the other rows. `out` is words.
fn pack_numbers(bits: usize, row: usize, quads: &[u32; 8], out: &mut [[u8; 4]]) {
    let (width, high) = split(bits);
    for (quad, word) in quads.iter().enumerate() {
        let mut put = |first: usize, from: usize, width: usize| {
            let (vector, shift) = place(width, quad);
            // The same bits of four numbers, each of which stays within its byte.
            let bits = (word >> from & (u32::from(mask(width)) * 0x0101_0101)) << shift;
            let to = &mut out[(first + vector) * ROWS + row];
            *to = (u32::from_le_bytes(*to) | bits).to_le_bytes();
        };
        put(0, 0, width);
        if high > 0 {
            put(width, width, high);
        }
    }
}

/// The number of low bits that are stored together, and of the bits left.
pub(crate) const fn split(bits: usize) -> (usize, usize) {
    match bits {
        8 => (8, 0),
        4..=6 => (4, bits - 4),
        _ => (2, bits - 2),
    }
}

/// The vector that holds `width` bits of a quad, and their shift.
pub(crate) const fn place(width: usize, quad: usize) -> (usize, usize) {
    match width {
        8 => (quad, 0),
        4 => (quad % 4, quad / 4 * 4),
        2 => (quad / 4, quad % 4 * 2),
        _ => (0, quad),
    }
}

pub(crate) const fn mask(width: usize) -> u8 {
    (0xff >> (8 - width)) as u8
}

/// Puts a row's scales in their places.
fn pack_scales(ty: GgmlType, layout: &Layout, k: usize, row: usize, bytes: &[u8], out: &mut [u8]) {
    let blocks = bytes.chunks_exact(ty.block_bytes()).enumerate();
    let (supers, groups) = out.split_at_mut(layout.groups_at(k));
    let half = |out: &mut [u8], at: usize, from: &[u8]| {
        out[at * 2 * ROWS + row * 2..][..2].copy_from_slice(&from[..2]);
    };
    match layout.scales {
        Scales::Half if ty == GgmlType::NVFP4 => blocks.for_each(|(i, block)| {
            for (g, d) in block[..4].iter().enumerate() {
                half(groups, 4 * i + g, &f16_bytes(half_e4m3(*d)));
            }
        }),
        Scales::Half => blocks.for_each(|(i, block)| half(groups, i, block)),
        Scales::HalfMin => blocks.for_each(|(i, block)| {
            half(groups, 2 * i, block);
            half(groups, 2 * i + 1, &block[2..]);
        }),
        Scales::Power => blocks.for_each(|(i, block)| {
            half(groups, i, &half_e8m0(block[0]).to_le_bytes()[2..]);
        }),
        Scales::Super | Scales::SuperMin => {
            let per_block = SUPER / layout.group;
            for (i, block) in blocks {
                let (d, dmin, scales, mins) = factors(ty, block);
                match layout.scales {
                    Scales::Super => half(supers, i, &d),
                    _ => {
                        half(supers, 2 * i, &d);
                        half(supers, 2 * i + 1, &dmin);
                    }
                }
                for g in 0..per_block {
                    let out = &mut groups[(i * per_block + g) * layout.group_bytes()..];
                    out[row] = scales[g] as u8;
                    if layout.scales == Scales::SuperMin {
                        out[ROWS + row] = mins[g];
                    }
                }
            }
        }
    }
}

/// The scales of a super-block as stored: two halves, and the groups' integers.
fn factors(ty: GgmlType, block: &[u8]) -> ([u8; 2], [u8; 2], [i8; 16], [u8; 16]) {
    let half = |at: usize| [block[at], block[at + 1]];
    let bytes = |at: usize| block[at..].first_chunk::<16>().copied().unwrap_or_default();
    let six = |at: usize| block[at..].first_chunk::<12>().copied().unwrap_or_default();
    let widen = |small: [u8; 8]| std::array::from_fn(|i| if i < 8 { small[i] } else { 0 });
    match ty {
        GgmlType::Q2_K => {
            let (scales, mins) = q2_scales_and_mins(&bytes(0));
            (half(80), half(82), scales.map(|s| s as i8), mins)
        }
        GgmlType::Q3_K => (half(108), [0; 2], q3_scales(&six(96)), [0; 16]),
        GgmlType::Q6_K => (half(208), [0; 2], bytes(192).map(|s| s as i8), [0; 16]),
        GgmlType::IQ4_XS => {
            let packed = block[2..].first_chunk::<6>().copied().unwrap_or_default();
            (half(0), [0; 2], widen(iq4_xs_scales(&packed).map(|s| s as u8)).map(|s| s as i8), [0; 16])
        }
        GgmlType::Q4_K | GgmlType::Q5_K => {
            let (scales, mins) = scales_and_mins(&six(4));
            (half(0), half(2), widen(scales).map(|s| s as i8), widen(mins))
        }
        GgmlType::TQ1_0 => (half(52), [0; 2], [1; 16], [0; 16]),
        GgmlType::TQ2_0 => (half(64), [0; 2], [1; 16], [0; 16]),
        _ => {
            let (d, scales) = grid_quants::factors(ty, block);
            (d, [0; 2], scales, [0; 16])
        }
    }
}

/// Unpacks a row of a tile: integers, scales and minima as in [`unpack_row`]. This slow and obvious function defines the layout.
///
/// # Panics
/// If the type has no [`Layout`], `row` is out of range, or a slice has another length than `unpack_row` requires.
pub fn unpack_tile_row(
    ty: GgmlType,
    tile: &[u8],
    row: usize,
    q: &mut [i8],
    scales: &mut [f32],
    mins: &mut [f32],
) {
    let layout = Layout::of(ty).expect("the type has no packed layout");
    let k = q.len();
    let (numbers, scale_bytes) = tile.split_at(layout.scales_at(k));
    for (i, q) in q.iter_mut().enumerate() {
        let group = &numbers[i / COLUMNS * layout.numbers_bytes()..][..layout.numbers_bytes()];
        let (quad, lane) = (i % COLUMNS / 4, row * 4 + i % 4);
        let (width, high) = split(layout.bits);
        let get = |from: &[u8], width: usize| {
            let (vector, shift) = place(width, quad);
            from[vector * VECTOR + lane] >> shift & mask(width)
        };
        let mut u = get(group, width);
        if high > 0 {
            u |= get(&group[width * VECTOR..], high) << width;
        }
        let value = layout.table.map_or(u, |table| table[usize::from(u)]);
        *q = value.wrapping_sub(layout.offset) as i8;
    }
    let (supers, groups) = scale_bytes.split_at(layout.groups_at(k));
    let half = |from: &[u8], at: usize| {
        let at = at * 2 * ROWS + row * 2;
        u16::from_le_bytes([from[at], from[at + 1]])
    };
    for (g, scale) in scales.iter_mut().enumerate() {
        let block = g * layout.group / SUPER;
        let own = &groups[g * layout.group_bytes()..];
        match layout.scales {
            Scales::Half => *scale = f16_to_f32(half(own, 0)),
            Scales::HalfMin => {
                *scale = f16_to_f32(half(own, 0));
                mins[g] = f16_to_f32(half(own, 1));
            }
            Scales::Power => *scale = f32::from_bits(u32::from(half(own, 0)) << 16),
            Scales::Super => {
                let d = f16_to_f32(half(supers, block)) / (1u32 << layout.halvings) as f32;
                *scale = d * f32::from(own[row] as i8);
            }
            Scales::SuperMin => {
                *scale = f16_to_f32(half(supers, 2 * block)) * f32::from(own[row]);
                mins[g] = -(f16_to_f32(half(supers, 2 * block + 1)) * f32::from(own[ROWS + row]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_bytes;

    #[test]
    fn interleaved_numbers_are_the_unpacked_ones() {
        let mut next = test_bytes(5);
        let mut tried = 0;
        for ty in GgmlType::ALL.iter().copied() {
            let Some(layout) = Layout::of(ty) else { continue };
            for (blocks, count) in [(1, 16), (3, 16), (4, 5), (2, 1)] {
                let (k, row_bytes) = (blocks * ty.block_len(), blocks * ty.block_bytes());
                let rows: Vec<u8> = (0..count * row_bytes).map(|_| next()).collect();
                let [mut fast, mut slow] = [(); 2].map(|()| vec![0; layout.scales_at(k)]);
                if interleave(ty, row_bytes, &rows, &mut fast) {
                    unpack_and_pack(ty, &layout, k, row_bytes, &rows, &mut slow);
                    tried += 1;
                }
                assert!(fast == slow, "{ty}: {count} rows of {k}");
            }
        }
        assert_eq!(tried, 9 * 4);
    }

    #[test]
    fn a_tile_unpacks_to_its_rows() {
        let mut next = test_bytes(7);
        let mut tried = 0;
        for ty in GgmlType::ALL.iter().copied() {
            let Some(layout) = Layout::of(ty) else {
                assert_eq!(ty.int_layout(), None, "{ty}");
                continue;
            };
            tried += 1;
            let own = ty.int_layout().unwrap();
            assert_eq!(layout.group, own.group, "{ty}");
            for (blocks, count) in [(1, 16), (3, 16), (4, 5)] {
                let k = blocks * ty.block_len();
                let row_bytes = blocks * ty.block_bytes();
                let rows: Vec<u8> = (0..count * row_bytes).map(|_| next()).collect();
                let mut tile = vec![0xaa; layout.tile_bytes(k).unwrap()];
                pack_tile(ty, k, &rows, &mut tile);
                for row in 0..ROWS {
                    let groups = k / own.group;
                    let min_count = if own.has_min { groups } else { 0 };
                    let room = || (vec![0i8; k], vec![0.0f32; groups], vec![0.0f32; min_count]);
                    let (mut expected, mut found) = (room(), room());
                    unpack_tile_row(ty, &tile, row, &mut found.0, &mut found.1, &mut found.2);
                    // A NaN is a NaN, quiet or not.
                    let bits = |v: &[f32]| {
                        v.iter().map(|f| (!f.is_nan()).then_some(f.to_bits())).collect::<Vec<_>>()
                    };
                    if row < count {
                        let bytes = &rows[row * row_bytes..][..row_bytes];
                        unpack_row(ty, bytes, &mut expected.0, &mut expected.1, &mut expected.2);
                        assert_eq!(found.0, expected.0, "{ty} row {row}");
                        assert_eq!(bits(&found.1), bits(&expected.1), "{ty} row {row}");
                        assert_eq!(bits(&found.2), bits(&expected.2), "{ty} row {row}");
                    } else {
                        assert!(found.1.iter().chain(&found.2).all(|f| *f == 0.0), "{ty} row {row}");
                    }
                }
            }
        }
        assert_eq!(tried, 23);
    }

    #[test]
    fn tiles_are_hardly_larger_than_rows() {
        for (ty, k) in
            [(GgmlType::Q4_0, 2048), (GgmlType::Q4_K, 2048), (GgmlType::Q6_K, 1536), (GgmlType::Q8_0, 192)]
        {
            let rows = ROWS * k / ty.block_len() * ty.block_bytes();
            let tile = Layout::of(ty).unwrap().tile_bytes(k).unwrap();
            assert!(tile >= rows && tile <= rows + rows / 32, "{ty}: {tile} for {rows}");
            assert_eq!(tile % 64, 0);
        }
    }
}
