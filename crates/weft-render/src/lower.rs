//! Lowers a kernel with its schedule to the structured program.
//!
//! Each part becomes a range of workgroups. A workgroup computes the part's prologue for its rows,
//! then the anchor's results, which stay in workgroup memory, then the row program.

mod attend;
mod blocks;
mod dot;
mod functions;
mod prologue;
mod reduce;
mod round;
mod row_program;
mod select;
mod space;
mod store;
mod tile;
mod writer;

use weft_kern::{Access, Anchor, Kernel, Part, Sizes};

use crate::code::expr::Expr;
use crate::code::module::{Module, Slot};
use crate::code::stmt::Stmt;
use crate::code::waits;
use crate::grid::Grid;
use crate::limits::Limits;
use crate::lower::attend::Pass;
use crate::lower::attend::context::chunk_words;
use crate::lower::dot::Dot;
use crate::lower::space::Space;
use crate::lower::writer::Writer;
use crate::refused::Why;
use crate::schedule::check::check;
use crate::schedule::{Schedule, Split};
use crate::shader::{Slots, args_words};

/// A kernel being lowered.
pub(crate) struct Job<'a> {
    kernel: &'a Kernel,
    slots: &'a Slots,
    schedule: &'a Schedule,
    max: &'a Sizes,
    limits: &'a Limits,
    /// Whether some part spreads its chunks, so that a second shader joins their results.
    spread: bool,
}

impl<'a> Job<'a> {
    /// Checks the schedule of a verified kernel.
    pub(crate) fn new(
        kernel: &'a Kernel,
        slots: &'a Slots,
        schedule: &'a Schedule,
        max: &'a Sizes,
        limits: &'a Limits,
    ) -> Result<Job<'a>, (Option<usize>, Why)> {
        check(kernel, schedule, limits).map_err(|(part, why)| (part, Why::Schedule(why)))?;
        let spread = schedule.parts.iter().any(|split| split.spread);
        Ok(Job { kernel, slots, schedule, max, limits, spread })
    }

    /// The kernel's shaders: for each, whether it is the first.
    pub(crate) fn passes(&self) -> &'static [bool] {
        if self.spread { &[true, false] } else { &[true] }
    }

    /// The first or the second shader, its grid, and the bytes of scratch memory between the two.
    pub(crate) fn module(&self, first: bool) -> Result<(Module, Grid, u64), (Option<usize>, Why)> {
        let Job { kernel, slots, schedule, max, limits, spread } = *self;
        let mut held = held_slots(kernel, slots).map_err(|why| (None, why))?;
        let scratch = held.len();
        held.extend(spread.then_some(Slot { written: true, weight: false }));
        if held.len() > limits.storage_buffers as usize {
            let (needed, limit) = (held.len(), limits.storage_buffers);
            return Err((None, Why::Buffers { needed, limit }));
        }
        let mut spaces = Vec::new();
        let mut scratch_words: u64 = 0;
        for (i, (part, split)) in kernel.parts.iter().zip(&schedule.parts).enumerate() {
            let fail = |why| (Some(i), why);
            // The second shader only has the parts with chunks to join.
            if !first && !split.spread {
                continue;
            }
            let space = Space::new(part, split, split.spread && first).map_err(fail)?;
            let mut pass = Pass::Whole;
            if split.spread {
                let at = u32::try_from(scratch_words).map_err(|_| fail(too_much()))?;
                let words = space.chunk_rows(max).saturating_mul(u64::from(chunk_words(space.cols)));
                scratch_words = scratch_words.saturating_add(words);
                pass = match first {
                    true => Pass::Chunks { slot: scratch, at },
                    false => Pass::Join { slot: scratch, at },
                };
            }
            spaces.push((i, space, pass));
        }
        if 4 * scratch_words > limits.binding_bytes || scratch_words > u64::from(u32::MAX) {
            return Err((None, too_much()));
        }
        let groups = spaces.iter().map(|(_, space, _)| space.groups());
        let grid = Grid { wide: 1 << limits.groups.max(1).ilog2(), parts: groups.collect() };
        let needed = grid.all(max);
        if needed > u64::from(grid.wide) * u64::from(grid.wide) {
            return Err((None, Why::Groups { needed, limit: limits.groups }));
        }

        let mut w = Writer::new(kernel, &slots.of, schedule.lanes, limits);
        // Each workgroup has one part, unless the grid's last row is not full.
        let (one_row, dependent) = (needed <= u64::from(grid.wide), limits.dependent_launch);
        if dependent {
            w.code.push(Stmt::LaunchNext);
            w.code.push_if(!one_row, Stmt::Wait);
        }
        w.waits = dependent && one_row;
        let mut group = Expr::Group(0);
        if !one_row {
            group = w.code.set("group_number", Expr::Group(1) * grid.wide + group);
        }
        let mut kept = 0;
        let mut begin = Expr::U32(0);
        for (i, space, pass) in &spaces {
            let (part, split) = (&kernel.parts[*i], &schedule.parts[*i]);
            let fail = |why| (Some(*i), why);
            w.pool.clear();
            w.code.note(format!("part {i}: {}; {split}{}", title(part), pass.title()));
            let own = w.code.set("own_group", &group - &begin);
            // A single part has all workgroups, unless the grid's last row is not full.
            if spaces.len() == 1 && one_row {
                written_part(&mut w, part, split, (space, *pass), &own).map_err(fail)?;
            } else {
                let count = space.count(&mut w.code);
                let is_own = own.less(&count);
                w.when(is_own, |w| written_part(w, part, split, (space, *pass), &own)).map_err(fail)?;
                begin = w.code.set("end", begin + count);
            }
            // One more word may be needed for [`Stmt::Uniform`].
            let needed = 4 * (u64::from(w.pool.top) + 1);
            if needed > u64::from(limits.shared_bytes) {
                return Err(fail(Why::Shared { needed, limit: limits.shared_bytes }));
            }
            kept = kept.max(w.pool.top);
        }
        let Writer { code, starts, counts, .. } = w;
        let define = |name: char, param: &usize, word: usize| {
            Stmt::Let(format!("{name}{param}"), Expr::Arg(2 * param + word))
        };
        let mut body: Vec<Stmt> = starts.iter().map(|p| define('p', p, 0)).collect();
        body.extend(counts.iter().map(|p| define('n', p, 1)));
        body.extend(code.finish());
        let module = Module {
            name: kernel.name.clone(),
            title: format!("{}: {schedule}", kernel.name),
            slots: held,
            args_words: args_words(kernel.params.len()),
            lanes: schedule.lanes,
            dependent,
            shared_words: kept,
            functions: functions::called(&body),
            body,
        };
        if dependent {
            debug_assert_eq!(waits::check(&module), Ok(()), "{}", module.title);
        }
        Ok((module, grid, 4 * scratch_words))
    }
}

