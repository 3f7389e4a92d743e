//! Rows from packed tiles, byte for byte as the file stores them: the inverse of [`pack_tile`](crate::packed::pack_tile).
//!
//! A tile holds all bits of its rows, so a model that is stored packed loses nothing. The exceptions are bytes that no encoder writes,
//! another way to say what others say: in TQ1_0 the second of two bytes with the same digits, in NVFP4 scales with a sign or NaN. What is
//! restored then decodes to the same values. Any bytes can be restored from: a damaged tile gives wrong rows, and no panic.

use crate::GgmlType;
use crate::floats::f16_to_f32;
use crate::grid_quants;
use crate::iquants::pack_iq4_xs;
use crate::kquants_encode::{pack_nibbles, pack_scales};
use crate::kquants_low::{pack_sixteen, third_bits};
use crate::legacy_encode::{pack_fifth_bits, pack_nibbles as pack_32_nibbles};
use crate::packed::{COLUMNS, Layout, ROWS, Scales, mask, place, split};
use crate::ternary::{pack_trits, pack_two_bits};

/// The values of a super-block.
const SUPER: usize = 256;

/// Restores the first rows of a tile: as many rows of `k` values as `rows` has room for, at most [`ROWS`].
///
/// # Panics
/// If the type has no [`Layout`], `rows` are not whole rows or too many, or `tile` is not [`Layout::tile_bytes`] long.
pub fn restore_tile(ty: GgmlType, k: usize, tile: &[u8], rows: &mut [u8]) {
    let layout = Layout::of(ty).expect("the type has no packed layout");
    let row_bytes = k / ty.block_len() * ty.block_bytes();
    assert!(k.is_multiple_of(ty.block_len()) && row_bytes > 0, "{k} values of {ty} are not whole blocks");
    assert!(
        rows.len().is_multiple_of(row_bytes) && rows.len() <= ROWS * row_bytes,
        "expected whole rows, at most {ROWS}"
    );
    assert_eq!(Some(tile.len()), layout.tile_bytes(k), "the length of a tile of {ty}");
    let (numbers, scales) = tile.split_at(layout.scales_at(k));
    let (supers, groups) = scales.split_at(layout.groups_at(k));
    for (row, out) in rows.chunks_exact_mut(row_bytes).enumerate() {
        let numbers =
            numbers.chunks_exact(layout.numbers_bytes()).map(|group| row_numbers(&layout, row, group));
        if ty == GgmlType::NVFP4 {
            let mut numbers = numbers;
            for (i, out) in out.as_chunks_mut::<36>().0.iter_mut().enumerate() {
                let u = [numbers.next(), numbers.next()].map(Option::unwrap_or_default);
                nvfp4(&u, std::array::from_fn(|g| half(groups, row, 4 * i + g)), out);
            }
        } else if layout.groups_at(k) == 0 {
            let scales = groups.chunks_exact(layout.group_bytes());
            for ((out, u), scales) in out.chunks_exact_mut(ty.block_bytes()).zip(numbers).zip(scales) {
                small_block(ty, &u, [half(scales, row, 0), half(scales, row, 1)], out);
            }
        } else {
            let mut numbers = numbers;
            for (i, out) in out.chunks_exact_mut(ty.block_bytes()).enumerate() {
                let mut u = [0; SUPER];
                u.as_chunks_mut::<COLUMNS>().0.iter_mut().zip(&mut numbers).for_each(|(to, from)| *to = from);
                super_block(ty, &u, &Factors::of(&layout, supers, groups, row, i), out);
            }
        }
    }
}

/// The scales of a super-block as stored.
struct Factors {
    d: [u8; 2],
    dmin: [u8; 2],
    scales: [u8; 16],
    mins: [u8; 16],
}

impl Factors {
    /// The factors of block `block` of a row.
    fn of(layout: &Layout, supers: &[u8], groups: &[u8], row: usize, block: usize) -> Factors {
        let has_min = layout.scales == Scales::SuperMin;
        let at = if has_min { 2 * block } else { block };
        let (mut scales, mut mins) = ([0; 16], [0; 16]);
        let per_block = SUPER / layout.group;
        let own = groups[block * per_block * layout.group_bytes()..].chunks_exact(layout.group_bytes());
        for (g, group) in own.take(per_block).enumerate() {
            scales[g] = group[row];
            if has_min {
                mins[g] = group[ROWS + row];
            }
        }
        let dmin = if has_min { half(supers, row, at + 1) } else { [0; 2] };
        Factors { d: half(supers, row, at), dmin, scales, mins }
    }
}

