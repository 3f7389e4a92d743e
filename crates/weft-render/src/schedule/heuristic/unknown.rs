//! The heuristic for GPUs whose number of multiprocessors is unknown, and the base of the one for all others.
//!
//! The numbers that decide the order of a sum depend only on the part ([`heuristic`](crate::schedule::heuristic)).

use weft_kern::{Anchor, Attend, Kernel, Part, Pick, Product, Sizes};

use crate::forms::attend::lanes::heads::BUSY_GROUPS;
use crate::forms::checks::rounds;
use crate::forms::{indexer, scan_rows, select_blocks};
use crate::gpu::Gpu;
use crate::schedule::draft::Draft;
use crate::schedule::order::{LANES, fixed, lanes_matter};
use crate::split::{PLAIN, Split, below, number};

/// Lanes per workgroup of kernels with one row and long sums, where the number changes no bit.
const MANY_LANES: u32 = 512;

/// The number of lanes that keep a large GPU busy. A product is split over this many if it has work for them.
const BUSY: usize = 1 << 18;

/// The most lanes per sum. It is small because partial sums are added one after another.
const MOST_SHARES: usize = 16;

/// The most lanes per long sum.
const MOST_LONG_SHARES: usize = 2 * MOST_SHARES;

/// Sums of at least this many pieces are long.
const LONG: usize = 128;

/// The fewest lanes per sum of quantised rows. Together they read enough of a tile for memory to be
/// fast.
const LEAST_SHARES: usize = 8;

/// Workgroups per product that has more columns than keep a GPU busy.
const MANY_GROUPS: usize = 2048;

/// The most rows per tile. Each lane has a sum for every row.
const MOST_ROWS: usize = 8;

/// The most sums per lane.
const MOST_SUMS: usize = 16;

/// The fewest rows of a step with several columns per lane, so that activations are loaded once for them.
const MANY_ROWS: usize = 64;

/// Positions per chunk of attention.
const CHUNK: usize = 128;

/// The most words of scratch memory for chunks that are spread over workgroups.
const MOST_PUT_DOWN: usize = 16 << 20;

/// A schedule for a kernel in steps of sizes up to `max`. `reduce` may give the number of lanes that
/// share a part's sums; it must depend on what the part multiplies alone.
pub(crate) fn choose(
    kernel: &Kernel,
    max: &Sizes,
    gpu: &Gpu,
    reduce: impl Fn(&Part) -> Option<usize>,
) -> Draft {
    let lanes = below(lanes(kernel, max).min(gpu.invocations) as usize);
    let reduce = |part: &Part| fixed(kernel, part).or_else(|| reduce(part));
    let parts = kernel.parts.iter().map(|part| {
        let rows: Vec<usize> = part.rows.iter().map(|d| d.eval(max)).collect();
        match &part.anchor {
            Anchor::Map | Anchor::Reduce => elementwise(part, &rows, lanes),
            Anchor::Indexer(indexer) => indexer::choose::split((kernel, part), indexer, max, gpu, lanes),
            Anchor::Scan(scan) => scan_rows::choose::split(part, scan, max, gpu, lanes),
            Anchor::Dot(products) => dot(kernel, part, products, &rows, lanes, reduce(part)),
            Anchor::Attend(attend) => attention(part, attend, &rows, max, lanes),
        }
    });
    Draft { lanes: lanes as u32, parts: parts.collect() }
}

/// Lanes per workgroup.
fn lanes(kernel: &Kernel, max: &Sizes) -> u32 {
    let is_long = |part: &Part| {
        let rows = part.rows.iter().fold(1, |n: usize, d| n.saturating_mul(d.eval(max)));
        rows == 1 && part.columns_independent() && longest(kernel, part.products()) >= LONG
    };
    if !lanes_matter(kernel) && kernel.parts.iter().all(is_long) { MANY_LANES } else { LANES }
}

/// Pieces of work in a sum: 32 columns each for quantised rows, single values for others.
fn pieces(kernel: &Kernel, product: &Product) -> usize {
    match () {
        () if product.transposed => product.w.n,
        () if product.rounds(&kernel.params) => product.w.k / 32,
        () => product.w.k,
    }
}

/// The pieces of the longest sum, over all of its matrices.
fn longest(kernel: &Kernel, products: &[Product]) -> usize {
    let all = products.iter().map(|product| match &product.w.pick {
        Pick::Sum(sum) => pieces(kernel, product).saturating_mul(sum.terms),
        _ => pieces(kernel, product),
    });
    all.max().unwrap_or(0)
}

