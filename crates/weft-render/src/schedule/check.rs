//! Whether a schedule is legal for a kernel and a GPU. Workgroup memory is not counted here but
//! when the kernel is lowered.

use weft_kern::{Anchor, Factor, Format, Instr, Kernel, Part, Pick, Product};
use weft_quant::GgmlType;
use weft_quant::packed::{COLUMNS, Layout, ROWS};

use crate::limits::Limits;
use crate::schedule::order::Shares;
use crate::schedule::{
    MATRIX_COLUMNS, MATRIX_ROWS, PANEL_COLUMNS, PANEL_ROWS, Schedule, Split, attention, cooperative, picked,
    scan, top,
};

pub(crate) use crate::schedule::WARP;

/// Most rows or columns per lane: each has a variable.
const MOST: u32 = 64;

/// Most sums per lane in a schedule that is tuned or tried: each has a variable.
pub(crate) const MOST_SUMS: u32 = 64;

/// The same on matrix units.
const MOST_MATRIX_SUMS: u32 = 128;

/// Checks a schedule of a verified kernel.
///
/// # Errors
/// The part at fault, if one is, and the rule that is broken.
pub(crate) fn check(
    kernel: &Kernel,
    schedule: &Schedule,
    limits: &Limits,
) -> Result<(), (Option<usize>, String)> {
    let Schedule { lanes, parts } = schedule;
    if !lanes.is_power_of_two() || *lanes > limits.invocations {
        return Err((None, format!("{lanes} lanes; expected a power of two up to {}", limits.invocations)));
    }
    if parts.len() != kernel.parts.len() {
        return Err((None, format!("{} splits for {} parts", parts.len(), kernel.parts.len())));
    }
    for (i, (part, split)) in kernel.parts.iter().zip(parts).enumerate() {
        part_of(kernel, part, split, (*lanes, limits)).map_err(|why| (Some(i), why))?;
    }
    Ok(())
}

fn part_of(
    kernel: &Kernel,
    part: &Part,
    split: &Split,
    (lanes, limits): (u32, &Limits),
) -> Result<(), String> {
    let Split {
        rows,
        along_first,
        width,
        reduce,
        upcast,
        chunk,
        spread,
        matrix,
        panels: from_panels,
        picked,
    } = *split;
    if [rows, width, reduce, upcast].contains(&0) || !reduce.is_power_of_two() || reduce > lanes {
        return Err(format!(
            "`{split}`: all numbers must be positive, and reduce a power of two up to {lanes}"
        ));
    }
    let by_lanes = matrix && picked::tile_by_lanes(kernel, part, (lanes, limits), *split).is_some();
    if picked > 0 && !by_lanes {
        return Err(format!("`{split}`: lanes do not multiply these rows in tiles of {picked}"));
    }
    let variables = match part.anchor {
        Anchor::Map | Anchor::Reduce | Anchor::Scan(_) => 1,
        // Its own check names the rows of tiles.
        Anchor::Attend(_) if matrix && limits.cooperative => 1,
        // Warps share them, and its own check counts their sums.
        Anchor::Dot(_) if matrix => 1,
        Anchor::Attend(_) | Anchor::Dot(_) => rows,
    };
    if variables > MOST || upcast > MOST {
        return Err(format!("`{split}`: a lane can have {MOST} rows and columns at most"));
    }
    if let Some(of) = part.scan() {
        return scan::check(part, of, split, (lanes, limits));
    }
    let whole = width as usize >= part.cols;
    let is_dot = matches!(part.anchor, Anchor::Dot(_));
    if spread && top::selection(part).is_some() {
        return top::check(part, split);
    }
    let gathers = spread && is_dot && limits.gathers && !part.columns_independent();
    let apart = part.columns_together().is_some_and(|unit| (width as usize).is_multiple_of(unit));
    if !whole && (!apart && !gathers || part.attention().is_some()) {
        return Err(format!("a workgroup needs all {} columns, it has {width}", part.cols));
    }
    if let (true, Some(attend)) = (matrix, part.attention()) {
        if limits.cooperative {
            return cooperative::check(kernel, part, attend, split, (lanes, limits));
        }
        return attention::check(kernel, part, attend, split, (lanes, limits));
    }
    if matrix {
        return matrix_of(kernel, part, split, (lanes, limits));
    }
    if from_panels {
        return panels_of(kernel, part, split, (lanes, limits));
    }
    let pass = u64::from(split.across(lanes)) * u64::from(upcast);
    if is_dot && !whole && !u64::from(width).is_multiple_of(pass) && u64::from(width) > pass {
        return Err(format!("{width} columns are not a multiple of the {pass} that lanes compute at a time"));
    }
    for instr in &part.body {
        let Instr::Store { view, .. } = instr else { continue };
        let unit = match kernel.params[view.param].format {
            Format::Q8 | Format::Ggml(GgmlType::Q8_0) => 32,
            Format::Ggml(ty) if ty.block_bytes() == 2 => 2,
            _ => 1,
        };
        if !whole && !gathers && !width.is_multiple_of(unit) {
            return Err(format!("{width} columns are not a multiple of the {unit} that are stored together"));
        }
    }
    let attends = part.attention().is_some();
    if attends != (chunk > 0) {
        return Err(format!("`{split}`: attention needs a chunk, and nothing else may have one"));
    }
    if spread && !attends && !gathers {
        return Err(format!("`{split}`: only attention and products of whole rows can be spread"));
    }
    if let Some(attend) = part.attention() {
        let group = attend.heads / attend.kv_heads.max(1);
        if !upcast.is_power_of_two() || !group.is_multiple_of(rows as usize) {
            return Err(format!(
                "rows {rows} must divide the {group} heads that share keys, and upcast {upcast} be a power of two"
            ));
        }
    }
    for product in part.products() {
        let shared = match product.w.pick {
            Pick::Only => true,
            // All rows of a tile have the same matrix.
            Pick::Axis(axis) => axis > 0 && (along_first || part.rows.len() < 2),
            Pick::Ids(_) | Pick::Sum(_) => false,
        };
        if rows > 1 && !shared {
            return Err(format!("{rows} rows do not share a matrix"));
        }
        if rows > 1 && product.x == Factor::Prologue && part.rows.is_empty() {
            return Err("there is one row".into());
        }
    }
    Ok(())
}

