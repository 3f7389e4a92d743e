//! The heuristic: how each part is laid out if nobody says otherwise.
//!
//! What decides in what order a sum is made (lanes, `reduce`, `upcast`, `chunk`) is chosen by the part alone, and never by how many rows a step has: bits must
//! not depend on company. Rows and width, and whether chunks are spread, which change no bit, are chosen by the sizes.

use weft_kern::{Anchor, Attend, Format, Instr, Kernel, Part, Pick, Product, Sizes};

use crate::limits::Limits;
use crate::schedule::{Schedule, Split};

/// Lanes of a workgroup, if an adapter runs as many: all adapters of the last ten years do.
const LANES: u32 = 256;

/// Lanes that keep a large graphics card busy; a product is shared out among as many, if it has work for them.
const BUSY: usize = 1 << 18;

/// Lanes that share a sum, at most: their partial sums are added one after another.
const MOST_SHARES: usize = 16;

/// Lanes that share a sum, at least, of rows in tiles: side by side they read a piece of a tile that is long enough for memory to be fast.
const LEAST_SHARES: usize = 8;

/// Workgroups of a product that has more columns than keep an adapter busy.
const MANY_GROUPS: usize = 2048;

/// Rows of a tile, at most: each has a sum of its own in every lane.
const MOST_ROWS: usize = 8;

/// Sums of a lane, at most.
const MOST_SUMS: usize = 16;

/// Positions of a chunk of attention: a few blocks.
const CHUNK: usize = 128;

/// Workgroups that keep a large card busy with attention.
const BUSY_GROUPS: usize = 256;

/// Words that chunks may come to that are spread over workgroups, at most.
const MOST_PUT_DOWN: usize = 16 << 20;

/// A schedule for a kernel in steps of sizes up to `max`.
pub(crate) fn choose(kernel: &Kernel, max: &Sizes, limits: &Limits) -> Schedule {
    let lanes = below(LANES.min(limits.invocations) as usize);
    let parts = kernel.parts.iter().map(|part| {
        let rows: Vec<usize> = part.rows.iter().map(|d| d.eval(max)).collect();
        match &part.anchor {
            Anchor::Map | Anchor::Reduce => elementwise(part, &rows, lanes),
            Anchor::Dot(products) => dot(kernel, part, products, &rows, lanes),
            Anchor::Attend(attend) => attention(part, attend, &rows, max, lanes),
        }
    });
    Schedule { lanes: lanes as u32, parts: parts.collect() }
}

/// The same with less for a workgroup to keep, if there is less.
pub(crate) fn smaller(split: &Split) -> Option<Split> {
    (split.rows > 1).then_some(Split { rows: split.rows / 2, ..*split })
}

/// The largest power of two that is not above a number; 1 for 0.
fn below(n: usize) -> usize {
    1 << n.max(1).ilog2()
}

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// A row, by one lane for each column.
const PLAIN: Split =
    Split { rows: 1, along_first: false, width: 1, reduce: 1, upcast: 1, chunk: 0, spread: false };

fn elementwise(part: &Part, rows: &[usize], lanes: usize) -> Split {
    let (mut tile, mut width) = (1, part.cols);
    if part.columns_independent() {
        width = part.cols.min(lanes);
        // Short rows are taken several at a time.
        let all = rows.iter().fold(1, |n: usize, r| n.saturating_mul(*r));
        tile = below(lanes / width).min(below(all));
    }
    Split { rows: number(tile), width: number(width), ..PLAIN }
}

fn dot(kernel: &Kernel, part: &Part, products: &[Product], rows: &[usize], lanes: usize) -> Split {
    let apart = part.columns_independent();
    let inner: usize = rows.iter().skip(1).fold(1, |n, r| n.saturating_mul(*r));
    // Terms of a sum that are one piece of work: 32 columns of quantised rows, a value of others.
    let pieces = |p: &Product| match () {
        () if p.transposed => p.w.n,
        () if p.rounds(&kernel.params) => p.w.k / 32,
        () => p.w.k,
    };
    let pieces = products.iter().map(pieces).min().unwrap_or(1);
    let wanted = match apart {
        true => BUSY / part.cols.saturating_mul(inner).saturating_mul(products.len()).max(1),
        // All columns in one workgroup: as many lanes as there are for each.
        false => lanes / part.cols.next_power_of_two().min(lanes),
    };
    let tiles = products.iter().all(|p| !p.transposed && p.rounds(&kernel.params));
    let least = if apart && tiles { LEAST_SHARES } else { 1 };
    let reduce = below(wanted.clamp(least, MOST_SHARES)).min(below(pieces)).min(lanes);
    let across = lanes / reduce;
    let mut width = part.cols;
    if apart {
        let rounds = part.body.iter().any(
            |i| matches!(i, Instr::Store { view, .. } if kernel.params[view.param].format == Format::Q8),
        );
        let passes = (part.cols.saturating_mul(inner) / (across * MANY_GROUPS)).clamp(1, 4);
        width = part.cols.min(if rounds { across.max(32) } else { (passes * across).max(2) });
    }
    let along_first = products.iter().any(|p| matches!(p.w.pick, Pick::Axis(axis) if axis > 0));
    let shared = products.iter().all(|p| match p.w.pick {
        Pick::Only => true,
        Pick::Axis(axis) => axis > 0,
        Pick::Ids(_) | Pick::Sum(_) => false,
    });
    let first = rows.first().copied().unwrap_or(1);
    let all = if along_first { first } else { first.saturating_mul(inner) };
    let most = MOST_ROWS.min(MOST_SUMS / products.len().min(MOST_SUMS));
    let tile = if shared { below(all.min(most)) } else { 1 };
    Split {
        rows: number(tile),
        along_first: along_first && tile > 1,
        width: number(width),
        reduce: number(reduce),
        ..PLAIN
    }
}

fn attention(part: &Part, attend: &Attend, rows: &[usize], max: &Sizes, lanes: usize) -> Split {
    // Sixteen lanes read 64 bytes of a row of halves.
    let reduce = 16.min(below(attend.k_len / 2)).min(lanes);
    let all = rows.iter().fold(1, |n: usize, r| n.saturating_mul(*r));
    // Where rows alone do not keep the adapter busy, each chunk has a workgroup, if what they come to is not too much.
    let chunks = max.pages.saturating_mul(attend.page).div_ceil(CHUNK);
    let put_down = all.saturating_mul(chunks).saturating_mul(part.cols + 2);
    let spread = all < BUSY_GROUPS && chunks > 1 && put_down <= MOST_PUT_DOWN;
    let groups = if spread { all.saturating_mul(chunks) } else { all };
    // Heads that share keys share reading them, once there are workgroups enough.
    let group = attend.heads / attend.kv_heads.max(1);
    let mut tile = 1;
    while tile < 4 && group.is_multiple_of(2 * tile) && groups / (2 * tile) >= BUSY_GROUPS {
        tile *= 2;
    }
    Split {
        rows: number(tile),
        width: number(part.cols),
        reduce: number(reduce),
        upcast: 4,
        chunk: number(CHUNK),
        spread,
        ..PLAIN
    }
}
