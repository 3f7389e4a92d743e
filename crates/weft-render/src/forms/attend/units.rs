//! `attend.units`: attention over halves on matrix units (CUDA's `mma.m16n8k16`), and the layout of its tile in workgroup memory.
//!
//! A workgroup has some heads of a token that share their keys, or rows of many tokens if these have no lists of positions. It stages a
//! chunk of keys in workgroup memory; warps score all rows with it, lanes turn scores into weights, and warps multiply these by the values.
//! It is for GPUs of compute capability 7.5 and later. With it and `dot.units`, prompts of 512 tokens at a depth of 4,096 went from 1,041
//! to 6,303 tokens/s on an H200 (`bench/runs/2026-11-22-cuda-prompts.md`).
//!
//! The use of matrix units, the length of chunks and the number of warps that share a score depend on the state and the GPU alone, so that
//! steps of all sizes add up in the same order.

pub(crate) mod division;
pub(crate) mod scores;
pub(crate) mod stage;
pub(crate) mod write;

use weft_kern::{Attend, Format, Kernel, Part, Sizes};
use weft_quant::GgmlType;
pub(crate) use weft_shader::warpgroup::UNIT_WORDS;
use weft_shader::warpgroup::{self, WARPGROUP};

use crate::forms::checks::{self, Candidate};
use crate::forms::questions::Questions;
use crate::forms::steps;
use crate::forms::words::form;
use crate::gpu::Gpu;
use crate::split::{MATRIX_ROWS, PLAIN, Split, WARP, number};

/// Values of a key that matrix units multiply at once.
pub(crate) const STEP: u32 = 16;

/// Positions of a chunk.
const CHUNK: u32 = 64;

/// The context lengths at which decode attention changes its schedule, ascending. The first is one chunk, which needs no launch that
/// combines chunks: 5 % of a token on an H100; two chunks without that launch take as long as with it
/// (`bench/runs/2026-11-28-cuda-results.md`). The second is the length at which each chunk can still have two workgroups on this many
/// multiprocessors. In the text for longer contexts, workgroups have all heads of GLM-4.7-Flash and several chunks; with it a token at
/// 4,096 takes 4 to 6 % longer (`bench/runs/2026-11-27-cuda-depth.md`).
pub const fn short_contexts(processors: u32) -> [usize; 2] {
    let chunk = CHUNK as usize;
    [chunk, chunk * (processors as usize / 2)]
}

/// The most warps that share a score.
const MOST_SHARES: u32 = 4;

/// Chunks get workgroups of their own if there are this many multiprocessors for each tile, and at most this many words of results of
/// chunks.
const SPREAD_TILES: usize = 4;
pub(crate) const MOST_SPREAD_WORDS: usize = 64 << 20;

/// Rows of a tile of many tokens.
const ROWS: u32 = 32;

/// The fewest rows of a tile whose chunks have their own workgroups, unless heads share no keys. With one row, 3 to 6 chunks of
/// GLM-4.7-Flash were 60 to 120 workgroups, and a reply was 10 to 14 % slower; from 2 to 10 rows the time is the same
/// (`bench/runs/2026-11-27-cuda-room.md`).
const LEAST_SPREAD: u32 = 2;

/// The fewest tokens of a step whose tiles have rows of several tokens.
pub(crate) const MANY_TOKENS: usize = 128;

/// The most sums of values per lane.
const MOST_SUMS: u32 = 128;

/// Lanes that turn the scores of a row into weights.
pub(crate) const SEEKERS: u32 = 8;

/// Values that a lane loads at once.
pub(crate) const UNIT: u32 = 8;

/// The layout of a tile in workgroup memory. Rows that units load are an odd number of units apart, which puts eight of them into different
/// banks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tile {
    /// Its rows, padded to the number that units multiply.
    pub(crate) rows: u32,
    pub(crate) cols: u32,
    pub(crate) chunk: u32,
    /// Warps that share a score.
    pub(crate) reduce: u32,
    /// Units of a key in the state, and the steps in which matrix units multiply them.
    pub(crate) key_units: u32,
    pub(crate) steps: u32,
    /// Whether values are the beginning of keys.
    pub(crate) latent: bool,
    /// Whether warpgroups multiply. Then keys and queries are stored in blocks, and there are two chunks of keys.
    pub(crate) warpgroups: bool,
}

/// The stride in words of rows of this many units: an odd number of units.
const fn row_words(units: u32) -> u32 {
    (units | 1) * UNIT_WORDS
}

