//! Products by wide matrices in long steps: workgroups have 128 rows and as many columns.
//!
//! A warp multiplies 64 rows by 32 columns, or by 16 of one product, so that it loads operands and scales from workgroup memory a
//! quarter as often as with 32 rows. On an H200 products of Q4_K went from 76 to 90 TMAC/s
//! ([figures](../../../../bench/runs/2026-11-29-cuda-dense.md)).

use weft_kern::{Kernel, Pick, Sizes};

use crate::limits::Limits;
use crate::schedule::check::check;
use crate::schedule::{Schedule, Split};

/// Lanes of a workgroup.
const LANES: u32 = 256;

/// Rows of a workgroup. A step has at least twice as many: of fewer, there are too few workgroups.
const ROWS: u32 = 128;

/// Columns of each product.
const WIDTH: u32 = 64;

/// The schedule of a kernel whose products suit it. `usual` has the order of sums.
pub(crate) fn broad(kernel: &Kernel, max: &Sizes, limits: &Limits, usual: &Schedule) -> Option<Schedule> {
    if !limits.matrix || limits.processors == 0 {
        return None;
    }
    let mut schedule = Schedule { lanes: LANES, ..usual.clone() };
    let mut groups = 0;
    for (part, split) in kernel.parts.iter().zip(&mut schedule.parts) {
        let products = part.products();
        let rows: usize = part.rows.iter().map(|d| d.eval(max)).product();
        let one_matrix = products.iter().all(|product| matches!(product.w.pick, Pick::Only));
        let suits = !products.is_empty()
            && one_matrix
            && part.columns_independent()
            && rows >= 2 * ROWS as usize
            && part.cols.is_multiple_of(WIDTH as usize);
        if !suits {
            return None;
        }
        groups += rows.div_ceil(ROWS as usize) * (part.cols / WIDTH as usize);
        *split = Split { rows: ROWS, along_first: false, width: WIDTH, upcast: 1, matrix: true, ..*split };
    }
    // One for each multiprocessor.
    let enough = groups >= limits.processors as usize;
    (enough && check(kernel, &schedule, limits).is_ok()).then_some(schedule)
}
