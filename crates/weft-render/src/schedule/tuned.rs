//! Schedules that were found to be faster than the heuristic's, and what of them may be used.
//!
//! There are two kinds. `reduce` decides in what order a sum is made, and bits must not depend on company: so it is kept by what is multiplied, and holds
//! for every kernel that makes such a sum, whatever the size of the step and whatever else the kernel does. Whole schedules are kept by kernel and
//! largest step, and are used only if they make sums in that order; all else that they say changes no bit. Whatever a file of them says, then, bits stay
//! independent of company, and what is impossible is passed over.

use std::collections::BTreeMap;
use std::fmt;

use weft_kern::{Kernel, Part, Sizes};

use crate::checksum::checksum;
use crate::limits::Limits;
use crate::schedule::Schedule;
use crate::schedule::check::is_possible;
use crate::schedule::order::{same_bits, sums};

/// What a whole schedule is kept by: the kernel's text without its name, and the largest step.
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

/// Schedules that were kept. Their text form is what a device keeps in a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TunedSchedules {
    /// Lanes that share a sum, by what is multiplied.
    reduces: BTreeMap<String, u32>,
    kernels: BTreeMap<Key, Schedule>,
}

impl TunedSchedules {
    /// Keeps the schedule of a kernel in place of its `own`; and the order of its sums, where that is another, for all others that make such sums.
    pub(crate) fn insert(&mut self, kernel: &Kernel, max: &Sizes, schedule: Schedule, own: &Schedule) {
        for ((part, split), own) in kernel.parts.iter().zip(&schedule.parts).zip(&own.parts) {
            if let Some(sums) = sums(kernel, part).filter(|_| split.reduce != own.reduce) {
                self.reduces.insert(sums, split.reduce);
            }
        }
        self.kernels.insert(Key::new(kernel, max), schedule);
    }

    /// Lanes that share a sum of this part, if that was kept and there can be as many.
    pub(crate) fn reduce(&self, kernel: &Kernel, part: &Part, lanes: usize) -> Option<usize> {
        if self.reduces.is_empty() {
            return None;
        }
        let reduce = *self.reduces.get(&sums(kernel, part)?)? as usize;
        (reduce.is_power_of_two() && reduce <= lanes).then_some(reduce)
    }

    /// The schedule of a kernel, if one was kept that can be used in place of `own`, which has the order of sums that all keep to.
    pub(crate) fn schedule(
        &self,
        kernel: &Kernel,
        max: &Sizes,
        own: &Schedule,
        limits: &Limits,
    ) -> Option<&Schedule> {
        if self.kernels.is_empty() {
            return None;
        }
        let kept = self.kernels.get(&Key::new(kernel, max))?;
        (is_possible(kernel, kept, limits) && same_bits(kernel, own, kept)).then_some(kept)
    }

    /// What the lines of a text say, each by itself: one that says nothing is passed over.
    pub fn parse(text: &str) -> TunedSchedules {
        let mut kept = TunedSchedules::default();
        for line in text.lines() {
            if let Some((sums, reduce)) = line.strip_prefix("sums ").and_then(|l| l.rsplit_once(": reduce "))
            {
                kept.reduces.extend(reduce.parse().ok().map(|reduce| (sums.to_string(), reduce)));
            }
            if let Some((key, schedule)) = line.strip_prefix("kernel ").and_then(|l| l.split_once(": "))
                && let Some((kernel, tokens)) = key.split_once(" in steps of ")
                && let (Ok(kernel), Ok(tokens), Ok(schedule)) =
                    (u64::from_str_radix(kernel, 16), tokens.parse(), schedule.parse())
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