/// How the warps of a workgroup share its products on matrix units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Warps {
    /// Warps side by side, each with columns of its own.
    pub(crate) across: u32,
    /// Warps below each other, each with rows of its own.
    pub(crate) down: u32,
    /// Warps that have shares of the same sums.
    pub(crate) deep: u32,
}

/// How the warps share a block of this width. Those that are not needed for columns share the rows, by sixteen or more, and
/// then sums.
pub(crate) fn warps(split: &Split, width: u32, lanes: u32) -> Warps {
    let across = (width / (MATRIX_COLUMNS * split.upcast)).max(1);
    let left = (lanes / WARP / across).max(1);
    let down = left.min(split.rows / MATRIX_ROWS).max(1);
    Warps { across, down, deep: left / down }
}

/// The shares of a product's sums, if all have as many blocks.
pub(crate) fn shares_of(product: &Product, reduce: u32) -> Option<u32> {
    let blocks = product.w.k / COLUMNS;
    Shares::new(u32::try_from(blocks).ok()?, reduce).whole
}

/// Checks a split of products that are computed on matrix units.
fn matrix_of(
    kernel: &Kernel,
    part: &Part,
    split: &Split,
    (lanes, limits): (u32, &Limits),
) -> Result<(), String> {
    let Warps { across, down, deep } = warps(split, split.width, lanes);
    let whole = split.width == across * MATRIX_COLUMNS * split.upcast
        && (part.cols as u32).is_multiple_of(MATRIX_COLUMNS);
    let all = lanes == across * down * deep * WARP;
    if !limits.matrix || !whole || !all || !split.rows.is_multiple_of(MATRIX_ROWS * down) {
        return Err(format!(
            "`{split}`: the {lanes} lanes do not make up whole warps of {MATRIX_ROWS} rows and {MATRIX_COLUMNS} columns"
        ));
    }
    let groups = split.rows / (MATRIX_ROWS * down);
    let sums = groups.saturating_mul(8 * split.upcast).saturating_mul(part.products().len() as u32);
    if sums > MOST_MATRIX_SUMS {
        return Err(format!("`{split}`: a lane has {sums} sums, and can have {MOST_MATRIX_SUMS}"));
    }
    let even = |product: &Product| {
        shares_of(product, split.reduce).is_some_and(|shares| shares.is_multiple_of(deep))
    };
    if !part.products().iter().all(even) {
        return Err(format!("`{split}`: {deep} warps do not have the same number of whole shares"));
    }
    if split.spread || split.chunk > 0 {
        return Err(format!("`{split}`: products on matrix units are not spread, and have no chunks"));
    }
    if !suit_matrix(kernel, part, split.along_first || part.rows.len() < 2) {
        return Err(format!(
            "`{split}`: rows with matrices of their own, or weights that matrix units do not multiply"
        ));
    }
    Ok(())
}