/// Value `at` of a row among those that are two bytes for each row; zero beyond the end.
fn half(from: &[u8], row: usize, at: usize) -> [u8; 2] {
    from.get(at * 2 * ROWS + row * 2..).and_then(|from| from.first_chunk()).copied().unwrap_or_default()
}

/// The numbers of 32 columns of a row.
#[inline(always)]
fn row_numbers(layout: &Layout, row: usize, group: &[u8]) -> [u8; COLUMNS] {
    match layout.bits {
        2 => numbers_of::<2>(row, group),
        3 => numbers_of::<3>(row, group),
        4 => numbers_of::<4>(row, group),
        5 => numbers_of::<5>(row, group),
        6 => numbers_of::<6>(row, group),
        _ => numbers_of::<8>(row, group),
    }
}

#[inline(always)]
fn numbers_of<const BITS: usize>(row: usize, group: &[u8]) -> [u8; COLUMNS] {
    let (width, high) = const { split(BITS) };
    let words: &[[u8; 4]] = group.as_chunks().0;
    let get = |first: usize, width: usize, quad: usize| {
        let (vector, shift) = place(width, quad);
        (u32::from_le_bytes(words[(first + vector) * ROWS + row]) >> shift)
            & (u32::from(mask(width)) * 0x0101_0101)
    };
    let mut out = [0; COLUMNS];
    for (quad, out) in out.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let mut word = get(0, width, quad);
        if high > 0 {
            word |= get(width, high, quad) << width;
        }
        *out = word.to_le_bytes();
    }
    out
}

/// Writes a block of 32 values with two bytes of scale, and of minimum if it has one.
fn small_block(ty: GgmlType, u: &[u8; 32], [d, m]: [[u8; 2]; 2], out: &mut [u8]) {
    let nibbles = || pack_32_nibbles(&u.map(|u| u & 0x0f));
    match ty {
        GgmlType::Q4_0 | GgmlType::IQ4_NL => put(out, &[&d, &nibbles()]),
        GgmlType::Q4_1 => put(out, &[&d, &m, &nibbles()]),
        GgmlType::Q5_0 => put(out, &[&d, &pack_fifth_bits(u), &nibbles()]),
        GgmlType::Q5_1 => put(out, &[&d, &m, &pack_fifth_bits(u), &nibbles()]),
        GgmlType::MXFP4 => put(out, &[&[e8m0(u16::from_le_bytes(d))], &nibbles()]),
        _ => put(out, &[&d, &u.map(|u| u ^ 0x80)]),
    }
}

/// The exponent whose half has this upper half.
fn e8m0(upper: u16) -> u8 {
    match upper {
        0..0x40 => 0,
        0x40..0x80 => 1,
        _ => ((upper >> 7) as u8).wrapping_add(1),
    }
}

/// Writes a block of NVFP4 from its codes and the halves of its scales.
fn nvfp4(u: &[[u8; COLUMNS]; 2], scales: [[u8; 2]; 4], out: &mut [u8; 36]) {
    let (d, qs) = out.split_at_mut(4);
    for (d, half) in d.iter_mut().zip(scales) {
        // Halved once, as in the tile. A scale that is no number of E4M3, or too large, is of a damaged tile.
        let bits = (f16_to_f32(u16::from_le_bytes(half)) / f32::from_bits((127 + 119) << 23)).to_bits();
        *d = match (bits >> 20) as u8 & 0x7f {
            // A number only with the top bit.
            0x7f => 0xff,
            byte => byte,
        };
    }
    let sixteens = u.as_flattened().as_chunks::<16>().0;
    for (qs, u) in qs.as_chunks_mut::<8>().0.iter_mut().zip(sixteens) {
        *qs = std::array::from_fn(|i| (u[i] & 0x0f) | u[i + 8] << 4);
    }
}

