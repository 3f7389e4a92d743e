//! The forms of a kernel's parts: the kinds of code that a part can become. [`Form`] lists them.
//!
//! `plain`, `dot.lanes`, `attend.lanes`, `indexer.lanes` and `scan` take any sizes, so every part has a form.
//!
//! Every form has a file with its own parameters, in which it answers the same [questions](Questions), and a file that writes its text.

pub(crate) mod attend {
    pub(crate) mod cooperative;
    pub(crate) mod lanes;
    pub(crate) mod units;
    pub(crate) mod warpgroups;
}
pub(crate) mod checks;
pub(crate) mod dot {
    pub(crate) mod few_rows;
    pub(crate) mod gathered;
    pub(crate) mod lanes;
    pub(crate) mod panels;
    pub(crate) mod units;
}
pub(crate) mod indexer {
    pub(crate) mod choice;
    pub(crate) mod choose;
    pub(crate) mod chunk;
    pub(crate) mod found;
    pub(crate) mod keys;
    pub(crate) mod lanes;
    pub(crate) mod memory;
    pub(crate) mod narrow;
    pub(crate) mod rank;
    pub(crate) mod scores;
    pub(crate) mod token;
    pub(crate) mod units;
    pub(crate) mod write;
}
pub(crate) mod plain;
pub(crate) mod questions;
pub(crate) mod scan_rows;
pub(crate) mod select_blocks;
pub(crate) mod steps;
mod words;

use std::fmt;
use std::mem::discriminant;

use weft_kern::{Anchor, Part};
use weft_shader::expr::Expr;

use crate::forms::checks::Candidate;
use crate::forms::questions::Questions;
use crate::forms::words::Words;
use crate::gpu::Gpu;
use crate::lower::pass::Pass;
use crate::lower::space::Space;
use crate::lower::writer::Writer;
use crate::refused::Why;
use crate::split::Split;

pub use attend::cooperative::AttendCooperative;
pub use attend::lanes::AttendLanes;
pub use attend::units::AttendUnits;
pub use attend::warpgroups::AttendWarpgroups;
pub use dot::few_rows::DotFewRows;
pub use dot::gathered::DotGathered;
pub use dot::lanes::DotLanes;
pub use dot::panels::DotPanels;
pub use dot::units::DotUnits;
pub use indexer::lanes::IndexerLanes;
pub use indexer::units::IndexerUnits;
pub use plain::Plain;
pub use scan_rows::ScanRows;
pub use select_blocks::SelectBlocks;

