//! The heuristic for GPUs whose number of multiprocessors is known.
//!
//! The kernels of a decode step are short. They are fast if all workgroups run at once, about one on each multiprocessor and each with the
//! same work, and if lanes load all their weights before they do anything else. So widths are as small as one wave allows, lanes have their
//! columns in one pass, and sums are split into equal shares. Longer steps are left to the general heuristic.
//!
//! The order of a sum depends on its length, and on whether its product has very many columns.

use weft_kern::{Anchor, Attend, Format, Kernel, Part, Pick, Product, Shares, Sizes};
use weft_quant::GgmlType;

use crate::forms::attend::lanes::heads::tiled;
use crate::forms::checks::rounds;
use crate::forms::dot::panels::choose::with_panels;
use crate::forms::dot::units::choose::{large_tiles, narrow, on_matrix};
use crate::forms::{attend, dot, indexer, scan_rows};
use crate::gpu::{Gpu, MOST_CHAINED};
use crate::schedule::draft::Draft;
use crate::schedule::heuristic::unknown::{self, attention, elementwise, tile};
use crate::schedule::order::{LANES, fixed, lanes_matter};
use crate::schedule::registers::registers;
use crate::shader::COUNTER_BYTES;
use crate::split::{EARLY_REGISTERS, Split, below, number};

/// The most tokens of a step whose kernels are spread over one wave.
pub(crate) const FEW_TOKENS: usize = 8;

/// The most tokens of such a step on GPUs without matrix units.
const FEW_WITHOUT_MATRIX: usize = 16;

/// The sizes of short steps that should have programs of their own: in steps of one wave, two tokens take half of the time of eight.
pub const STEPS_OF_WAVES: [usize; 6] = [1, 2, 4, FEW_TOKENS, 16, 64];

/// The sizes of short steps that should have programs of their own through CUDA: attention of up to 32 tokens is spread over more
/// workgroups than that of 64, and products of up to 128 have smaller tiles than those of longer steps.
pub const STEPS_WITH_CUDA: [usize; 8] = [1, 2, 4, FEW_TOKENS, 16, 32, 64, 128];

/// The fewest columns of a product per workgroup, for the cost of plans.
pub const LEAST_COLUMNS: u64 = TILE as u64;

/// The most lanes that share a sum of floats.
const MOST_FLOAT_SHARES: usize = 64;

/// The most pieces of a sum of floats per lane for which equal shares are preferred to unequal ones.
const MOST_PIECES: usize = 12;

/// The columns of a tile, which is the smallest width of a product in a workgroup, and those of a rounded block.
const TILE: usize = 16;
const BLOCK: usize = 32;

/// Lanes across columns that read whole tiles.
const ACROSS: usize = 16;

/// The most lanes per workgroup, where the number changes no bit and the kernel is in no chain. Workgroups of a chain all have the usual
/// number.
const MOST_LANES: usize = 512;

/// Positions per chunk of attention: the number that a workgroup's lanes score at once.
const CHUNK: u32 = 64;

/// The most sums per lane.
const MOST_SUMS: usize = 32;

/// The most sums per lane if the next launch begins early and workgroups can have fewer rows.
const LIGHT_SUMS: usize = 16;

/// Products with more workgroups than this for each multiprocessor take their columns in several passes, with this many workgroups.
const WAVES: usize = 8;

/// Without matrix units, the most workgroups for each multiprocessor in products whose rows select their matrices, unless that takes more
/// passes than this.
const PICKED_WAVES: usize = 4;
const PICKED_PASSES: usize = 4;

/// The fewest rows of products in several passes that have several columns per lane, and the most such columns.
const SEVERAL_ROWS: u32 = 4;
const MOST_COLUMNS: usize = 4;

/// Products of at least this many columns, with sums of at least this many pieces, have work for all lanes if few lanes share a sum. Lanes
/// then have long shares, and workgroups join them less often: on an H200 a head of 781 MB in Q6_K takes 0.12 ms less
/// (`bench/runs/2026-11-30-cuda-heads.md`).
const MANY_SUMS: usize = 1 << 15;
const LONG_SUM: usize = 64;
const FEW_SHARES: usize = 8;

