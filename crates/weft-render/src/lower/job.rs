//! A kernel being lowered: its schedule, the bindings of its arguments, and its shaders.

use weft_kern::{Kernel, Part, Sizes};
use weft_shader::module::{Content, Slot};

use crate::forms::Form;
use crate::forms::attend::cooperative::is_large;
use crate::gpu::Gpu;
use crate::lower::pass::Step;
use crate::refused::Why;
use crate::schedule::Schedule;
use crate::schedule::check::check;
use crate::schedule::picks::Picks;
use crate::shader::Slots;
use crate::split::Split;

/// Why a kernel cannot be lowered, and the part at fault, if one is.
pub(crate) type Failure = (Option<usize>, Why);

/// A kernel being lowered.
pub(crate) struct Job<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) slots: &'a Slots,
    pub(crate) schedule: &'a Schedule,
    /// The numbers of each part's form.
    pub(crate) splits: Vec<Split>,
    pub(crate) max: &'a Sizes,
    pub(crate) gpu: &'a Gpu,
    /// Its place in a chain, if it is part of one.
    pub(crate) link: Option<Link>,
}

/// A place in a [chain](crate::chain).
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// The variable that holds the workgroup's number.
    pub(crate) group: String,
    /// The first word of the kernel's own arguments.
    pub(crate) args: usize,
    /// The names that the chain uses itself.
    pub(crate) taken: &'static [&'static str],
}

impl<'a> Job<'a> {
    /// Checks the schedule of a verified kernel.
    pub(crate) fn new(
        kernel: &'a Kernel,
        slots: &'a Slots,
        schedule: &'a Schedule,
        max: &'a Sizes,
        gpu: &'a Gpu,
    ) -> Result<Job<'a>, Failure> {
        check(kernel, schedule, gpu).map_err(|(part, why)| (part, Why::Schedule(why)))?;
        let splits = kernel.parts.iter().zip(&schedule.parts).map(|(part, form)| form.split(part)).collect();
        Ok(Job { kernel, slots, schedule, splits, max, gpu, link: None })
    }

    /// Parts with their forms.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&'a Part, &'a Form)> {
        self.kernel.parts.iter().zip(&self.schedule.parts)
    }

    /// The kernel's shaders.
    pub(crate) fn steps(&self) -> Vec<Step> {
        let sorted = |terms: bool| {
            let mut picks =
                self.parts().filter(|(_, form)| form.sorts()).filter_map(|(part, _)| Picks::of(part));
            picks.any(|picks| !terms || picks.terms.is_some())
        };
        let mut forms = self.schedule.parts.iter();
        let queries = forms.any(|form| matches!(form, Form::AttendCooperative(of) if is_large(of.rows)));
        let joins = self.parts().any(|(part, form)| {
            let split = form.split(part);
            split.spread && split.chunk > 0 || matches!(form, Form::AttendCooperative(_))
        });
        let narrows = self.parts().any(|(part, form)| form.split(part).narrow);
        let all = [
            (sorted(false), Step::Sort),
            (sorted(true), Step::Terms),
            (queries, Step::Queries),
            (true, Step::Main),
            (narrows, Step::Narrow),
            (joins, Step::Join),
        ];
        all.into_iter().filter_map(|(there, step)| there.then_some(step)).collect()
    }
}

/// The content of each slot. Slots are numbered without a gap; in a `chain` other kernels have slots too.
pub(crate) fn held_slots(kernel: &Kernel, slots: &Slots, chain: bool) -> Result<Vec<Slot>, Why> {
    let Slots { of, contents, pieces, releases_early: _ } = slots;
    let count = of.iter().map(|s| s + 1).max().unwrap_or(0);
    let all = if chain { count.max(contents.len()) } else { count };
    if of.len() != kernel.params.len() || all != contents.len() || all != pieces.len() {
        let (bound, params) = (of.len(), kernel.params.len());
        return Err(Why::Form(format!(
            "has {params} parameters, of which {bound} are bound to {count} slots"
        )));
    }
    let slot = |(content, pieces): (&Content, &u32)| Slot {
        written: false,
        content: *content,
        pieces: *pieces,
        coherent: false,
    };
    let mut held: Vec<Slot> = contents.iter().zip(pieces).map(slot).collect();
    for (slot, param) in of.iter().zip(&kernel.params) {
        held[*slot].written |= param.access.writes();
    }
    match held.iter().find(|slot| slot.written && slot.content != Content::Open) {
        Some(Slot { content: Content::Weight, .. }) => Err(Why::Form("writes a weight".into())),
        Some(_) => Err(Why::Form("writes what it may read beforehand".into())),
        None if held.iter().any(|slot| slot.pieces != 1 && slot.content != Content::Weight) => {
            Err(Why::Form("has a parameter in pieces that is not a weight".into()))
        }
        None => Ok(held),
    }
}
