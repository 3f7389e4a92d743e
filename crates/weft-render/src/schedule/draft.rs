//! A schedule of a heuristic that chooses numbers first and forms last.

use std::iter::Peekable;
use std::str::SplitWhitespace;

use weft_kern::Kernel;

use crate::forms::Form;
use crate::gpu::Gpu;
use crate::schedule::Schedule;
use crate::split::Split;

/// The words of a part.
type Words<'a> = Peekable<SplitWhitespace<'a>>;

/// The positive number after a name, if that is next.
fn number(words: &mut Words<'_>, name: &str) -> Option<u32> {
    words.next_if_eq(&name)?;
    words.next()?.parse::<u32>().ok().filter(|n| *n > 0)
}

/// A schedule with numbers and without forms.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    /// Lanes of a workgroup.
    pub(crate) lanes: u32,
    /// The numbers of each part.
    pub(crate) parts: Vec<Split>,
}

impl Draft {
    /// Reads a schedule of an older build, which named no form: `lanes N; rows N [apart] width N reduce N upcast N [chunk N] [spread]
    /// [matrix | panels] [picked N]; …`.
    pub(crate) fn of_old_text(text: &str) -> Option<Draft> {
        let mut parts = text.split(';').map(|part| part.split_whitespace().peekable());
        let mut first = parts.next()?;
        let lanes = number(&mut first, "lanes")?;
        let part = |mut words: Words<'_>| {
            let rows = number(&mut words, "rows")?;
            let along_first = words.next_if_eq(&"apart").is_some();
            let [width, reduce, upcast] = ["width", "reduce", "upcast"].map(|name| number(&mut words, name));
            let chunk = number(&mut words, "chunk").unwrap_or(0);
            let [spread, matrix, panels] =
                ["spread", "matrix", "panels"].map(|flag| words.next_if_eq(&flag).is_some());
            let picked = number(&mut words, "picked").unwrap_or(0);
            let (width, reduce, upcast) = (width?, reduce?, upcast?);
            let split = Split {
                rows,
                along_first,
                width,
                reduce,
                upcast,
                chunk,
                spread,
                matrix,
                panels,
                picked,
                narrow: false,
            };
            words.next().is_none().then_some(split)
        };
        Some(Draft { lanes, parts: parts.map(part).collect::<Option<_>>()? })
    }

    /// The schedule, on this GPU.
    pub(crate) fn schedule(&self, kernel: &Kernel, gpu: &Gpu) -> Schedule {
        let parts = kernel.parts.iter().zip(&self.parts);
        Schedule {
            lanes: self.lanes,
            parts: parts.map(|(part, split)| Form::new(part, split, gpu)).collect(),
        }
    }
}