/// The fewest bytes of weights of a product of whole rows for which spreading pays, and the bytes that each workgroup then reads.
const MUCH: usize = 128 << 10;
const SHARE: usize = 32 << 10;

/// The fewest rows for which such products have more columns per workgroup, and the factor of these.
const MANY_GATHERED: usize = 128;
const WIDER: usize = 4;

/// A schedule for a kernel in steps of sizes up to `max`. `tuned` gives the lanes of a part's sums if they were tuned.
pub(crate) fn choose(
    kernel: &Kernel,
    max: &Sizes,
    gpu: &Gpu,
    tuned: impl Fn(&Part) -> Option<usize>,
) -> Draft {
    let reduce = |part: &Part| {
        let own = fixed(kernel, part).or_else(|| tuned(part));
        Some(own.unwrap_or_else(|| shares(kernel, part.products(), gpu)))
    };
    let few = if gpu.features.matrix { FEW_TOKENS } else { FEW_WITHOUT_MATRIX };
    if max.tokens > few {
        let mut schedule = unknown::choose(kernel, max, gpu, reduce);
        let chosen = large_tiles(kernel, max, gpu, &schedule);
        if let Some(chosen) = chosen.or_else(|| narrow(kernel, max, gpu, &schedule)) {
            return chosen;
        }
        for (part, split) in kernel.parts.iter().zip(&mut schedule.parts) {
            if let Some(attend) = part.attention() {
                *split = scored(kernel, attend, gpu, schedule.lanes, *split);
                *split = tiled(kernel, (part, attend), max, gpu, schedule.lanes, *split).unwrap_or(*split);
            }
            if let Some(matrix) = on_units(kernel, part, max, (schedule.lanes, gpu), *split) {
                *split = matrix;
            }
            if let Some(whole) = of_whole_rows(kernel, part, max, (schedule.lanes, gpu), *split) {
                *split = whole;
            }
            if let Some(matrix) = on_matrix(kernel, part, max, gpu, schedule.lanes, *split) {
                *split = dot::few_rows::by_lanes(kernel, part, max, (schedule.lanes, gpu), matrix);
            }
        }
        return with_panels(kernel, max, gpu, schedule);
    }
    let chained = gpu.features.chains && max.tokens <= MOST_CHAINED;
    let lanes = lanes(kernel, gpu, reduce, if chained { LANES as usize } else { MOST_LANES });
    let parts = kernel.parts.iter().map(|part| {
        let rows: Vec<usize> = part.rows.iter().map(|d| d.eval(max)).collect();
        match &part.anchor {
            Anchor::Map | Anchor::Reduce => elementwise(part, &rows, lanes),
            Anchor::Indexer(indexer) => indexer::choose::split((kernel, part), indexer, max, gpu, lanes),
            Anchor::Scan(scan) => scan_rows::choose::split(part, scan, max, gpu, lanes),
            Anchor::Dot(products) => {
                let reduce = reduce(part).unwrap_or(1).min(lanes);
                Columns::new(kernel, part, products, lanes, reduce, gpu).split(part, &rows, gpu)
            }
            Anchor::Attend(attend) => {
                let split = attention(part, attend, &rows, max, lanes);
                let split = scored(kernel, attend, gpu, number(lanes), split);
                if let Some(matrix) = on_units(kernel, part, max, (number(lanes), gpu), split) {
                    return matrix;
                }
                // With more tokens, more heads share keys.
                let heads = attend.heads / attend.kv_heads.max(1);
                let most = if max.tokens >= 4 { 4 } else { 2 };
                let rows = below(most).min(1 << heads.max(1).trailing_zeros());
                if split.spread { Split { rows: number(rows), ..split } } else { split }
            }
        }
    });
    let mut schedule = Draft { lanes: number(lanes), parts: parts.collect() };
    widen(kernel, max, gpu, &mut schedule);
    if gpu.features.dependent_launch {
        lighten(kernel, max, gpu, &mut schedule);
    }
    schedule
}

/// The numbers of attention on matrix units of either kind.
fn on_units(
    kernel: &Kernel,
    part: &Part,
    max: &Sizes,
    (lanes, gpu): (u32, &Gpu),
    split: Split,
) -> Option<Split> {
    match gpu.features.cooperative {
        true => attend::cooperative::split(kernel, part, max, (lanes, gpu), split),
        false => attend::units::on_matrix(kernel, part, max, gpu, lanes, split),
    }
}

