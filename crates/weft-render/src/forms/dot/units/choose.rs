//! Chooses the numbers of products on matrix units, where the number of multiprocessors is known.

use weft_kern::{Format, Kernel, Part, Pick, Product, Sizes};
use weft_quant::packed::Layout;

use crate::forms::checks::rounds;
use crate::forms::dot::units::{shares_of, suits, warps};
use crate::gpu::Gpu;
use crate::schedule::check::check;
use crate::schedule::draft::Draft;
use crate::schedule::picks::Picks;
use crate::split::{MATRIX_COLUMNS, MATRIX_ROWS, Split, WARP, number};

/// Columns of a rounded block.
const BLOCK: usize = 32;

/// The most rows of a workgroup that uses matrix units. A lane has sums for all of them.
const MOST_MATRIX_ROWS: u32 = 32;

/// Lanes per workgroup that uses matrix units where there are many workgroups.
const NARROW_LANES: u32 = 128;

/// The most tiles of columns per warp. A lane has sums for all of them.
const MOST_WIDE: usize = 4;

/// The most rows of a step with few rows, unless there are this many tiles of columns for each multiprocessor.
const FEW_MATRIX_ROWS: usize = 64;
const MANY_TILES: usize = 16;

/// The most bytes of separate shares of sums of warps.
const MOST_MATRIX_SHARES: u32 = 72 << 10;

/// Workgroups for each multiprocessor that hide each other's latencies.
const MATRIX_WAVES: usize = 2;

/// Lanes and rows per workgroup with large tiles. A step has at least twice as many rows, because with fewer there are too few workgroups.
const LARGE_LANES: u32 = 256;
const LARGE_ROWS: u32 = 128;

/// Columns of each of two products. A single product has the same number, so that two workgroups share a multiprocessor. If its blocks have
/// two scales, lanes have no registers for that, and a workgroup has twice as many columns.
const LARGE_WIDTH: u32 = 64;

/// The schedule of a kernel of wide products, or of heads of attention, in a long step: workgroups of 128 rows and 128 columns. A warp
/// multiplies 64 rows by 32 columns, or by 16 of one product, so that it loads operands and scales from workgroup memory a quarter as often
/// as with 32 rows. On an H200 products of Q4_K went from 76 to 90 TMAC/s (`bench/runs/2026-11-29-cuda-dense.md`).
pub(crate) fn large_tiles(kernel: &Kernel, max: &Sizes, gpu: &Gpu, usual: &Draft) -> Option<Draft> {
    if !gpu.features.matrix_large {
        return None;
    }
    let mut schedule = Draft { lanes: LARGE_LANES, ..usual.clone() };
    let (mut groups, mut least) = (0, gpu.processors as usize);
    for (part, split) in kernel.parts.iter().zip(&mut schedule.parts) {
        let products = part.products();
        let MatrixRows { along, rows, times } = MatrixRows::of(part, max);
        let one_matrix = products.iter().all(|product| matches!(product.w.pick, Pick::Only | Pick::Axis(_)));
        let upcast = match products {
            [product] if has_two_scales(kernel, product) => 2,
            // A row program that needs whole rows.
            [_] if !part.columns_independent() => number(part.cols / LARGE_WIDTH as usize),
            _ => 1,
        };
        let width = upcast * LARGE_WIDTH;
        let can = !products.is_empty()
            && one_matrix
            && suits(kernel, part, along || part.rows.len() < 2)
            && (1..=2).contains(&upcast)
            && (part.columns_independent() || part.cols == width as usize)
            && rows >= 2 * LARGE_ROWS as usize;
        if !can || !part.cols.is_multiple_of(width as usize) {
            return None;
        }
        groups += times * rows.div_ceil(LARGE_ROWS as usize) * (part.cols / width as usize);
        if upcast == 2 {
            // 128 of 132 multiprocessors are enough.
            least = gpu.processors as usize * 15 / 16;
        }
        *split = Split { rows: LARGE_ROWS, along_first: along, width, upcast, matrix: true, ..*split };
    }
    // There is one workgroup for each multiprocessor.
    (groups >= least && check(kernel, &schedule.schedule(kernel, gpu), gpu).is_ok()).then_some(schedule)
}

/// Whether 16 values of the product's weight share a scale.
fn has_two_scales(kernel: &Kernel, product: &Product) -> bool {
    let Format::Ggml(ty) = kernel.params[product.w.param].format else { return false };
    Layout::of(ty).is_some_and(|layout| layout.group < BLOCK)
}