impl Tile {
    pub(crate) fn new(part: &Part, attend: &Attend, split: &Split) -> Tile {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let (k_len, cols) = (number(attend.k_len), number(part.cols));
        let (k, v) = (&attend.k, &attend.v);
        let same_rows = (k.param, k.offset, k.row_stride) == (v.param, v.offset, v.row_stride);
        Tile {
            rows: split.rows.next_multiple_of(MATRIX_ROWS),
            cols,
            chunk: split.chunk,
            reduce: split.reduce,
            key_units: k_len / UNIT,
            steps: k_len.div_ceil(STEP),
            warpgroups: split.rows == warpgroup::ROWS,
            latent: same_rows && (attend.kv_heads == 1 || k.head_stride == v.head_stride) && cols <= k_len,
        }
    }

    /// The stride in words of queries, and of keys.
    pub(crate) const fn key_stride(&self) -> u32 {
        row_words(self.steps * (STEP / UNIT))
    }

    /// The stride in words of the values of positions.
    pub(crate) const fn value_stride(&self) -> u32 {
        if self.latent { self.key_stride() } else { row_words(self.cols / UNIT) }
    }

    /// The stride in words of rows of weights, which are halves.
    pub(crate) const fn weight_stride(&self) -> u32 {
        row_words(self.chunk / UNIT)
    }

    /// The stride in words of rows of scores.
    pub(crate) const fn score_stride(&self) -> u32 {
        self.chunk + UNIT_WORDS * 2
    }

    /// Words of a chunk's keys and values, which the results overwrite.
    pub(crate) fn staged_words(&self) -> u32 {
        if self.warpgroups {
            let words = self.key_words() + self.value_units() * UNIT_WORDS;
            return (2 * self.chunk * words).max(self.rows * self.result_stride());
        }
        let values = if self.latent { 0 } else { self.value_stride() };
        (self.chunk * (self.key_stride() + values)).max(self.rows * self.cols)
    }

    /// The stride in words of the results of warpgroups: lanes store pairs of columns of eight rows at once, and four rows are in different
    /// banks.
    pub(crate) const fn result_stride(&self) -> u32 {
        self.cols + 2 * UNIT_WORDS
    }

    /// Words of the queries, of the scores, and of the weights.
    pub(crate) const fn query_words(&self) -> u32 {
        self.rows * if self.warpgroups { self.key_words() } else { self.key_stride() }
    }

    /// Words of a key.
    pub(crate) const fn key_words(&self) -> u32 {
        self.key_units * UNIT_WORDS
    }

    /// Units of a position's values in workgroup memory, in addition to its key.
    pub(crate) const fn value_units(&self) -> u32 {
        if self.latent { 0 } else { self.cols / UNIT }
    }

    /// Pieces of values for which a lane of two warpgroups has sums.
    pub(crate) const fn pieces(&self) -> u32 {
        self.cols / (2 * warpgroup::COLUMNS)
    }

    pub(crate) const fn score_words(&self) -> u32 {
        if self.warpgroups {
            return 0;
        }
        self.reduce * self.rows * self.score_stride()
    }

    pub(crate) const fn weight_words(&self) -> u32 {
        self.rows * if self.warpgroups { self.chunk / 2 } else { self.weight_stride() }
    }

    /// An upper bound of the tile's bytes, with a few spare words for the state of each row and position.
    fn bytes(&self) -> u64 {
        let [staged, query, score, weight] =
            [self.staged_words(), self.query_words(), self.score_words(), self.weight_words()].map(u64::from);
        let of_row = if self.warpgroups { 8 } else { 10 };
        4 * (staged + query + score + weight + u64::from(of_row * self.rows + 2 * self.chunk + 64))
    }
}

/// Whether matrix units can compute this attention: it is over halves, in rows of whole units.
pub(crate) fn suits(kernel: &Kernel, part: &Part, attend: &Attend, gpu: &Gpu) -> bool {
    let Attend { q, k, v, .. } = attend;
    let halves = |param: usize| kernel.params[param].format == Format::Ggml(GgmlType::F16);
    let units = [k, v].iter().all(|cached| {
        let all = [cached.offset, cached.row_stride, cached.head_stride];
        all.iter().all(|n| n.is_multiple_of(UNIT as usize))
    });
    let fours = |n: &usize| n.is_multiple_of(UNIT_WORDS as usize);
    gpu.features.matrix_halves
        && gpu.features.quads
        && gpu.subgroup == Some(WARP)
        && halves(k.param)
        && halves(v.param)
        && units
        && attend.k_len.is_multiple_of(UNIT as usize)
        && part.cols.is_multiple_of(STEP as usize)
        && kernel.params[q.param].format == Format::Ggml(GgmlType::F32)
        && q.step == 1
        && fours(&q.offset)
        && q.strides.iter().all(fours)
}