/// The numbers of a product whose row program needs whole rows: spread over several workgroups if these can gather them and the weights are
/// large enough, otherwise as in short steps. This keeps the order of sums.
fn of_whole_rows(
    kernel: &Kernel,
    part: &Part,
    max: &Sizes,
    (lanes, gpu): (u32, &Gpu),
    split: Split,
) -> Option<Split> {
    let Anchor::Dot(products) = &part.anchor else { return None };
    let columns = Columns::new(kernel, part, products, lanes as usize, split.reduce as usize, gpu);
    let rows: Vec<usize> = part.rows.iter().map(|d| d.eval(max)).collect();
    if !gpu.features.gathers {
        return (!columns.apart).then(|| columns.split(part, &rows, gpu));
    }
    let rows: usize = rows.iter().product();
    let few = columns.gathered(part.cols, gpu)?;
    // Each tile of rows has a counter; other parts of the kernel may also have some.
    let counters = COUNTER_BYTES as usize / 4 / 2;
    // With many rows, several columns per lane read less.
    let many = rows >= MANY_GATHERED && part.cols.is_multiple_of(WIDER * few);
    let width = if many { WIDER * few } else { few };
    let upcast = number(width.div_ceil(columns.across));
    let split = Split { width: number(width), upcast, spread: true, ..split };
    (rows.div_ceil(split.rows as usize) <= counters).then_some(split)
}

/// The numbers that decide the order of attention's sums: the length of chunks, and the lanes that share scores. They depend on the state
/// alone.
fn scored(kernel: &Kernel, attend: &Attend, gpu: &Gpu, lanes: u32, split: Split) -> Split {
    let aligned = [attend.k.offset, attend.k.row_stride, attend.k.head_stride, attend.k_len];
    let per = match kernel.params[attend.k.param].format {
        Format::Ggml(GgmlType::F16 | GgmlType::BF16)
            if gpu.features.quads && aligned.iter().all(|n| n.is_multiple_of(8)) =>
        {
            8
        }
        Format::Ggml(GgmlType::F16 | GgmlType::BF16) => 2,
        Format::Ggml(ty) if ty.is_quantised() => 4,
        _ => 1,
    };
    let pieces = (attend.k_len / per).max(1);
    let most = if per == 8 { 8 } else { 16 };
    let reduce = number(most.min(1 << pieces.trailing_zeros())).min(lanes);
    let upcast = (CHUNK * reduce / lanes).max(1);
    Split { reduce, upcast, chunk: CHUNK, ..split }
}

/// Lanes per workgroup: enough for a tile's columns where the number changes no bit.
fn lanes(kernel: &Kernel, gpu: &Gpu, reduce: impl Fn(&Part) -> Option<usize>, most_lanes: usize) -> usize {
    let usual = LANES as usize;
    let dots = kernel.parts.iter().all(|part| matches!(part.anchor, Anchor::Dot(_)));
    let wanted = if lanes_matter(kernel) || !dots {
        usual
    } else {
        let most = kernel.parts.iter().filter_map(reduce).max().unwrap_or(1);
        (most * ACROSS).clamp(usual, most_lanes)
    };
    below(wanted.min(gpu.invocations as usize))
}

/// Pieces of a sum, one per load.
fn pieces(kernel: &Kernel, product: &Product, gpu: &Gpu) -> usize {
    match kernel.params[product.w.param].format {
        _ if product.transposed => product.w.n,
        Format::Ggml(ty) if ty.is_quantised() => product.w.k / BLOCK,
        Format::Ggml(GgmlType::F16 | GgmlType::BF16) if product.w.k.is_multiple_of(2) => product.w.k / 2,
        Format::Ggml(GgmlType::F32) if gpu.features.quads && product.w.k.is_multiple_of(4) => product.w.k / 4,
        _ => product.w.k,
    }
}