/// The schedule of a kernel of products on matrix units with few warps per workgroup. Each warp has two tiles of columns (of one product,
/// or one of each of two) and all rows, so that operands are read from workgroup memory less often.
pub(crate) fn narrow(kernel: &Kernel, max: &Sizes, gpu: &Gpu, usual: &Draft) -> Option<Draft> {
    let mut schedule = Draft { lanes: NARROW_LANES, ..usual.clone() };
    let mut groups = 0;
    for (part, split) in kernel.parts.iter().zip(&mut schedule.parts) {
        let products = part.products();
        // Weighted sums are multiplied separately.
        let sums = products.iter().any(|p| matches!(p.w.pick, Pick::Sum(_)));
        if sums || !part.columns_independent() {
            return None;
        }
        let matrix = on_matrix(kernel, part, max, gpu, NARROW_LANES, *split)?;
        let wide = matrix.width / (NARROW_LANES / WARP) * number(products.len());
        let whole = part.cols.is_multiple_of(matrix.width as usize);
        if !whole || matrix.rows != MOST_MATRIX_ROWS || wide != 2 * MATRIX_COLUMNS {
            return None;
        }
        let rows: usize = part.rows.iter().map(|d| d.eval(max)).product();
        let tiles = match Picks::of(part) {
            Some(picks) => rows / matrix.rows as usize + picks.count / 2,
            None => rows.div_ceil(matrix.rows as usize),
        };
        groups += tiles * part.cols / matrix.width as usize;
        *split = matrix;
    }
    (2 * groups >= 3 * gpu.processors as usize).then_some(schedule)
}

/// The numbers of a part's products on matrix units, if these suit it. This keeps the order of sums.
pub(crate) fn on_matrix(
    kernel: &Kernel,
    part: &Part,
    max: &Sizes,
    gpu: &Gpu,
    lanes: u32,
    split: Split,
) -> Option<Split> {
    let products = part.products();
    let along = products.iter().any(|p| matches!(p.w.pick, Pick::Axis(_)));
    let can = gpu.features.matrix
        && suits(kernel, part, along || part.rows.len() < 2)
        && products.iter().all(|product| shares_of(product, split.reduce).is_some());
    let of_group = lanes / WARP;
    if !can || !part.cols.is_multiple_of(MATRIX_COLUMNS as usize) || !of_group.is_power_of_two() {
        return None;
    }
    let rows = TileRows::new(part, max, gpu, of_group);
    let TileRows { tiles, few, whole, picks, widest, .. } = rows;
    // Warps cannot divide an odd number of shares, which leaves too few workgroups: 64 tokens of Gemma 3, with 27 shares, took 13 % longer
    // on an H200 (`bench/runs/2026-11-29-cuda-dense.md`).
    if few && picks.is_none() && !whole_shares(products.iter(), split.reduce, 2) && split.reduce > 1 {
        return None;
    }
    // Warps divide columns, unless there are too few workgroups. Then they divide rows, and also sums if there are very few.
    let least = match whole {
        true => tiles,
        false if rounds(kernel, part) => BLOCK / MATRIX_COLUMNS as usize,
        false => 1,
    };
    let narrow = lanes == NARROW_LANES;
    let wide = match whole {
        true => tiles.div_ceil(widest as usize),
        false if narrow && products.len() == 1 => 2,
        false => 1,
    };
    let of = |across: u32| {
        let split = Split {
            rows: rows.tile,
            along_first: along,
            width: across * number(wide) * MATRIX_COLUMNS,
            upcast: number(wide),
            matrix: true,
            ..split
        };
        let deep = warps(&split, split.width, lanes).deep;
        let shares = 4 * split.reduce * split.rows * split.width * number(products.len());
        let possible = across as usize * wide >= least
            && wide <= MOST_WIDE
            && whole_shares(products.iter(), split.reduce, deep)
            && (deep == 1 || shares <= MOST_MATRIX_SHARES);
        possible.then_some((split, deep))
    };
    // A part's fair share of the multiprocessors.
    let processors = gpu.processors as usize / kernel.parts.len();
    let mut chosen = None;
    for across in (0..=widest.ilog2()).rev().map(|log| 1 << log) {
        let Some((split, deep)) = of(across) else { continue };
        let groups = tiles / (split.width / MATRIX_COLUMNS) as usize * rows.many;
        // Warps that share sums do more work in total.
        if deep > 1 && chosen.is_some_and(|(_, groups)| groups >= processors) {
            break;
        }
        chosen = Some((split, groups));
        if groups >= MATRIX_WAVES * processors || narrow {
            break;
        }
    }
    let (split, groups) = chosen?;
    Some(Split { rows: rows.of_tile(groups, gpu), ..split })
}

/// The rows of a part that are multiplied by the same matrix.
struct MatrixRows {
    /// Whether they are those of one head, along the first axis, and not all.
    along: bool,
    rows: usize,
    /// How many such groups of rows there are.
    times: usize,
}

