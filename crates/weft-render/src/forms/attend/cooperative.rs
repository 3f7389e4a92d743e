//! `attend.cooperative`: latent attention over halves by cooperative matrices, whose layout in lanes only the driver knows; and the layout
//! of its tile in workgroup memory.
//!
//! A row's result depends on that row alone: all its products are of the same 16 × 16 matrices in the same order, in every tile. So steps
//! of all sizes have the same bits. It is for GPUs that have such matrices through Vulkan. On an H100, prompts of 512 tokens of
//! GLM-4.7-Flash at a depth of 4,096 are 2.1 times as fast as by lanes, and replies at that depth lose 8.5 % without it
//! (`bench/runs/2026-11-26-vulkan-attention.md`).

pub(crate) mod write;

use weft_kern::{Attend, Format, Kernel, Part, Sizes};
use weft_quant::GgmlType;
use weft_shader::cooperative::{Arrays, FOUR, SIDE};

use crate::forms::attend::units::{MANY_TOKENS, MOST_SPREAD_WORDS, SEEKERS, UNIT};
use crate::forms::checks::Candidate;
use crate::forms::questions::Questions;
use crate::forms::steps;
use crate::forms::words::form;
use crate::gpu::Gpu;
use crate::split::{PLAIN, Split, WARP, number};

/// Lanes of a workgroup.
const LANES: u32 = 256;
pub(crate) const WARPS: u32 = LANES / WARP;

/// Rows per workgroup of the shader that converts queries, and of the last shader, which has one result for each row.
pub(crate) const QUERY_ROWS: u32 = 16;
pub(crate) const RESULT_ROWS: u32 = 4;

/// Positions of a chunk.
pub(crate) const CHUNK: u32 = 64;

/// Rows of tiles with several tokens, each with the relative cost of a tile: µs for each round of workgroups with 512 tokens of 20 heads at
/// a depth of 4,096, on an H100 (`bench/runs/2026-11-26-vulkan-attention.md`).
const MANY_ROWS: [(u32, usize); 4] = [(32, 466), (48, 636), (64, 774), (80, 1185)];

/// The most rows of a tile with one token.
const FEW_ROWS: u32 = SIDE;

/// Neighbouring values of a key that are in workgroup memory at once, the best number first, and the most such pieces of a key.
const PIECES: [u32; 2] = [64, 32];
const MOST_PIECES: u32 = 12;

/// The most columns of values of a warp, and the most that it multiplies at once: fewer where registers hold the sums of many rows.
const MOST_COLUMNS: u32 = 64;
const AT_ONCE: u32 = 32;
const AT_ONCE_OF_MANY: u32 = 16;
const MANY: u32 = 64;

/// Halves of padding between rows, which put eight rows into different banks.
const APART: u32 = 8;

/// A tile, and its layout in the arrays of halves and floats. Offsets among halves are counted in fours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tile {
    /// Its rows, padded to whole matrices.
    pub(crate) rows: u32,
    pub(crate) k_len: u32,
    pub(crate) cols: u32,
    /// Values per piece of a key.
    pub(crate) piece: u32,
}

/// Whether a tile of this many rows has several tokens. Then another shader stores its queries in scratch memory, as halves, because they
/// do not fit in workgroup memory.
pub(crate) const fn is_large(rows: u32) -> bool {
    rows > FEW_ROWS
}

impl Tile {
    pub(crate) fn new(part: &Part, attend: &Attend, split: &Split) -> Tile {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let k_len = number(attend.k_len);
        let piece = PIECES.into_iter().find(|piece| k_len.is_multiple_of(*piece)).unwrap_or(1);
        Tile { rows: split.rows.next_multiple_of(SIDE), k_len, cols: number(part.cols), piece }
    }

    /// Whether it is [large](is_large).
    pub(crate) const fn is_large(&self) -> bool {
        is_large(self.rows)
    }

    pub(crate) const fn pieces(&self) -> u32 {
        self.k_len / self.piece
    }

    /// Columns of values per warp, and the number of passes in which the warp multiplies them.
    pub(crate) const fn warp_cols(&self) -> u32 {
        self.cols / WARPS
    }

    pub(crate) const fn passes(&self) -> u32 {
        self.warp_cols().div_ceil(if self.rows > MANY { AT_ONCE_OF_MANY } else { AT_ONCE })
    }