/// The number of lanes that share the sums of products, chosen so that all have the same number of pieces.
fn shares(kernel: &Kernel, products: &[Product], gpu: &Gpu) -> usize {
    let pieces = products.iter().map(|p| pieces(kernel, p, gpu)).min().unwrap_or(1).max(1);
    if products.iter().all(|p| p.rounds(&kernel.params)) {
        let many = pieces >= LONG_SUM && products.iter().all(|product| product.w.n >= MANY_SUMS);
        let number = Shares::number(pieces);
        return if many { number.min(FEW_SHARES) } else { number };
    }
    let all = below(pieces).min(MOST_FLOAT_SHARES);
    // Unequal shares are faster than a few long ones.
    let even = all.min(1 << pieces.trailing_zeros());
    if pieces / even <= MOST_PIECES { even } else { all }
}

/// The number of columns that lanes can have.
struct Columns {
    across: usize,
    reduce: usize,
    /// Most columns per lane whose weights fit its registers; at least 1.
    most: usize,
    /// The columns that must stay together.
    unit: usize,
    /// Bytes of a row of all weights.
    row_bytes: usize,
    floats: bool,
    apart: bool,
}

impl Columns {
    fn new(
        kernel: &Kernel,
        part: &Part,
        products: &[Product],
        lanes: usize,
        reduce: usize,
        gpu: &Gpu,
    ) -> Columns {
        let each = products.iter().map(|product| {
            let terms = if let Pick::Sum(sum) = &product.w.pick { sum.terms } else { 1 };
            pieces(kernel, product, gpu).div_ceil(reduce) * registers(kernel, product, gpu) * terms
        });
        let room = gpu.features.early_words.min(EARLY_REGISTERS / lanes.max(1) as u32) as usize;
        let most = room / each.sum::<usize>().max(1);
        let row_bytes = |p: &Product| match kernel.params[p.w.param].format {
            Format::Ggml(ty) => ty.row_bytes(p.w.k as u64).unwrap_or(0) as usize,
            Format::Q8 => p.w.k,
        };
        Columns {
            across: lanes / reduce,
            reduce,
            most: below(most.max(1)),
            unit: if rounds(kernel, part) { BLOCK } else { TILE },
            row_bytes: products.iter().map(row_bytes).sum(),
            floats: products.iter().all(|p| !p.rounds(&kernel.params)),
            apart: part.columns_together().is_some(),
        }
    }

    /// The columns per workgroup of a product of whole rows, if spreading it pays.
    fn gathered(&self, cols: usize, gpu: &Gpu) -> Option<usize> {
        let much = !self.apart && self.floats && gpu.features.gathers && cols * self.row_bytes >= MUCH;
        much.then(|| below(SHARE / self.row_bytes.max(1)).min(self.across).min(cols))
    }

    fn split(&self, part: &Part, rows: &[usize], gpu: &Gpu) -> Split {
        let Columns { across, reduce, unit, .. } = *self;
        let products = part.products();
        let mut rows_of = tile(products, rows);
        // Without matrix units, a lane computes its rows one after another.
        let all = rows.first().is_some_and(|first| *first == rows_of.rows as usize);
        if !gpu.features.matrix && all && rows_of.rows > SEVERAL_ROWS {
            rows_of.rows /= 2;
        }
        let sums = rows_of.rows as usize * products.len();
        let most = self.most.min(below((MOST_SUMS / sums).max(1)));
        let split = |width: usize, upcast: usize, spread: bool| Split {
            width: number(width),
            reduce: number(reduce),
            upcast: number(upcast),
            spread,
            ..rows_of
        };
        if !self.apart {
            let gathered = self.gathered(part.cols, gpu);
            let whole = match gathered {
                Some(width) => split(width, 1, true),
                None => split(part.cols, part.cols.div_ceil(across).next_power_of_two().min(most), false),
            };
            let blocks = part.cols.div_ceil(whole.width as usize);
            return fewer_rows(whole, rows.iter().product::<usize>() * blocks, gpu);
        }
        let tiles = rows.iter().product::<usize>().div_ceil(rows_of.rows as usize).max(1);
        let groups = |width: usize| part.cols.div_ceil(width) * tiles;
        let processors = gpu.processors as usize;
        let one = products.iter().all(|p| matches!(p.w.pick, Pick::Only));
        let widest = across * most;
        if one && groups(widest) > WAVES * processors {
            // Lanes with several columns load the activations of their rows once for all columns.
            let upcast = if rows_of.rows >= SEVERAL_ROWS { most.min(MOST_COLUMNS) } else { 1 };
            let passes = (part.cols * tiles / (across * upcast * WAVES * processors)).max(1);
            return split((across * upcast * passes).next_multiple_of(unit), upcast, false);
        }
        let mut width = across.max(unit).min(part.cols);
        while groups(width) > processors && 2 * width <= widest.min(part.cols) {
            width *= 2;
        }
        // Each workgroup rounds its row itself.
        let passes = |width: usize| width <= PICKED_PASSES * widest && width <= part.cols;
        while !one && !gpu.features.matrix && groups(width) > PICKED_WAVES * processors && passes(2 * width) {
            width *= 2;
        }
        split(width, width.div_ceil(across).min(most), false)
    }
}

