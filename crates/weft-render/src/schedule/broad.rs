//! Products by wide matrices in long steps: workgroups have 128 rows and as many columns.
//!
//! A warp multiplies 64 rows by 32 columns, or by 16 of one product, so that it loads operands and scales from workgroup memory a
//! quarter as often as with 32 rows. On an H200 products of Q4_K went from 76 to 90 TMAC/s
//! (bench/runs/2026-11-29-cuda-dense.md).

use weft_kern::{Format, Kernel, Pick, Product, Sizes};
use weft_quant::packed::{COLUMNS, Layout};

use crate::limits::Limits;
use crate::schedule::check::check;
use crate::schedule::{Schedule, Split};

/// Lanes of a workgroup.
const LANES: u32 = 256;

/// Rows of a workgroup. A step has at least twice as many: of fewer, there are too few workgroups.
const ROWS: u32 = 128;

/// Columns of each of two products. One has as many, so that two workgroups share a multiprocessor; if its blocks have two scales, lanes
/// have no registers for that, and a workgroup has twice as many columns.
const WIDTH: u32 = 64;

/// The schedule of a kernel whose products suit it. `usual` has the order of sums.
pub(crate) fn broad(kernel: &Kernel, max: &Sizes, limits: &Limits, usual: &Schedule) -> Option<Schedule> {
    if !limits.matrix || limits.processors == 0 {
        return None;
    }
    let mut schedule = Schedule { lanes: LANES, ..usual.clone() };
    let (mut groups, mut least) = (0, limits.processors as usize);
    for (part, split) in kernel.parts.iter().zip(&mut schedule.parts) {
        let products = part.products();
        let rows: usize = part.rows.iter().map(|d| d.eval(max)).product();
        let one_matrix = products.iter().all(|product| matches!(product.w.pick, Pick::Only));
        let suits =
            !products.is_empty() && one_matrix && part.columns_independent() && rows >= 2 * ROWS as usize;
        let upcast = match products {
            [product] if has_two_scales(kernel, product) => 2,
            _ => 1,
        };
        let width = upcast * WIDTH;
        if !suits || !part.cols.is_multiple_of(width as usize) {
            return None;
        }
        groups += rows.div_ceil(ROWS as usize) * (part.cols / width as usize);
        if upcast == 2 {
            // 128 of 132 do as well.
            least = limits.processors as usize * 15 / 16;
        }
        *split = Split { rows: ROWS, along_first: false, width, upcast, matrix: true, ..*split };
    }
    // One for each multiprocessor.
    (groups >= least && check(kernel, &schedule, limits).is_ok()).then_some(schedule)
}

/// Whether 16 values of the product's weight share a scale.
fn has_two_scales(kernel: &Kernel, product: &Product) -> bool {
    let Format::Ggml(ty) = kernel.params[product.w.param].format else { return false };
    Layout::of(ty).is_some_and(|layout| layout.group < COLUMNS)
}