impl MatrixRows {
    fn of(part: &Part, max: &Sizes) -> MatrixRows {
        let along = part.products().iter().any(|product| matches!(product.w.pick, Pick::Axis(_)));
        let rows: usize = part.rows.iter().map(|d| d.eval(max)).product();
        let inner: usize = part.rows.iter().skip(1).map(|d| d.eval(max)).product();
        let times = if along { inner.max(1) } else { 1 };
        MatrixRows { along, rows: rows / times, times }
    }
}

/// The tiles of rows of a part, each with the average number of rows that share a matrix.
struct TileRows {
    /// Rows that share a matrix, or all rows that select one.
    rows: usize,
    /// Tiles of 16 columns.
    tiles: usize,
    /// Whether the step has few rows. All such steps have the widths that suit the longest of them.
    few: bool,
    /// Whether the row program needs whole rows. Then a workgroup has all columns, and warps that these do not need divide the rows.
    whole: bool,
    /// If rows select matrices by index, the number of matrices, and the number of terms of a sum.
    picks: Option<(usize, usize)>,
    /// The most warps with different columns.
    widest: u32,
    /// Rows of a tile, and the number of tiles of rows.
    tile: u32,
    many: usize,
}

impl TileRows {
    /// The tiles of workgroups of `of_group` warps. Steps of few rows gain from small tiles, of which there are more, unless there are
    /// enough columns.
    fn new(part: &Part, max: &Sizes, gpu: &Gpu, of_group: u32) -> TileRows {
        let MatrixRows { rows, times, .. } = MatrixRows::of(part, max);
        let tiles = part.cols / MATRIX_COLUMNS as usize;
        let picks = Picks::of(part).map(|picks| (picks.count, picks.terms.unwrap_or(1)));
        let each = match picks {
            // Some matrices have more rows than the average.
            Some((count, terms)) => (rows * terms).div_ceil(count) * 5 / 4,
            None => rows,
        };
        let few = rows <= FEW_MATRIX_ROWS && tiles < MANY_TILES * gpu.processors as usize;
        let whole = !part.columns_independent();
        let widest = of_group.min(1 << tiles.trailing_zeros().min(8));
        let most = match picks {
            _ if whole && rows <= FEW_MATRIX_ROWS => MATRIX_ROWS,
            _ if whole => MATRIX_ROWS * (of_group / widest).min(MOST_MATRIX_ROWS / MATRIX_ROWS),
            None if few => MATRIX_ROWS,
            _ => MOST_MATRIX_ROWS,
        };
        let tile = number(each.next_power_of_two()).clamp(MATRIX_ROWS, most);
        let many = match picks {
            Some((count, terms)) => count.min(rows * terms),
            None if few => FEW_MATRIX_ROWS / MATRIX_ROWS as usize * times,
            None => rows.div_ceil(tile as usize) * times,
        };
        TileRows { rows, tiles, few, whole, picks, widest, tile, many }
    }

    /// Rows per tile for this many workgroups. With more than a wave of small tiles, larger ones read weights less often, but they should
    /// be full.
    fn of_tile(&self, groups: usize, gpu: &Gpu) -> u32 {
        let large = self.few && !self.whole && self.picks.is_none() && self.rows > self.tile as usize * 2;
        if large && 4 * groups > 5 * gpu.processors as usize { 2 * self.tile } else { self.tile }
    }
}

/// Whether this many warps can have the same number of whole shares of each product's sums.
fn whole_shares<'a>(mut products: impl Iterator<Item = &'a Product>, reduce: u32, deep: u32) -> bool {
    products.all(|p| shares_of(p, reduce).is_some_and(|n| n.is_multiple_of(deep)))
}

/// The numbers of a part whose weighted sums another shader has multiplied. Its workgroups do less, so there are more of them.
pub(crate) fn without_sums(part: &Part, max: &Sizes, gpu: &Gpu, lanes: u32, split: Split) -> Split {
    let rows: usize = part.rows.iter().map(|d| d.eval(max)).product();
    let tiles = rows.div_ceil(split.rows as usize);
    let others = || part.products().iter().filter(|product| !matches!(product.w.pick, Pick::Sum(_)));
    let mut chosen = split;
    while part.cols / chosen.width as usize * tiles < gpu.processors as usize {
        let less = Split { width: chosen.width / 2, ..chosen };
        let deep = warps(&less, less.width, lanes).deep;
        let shares = 4 * split.reduce * split.rows * less.width * number(part.products().len() - 1);
        let whole = less.width.is_multiple_of(number(BLOCK)) && part.columns_independent();
        if !whole || !whole_shares(others(), split.reduce, deep) || shares > MOST_MATRIX_SHARES {
            break;
        }
        chosen = less;
    }
    chosen
}