    /// Columns that all warps multiply in a pass.
    pub(crate) const fn pass_cols(&self) -> u32 {
        self.cols / self.passes()
    }

    /// The stride, in fours, of rows of weights. The next three are those of whole queries, of pieces of queries and keys, and of values.
    pub(crate) const fn weight_stride(&self) -> u32 {
        (CHUNK + APART) / FOUR
    }

    pub(crate) const fn query_stride(&self) -> u32 {
        (self.k_len + APART) / FOUR
    }

    pub(crate) const fn piece_stride(&self) -> u32 {
        (self.piece + APART) / FOUR
    }

    pub(crate) const fn value_stride(&self) -> u32 {
        (self.pass_cols() + APART) / FOUR
    }

    /// The stride of rows of scores, in floats.
    pub(crate) const fn score_stride(&self) -> u32 {
        CHUNK + 4
    }

    /// The offset of the queries: whole queries after the weights, or a piece of them, which weights overwrite later.
    pub(crate) const fn queries(&self) -> u32 {
        if self.is_large() { 0 } else { self.rows * self.weight_stride() }
    }

    /// The offset of a piece of keys, after the queries.
    pub(crate) const fn keys(&self) -> u32 {
        self.queries() + self.rows * if self.is_large() { self.piece_stride() } else { self.query_stride() }
    }

    /// The offset of the values of 16 positions, with the next 16 after them. They overwrite keys, but not weights.
    pub(crate) const fn values(&self) -> u32 {
        if self.is_large() { self.rows * self.weight_stride() } else { self.keys() }
    }

    /// The length of the values of 16 positions, in fours.
    pub(crate) const fn values_apart(&self) -> u32 {
        SIDE * self.value_stride()
    }

    /// Matrices of sums that each warp passes to its lanes at once.
    pub(crate) const fn passed_on(&self) -> u32 {
        if self.is_large() { 2 } else { 1 }
    }

    pub(crate) fn arrays(&self) -> Arrays {
        let keys = self.keys() + CHUNK * self.piece_stride();
        Arrays {
            fours: keys.max(self.values() + 2 * self.values_apart()),
            floats: (self.rows * self.score_stride()).max(WARPS * SIDE * SIDE * self.passed_on()),
        }
    }

    /// An upper bound of its bytes, with spare words for the state of rows, tokens and positions.
    fn bytes(&self) -> u64 {
        u64::from(self.arrays().bytes()) + 4 * u64::from(14 * self.rows + 2 * CHUNK + 64)
    }
}

/// Whether cooperative matrices can compute this attention: all heads share keys, as in latent attention, without a window or lists, and
/// the state is halves.
fn suits(kernel: &Kernel, part: &Part, attend: &Attend, (lanes, gpu): (u32, &Gpu)) -> bool {
    let Attend { q, k, v, .. } = attend;
    let format = |param: usize| kernel.params[param].format;
    let units = [k, v].iter().all(|cached| {
        let all = [cached.offset, cached.row_stride, cached.head_stride];
        all.iter().all(|n| n.is_multiple_of(UNIT as usize))
    });
    let fours = |n: &usize| n.is_multiple_of(4);
    let tile = Tile::new(part, attend, &Split { rows: FEW_ROWS, ..PLAIN });
    // A warp has whole matrices of columns, the same number in each pass.
    let columns = tile.cols.is_multiple_of(WARPS * SIDE)
        && tile.warp_cols() <= MOST_COLUMNS
        && (tile.warp_cols() == SIDE || tile.warp_cols().is_multiple_of(AT_ONCE));
    gpu.features.cooperative
        && attend.kv_heads == 1
        && gpu.features.quads
        && gpu.word_stores
        && gpu.subgroup == Some(WARP)
        && lanes == LANES
        && [k, v].iter().all(|cached| format(cached.param) == Format::Ggml(GgmlType::F16))
        && units
        && PIECES.contains(&tile.piece)
        && tile.pieces() <= MOST_PIECES
        && columns
        && attend.window.is_none()
        && attend.list.is_none()
        && attend.sinks.is_none()
        && format(q.param) == Format::Ggml(GgmlType::F32)
        && q.step == 1
        && fours(&q.offset)
        && q.strides.iter().all(fours)
}