/// The numbers of attention on matrix units, if they suit it and a tile fits.
pub(crate) fn on_matrix(
    kernel: &Kernel,
    part: &Part,
    max: &Sizes,
    gpu: &Gpu,
    lanes: u32,
    split: Split,
) -> Option<Split> {
    let attend = part.attention()?;
    if !suits(kernel, part, attend, gpu) || lanes < MOST_SHARES * WARP {
        return None;
    }
    let steps = u32::try_from(attend.k_len).ok()?.div_ceil(STEP);
    let chunks = attend.most_positions(max.pages).div_ceil(CHUNK as usize);
    let rows: usize = part.rows.iter().map(|rows| rows.eval(max)).product();
    let least = Split {
        spread: split.spread || is_worth_spreading(part, attend, (rows, chunks), gpu),
        rows: 1,
        along_first: false,
        reduce: MOST_SHARES.min(1 << steps.trailing_zeros()),
        upcast: 1,
        chunk: CHUNK,
        matrix: true,
        ..split
    };
    let fits = |rows: u32| {
        let split = Split { rows, ..least };
        Tile::new(part, attend, &split).bytes() <= u64::from(gpu.most_shared_bytes)
            && sums(part, &split, lanes) <= MOST_SUMS
    };
    if !fits(1) {
        return None;
    }
    // Heads of a token that share keys, or rows of several tokens in long steps; fewer where there are few workgroups.
    let group = u32::try_from(attend.heads / attend.kv_heads.max(1)).ok()?.max(1);
    let tokens = part.rows.first().map_or(1, |rows| rows.eval(max));
    // Each token has a list of its own.
    let rows_of_tokens = tokens >= MANY_TOKENS && !least.spread && attend.list.is_none();
    let several = attend.kv_heads == 1 && rows_of_tokens;
    let times = if least.spread { chunks } else { 1 };
    // The rows of a tile are then the tokens of one head.
    let apart = attend.kv_heads > 1 && rows_of_tokens;
    let keeps_busy = |rows: u32| {
        let tiles = tokens.saturating_mul(attend.heads).div_ceil(rows as usize);
        tiles.saturating_mul(times) >= gpu.processors as usize
    };
    let can = |rows: &u32| fits(*rows) && (several || group.is_multiple_of(*rows));
    let by_warpgroups = Split { rows: warpgroup::ROWS, along_first: apart, ..least };
    if (several || apart) && suits_warpgroups(part, attend, &by_warpgroups, (lanes, gpu)) {
        return Some(by_warpgroups);
    }
    if let Some(rows) = [ROWS, MATRIX_ROWS].into_iter().find(|rows| apart && fits(*rows)) {
        return Some(Split { rows, along_first: true, ..least });
    }
    // In a short step, as few rows as let all workgroups run at once, because fewer rows take less time before and after the products.
    let one_wave = |rows: &u32| {
        let tiles = tokens.saturating_mul(attend.heads).div_ceil(*rows as usize);
        tiles.saturating_mul(times) <= gpu.processors as usize
    };
    let least_rows = if least.spread { LEAST_SPREAD } else { 1 };
    let fewest = (least_rows..=MATRIX_ROWS).filter(can).find(one_wave);
    if let Some(rows) = fewest {
        return Some(Split { rows, ..least });
    }
    let best = (1..=ROWS).rev().filter(can).find(|rows| keeps_busy(*rows) || *rows <= MATRIX_ROWS);
    Some(Split { rows: best.unwrap_or(1), ..least })
}

/// Whether warpgroups can compute this attention, which takes whole blocks.
fn suits_warpgroups(part: &Part, attend: &Attend, split: &Split, (lanes, gpu): (u32, &Gpu)) -> bool {
    let tile = Tile::new(part, attend, split);
    gpu.features.warpgroups
        && !split.spread
        && (attend.kv_heads == 1 || split.along_first)
        && attend.window.is_none()
        && attend.list.is_none()
        && attend.k_len.is_multiple_of(warpgroup::COLUMNS as usize)
        && split.chunk == warpgroup::COLUMNS
        && split.reduce <= MOST_SHARES
        && lanes == 2 * WARPGROUP
        && tile.cols.is_multiple_of(2 * warpgroup::COLUMNS)
        && tile.pieces() * warpgroup::sums(warpgroup::COLUMNS) as u32 <= MOST_SUMS
        && tile.bytes() <= u64::from(gpu.most_shared_bytes)
}

