//! The forms of a kernel's parts: the kinds of code that a part can become. Each has a file with its own parameters.
//!
//! | form | computes | where |
//! |---|---|---|
//! | [`plain`](Plain) | rows and columns without a product | every GPU |
//! | [`select.blocks`](SelectBlocks) | the largest values of long rows | every GPU |
//! | [`indexer.lanes`](IndexerLanes) | the choice of positions to attend to | every GPU |
//! | [`scan`](ScanRows) | recurrences over the rows of sequences | every GPU |
//! | [`dot.lanes`](DotLanes) | products, a column for each group of lanes | every GPU; all products of short steps |
//! | [`dot.gathered`](DotGathered) | products whose row program needs whole rows, by several workgroups | where workgroups see each other's stores |
//! | [`dot.units`](DotUnits) | products of many rows | matrix units for signed bytes (CUDA) |
//! | [`dot.few_rows`](DotFewRows) | products of few rows with the same picked matrix | the same, in short steps |
//! | [`dot.panels`](DotPanels) | products of many rows | large GPUs without matrix units, through Vulkan |
//! | [`attend.lanes`](AttendLanes) | attention | every GPU |
//! | [`attend.units`](AttendUnits) | attention over halves | matrix units for halves (CUDA) |
//! | [`attend.warpgroups`](AttendWarpgroups) | the same for prompts | Hopper |
//! | [`attend.cooperative`](AttendCooperative) | latent attention over halves | cooperative matrices (Vulkan) |
//!
//! `plain`, `dot.lanes`, `attend.lanes`, `indexer.lanes` and `scan` take any sizes, so every part has a form.
//!
//! Every form answers the same questions in its own file. [`Form`] dispatches to them.

pub(crate) mod attend_cooperative;
pub(crate) mod attend_lanes;
pub(crate) mod attend_units;
pub(crate) mod attend_warpgroups;
pub(crate) mod checks;
pub(crate) mod dot_few_rows;
pub(crate) mod dot_gathered;
pub(crate) mod dot_lanes;
pub(crate) mod dot_panels;
pub(crate) mod dot_units;
pub(crate) mod indexer_lanes;
pub(crate) mod plain;
pub(crate) mod scan_rows;
pub(crate) mod select_blocks;
pub(crate) mod steps;
mod words;

use std::fmt;

use weft_kern::{Anchor, Part};
use weft_shader::expr::Expr;

use crate::forms::checks::Of;
use crate::forms::words::Words;
use crate::gpu::Gpu;
use crate::lower::attend;
use crate::lower::pass::Pass;
use crate::lower::space::Space;
use crate::lower::writer::Writer;
use crate::refused::Why;
use crate::split::Split;

pub use attend_cooperative::AttendCooperative;
pub use attend_lanes::AttendLanes;
pub use attend_units::AttendUnits;
pub use attend_warpgroups::AttendWarpgroups;
pub use dot_few_rows::DotFewRows;
pub use dot_gathered::DotGathered;
pub use dot_lanes::DotLanes;
pub use dot_panels::DotPanels;
pub use dot_units::DotUnits;
pub use indexer_lanes::IndexerLanes;
pub use plain::Plain;
pub use scan_rows::ScanRows;
pub use select_blocks::SelectBlocks;

/// The form of a part, with its parameters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Form {
    /// Rows and columns without a product.
    Plain(Plain),
    /// The largest values of long rows.
    SelectBlocks(SelectBlocks),
    /// The choice of positions to attend to, by lanes.
    IndexerLanes(IndexerLanes),
    /// A recurrence over the rows of sequences.
    ScanRows(ScanRows),
    /// Products by lanes.
    DotLanes(DotLanes),
    /// Products whose last workgroup runs the row program.
    DotGathered(DotGathered),
    /// Products on matrix units.
    DotUnits(DotUnits),
    /// Products on matrix units, with sorted rows multiplied by lanes.
    DotFewRows(DotFewRows),
    /// Products from panels in workgroup memory.
    DotPanels(DotPanels),
    /// Attention by lanes.
    AttendLanes(AttendLanes),
    /// Attention on matrix units.
    AttendUnits(AttendUnits),
    /// Attention by warpgroups.
    AttendWarpgroups(AttendWarpgroups),
    /// Attention by cooperative matrices.
    AttendCooperative(AttendCooperative),
}