pub(crate) fn elementwise(part: &Part, rows: &[usize], lanes: usize) -> Split {
    if let Some(split) = select_blocks::split(part) {
        return split;
    }
    let (mut tile, mut width) = (1, part.cols);
    if part.columns_independent() {
        width = part.cols.min(lanes);
        // Short rows are taken several at a time.
        let all = rows.iter().fold(1, |n: usize, r| n.saturating_mul(*r));
        tile = below(lanes / width).min(below(all));
    }
    Split { rows: number(tile), width: number(width), ..PLAIN }
}

fn dot(
    kernel: &Kernel,
    part: &Part,
    products: &[Product],
    rows: &[usize],
    lanes: usize,
    reduce: Option<usize>,
) -> Split {
    let apart = part.columns_independent();
    let inner: usize = rows.iter().skip(1).fold(1, |n, r| n.saturating_mul(*r));
    let pieces = products.iter().map(|p| pieces(kernel, p)).min().unwrap_or(1);
    // This depends only on the product, never on the epilogue, which may be in another kernel in plans for other step sizes.
    let wanted = BUSY / part.cols.saturating_mul(inner).saturating_mul(products.len()).max(1);
    let tiles = products.iter().all(|p| !p.transposed && p.rounds(&kernel.params));
    let least = if tiles { LEAST_SHARES } else { 1 };
    let most = if longest(kernel, products) >= LONG { MOST_LONG_SHARES } else { MOST_SHARES };
    let own = || below(wanted.clamp(least, most)).min(below(pieces)).min(lanes);
    let reduce = reduce.unwrap_or_else(own).min(lanes);
    let shared = share_a_matrix(products);
    let mut across = lanes / reduce;
    let mut upcast = 1;
    if apart && tiles && rows.first().is_some_and(|rows| *rows >= MANY_ROWS) {
        // Rows that do not share a matrix are taken one at a time, which leaves room for more
        // columns.
        upcast = if shared { 2 } else { 4 };
        while upcast > 1 && part.cols < 4 * upcast * across {
            upcast /= 2;
        }
        across *= upcast;
    }
    let mut width = part.cols;
    if apart {
        let rounds = rounds(kernel, part);
        let passes = (part.cols.saturating_mul(inner) / (across * MANY_GROUPS)).clamp(1, 4);
        width = part.cols.min(if rounds { across.max(32) } else { (passes * across).max(2) });
    }
    Split { width: number(width), reduce: number(reduce), upcast: number(upcast), ..tile(products, rows) }
}

/// Whether all rows of a tile are multiplied by the same matrix.
fn share_a_matrix(products: &[Product]) -> bool {
    products.iter().all(|p| match p.w.pick {
        Pick::Only => true,
        Pick::Axis(axis) => axis > 0,
        Pick::Ids(_) | Pick::Sum(_) => false,
    })
}

/// The rows of a workgroup's products.
pub(crate) fn tile(products: &[Product], rows: &[usize]) -> Split {
    let along_first = products.iter().any(|p| matches!(p.w.pick, Pick::Axis(axis) if axis > 0));
    let first = rows.first().copied().unwrap_or(1);
    let inner: usize = rows.iter().skip(1).fold(1, |n, r| n.saturating_mul(*r));
    let all = if along_first { first } else { first.saturating_mul(inner) };
    let most = MOST_ROWS.min(MOST_SUMS / products.len().min(MOST_SUMS));
    let tile = if share_a_matrix(products) { below(all.min(most)) } else { 1 };
    Split { rows: number(tile), along_first: along_first && tile > 1, ..PLAIN }
}

pub(crate) fn attention(part: &Part, attend: &Attend, rows: &[usize], max: &Sizes, lanes: usize) -> Split {
    // Sixteen lanes read 64 bytes of a row of halves.
    let reduce = 16.min(below(attend.k_len / 2)).min(lanes);
    let all = rows.iter().fold(1, |n: usize, r| n.saturating_mul(*r));
    // Where rows alone do not keep the GPU busy, each chunk has a workgroup, if the scratch memory
    // is not too large.
    let chunks = attend.most_positions(max.pages).div_ceil(CHUNK);
    let put_down = all.saturating_mul(chunks).saturating_mul(part.cols + 2);
    let spread = all < BUSY_GROUPS && chunks > 1 && put_down <= MOST_PUT_DOWN;
    let groups = if spread { all.saturating_mul(chunks) } else { all };
    // A workgroup has several heads that share keys, which are then read once for all of them, if there are enough workgroups.
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