/// Whether this many rows leave most of the GPU idle unless each chunk has its own workgroups, and the results of all chunks fit in memory.
fn is_worth_spreading(part: &Part, attend: &Attend, (rows, chunks): (usize, usize), gpu: &Gpu) -> bool {
    let tiles = rows.div_ceil(attend.heads / attend.kv_heads.max(1));
    let words = rows.saturating_mul(chunks).saturating_mul(part.cols + UNIT_WORDS as usize);
    chunks > 2 && SPREAD_TILES * tiles <= gpu.processors as usize && words <= MOST_SPREAD_WORDS
}

/// Sums of values per lane.
fn sums(part: &Part, split: &Split, lanes: u32) -> u32 {
    let pairs = u32::try_from(part.cols).unwrap_or(u32::MAX).div_ceil(STEP);
    pairs.div_ceil(lanes / WARP) * 8 * (split.rows.div_ceil(MATRIX_ROWS))
}

form! {
    /// Attention on matrix units.
    AttendUnits "attend.units"
    numbers {
        /// Rows of a tile: heads, or rows of several tokens.
        rows,
        /// Warps that add up a score; a power of two.
        reduce,
        /// Positions of a chunk.
        chunk,
    }
    flags {
        /// Whether the rows of a tile are tokens, for one head.
        apart,
        /// Whether each chunk has its own workgroup.
        spread,
    }
}

impl Questions for AttendUnits {
    fn suits(&self, part: &Part) -> bool {
        part.attention().is_some()
    }

    fn new(split: &Split) -> AttendUnits {
        let Split { rows, reduce, chunk, along_first: apart, spread, .. } = *split;
        AttendUnits { rows, reduce, chunk, apart, spread }
    }

    fn split(&self, part: &Part) -> Split {
        let AttendUnits { rows, reduce, chunk, apart, spread } = *self;
        let width = number(part.cols);
        Split { rows, along_first: apart, width, reduce, chunk, spread, matrix: true, ..PLAIN }
    }

    fn check(&self, of: &Candidate<'_>) -> Result<(), String> {
        checks::variables(self.rows, 1)?;
        if self.rows == warpgroup::ROWS {
            return Err(format!("{} rows are for `attend.warpgroups`", self.rows));
        }
        check(of, &self.split(of.part))
    }

    fn smaller(&self, part: &Part) -> Option<Split> {
        (self.rows > 1).then(|| AttendUnits { rows: self.rows / 2, ..*self }.split(part))
    }

    fn neighbours(&self, part: &Part, rows: usize) -> Vec<Split> {
        steps::of_tiles(rows, &self.split(part))
    }

    fn rounds_queries(&self) -> bool {
        true
    }
}

/// Checks attention on matrix units or by warpgroups.
///
/// # Errors
/// The rule that is broken.
pub(crate) fn check(of: &Candidate<'_>, split: &Split) -> Result<(), String> {
    let Candidate { kernel, part, lanes, gpu } = *of;
    let Some(attend) = part.attention() else { return Ok(()) };
    if gpu.features.cooperative || !suits(kernel, part, attend, gpu) {
        return Err("attention that matrix units cannot compute".into());
    }
    let tile = Tile::new(part, attend, split);
    let warps = lanes / WARP;
    if !lanes.is_multiple_of(WARP)
        || split.chunk == 0
        || !split.chunk.is_multiple_of(2 * STEP)
        || split.reduce > warps
        || !tile.steps.is_multiple_of(split.reduce)
        || sums(part, split, lanes) > MOST_SUMS
    {
        return Err(format!(
            "the {warps} warps of {lanes} lanes cannot share {} steps of {STEP} values and chunks of {} positions",
            tile.steps, split.chunk
        ));
    }
    if tile.warpgroups && !suits_warpgroups(part, attend, split, (lanes, gpu)) {
        return Err("attention that warpgroups cannot compute".into());
    }
    let group = attend.heads / attend.kv_heads.max(1);
    let within = group.is_multiple_of(split.rows as usize);
    if attend.list.is_some() && split.along_first {
        return Err("the rows of a tile must be of one token, which has a list of its own".into());
    }
    if !within && (attend.list.is_some() || split.spread || attend.kv_heads > 1 && !split.along_first) {
        return Err(format!("rows {} must divide the {group} heads that share keys", split.rows));
    }
    Ok(())
}