/// Evaluates an expression with the parameters of a form, for every form.
macro_rules! each {
    ($self:expr, $form:ident => $body:expr) => {
        match $self {
            Form::Plain($form) => $body,
            Form::SelectBlocks($form) => $body,
            Form::IndexerLanes($form) => $body,
            Form::ScanRows($form) => $body,
            Form::DotLanes($form) => $body,
            Form::DotGathered($form) => $body,
            Form::DotUnits($form) => $body,
            Form::DotFewRows($form) => $body,
            Form::DotPanels($form) => $body,
            Form::AttendLanes($form) => $body,
            Form::AttendUnits($form) => $body,
            Form::AttendWarpgroups($form) => $body,
            Form::AttendCooperative($form) => $body,
        }
    };
}

impl Form {
    /// The form that these numbers mean for a part on this GPU, for a heuristic that chose the numbers first.
    pub(crate) fn new(part: &Part, split: &Split, gpu: &Gpu) -> Form {
        match &part.anchor {
            Anchor::Scan(_) => Form::ScanRows(ScanRows::new(split)),
            Anchor::Map | Anchor::Reduce if split.spread => Form::SelectBlocks(SelectBlocks::new(split)),
            Anchor::Map | Anchor::Reduce => Form::Plain(Plain::new(split)),
            Anchor::Indexer(_) => Form::IndexerLanes(IndexerLanes::new(split)),
            Anchor::Dot(_) if split.picked > 0 => Form::DotFewRows(DotFewRows::new(split)),
            Anchor::Dot(_) if split.matrix => Form::DotUnits(DotUnits::new(split)),
            Anchor::Dot(_) if split.panels => Form::DotPanels(DotPanels::new(split)),
            Anchor::Dot(_) if split.spread => Form::DotGathered(DotGathered::new(split)),
            Anchor::Dot(_) => Form::DotLanes(DotLanes::new(split)),
            Anchor::Attend(_) if !split.matrix => Form::AttendLanes(AttendLanes::new(split)),
            Anchor::Attend(_) if gpu.features.cooperative => {
                Form::AttendCooperative(AttendCooperative::new(split))
            }
            Anchor::Attend(_) if split.rows == attend_warpgroups::ROWS => {
                Form::AttendWarpgroups(AttendWarpgroups::new(split))
            }
            Anchor::Attend(_) => Form::AttendUnits(AttendUnits::new(split)),
        }
    }

    /// Its numbers in the representation that all forms share.
    pub(crate) fn split(&self, part: &Part) -> Split {
        each!(self, form => form.split(part))
    }

    /// Checks that it is legal for a part on a GPU. Workgroup memory is counted later, when the kernel is lowered.
    ///
    /// # Errors
    /// The rule that is broken.
    pub(crate) fn check(&self, of: &Of<'_>) -> Result<(), String> {
        let suits = match self {
            Form::Plain(_) => matches!(of.part.anchor, Anchor::Map | Anchor::Reduce),
            Form::SelectBlocks(_) => of.part.anchor == Anchor::Reduce,
            Form::IndexerLanes(_) => of.part.indexer().is_some(),
            Form::ScanRows(_) => of.part.scan().is_some(),
            Form::DotLanes(_)
            | Form::DotGathered(_)
            | Form::DotUnits(_)
            | Form::DotFewRows(_)
            | Form::DotPanels(_) => !of.part.products().is_empty(),
            Form::AttendLanes(_)
            | Form::AttendUnits(_)
            | Form::AttendWarpgroups(_)
            | Form::AttendCooperative(_) => of.part.attention().is_some(),
        };
        if !suits {
            return Err(format!("`{self}` cannot compute a part that is a `{}`", of.part.anchor.name()));
        }
        let (split, lanes) = (self.split(of.part), of.lanes);
        if !split.reduce.is_power_of_two() || split.reduce > lanes {
            return Err(format!("`{self}`: reduce must be a power of two up to {lanes}"));
        }
        each!(self, form => form.check(of)).map_err(|why| format!("`{self}`: {why}"))
    }

    /// A variant with less workgroup memory: the same form with smaller numbers, or another form. It changes no bit.
    pub(crate) fn smaller(&self, part: &Part, gpu: &Gpu) -> Option<Form> {
        Some(Form::new(part, &each!(self, form => form.smaller(part))?, gpu))
    }

