//! Schedules that were found to be faster than the heuristic's, and what of them may be used.
//!
//! There are two kinds. `reduce` decides in what order a sum is made, and bits must not depend on company: so it is kept by what is multiplied, and holds
//! for every kernel that makes such a sum, whatever the size of the step and whatever else the kernel does. Whole schedules are kept by kernel and
//! largest step, and are used only if they make sums in that order; all else that they say changes no bit. Whatever a file of them says, then, bits stay
//! independent of company, and what is impossible is passed over.

use std::collections::BTreeMap;
use std::fmt;

use weft_kern::{Anchor, Instr, Kernel, Part, Pick, Product, Sizes};

use crate::checksum::checksum;
use crate::limits::Limits;
use crate::schedule::{Schedule, Split, check};

/// Sums of a lane, at most, in a schedule that is kept or tried: each is a variable of the text.
pub(crate) const MOST_SUMS: u32 = 64;

/// In what order sums are made.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SumOrder {
    /// Which sums: `q4_0[2048, 768]`.
    pub sums: String,
    /// In what order: `reduce 8`.
    pub order: String,
}

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

/// The orders of the sums that a schedule makes.
pub(crate) fn orders(kernel: &Kernel, schedule: &Schedule) -> Vec<SumOrder> {
    let parts = kernel.parts.iter().zip(&schedule.parts);
    let orders = parts.filter_map(|(part, split)| {
        Some(SumOrder { sums: sums(kernel, part)?, order: format!("reduce {}", split.reduce) })
    });
    orders.collect()
}

/// What a part multiplies: all that may decide in what order it adds up. `None` if it has no products.
pub(crate) fn sums(kernel: &Kernel, part: &Part) -> Option<String> {
    let products: Vec<String> = part.products().iter().map(|p| product(kernel, p)).collect();
    (!products.is_empty()).then(|| products.join(" + "))
}

fn product(kernel: &Kernel, Product { x: _, w, transposed }: &Product) -> String {
    let picked = match &w.pick {
        Pick::Only => String::new(),
        Pick::Axis(_) => format!(" one of {} by place", w.count),
        Pick::Ids(_) => format!(" one of {} by number", w.count),
        Pick::Sum(sum) => format!(" {} of {} by number", sum.terms, w.count),
    };
    let turned = if *transposed { " transposed" } else { "" };
    format!("{}[{}, {}]{turned}{picked}", kernel.params[w.param].format, w.n, w.k)
}

/// Whether a schedule is one for the kernel, and no monster.
pub(crate) fn is_possible(kernel: &Kernel, schedule: &Schedule, limits: &Limits) -> bool {
    let few = |(part, split): (&Part, &Split)| {
        let sums = split.rows.saturating_mul(split.upcast).saturating_mul(part.products().len() as u32);
        sums <= MOST_SUMS
    };
    check(kernel, schedule, limits).is_ok() && kernel.parts.iter().zip(&schedule.parts).all(few)
}

/// Whether lanes decide in what order a kernel makes sums: those of a row, and those of attention.
pub(crate) fn lanes_matter(kernel: &Kernel) -> bool {
    let reduces = |instr: &Instr| matches!(instr, Instr::Reduce(..) | Instr::TopK { .. });
    kernel.parts.iter().any(|part| {
        let before = part.prologue.iter().flat_map(|prologue| &prologue.body);
        matches!(part.anchor, Anchor::Attend(_)) || part.body.iter().chain(before).any(reduces)
    })
}

/// Whether two schedules of a kernel make all sums in the same order.
pub(crate) fn same_bits(kernel: &Kernel, one: &Schedule, other: &Schedule) -> bool {
    let parts = kernel.parts.iter().zip(one.parts.iter().zip(&other.parts));
    (one.lanes == other.lanes || !lanes_matter(kernel))
        && one.parts.len() == other.parts.len()
        && parts.into_iter().all(|(part, (a, b))| {
            let attends = matches!(part.anchor, Anchor::Attend(_));
            // Of all else that a split of attention says only its rows are free, and whether its chunks are spread.
            if attends { Split { rows: b.rows, spread: b.spread, ..*a } == *b } else { a.reduce == b.reduce }
        })
}

#[cfg(test)]
mod tests;