fn too_much() -> Why {
    Why::Form("needs more scratch memory than a buffer can have".into())
}

/// What each slot holds; slots are numbered without a gap.
fn held_slots(kernel: &Kernel, slots: &Slots) -> Result<Vec<Slot>, Why> {
    let Slots { of, weights } = slots;
    let count = of.iter().map(|s| s + 1).max().unwrap_or(0);
    if of.len() != kernel.params.len() || count != weights.len() {
        let (bound, params) = (of.len(), kernel.params.len());
        return Err(Why::Form(format!(
            "has {params} parameters, of which {bound} are bound to {count} slots"
        )));
    }
    let mut held: Vec<Slot> = weights.iter().map(|weight| Slot { written: false, weight: *weight }).collect();
    for (slot, param) in of.iter().zip(&kernel.params) {
        held[*slot].written |= param.access == Access::Write;
    }
    match held.iter().position(|slot| slot.written && slot.weight) {
        Some(slot) => Err(Why::Form(format!("writes slot {slot}, which is a weight"))),
        None => Ok(held),
    }
}

/// Writes the work of a workgroup on a part.
fn written_part(
    w: &mut Writer<'_>,
    part: &Part,
    split: &Split,
    (space, pass): (&Space, Pass),
    group: &Expr,
) -> Result<(), Why> {
    let place = space.place(&mut w.code, group);
    w.wait();
    let made = prologue::prologue(w, part, &place)?;
    let results = match &part.anchor {
        Anchor::Map | Anchor::Reduce => Vec::new(),
        Anchor::Dot(_) => Dot::write(w, part, &place, split, made)?,
        Anchor::Attend(attend) => match attend::attend(w, attend, &place, split, pass)? {
            Some(result) => vec![result],
            // The second shader runs the row program.
            None => return Ok(()),
        },
    };
    store::program(w, part, &place, results)
}

/// A part's title, for the comment above it.
fn title(part: &Part) -> String {
    let rows: Vec<String> = part.rows.iter().map(ToString::to_string).collect();
    let anchor = match &part.anchor {
        Anchor::Map => "map",
        Anchor::Reduce => "reduce",
        Anchor::Dot(_) => "dot",
        Anchor::Attend(_) => "attend",
    };
    format!("{anchor} [{}] × {}", rows.join(", "), part.cols)
}