/// Halves the rows of workgroups with more than [`SEVERAL_ROWS`] if lanes have many sums, or if few multiprocessors have a workgroup.
/// Weights are then read more often, from the L2 cache; but the next launch begins while this one still runs, and smaller workgroups leave
/// room for it.
fn lighten(kernel: &Kernel, max: &Sizes, gpu: &Gpu, schedule: &mut Draft) {
    let can = |part: &Part, split: &Split| {
        let divides = matches!(part.anchor, Anchor::Dot(_)) && part.columns_together().is_some();
        divides && split.rows > SEVERAL_ROWS
    };
    for (part, split) in kernel.parts.iter().zip(&mut schedule.parts) {
        let sums = |split: &Split| (split.rows * split.upcast) as usize * part.products().len();
        while can(part, split) && sums(split) > LIGHT_SUMS {
            split.rows /= 2;
        }
    }
    let parts = kernel.parts.iter().zip(&schedule.parts);
    let all: usize = parts.map(|(part, split)| groups(part, split, max)).sum();
    if 3 * all <= 2 * gpu.processors as usize {
        for (part, split) in kernel.parts.iter().zip(&mut schedule.parts) {
            if can(part, split) {
                split.rows /= 2;
            }
        }
    }
}

/// The number of workgroups of a part.
fn groups(part: &Part, split: &Split, max: &Sizes) -> usize {
    let rows = part.rows.iter().map(|d| d.eval(max)).product::<usize>();
    part.cols.div_ceil(split.width.max(1) as usize) * rows.div_ceil(split.rows.max(1) as usize)
}

/// Reduces the rows per workgroup while there are not too many workgroups: a program that needs whole rows runs for one row after another.
/// `all` is the number of workgroups with one row each.
fn fewer_rows(split: Split, all: usize, gpu: &Gpu) -> Split {
    let mut rows = split.rows;
    while rows > 1 && all.div_ceil(rows as usize / 2) <= gpu.processors as usize / 2 {
        rows /= 2;
    }
    Split { rows, along_first: split.along_first && rows > 1, ..split }
}

/// Doubles widths until all workgroups of a kernel fit in one wave, as far as registers allow.
fn widen(kernel: &Kernel, max: &Sizes, gpu: &Gpu, schedule: &mut Draft) {
    loop {
        let each = kernel.parts.iter().zip(&schedule.parts).map(|(part, split)| groups(part, split, max));
        let each: Vec<usize> = each.collect();
        let all: usize = each.iter().sum();
        let processors = gpu.processors as usize;
        if all <= processors || all > 2 * processors {
            return;
        }
        let can = |i: &usize| {
            let (part, split) = (&kernel.parts[*i], &schedule.parts[*i]);
            let Anchor::Dot(products) = &part.anchor else { return false };
            let (lanes, reduce) = (schedule.lanes as usize, split.reduce as usize);
            let columns = Columns::new(kernel, part, products, lanes, reduce, gpu);
            let width = 2 * split.width as usize;
            columns.apart && width <= part.cols && width <= columns.across * columns.most
        };
        let Some(i) = (0..each.len()).filter(can).max_by_key(|i| each[*i]) else { return };
        let split = &mut schedule.parts[i];
        let across = schedule.lanes / split.reduce;
        split.width *= 2;
        split.upcast = split.width.div_ceil(across);
    }
}