    /// The tuner's neighbours of this form in steps of `rows` rows: one number halved, doubled or flipped. Some may not be legal.
    pub(crate) fn neighbours(&self, part: &Part, rows: usize) -> Vec<Split> {
        let from = self.split(part);
        match self {
            Form::Plain(_) | Form::ScanRows(_) => {
                [steps::of_rows(part, rows, &from), steps::of_width(part, &from)].concat()
            }
            Form::SelectBlocks(_) | Form::IndexerLanes(_) => Vec::new(),
            Form::DotLanes(_) | Form::DotGathered(_) | Form::DotUnits(_) | Form::DotPanels(_) => {
                steps::of_product(part, rows, &from)
            }
            Form::DotFewRows(_) => {
                [0, from.picked / 2, from.picked * 2].map(|picked| Split { picked, ..from }).into()
            }
            Form::AttendLanes(_)
            | Form::AttendUnits(_)
            | Form::AttendWarpgroups(_)
            | Form::AttendCooperative(_) => steps::of_tiles(rows, &from),
        }
    }

    /// The numbers that decide the order of its sums. In attention, rows are free, and so is whether chunks are spread over workgroups.
    pub(crate) fn sum_order(&self, part: &Part) -> [u32; 4] {
        let Split { reduce, upcast, chunk, matrix, .. } = self.split(part);
        match part.attention() {
            Some(_) => [reduce, upcast, chunk, u32::from(matrix)],
            None => [reduce, 0, 0, 0],
        }
    }

    /// Whether queries are rounded to halves before they are multiplied by keys.
    pub fn rounds_queries(&self) -> bool {
        matches!(self, Form::AttendUnits(_) | Form::AttendWarpgroups(_) | Form::AttendCooperative(_))
    }

    /// Whether rows that select their matrices by index are sorted by matrix.
    pub(crate) fn sorts(&self) -> bool {
        matches!(self, Form::DotUnits(_) | Form::DotFewRows(_) | Form::DotPanels(_))
    }

    /// Writes the work of a workgroup on a part.
    pub(crate) fn write(
        &self,
        w: &mut Writer<'_>,
        part: &Part,
        split: &Split,
        (space, pass): (&Space, Pass),
        group: &Expr,
    ) -> Result<(), Why> {
        let placed = |w: &mut Writer<'_>| space.place(&mut w.code, group);
        match self {
            Form::Plain(_) => {
                let place = placed(w);
                plain::write::write(w, part, &place)
            }
            Form::SelectBlocks(_) => {
                let place = placed(w);
                select_blocks::write::write(w, part, &place, split, pass)
            }
            Form::IndexerLanes(_) => indexer_lanes::write::write(w, part, split, (space, pass), group),
            Form::ScanRows(_) => {
                let place = placed(w);
                scan_rows::write::write(w, part, &place, split, pass)
            }
            Form::DotLanes(_) => {
                let place = placed(w);
                dot_lanes::write::write(w, part, &place, split)
            }
            Form::DotGathered(_) => {
                let place = placed(w);
                dot_gathered::write::write(w, part, &place, split, pass)
            }
            Form::DotUnits(_) | Form::DotFewRows(_) | Form::DotPanels(_) => {
                dot_units::write::write(w, part, split, (space, pass), group)
            }
            Form::AttendLanes(_)
            | Form::AttendUnits(_)
            | Form::AttendWarpgroups(_)
            | Form::AttendCooperative(_) => attend::write(w, part, split, (space, pass), group),
        }
    }

    /// Reads a form's text.
    pub(crate) fn read(text: &str) -> Option<Form> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (name, rest) = words.split_first()?;
        Some(match *name {
            Plain::NAME => Form::Plain(Plain::read(rest)?),
            SelectBlocks::NAME => Form::SelectBlocks(SelectBlocks::read(rest)?),
            IndexerLanes::NAME => Form::IndexerLanes(IndexerLanes::read(rest)?),
            ScanRows::NAME => Form::ScanRows(ScanRows::read(rest)?),
            DotLanes::NAME => Form::DotLanes(DotLanes::read(rest)?),
            DotGathered::NAME => Form::DotGathered(DotGathered::read(rest)?),
            DotUnits::NAME => Form::DotUnits(DotUnits::read(rest)?),
            DotFewRows::NAME => Form::DotFewRows(DotFewRows::read(rest)?),
            DotPanels::NAME => Form::DotPanels(DotPanels::read(rest)?),
            AttendLanes::NAME => Form::AttendLanes(AttendLanes::read(rest)?),
            AttendUnits::NAME => Form::AttendUnits(AttendUnits::read(rest)?),
            AttendWarpgroups::NAME => Form::AttendWarpgroups(AttendWarpgroups::read(rest)?),
            AttendCooperative::NAME => Form::AttendCooperative(AttendCooperative::read(rest)?),
            _ => return None,
        })
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&each!(self, form => form.text()))
    }
}
