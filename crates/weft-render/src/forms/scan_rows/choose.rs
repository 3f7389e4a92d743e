//! Chooses the numbers of a scan.
//!
//! A lane has whole fours of a head's state, or single values, for one of `reduce` shares of a sum. The number of shares depends on the
//! length of the sum alone, so bits do not depend on the step. `upcast` rows form a batch.

use weft_kern::{Part, Recurrence, Scan, ScanRule, Sizes};

use crate::gpu::Gpu;
use crate::split::Split;

/// The most rows per batch.
const MOST_ROWS: usize = 16;

/// The most tokens of a step in which a workgroup runs the row programs of all rows that it walks. In longer steps it would run one row
/// program after another, so a second shader runs them all at once.
const FEW_TOKENS: usize = 16;

/// Rows per workgroup in longer steps. In most of these rows no sequence begins.
const TILE: u32 = 16;

/// The most lanes that share a sum.
const MOST_SHARES: usize = 8;

/// The numbers of a scan in steps of sizes up to `max`.
pub(crate) fn split(part: &Part, scan: &Scan, max: &Sizes, gpu: &Gpu, lanes: usize) -> Split {
    let rows = max.tokens.clamp(1, MOST_ROWS);
    let (rows, reduce) = match &scan.rule {
        ScanRule::Convolution { taps, .. } => (rows.min(taps - 1), 1),
        ScanRule::Decay { .. } => (rows, 1),
        ScanRule::Delta(delta) => (rows, shares(delta.inner, gpu).min(lanes)),
    };
    let parts = matches!(scan.rule, ScanRule::Delta(_)) && max.tokens > FEW_TOKENS;
    let width = if parts { part.cols.min(lanes / reduce) } else { part.cols };
    Split {
        rows: if parts { TILE } else { 1 },
        along_first: parts,
        width: number(width),
        reduce: number(reduce),
        upcast: 1 << rows.ilog2(),
        chunk: u32::from(parts),
        spread: parts,
        matrix: false,
        panels: false,
        picked: 0,
        narrow: false,
    }
}

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Values of a state per load, where rows of `inner` values are next to each other.
pub(crate) fn together(inner: usize, quads: bool) -> usize {
    if quads && inner.is_multiple_of(4) { 4 } else { 1 }
}

/// The number of lanes that share a sum of `inner` terms: a power of two that divides them evenly.
fn shares(inner: usize, gpu: &Gpu) -> usize {
    let pieces = inner / together(inner, gpu.features.quads);
    let even = 1 << pieces.max(1).trailing_zeros();
    let subgroup = gpu.subgroup.filter(|n| n.is_power_of_two()).unwrap_or(1) as usize;
    even.min(MOST_SHARES).min(subgroup)
}

/// Checks that these numbers fit a scan.
///
/// # Errors
/// The rule that is broken.
pub(crate) fn check(
    part: &Part,
    scan: &Scan,
    split: &Split,
    (lanes, gpu): (u32, &Gpu),
) -> Result<(), String> {
    let Split { rows, along_first, width, reduce, chunk, spread, matrix, panels, picked, .. } = *split;
    let whole = width as usize >= part.cols;
    let parts = spread && chunk == 1;
    let tile = if parts { rows == 1 || along_first } else { rows == 1 };
    if !tile || matrix || panels || picked > 0 || !parts && (spread || chunk > 0 || !whole) {
        return Err("a scan needs one row and whole rows, or row programs apart".into());
    }
    let wanted = match &scan.rule {
        ScanRule::Delta(delta) => shares(delta.inner, gpu).min(lanes as usize),
        ScanRule::Decay { .. } | ScanRule::Convolution { .. } => 1,
    };
    if reduce as usize != wanted {
        return Err(format!("{wanted} lanes share the sums of this scan"));
    }
    if spread && scan.rule.recurrence() == Recurrence::Convolution {
        return Err("the rows of a convolution have workgroups of their own already".into());
    }
    Ok(())
}