/// Defines [`Form`] by a table: for each form its parameters, and the function that writes its text.
macro_rules! forms {
    ($($(#[$doc:meta])* $form:ident => $write:path,)*) => {
        /// The form of a part, with its parameters: what it computes, and on which GPUs.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum Form {
            $($(#[$doc])* $form($form),)*
        }

        impl Form {
            /// Reads a form's text.
            pub(crate) fn read(text: &str) -> Option<Form> {
                None$(.or_else(|| $form::read(text).map(Form::$form)))*
            }

            /// Its parameters, which answer the questions.
            fn own(&self) -> &dyn Questions {
                match self {
                    $(Form::$form(own) => own,)*
                }
            }

            /// The same kind of form with these numbers.
            fn alike(&self, split: &Split) -> Form {
                match self {
                    $(Form::$form(_) => Form::$form($form::new(split)),)*
                }
            }

            /// Writes the work of a workgroup on a part.
            pub(crate) fn write(
                &self,
                w: &mut Writer<'_>,
                part: &Part,
                split: &Split,
                work: (&Space, Pass),
                group: &Expr,
            ) -> Result<(), Why> {
                match self {
                    $(Form::$form(_) => $write(w, part, split, work, group),)*
                }
            }
        }
    };
}

forms! {
    /// `plain`: rows and columns without a product. Every GPU.
    Plain => plain::write::write,
    /// `select.blocks`: the largest values of long rows. Every GPU.
    SelectBlocks => select_blocks::write::write,
    /// `indexer.lanes`: the choice of positions to attend to. Every GPU.
    IndexerLanes => indexer::write::write,
    /// `indexer.units`: the same by scores over halves. GPUs with matrix units for halves (CUDA).
    IndexerUnits => indexer::write::write,
    /// `scan`: recurrences over the rows of sequences. Every GPU.
    ScanRows => scan_rows::write::write,
    /// `dot.lanes`: products, a column for each group of lanes. Every GPU, and all products of short steps.
    DotLanes => dot::lanes::write::write,
    /// `dot.gathered`: products whose row program needs whole rows, by several workgroups. GPUs whose workgroups see each other's stores.
    DotGathered => dot::gathered::write::write,
    /// `dot.units`: products of many rows. GPUs with matrix units for signed bytes (CUDA).
    DotUnits => dot::units::write::write,
    /// `dot.few_rows`: products of rows that select their matrices by index, few of them the same one. The GPUs of `dot.units`, in short
    /// steps.
    DotFewRows => dot::units::write::write,
    /// `dot.panels`: products of many rows. Large GPUs without matrix units, through Vulkan.
    DotPanels => dot::units::write::write,
    /// `attend.lanes`: attention. Every GPU.
    AttendLanes => crate::lower::attend::write,
    /// `attend.units`: attention over halves. GPUs with matrix units for halves (CUDA).
    AttendUnits => crate::lower::attend::write,
    /// `attend.warpgroups`: attention over halves in prompts. Hopper.
    AttendWarpgroups => crate::lower::attend::write,
    /// `attend.cooperative`: latent attention over halves. GPUs with cooperative matrices (Vulkan).
    AttendCooperative => crate::lower::attend::write,
}

impl Form {
    /// The form that these numbers mean for a part on this GPU, for a heuristic that chose the numbers first.
    pub(crate) fn new(part: &Part, split: &Split, gpu: &Gpu) -> Form {
        match &part.anchor {
            Anchor::Scan(_) => Form::ScanRows(ScanRows::new(split)),
            Anchor::Map | Anchor::Reduce if split.spread => Form::SelectBlocks(SelectBlocks::new(split)),
            Anchor::Map | Anchor::Reduce => Form::Plain(Plain::new(split)),
            Anchor::Indexer(_) if split.matrix => Form::IndexerUnits(IndexerUnits::new(split)),
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
            Anchor::Attend(_) if split.rows == attend::warpgroups::ROWS => {
                Form::AttendWarpgroups(AttendWarpgroups::new(split))
            }
            Anchor::Attend(_) => Form::AttendUnits(AttendUnits::new(split)),
        }
    }

    /// The form that these numbers mean after some of this form's own were changed: of the same kind, unless the heuristic's numbers of
    /// this form mean another kind now. For example, `dot.gathered` without `spread` is `dot.lanes`.
    pub(crate) fn with(&self, part: &Part, split: &Split, gpu: &Gpu) -> Form {
        let of_numbers = Form::new(part, &self.split(part), gpu);
        match discriminant(self) == discriminant(&of_numbers) {
            true => Form::new(part, split, gpu),
            false => self.alike(split),
        }
    }

    /// Its parameters as the numbers that lowering reads.
    pub(crate) fn split(&self, part: &Part) -> Split {
        self.own().split(part)
    }

    /// Checks that it is legal for a part on a GPU. Workgroup memory is counted later, when the kernel is lowered.
    ///
    /// # Errors
    /// The rule that is broken.
    pub(crate) fn check(&self, of: &Candidate<'_>) -> Result<(), String> {
        if !self.own().suits(of.part) {
            return Err(format!("`{self}` cannot compute a part that is a `{}`", of.part.anchor.name()));
        }
        let (split, lanes) = (self.split(of.part), of.lanes);
        if !split.reduce.is_power_of_two() || split.reduce > lanes {
            return Err(format!("`{self}`: reduce must be a power of two up to {lanes}"));
        }
        self.own().check(of).map_err(|why| format!("`{self}`: {why}"))
    }

    /// A variant with less workgroup memory: the same form with smaller numbers, or another form. It changes no bit.
    pub(crate) fn smaller(&self, part: &Part, gpu: &Gpu) -> Option<Form> {
        Some(self.with(part, &self.own().smaller(part)?, gpu))
    }

    /// The tuner's neighbours of this form in steps of `rows` rows. Some may not be legal.
    pub(crate) fn neighbours(&self, part: &Part, rows: usize, gpu: &Gpu) -> Vec<Form> {
        self.own().neighbours(part, rows).iter().map(|split| self.with(part, split, gpu)).collect()
    }

    /// The numbers that decide the order of its sums. In attention, rows are free, and so is whether chunks are spread over workgroups.
    pub(crate) fn sum_order(&self, part: &Part) -> [u32; 4] {
        let Split { reduce, upcast, chunk, matrix, .. } = self.split(part);
        match part.attention() {
            Some(_) => [reduce, upcast, chunk, u32::from(matrix)],
            None if part.indexer().is_some() => [reduce, 0, 0, u32::from(matrix)],
            None => [reduce, 0, 0, 0],
        }
    }

    /// Whether queries are rounded to halves before they are multiplied by keys.
    pub fn rounds_queries(&self) -> bool {
        self.own().rounds_queries()
    }

    /// Whether rows that select their matrices by index are sorted by matrix.
    pub(crate) fn sorts(&self) -> bool {
        self.own().sorts()
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.own().text())
    }
}