/// Writes a block of 256 values.
fn super_block(ty: GgmlType, u: &[u8; SUPER], factors: &Factors, out: &mut [u8]) {
    let Factors { d, dmin, scales, mins } = factors;
    let low = || pack_nibbles(&u.map(|u| u & 0x0f));
    let eight = |all: &[u8; 16]| -> [u8; 8] { std::array::from_fn(|i| all[i] & 0x3f) };
    match ty {
        GgmlType::Q2_K => {
            let packed: [u8; 16] = std::array::from_fn(|i| (scales[i] & 0x0f) | (mins[i] << 4));
            put(out, &[&packed, &pack_two_bits(u), d, dmin]);
        }
        GgmlType::Q3_K => {
            let packed = pack_sixteen(&scales.map(|scale| scale.wrapping_add(32)));
            put(out, &[&third_bits(u), &pack_two_bits(u), &packed, d]);
        }
        GgmlType::Q4_K => put(out, &[d, dmin, &pack_scales(&eight(scales), &eight(mins)), &low()]),
        GgmlType::Q5_K => {
            let mut high = [0u8; 32];
            for (g, u) in u.as_chunks::<32>().0.iter().enumerate() {
                high.iter_mut().zip(u).for_each(|(high, u)| *high |= ((u >> 4) & 1) << g);
            }
            put(out, &[d, dmin, &pack_scales(&eight(scales), &eight(mins)), &high, &low()]);
        }
        GgmlType::Q6_K => {
            let (mut low, mut high) = ([0u8; 128], [0u8; 64]);
            let halves = low.as_chunks_mut::<64>().0.iter_mut().zip(high.as_chunks_mut::<32>().0);
            for ((low, high), u) in halves.zip(u.as_chunks::<128>().0) {
                for i in 0..32 {
                    let [a, b, c, d] = [u[i], u[i + 32], u[i + 64], u[i + 96]];
                    low[i] = (a & 0x0f) | (c << 4);
                    low[i + 32] = (b & 0x0f) | (d << 4);
                    high[i] =
                        ((a >> 4) & 3) | (((b >> 4) & 3) << 2) | (((c >> 4) & 3) << 4) | ((d >> 4) << 6);
                }
            }
            put(out, &[&low, &high, scales, d]);
        }
        GgmlType::TQ1_0 => put(out, &[&pack_trits(u), d]),
        GgmlType::TQ2_0 => put(out, &[&pack_two_bits(u), d]),
        GgmlType::IQ4_XS => {
            let scales = std::array::from_fn(|g| scales[g] as i8);
            pack_iq4_xs(*d, &scales, u, out);
        }
        _ => grid_quants::restore(ty, u, *d, scales, out),
    }
}

/// Writes parts one after another.
#[inline(always)]
fn put(mut out: &mut [u8], parts: &[&[u8]]) {
    for part in parts {
        let (to, rest) = out.split_at_mut(part.len());
        to.copy_from_slice(part);
        out = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;
    use crate::packed::pack_tile;
    use crate::test_bytes;

    #[test]
    fn every_bit_of_every_row_is_restored() {
        let mut next = test_bytes(11);
        let mut tried = 0;
        for ty in GgmlType::ALL.iter().copied().filter(|ty| Layout::of(*ty).is_some()) {
            tried += 1;
            for (blocks, count) in [(1, 1), (1, 16), (2, 7), (3, 16), (5, 15)] {
                let k = blocks * ty.block_len();
                let row_bytes = blocks * ty.block_bytes();
                let mut rows: Vec<u8> = (0..count * row_bytes).map(|_| next()).collect();
                // All bits, and those that two codes of a table could share.
                rows[..row_bytes.min(40)].fill(0xff);
                let last = rows.len() - row_bytes;
                rows[last..].fill(0x88);
                let mut tile = vec![0xaa; Layout::of(ty).unwrap().tile_bytes(k).unwrap()];
                pack_tile(ty, k, &rows, &mut tile);
                let mut found = vec![0x55; rows.len()];
                restore_tile(ty, k, &tile, &mut found);
                if matches!(ty, GgmlType::TQ1_0 | GgmlType::NVFP4) {
                    // Random bytes are not what an encoder writes: they become so, and keep their values.
                    let values = |bytes: &[u8]| -> Vec<Option<u32>> {
                        let mut values = vec![0.0; count * k];
                        decode(ty, bytes, &mut values).unwrap();
                        values.iter().map(|value| (!value.is_nan()).then_some(value.to_bits())).collect()
                    };
                    assert!(values(&found) == values(&rows), "{ty}: {count} rows of {k}");
                    rows = found.clone();
                    pack_tile(ty, k, &rows, &mut tile);
                    restore_tile(ty, k, &tile, &mut found);
                }
                assert!(found == rows, "{ty}: {count} rows of {k}");
            }
        }
        assert_eq!(tried, 23);
    }

    #[test]
    fn any_bytes_are_a_tile() {
        for ty in GgmlType::ALL.iter().copied() {
            let Some(layout) = Layout::of(ty) else { continue };
            let k = 2 * ty.block_len();
            for byte in [0, 0x5a, 0xff] {
                let tile = vec![byte; layout.tile_bytes(k).unwrap()];
                restore_tile(ty, k, &tile, &mut vec![0; 3 * 2 * ty.block_bytes()]);
            }
        }
    }

    #[test]
    fn every_exponent_of_mxfp4_has_its_own_half() {
        for e in 0..=255u8 {
            let half = crate::iquants::half_e8m0(e).to_bits();
            assert_eq!((half & 0xffff, e8m0((half >> 16) as u16)), (0, e));
        }
    }
}