/// The numbers of attention by cooperative matrices, if they suit it and a tile fits.
pub(crate) fn split(
    kernel: &Kernel,
    part: &Part,
    max: &Sizes,
    (lanes, gpu): (u32, &Gpu),
    split: Split,
) -> Option<Split> {
    let attend = part.attention()?;
    if !suits(kernel, part, attend, (lanes, gpu)) {
        return None;
    }
    let fits =
        |rows| Tile::new(part, attend, &Split { rows, ..split }).bytes() <= u64::from(gpu.shared_bytes);
    // Either steps of all sizes use this form, or none does: their bits differ from those of other forms.
    if !MANY_ROWS.iter().all(|(rows, _)| fits(*rows)) || !fits(FEW_ROWS) {
        return None;
    }
    let alike = Split { along_first: false, reduce: 1, upcast: 1, chunk: CHUNK, matrix: true, ..split };
    let tokens = part.rows.first().map_or(1, |rows| rows.eval(max));
    let few = (1..=FEW_ROWS).rev().find(|rows| attend.heads.is_multiple_of(*rows as usize))?;
    let rows: usize = part.rows.iter().map(|rows| rows.eval(max)).product();
    if tokens >= MANY_TOKENS {
        // The last round of workgroups may leave most of the GPU idle, so rounds are counted whole.
        let processors = (gpu.processors as usize).max(1);
        let takes = |(of_tile, each): &(u32, usize)| {
            rows.div_ceil(*of_tile as usize).div_ceil(processors).saturating_mul(*each)
        };
        let (many, _) = MANY_ROWS.into_iter().min_by_key(takes)?;
        return Some(Split { rows: many, spread: false, ..alike });
    }
    let chunks = attend.most_positions(max.pages).div_ceil(CHUNK as usize);
    let words = rows.saturating_mul(chunks).saturating_mul(part.cols + FOUR as usize);
    // If tiles leave half of the GPU idle, each chunk has a workgroup.
    let idle = 2 * rows.div_ceil(few as usize) <= gpu.processors as usize;
    Some(Split { rows: few, spread: idle && chunks > 1 && words <= MOST_SPREAD_WORDS, ..alike })
}

form! {
    /// Attention by cooperative matrices.
    AttendCooperative "attend.cooperative"
    numbers {
        /// Rows of a tile: heads of a token, or rows of several tokens.
        rows,
    }
    flags {
        /// Whether each chunk has its own workgroup.
        spread,
    }
}

impl Questions for AttendCooperative {
    fn suits(&self, part: &Part) -> bool {
        part.attention().is_some()
    }

    fn new(split: &Split) -> AttendCooperative {
        AttendCooperative { rows: split.rows, spread: split.spread }
    }

    fn split(&self, part: &Part) -> Split {
        let AttendCooperative { rows, spread } = *self;
        Split { rows, width: number(part.cols), chunk: CHUNK, spread, matrix: true, ..PLAIN }
    }

    fn check(&self, of: &Candidate<'_>) -> Result<(), String> {
        let Some(attend) = of.part.attention() else { return Ok(()) };
        if !of.gpu.features.cooperative || !suits(of.kernel, of.part, attend, (of.lanes, of.gpu)) {
            let lanes = of.lanes;
            return Err(format!("attention that cooperative matrices of {lanes} lanes cannot compute"));
        }
        let AttendCooperative { rows, spread } = *self;
        let few = rows <= FEW_ROWS && attend.heads.is_multiple_of(rows as usize);
        let many = MANY_ROWS.iter().any(|(many, _)| rows == *many) && !spread;
        if !few && !many {
            let heads = attend.heads;
            return Err(format!(
                "rows must divide the {heads} heads, up to {FEW_ROWS}, or be 32, 48, 64 or 80"
            ));
        }
        Ok(())
    }

    fn smaller(&self, part: &Part) -> Option<Split> {
        let rows = match self.rows {
            ..=1 => return None,
            48 | 80 => self.rows - 16,
            rows => rows / 2,
        };
        Some(AttendCooperative { rows, ..*self }.split(part))
    }

    fn neighbours(&self, part: &Part, rows: usize) -> Vec<Split> {
        steps::of_tiles(rows, &self.split(part))
    }

    fn rounds_queries(&self) -> bool {
        true
    }
}

// Each lane of a row has one unit of its weights.
const _: () = assert!(CHUNK == SEEKERS * UNIT);