/// Checks a split of products that are multiplied from panels.
pub(crate) fn panels_of(
    kernel: &Kernel,
    part: &Part,
    split: &Split,
    (lanes, limits): (u32, &Limits),
) -> Result<(), String> {
    let Split { rows, width, upcast, reduce, .. } = *split;
    let across = width / upcast;
    let whole = width.is_multiple_of(upcast) && upcast.is_multiple_of(PANEL_COLUMNS);
    let cols = part.cols as u32;
    let even = cols.is_multiple_of(width) && (cols == width || part.columns_independent());
    // Some row programs round whole blocks.
    let blocks = width.is_multiple_of(COLUMNS as u32);
    // Neighbours have the same columns and different rows.
    let pairs = rows.is_multiple_of(2 * PANEL_ROWS) && rows * across == PANEL_ROWS * lanes;
    if !limits.panels || !limits.quads || !whole || !even || !blocks || !pairs {
        return Err(format!(
            "`{split}`: the {lanes} lanes do not have {PANEL_ROWS} rows and {upcast} columns each"
        ));
    }
    let sums = PANEL_ROWS.saturating_mul(upcast).saturating_mul(part.products().len() as u32);
    if sums > MOST_SUMS {
        return Err(format!("`{split}`: a lane has {sums} sums, and can have {MOST_SUMS}"));
    }
    let shares = |product: &Product| (product.w.k / COLUMNS).is_multiple_of(reduce as usize);
    if !part.products().iter().all(shares) {
        return Err(format!("`{split}`: {reduce} shares do not have the same number of blocks"));
    }
    if split.spread || split.chunk > 0 || split.matrix {
        return Err(format!("`{split}`: products from panels are not spread, and have no chunks"));
    }
    if !suit_matrix(kernel, part, split.along_first || part.rows.len() < 2) {
        return Err(format!("`{split}`: rows with matrices of their own, or weights that have no panels"));
    }
    Ok(())
}

/// Whether matrix units can multiply by the weights of a part. Rows share matrices as they lie `along` the first axis, or
/// pick them all by the same numbers, by which they can be sorted.
pub(crate) fn suit_matrix(kernel: &Kernel, part: &Part, along: bool) -> bool {
    let products = part.products();
    let axis = products.iter().any(|product| matches!(product.w.pick, Pick::Axis(_)));
    let mut picked = products.iter().filter_map(|product| match &product.w.pick {
        Pick::Ids(ids) => Some((ids, product.w.count, false)),
        Pick::Sum(sum) => Some((&sum.ids, product.w.count, true)),
        Pick::Only | Pick::Axis(_) => None,
    });
    let alike = match picked.next() {
        None => true,
        // A weighted sum is alone with its numbers.
        Some((_, _, true)) => picked.next().is_none() && !axis,
        Some(first) => picked.all(|other| other == first) && !axis,
    };
    alike && !products.is_empty() && products.iter().all(|product| suits_matrix(kernel, product, along))
}

/// Whether matrix units can multiply by this weight: quantised, in whole tiles.
fn suits_matrix(kernel: &Kernel, product: &Product, along: bool) -> bool {
    let shared = match product.w.pick {
        Pick::Axis(axis) => axis > 0 && along,
        Pick::Only | Pick::Ids(_) | Pick::Sum(_) => true,
    };
    let m = &product.w;
    let whole = |n: usize| n.is_multiple_of(ROWS);
    let tiles = matches!(kernel.params[product.w.param].format, Format::Ggml(ty) if Layout::of(ty).is_some());
    let shared = shared && whole(m.first) && whole(m.n) && (m.count == 1 || whole(m.stride));
    shared
        && tiles
        && !product.transposed
        && product.rounds(&kernel.params)
        && matches!(product.x, Factor::View(_))
}

/// Whether a schedule is legal for the kernel, and has a sensible number of variables.
pub(crate) fn is_possible(kernel: &Kernel, schedule: &Schedule, limits: &Limits) -> bool {
    let few = |(part, split): (&Part, &Split)| {
        let sums = split.rows.saturating_mul(split.upcast).saturating_mul(part.products().len() as u32);
        sums <= MOST_SUMS || split.sorts()
    };
    check(kernel, schedule, limits).is_ok() && kernel.parts.iter().zip(&schedule.parts).all(few)
}
