//! Tuned schedules: faster than the heuristic's, measured and kept.
//!
//! There are two kinds of entries. `reduce` decides the order of a sum, and results must be batch-invariant, so it is stored by product: it
//! holds for every kernel with such a sum, for any step size and any other work of the kernel. Whole schedules are stored by kernel and
//! largest step. They are used only if they add up sums in that order, so they change no bit. A file can therefore not break batch
//! invariance; illegal entries are ignored.

use std::collections::BTreeMap;
use std::fmt;

use weft_kern::{Kernel, Part, Sizes};

use crate::checksum::checksum;
use crate::gpu::Gpu;
use crate::schedule::Schedule;
use crate::schedule::check::is_possible;
use crate::schedule::draft::Draft;
use crate::schedule::order::{can_be_tuned, most_tuned, same_bits, sums};

/// The key of a whole schedule: the kernel's text without its name, and the largest step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    kernel: u64,
    tokens: usize,
}

impl Key {
    pub(crate) fn new(kernel: &Kernel, max: &Sizes) -> Key {
        let nameless = Kernel { name: String::new(), ..kernel.clone() };
        Key { kernel: checksum(nameless.to_string().as_bytes()), tokens: max.tokens }
    }
}

/// Tuned schedules. A device keeps their text form in a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TunedSchedules {
    /// Lanes per sum, by product.
    reduces: BTreeMap<String, u32>,
    kernels: BTreeMap<Key, Kept>,
}

/// A whole schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Kept {
    Schedule(Schedule),
    /// The text of an older build, which named no forms. The kernel and the GPU decide them.
    Old(String),
}

impl Kept {
    fn read(text: &str) -> Option<Kept> {
        let schedule = text.parse().ok().map(Kept::Schedule);
        schedule.or_else(|| Draft::of_old_text(text).map(|_| Kept::Old(text.to_string())))
    }

    fn schedule(&self, kernel: &Kernel, gpu: &Gpu) -> Option<Schedule> {
        match self {
            Kept::Schedule(schedule) => Some(schedule.clone()),
            Kept::Old(text) => {
                let draft = Draft::of_old_text(text)?;
                (draft.parts.len() == kernel.parts.len()).then(|| draft.schedule(kernel, gpu))
            }
        }
    }
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kept::Schedule(schedule) => schedule.fmt(f),
            Kept::Old(text) => f.write_str(text),
        }
    }
}

impl TunedSchedules {
    /// Stores a kernel's schedule in place of its `own`. If the order of its sums differs, the new order holds for all kernels with such
    /// sums. A schedule whose order some of them cannot have is not stored.
    pub(crate) fn insert(
        &mut self,
        kernel: &Kernel,
        max: &Sizes,
        schedule: Schedule,
        own: &Schedule,
        gpu: &Gpu,
    ) {
        if !can_be_tuned(kernel, &schedule, gpu) {
            return;
        }
        for ((part, form), own) in kernel.parts.iter().zip(&schedule.parts).zip(&own.parts) {
            let (reduce, own) = (form.split(part).reduce, own.split(part).reduce);
            if let Some(sums) = sums(kernel, part).filter(|_| reduce != own) {
                self.reduces.insert(sums, reduce);
            }
        }
        self.kernels.insert(Key::new(kernel, max), Kept::Schedule(schedule));
    }

    /// The tuned lanes per sum of this part, if the number is legal. They depend only on the product and on the GPU.
    pub(crate) fn reduce(&self, kernel: &Kernel, part: &Part, gpu: &Gpu) -> Option<usize> {
        if self.reduces.is_empty() {
            return None;
        }
        let reduce = *self.reduces.get(&sums(kernel, part)?)?;
        (reduce.is_power_of_two() && reduce <= most_tuned(gpu)).then_some(reduce as usize)
    }

    /// The tuned schedule of a kernel, if it can replace `own`, which has the order of sums that
    /// all kernels follow.
    pub(crate) fn schedule(
        &self,
        kernel: &Kernel,
        max: &Sizes,
        own: &Schedule,
        gpu: &Gpu,
    ) -> Option<Schedule> {
        if self.kernels.is_empty() {
            return None;
        }
        let kept = self.kernels.get(&Key::new(kernel, max))?.schedule(kernel, gpu)?;
        (is_possible(kernel, &kept, gpu) && same_bits(kernel, own, &kept)).then_some(kept)
    }

    /// Parses line by line; invalid lines are ignored.
    pub fn parse(text: &str) -> TunedSchedules {
        let mut kept = TunedSchedules::default();
        for line in text.lines() {
            if let Some((sums, reduce)) = line.strip_prefix("sums ").and_then(|l| l.rsplit_once(": reduce "))
            {
                kept.reduces.extend(reduce.parse().ok().map(|reduce| (sums.to_string(), reduce)));
            }
            if let Some((key, schedule)) = line.strip_prefix("kernel ").and_then(|l| l.split_once(": "))
                && let Some((kernel, tokens)) = key.split_once(" in steps of ")
                && let (Ok(kernel), Ok(tokens), Some(schedule)) =
                    (u64::from_str_radix(kernel, 16), tokens.parse(), Kept::read(schedule))
            {
                kept.kernels.insert(Key { kernel, tokens }, schedule);
            }
        }
        kept
    }
}

impl fmt::Display for TunedSchedules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (sums, reduce) in &self.reduces {
            writeln!(f, "sums {sums}: reduce {reduce}")?;
        }
        for (Key { kernel, tokens }, schedule) in &self.kernels {
            writeln!(f, "kernel {kernel:016x} in steps of {tokens}: {schedule}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
