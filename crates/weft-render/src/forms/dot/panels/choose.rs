//! Decides which products are multiplied from panels, and their numbers.
//!
//! A lane has [`PANEL_ROWS`] rows and some columns of each product, so that it uses each value it loads from workgroup memory several
//! times, and weights are unpacked once for all rows of a workgroup.

use weft_kern::{Kernel, Part, Pick, Sizes};

use crate::forms::checks::Candidate;
use crate::forms::dot::panels::DotPanels;
use crate::forms::questions::Questions;
use crate::gpu::Gpu;
use crate::schedule::check::check;
use crate::schedule::draft::Draft;
use crate::schedule::order::lanes_matter;
use crate::schedule::picks::Picks;
use crate::split::{PANEL_COLUMNS, PANEL_ROWS, Split, number};

/// The fewest tokens of a step that multiplies from panels.
const MANY_TOKENS: usize = 65;

/// Lanes per workgroup that multiplies from panels, where the number changes no bit.
const LANES: u32 = 128;

/// Columns per lane, over all products, that outweigh loading its rows.
const COLUMNS: u32 = 8;

/// Lanes with different columns, the best number first.
const ACROSS: [u32; 3] = [16, 8, 32];

/// The most rows per workgroup.
const MOST_ROWS: u32 = 64;

/// Workgroups for each multiprocessor that keep it busy.
const WAVES: usize = 2;

/// The schedule with panels wherever they suit a part. This keeps the order of sums.
pub(crate) fn with_panels(kernel: &Kernel, max: &Sizes, gpu: &Gpu, usual: Draft) -> Draft {
    if !gpu.features.panels || !gpu.features.quads || max.tokens < MANY_TOKENS {
        return usual;
    }
    let with = |lanes: u32| {
        let mut schedule = Draft { lanes, ..usual.clone() };
        let mut found = false;
        for (part, split) in kernel.parts.iter().zip(&mut schedule.parts) {
            if let Some(panels) = on_panels(kernel, part, max, gpu, lanes, *split) {
                (*split, found) = (panels, true);
            }
        }
        (found && check(kernel, &schedule.schedule(kernel, gpu), gpu).is_ok()).then_some(schedule)
    };
    let narrow = if lanes_matter(kernel) { None } else { with(LANES.min(usual.lanes)) };
    narrow.or_else(|| with(usual.lanes)).unwrap_or(usual)
}

/// The numbers of a part whose products are multiplied from panels, if these suit it.
fn on_panels(
    kernel: &Kernel,
    part: &Part,
    max: &Sizes,
    gpu: &Gpu,
    lanes: u32,
    split: Split,
) -> Option<Split> {
    let products = part.products();
    let along = products.iter().any(|p| matches!(p.w.pick, Pick::Axis(_)));
    let all: usize = part.rows.iter().map(|d| d.eval(max)).product();
    // Weighted sums are multiplied separately, and so are the part's other products.
    let together = match Picks::of(part) {
        Some(Picks { terms: Some(_), .. }) => 1,
        _ => number(products.len()),
    };
    let mut chosen: Option<(Split, usize)> = None;
    for upcast in [(COLUMNS / together.max(1)).max(PANEL_COLUMNS), PANEL_COLUMNS] {
        for across in ACROSS {
            let rows = PANEL_ROWS * (lanes / across);
            if rows > MOST_ROWS {
                continue;
            }
            let (width, panels) = (across * upcast, true);
            let split = Split { rows, along_first: along, width, upcast, panels, spread: false, ..split };
            if DotPanels::new(&split).check(&Candidate { kernel, part, lanes, gpu }).is_err() {
                continue;
            }
            let groups = all.div_ceil(rows as usize) * part.cols / width as usize;
            if chosen.is_none_or(|(_, most)| most < groups) {
                chosen = Some((split, groups));
            }
            if groups >= WAVES * gpu.processors as usize {
                return chosen.map(|(split, _)| split);
            }
        }
    }
    chosen.map(|(split, _)| split)
}

/// The numbers of a part whose weighted sums another shader has multiplied. Their results also take workgroup memory.
pub(crate) fn beside_sums(split: Split) -> Split {
    match split.upcast > PANEL_COLUMNS {
        true => Split { upcast: split.upcast / 2, width: split.width / 2, ..split },
        false => split,
    }
}
