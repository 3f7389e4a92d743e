//! Chooses the numbers of an indexer, and the scratch memory of workgroups that take tokens in turn.
//!
//! The lanes that share a score, and whether matrix units compute it, decide the order of its sum. Both depend on the part and the GPU
//! alone.

use weft_kern::{Format, Indexer, Kernel, Part, Sizes};
use weft_quant::GgmlType;

use crate::forms::indexer::memory::{HELD, slice};
use crate::forms::indexer::units;
use crate::gpu::Gpu;
use crate::split::{PLAIN, Split, WARP, below, number};

/// The most lanes that share a score.
const MOST_SHARES: usize = 8;

/// The most tokens of a step in which each chunk of positions has a workgroup. With more, tokens alone keep a GPU busy.
const FEW_TOKENS: usize = 64;

/// The most words of scratch memory for the scores of a step.
const MOST_WORDS: u64 = 16 << 20;

/// The most workgroups that take tokens in turn: enough for every GPU.
const MOST_GROUPS: u64 = 512;

/// The most tokens of a step whose choices are narrowed. With more, tokens alone keep a GPU busy.
const FEW_CHOICES: usize = 8;

/// Positions that a lane scores at a time: few where chunks have workgroups, because a short context has few chunks.
const FEW_POSITIONS: usize = 2;
const MANY_POSITIONS: usize = 4;

/// The numbers of an indexer in steps of sizes up to `max`.
pub(crate) fn split(
    (kernel, part): (&Kernel, &Part),
    indexer: &Indexer,
    max: &Sizes,
    gpu: &Gpu,
    lanes: usize,
) -> Split {
    let pieces = match kernel.params[indexer.k.param].format {
        Format::Ggml(GgmlType::F16 | GgmlType::BF16) if gpu.features.quads => indexer.k_len / 8,
        Format::Ggml(GgmlType::F16 | GgmlType::BF16) => indexer.k_len / 2,
        Format::Ggml(ty) if ty.is_quantised() => indexer.k_len / 4,
        _ => indexer.k_len,
    };
    let matrix = lanes.is_multiple_of(WARP as usize) && units::suits(kernel, indexer, gpu);
    let reduce = match matrix {
        true => units::SHARES as usize,
        false => MOST_SHARES.min(below(pieces)).min(together(gpu, number(lanes)) as usize),
    };
    let positions = (indexer.most_positions(max.pages) / indexer.pool) as u64;
    let words = (max.tokens as u64).saturating_mul(positions);
    let spread = scores(part, indexer, max) && max.tokens <= FEW_TOKENS && words <= MOST_WORDS;
    let narrow = spread
        && max.tokens <= FEW_CHOICES
        && positions > u64::from(HELD) * lanes as u64
        && words.saturating_mul(4) <= MOST_WORDS
        && slice(positions, number(lanes)).is_some();
    let upcast = if spread { FEW_POSITIONS } else { MANY_POSITIONS };
    let chunk = lanes / reduce * upcast;
    Split {
        width: number(part.cols),
        reduce: number(reduce),
        upcast: number(upcast),
        chunk: number(chunk),
        spread,
        narrow,
        matrix,
        ..PLAIN
    }
}

/// Lanes that can exchange their shares of a score: a power of two.
pub(crate) fn together(gpu: &Gpu, lanes: u32) -> u32 {
    gpu.subgroup.filter(|n| n.is_power_of_two()).map_or(1, |n| n.min(lanes))
}

/// Whether any token of a step of sizes up to `max` may see more positions than are chosen.
pub(crate) fn scores(part: &Part, indexer: &Indexer, max: &Sizes) -> bool {
    indexer.most_positions(max.pages) > part.cols
}

/// The number of workgroups that take tokens in turn, if each needs this many words of scratch memory.
pub(crate) fn in_turn(tokens: u64, words: u64) -> u32 {
    tokens.min(MOST_GROUPS).min(MOST_WORDS / words.max(1)).max(1) as u32
}
