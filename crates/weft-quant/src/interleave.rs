//! Interleaves the numbers of rows, word by word, for formats that store them nearly as tiles do.
//!
//! [`pack_tile`](crate::packed::pack_tile) works for every format by unpacking each row. Here the words of a tile are computed from
//! those of the file, without unpacking: several times faster, and that decides how long a model takes to load when it is packed
//! first.

use crate::GgmlType;

/// The rows of a tile.
pub const ROWS: usize = 16;

/// The bytes of a vector: a word of each row.
const VECTOR: usize = 4 * ROWS;

const LOW: u32 = 0x0f0f_0f0f;
const ONES: u32 = 0x0101_0101;
const TWOS: u32 = 0x0303_0303;

/// Puts the numbers of whole rows of `row_bytes` bytes in their places in a tile. Returns false, and does nothing, if the format's layout
/// differs too much from that of tiles.
pub(crate) fn interleave(ty: GgmlType, row_bytes: usize, rows: &[u8], numbers: &mut [u8]) -> bool {
    // A block, and the words that its numbers take in a tile.
    match ty {
        // As in a tile, a byte of these holds columns i and i + 16 of 32.
        GgmlType::Q4_0 | GgmlType::IQ4_NL => {
            blocks(row_bytes, rows, numbers, |b: &[u8; 18]| words::<4>(&b[2..]))
        }
        GgmlType::Q4_1 => blocks(row_bytes, rows, numbers, |b: &[u8; 20]| words::<4>(&b[4..])),
        GgmlType::MXFP4 => blocks(row_bytes, rows, numbers, |b: &[u8; 17]| words::<4>(&b[1..])),
        GgmlType::IQ4_XS => blocks(row_bytes, rows, numbers, |b: &[u8; 136]| words::<32>(&b[8..])),
        GgmlType::Q8_0 => {
            blocks(row_bytes, rows, numbers, |b: &[u8; 34]| words::<8>(&b[2..]).map(|w| w ^ (0x80 * ONES)));
        }
        GgmlType::Q4_K => blocks(row_bytes, rows, numbers, q4_k),
        GgmlType::Q5_K => blocks(row_bytes, rows, numbers, q5_k),
        GgmlType::Q6_K => blocks(row_bytes, rows, numbers, q6_k),
        _ => return false,
    }
    true
}

/// Writes the words of each block of each row to their places.
#[inline(always)]
fn blocks<const BLOCK: usize, const WORDS: usize>(
    row_bytes: usize,
    rows: &[u8],
    numbers: &mut [u8],
    words: impl Fn(&[u8; BLOCK]) -> [u32; WORDS],
) {
    // All rows of a block before the next block: what they write is then in the nearest cache.
    for (i, out) in numbers.chunks_exact_mut(WORDS * VECTOR).enumerate() {
        let out: &mut [[u8; 4]] = out.as_chunks_mut().0;
        let own = rows.chunks_exact(row_bytes).map(|row| &row.as_chunks::<BLOCK>().0[i]);
        for (row, block) in own.enumerate().take(ROWS) {
            for (w, word) in words(block).into_iter().enumerate() {
                out[w * ROWS + row] = word.to_le_bytes();
            }
        }
    }
}

/// The first words of some bytes.
#[inline(always)]
fn words<const N: usize>(bytes: &[u8]) -> [u32; N] {
    let words: &[[u8; 4]] = bytes.as_chunks().0;
    std::array::from_fn(|i| u32::from_le_bytes(words[i]))
}

/// `d, dmin, scales: [u8; 12], qs: [u8; 128]`; 32 bytes of `qs` have 32 columns in their low nibbles, and the next 32 in the high ones.
#[inline(always)]
fn q4_k(block: &[u8; 144]) -> [u32; 32] {
    let qs: [u32; 32] = words(&block[16..]);
    std::array::from_fn(|i| nibbles(&qs, i / 4, i % 4))
}

/// As Q4_K, with `qh: [u8; 32]` before `qs`; bit `g` of its bytes belongs to columns `32 g` and on.
#[inline(always)]
fn q5_k(block: &[u8; 176]) -> [u32; 40] {
    let (qh, qs): ([u32; 8], [u32; 32]) = (words(&block[16..]), words(&block[48..]));
    std::array::from_fn(|i| match (i / 5, i % 5) {
        (group, 4) => {
            let bit = |quad: usize| ((qh[quad] >> group) & ONES) << quad;
            bit(0) | bit(1) | bit(2) | bit(3) | bit(4) | bit(5) | bit(6) | bit(7)
        }
        (group, vector) => nibbles(&qs, group, vector),
    })
}

/// Vector `vector` of a group of 32 columns: columns i and i + 16 in a byte.
#[inline(always)]
fn nibbles(qs: &[u32; 32], group: usize, vector: usize) -> u32 {
    let [near, far] = [0, 4].map(|quad| qs[group / 2 * 8 + quad + vector]);
    if group.is_multiple_of(2) { (near & LOW) | (far & LOW) << 4 } else { (near >> 4 & LOW) | (far & !LOW) }
}

/// `ql: [u8; 128], qh: [u8; 64], scales: [i8; 16], d`; 64 bytes of `ql` and 32 of `qh` are 128 columns.
#[inline(always)]
fn q6_k(block: &[u8; 210]) -> [u32; 48] {
    let (ql, qh): ([u32; 32], [u32; 16]) = (words(&block[..]), words(&block[128..]));
    std::array::from_fn(|i| {
        // Groups 0 and 1 of a half are in the low nibbles, 2 and 3 in the high ones.
        let (half, group, word) = (i / 24, i / 6 % 4, i % 6);
        let ql = &ql[half * 16 + group % 2 * 8..][..8];
        let qh = &qh[half * 8..][..8];
        if word < 4 {
            let low = |quad: usize| ql[quad] >> (group / 2 * 4) & LOW;
            low(word) | low(word + 4) << 4
        } else {
            let two = |quad: usize| (qh[quad] >> (2 * group)) & TWOS;
            let first = (word - 4) * 4;
            two(first) | two(first + 1) << 2 | two(first + 2) << 4 | two(first + 3) << 6
        }
    })
}
