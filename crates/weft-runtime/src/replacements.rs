//! Users' kernels are checked on the device before they are used: by fresh random data, in steps of one token, of
//! seven and of as many as the program is for.
//!
//! Such a kernel must write what the kernel writes that it replaces, within what rounding explains, and the same bits for a
//! token in steps of any size. Where its bits differ from those of the kernel that it replaces, it must replace that kernel
//! in the plans for steps of every size: no token may depend on the size of its step.

mod data;
mod trial;

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;
use std::sync::Arc;

use weft_device::{Device, Mark, Side};
use weft_fuse::{Fusion, Mode, Options, REPLACE, Replaced};
use weft_kern::{Plan, Replacement};
use weft_models::Segment;
use weft_pack::{OnReport, Report};

use crate::error::Error;
use crate::weights::sides;
use trial::{Found, Trial};

/// The plans of a model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plans<'a> {
    pub(crate) segments: &'a [Segment],
    /// The side of each segment.
    pub(crate) sides: &'a [Side],
    /// The most tokens of each class of steps.
    pub(crate) steps: &'a [usize],
    /// For each class, a fusion for each segment.
    pub(crate) fusions: &'a [Vec<Arc<Fusion>>],
}

/// A kernel that was found to compute the same as the one that it replaces.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    replacement: Arc<Replacement>,
    /// The most tokens of the steps that it was checked for.
    tokens: usize,
    side: Side,
    /// Whether it computed the same bits as the kernel that it replaces.
    same_bits: bool,
    /// The language of its text, if the device runs that.
    text: Option<&'static str>,
}

/// Checks the users' kernels in plans that are not among `known`, and adds them.
///
/// # Errors
/// [`Error::Replacement`] if one computes something else; those of the device.
pub(crate) fn check(
    device: &mut dyn Device,
    plans: Plans<'_>,
    known: &mut Vec<Checked>,
) -> Result<(), Error> {
    for fusions in plans.fusions {
        for (i, fusion) in fusions.iter().enumerate() {
            let side = plans.sides[i];
            for replaced in &fusion.replaced {
                let tokens = fusion.plan.max.tokens;
                if found(known, replaced, tokens, side).is_none() {
                    let Found { same_bits } = one(device, (&fusion.plan, replaced), plans.steps, side)?;
                    let replacement = Arc::clone(&replaced.replacement);
                    let text = device.text().and_then(|text| text.given(&replacement.by, &fusion.plan.max));
                    known.push(Checked { replacement, tokens, side, same_bits, text });
                }
            }
        }
    }
    of_every_size(plans, known)
}

/// Tells which kernels are replaced, after they were checked.
///
/// # Errors
/// [`Error::Replacement`] if one replaces nothing; [`Error::Interrupted`].
pub(crate) fn tell(
    device: &dyn Device,
    plans: Plans<'_>,
    options: &Options,
    known: &[Checked],
    report: OnReport<'_>,
) -> Result<(), Error> {
    for replacement in &options.replacements {
        let all = plans.fusions.iter().flatten().flat_map(|fusion| &fusion.replaced);
        let own: Vec<&Replaced> = all.filter(|one| Arc::ptr_eq(&one.replacement, replacement)).collect();
        let name = &replacement.by.name;
        let Some(first) = own.first() else {
            if options.switches.mode(&REPLACE) != Mode::On {
                continue;
            }
            let why = format!(
                "the kernel `{name}` replaces nothing: no plan of this model has the kernel that it is for, `{}`; `weft explain \
                 MODEL --plan` prints those that there are",
                replacement.replaced.name
            );
            return Err(Error::Replacement(why));
        };
        let checked = || known.iter().filter(|known| Arc::ptr_eq(&known.replacement, replacement));
        let bits = match checked().all(|known| known.same_bits) {
            true => "the same bits",
            false => "the same within rounding",
        };
        let text = checked().find_map(|known| known.text);
        let text = text.map(|language| format!(", with its text in {language},")).unwrap_or_default();
        let note = format!(
            "the kernel `{name}`{text} replaces `{}`: {bits}, checked on {}",
            first.before,
            device.caps().name
        );
        if report(Report::Note(note)) == ControlFlow::Break(()) {
            return Err(Error::Interrupted);
        }
    }
    Ok(())
}

fn found<'k>(known: &'k [Checked], replaced: &Replaced, tokens: usize, side: Side) -> Option<&'k Checked> {
    let is_it = |one: &&Checked| {
        Arc::ptr_eq(&one.replacement, &replaced.replacement) && (one.tokens, one.side) == (tokens, side)
    };
    known.iter().find(is_it)
}

/// Checks one kernel of a plan, of a model that is compiled for steps of so many tokens.
fn one(
    device: &mut dyn Device,
    (plan, replaced): (&Plan, &Replaced),
    steps: &[usize],
    side: Side,
) -> Result<Found, Error> {
    let mark = Mark::of(device);
    sides::place(device, Some(side));
    // Data that nobody could have known.
    let seed = RandomState::new().hash_one(&replaced.before);
    let trial = Trial::new(device, (plan, replaced), steps, seed);
    let found = trial.and_then(|trial| trial.run(device));
    sides::place(device, None);
    mark.into_iter().for_each(|mark| mark.restore(device));
    found
}

/// Checks that kernels whose bits differ from those of the kernels that they replace, in steps of any size, are in the plans for
/// steps of all sizes.
fn of_every_size(plans: Plans<'_>, known: &[Checked]) -> Result<(), Error> {
    for (i, segment) in plans.segments.iter().enumerate() {
        let of = |fusions: &Vec<Arc<Fusion>>| -> BTreeSet<usize> {
            let differs = |one: &&Replaced| {
                known.iter().any(|k| Arc::ptr_eq(&k.replacement, &one.replacement) && !k.same_bits)
            };
            let all = fusions[i].replaced.iter().filter(differs);
            all.map(|one| Arc::as_ptr(&one.replacement) as usize).collect()
        };
        let all: Vec<BTreeSet<usize>> = plans.fusions.iter().map(of).collect();
        let Some(first) = all.first() else { continue };
        if let Some(other) = all.iter().position(|own| own != first) {
            let [one, more] = [plans.steps[0], plans.steps[other]];
            let why = format!(
                "a kernel given for {} is used in steps of {} tokens but not in those of {}, and its bits differ from those of \
                 the kernel that it replaces, so replies would depend on the size of steps; give one that sums in the same order",
                segment.name,
                if first.is_empty() { more } else { one },
                if first.is_empty() { one } else { more },
            );
            return Err(Error::Replacement(why));
        }
    }
    Ok(())
}
