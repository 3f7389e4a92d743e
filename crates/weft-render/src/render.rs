//! From a kernel and its schedule to text.
//!
//! Each part becomes a range of workgroups. A workgroup computes the part's prologue for its rows, then the anchor's results, which it keeps in its
//! memory, then the row program. What is written down is a small structured program; a [dialect](crate::dialect) spells it.

mod attend;
mod blocks;
mod code;
mod dot;
mod expr;
mod functions;
mod program;
mod prologue;
mod reduce;
mod round;
mod select;
mod space;
mod store;
mod tile;
mod writer;

use weft_kern::{Access, Anchor, Kernel, Part, Sizes};

pub(crate) use code::{Stmt, visit};
pub(crate) use expr::{Expr, Fun, Op};

use crate::dialect::{Dialect, Module, Wgsl, print};
use crate::limits::Limits;
use crate::schedule::{self, Schedule, Split, TunedSchedules};
use crate::shader::{Grid, Shader, args_words};
use attend::Pass;
use dot::Dot;
use space::Space;
use writer::Writer;

/// Why a kernel cannot be rendered for an adapter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{kernel}`{}: {why}", part.map(|p| format!(", part {p}")).unwrap_or_default())]
pub struct Refused {
    /// The kernel.
    pub kernel: String,
    /// Which of its parts, if it is one's fault.
    pub part: Option<usize>,
    /// The limit, or what it says that cannot be said here.
    pub why: Why,
}

/// A limit of an adapter or of the renderer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// A workgroup keeps too much.
    #[error("a workgroup keeps {needed} bytes, the adapter has room for {limit}")]
    Shared {
        /// Bytes it keeps.
        needed: u64,
        /// Bytes there are.
        limit: u32,
    },
    /// Too many buffers.
    #[error("it works on {needed} buffers, the adapter lets a shader have {limit}")]
    Buffers {
        /// How many it works on.
        needed: usize,
        /// How many it may.
        limit: u32,
    },
    /// Too many workgroups.
    #[error("it takes {needed} workgroups, the adapter launches {limit} along an axis; try a smaller batch")]
    Groups {
        /// How many it takes, at the largest sizes.
        needed: u64,
        /// How many may be along an axis.
        limit: u32,
    },
    /// A schedule that is none for this kernel or adapter.
    #[error("the schedule does not fit: {0}")]
    Schedule(String),
    /// Something the kernel does that the renderer has no form for.
    #[error("this device has no form for a kernel that {0}")]
    Form(String),
}

/// Renders a verified kernel as WGSL for steps of sizes up to `max`, with a schedule that the heuristic chooses: the shaders that compute it, to be run one after
/// another. `slots[i]` is the slot of the kernel's parameter `i`; slots are numbered from 0 without a gap.
///
/// # Errors
/// [`Refused`], naming the limit of the adapter it would break.
pub fn render(
    kernel: &Kernel,
    slots: &[usize],
    max: &Sizes,
    limits: &Limits,
) -> Result<Vec<Shader>, Refused> {
    let chosen = schedule::choose(kernel, max, limits, &TunedSchedules::default());
    render_with(kernel, slots, &fitting(kernel, chosen, max, limits)?, max, limits)
}

/// A schedule, or one like it that has workgroups keep less, if they have no room for what it would have them keep.
pub(crate) fn fitting(
    kernel: &Kernel,
    mut schedule: Schedule,
    max: &Sizes,
    limits: &Limits,
) -> Result<Schedule, Refused> {
    loop {
        let Err((part, why)) = alone(kernel, &schedule, max, limits) else { return Ok(schedule) };
        let smaller = match (&why, part) {
            (Why::Shared { .. }, Some(i)) => {
                schedule::smaller(&kernel.parts[i], &schedule.parts[i]).map(|s| (i, s))
            }
            _ => None,
        };
        let Some((i, smaller)) = smaller else {
            return Err(Refused { kernel: kernel.name.clone(), part, why });
        };
        schedule.parts[i] = smaller;
    }
}

/// Whether a kernel can be rendered with this schedule, wherever its arguments are.
pub(crate) fn fits(kernel: &Kernel, schedule: &Schedule, max: &Sizes, limits: &Limits) -> bool {
    alone(kernel, schedule, max, limits).is_ok()
}

/// Writes a kernel whose arguments are each in a buffer of its own, of which there may be any number.
fn alone(
    kernel: &Kernel,
    schedule: &Schedule,
    max: &Sizes,
    limits: &Limits,
) -> Result<(), (Option<usize>, Why)> {
    let slots: Vec<usize> = (0..kernel.params.len()).collect();
    let limits = Limits { storage_buffers: u32::MAX, ..limits.clone() };
    let job = Job::new(kernel, &slots, schedule, max, &limits)?;
    job.passes().iter().try_for_each(|first| job.module(*first).map(drop))
}

/// Renders a verified kernel with this schedule.
///
/// # Errors
/// [`Refused`], also if the schedule is none for the kernel.
pub fn render_with(
    kernel: &Kernel,
    slots: &[usize],
    schedule: &Schedule,
    max: &Sizes,
    limits: &Limits,
) -> Result<Vec<Shader>, Refused> {
    let refused = |(part, why)| Refused { kernel: kernel.name.clone(), part, why };
    let job = Job::new(kernel, slots, schedule, max, limits).map_err(refused)?;
    job.passes().iter().map(|first| job.shader(*first).map_err(refused)).collect()
}

/// A kernel on its way to shaders.
struct Job<'a> {
    kernel: &'a Kernel,
    slots: &'a [usize],
    schedule: &'a Schedule,
    max: &'a Sizes,
    limits: &'a Limits,
    /// Whether there is a second shader, that puts together what the first put down for parts whose chunks are spread.
    spread: bool,
}

impl<'a> Job<'a> {
    fn new(
        kernel: &'a Kernel,
        slots: &'a [usize],
        schedule: &'a Schedule,
        max: &'a Sizes,
        limits: &'a Limits,
    ) -> Result<Job<'a>, (Option<usize>, Why)> {
        schedule::check(kernel, schedule, limits).map_err(|(part, why)| (part, Why::Schedule(why)))?;
        let spread = schedule.parts.iter().any(|split| split.spread);
        Ok(Job { kernel, slots, schedule, max, limits, spread })
    }

    /// Its shaders: of each whether it is the first.
    fn passes(&self) -> &'static [bool] {
        if self.spread { &[true, false] } else { &[true] }
    }

    /// The first shader, or the second.
    fn shader(&self, first: bool) -> Result<Shader, (Option<usize>, Why)> {
        let (module, grid, scratch_bytes) = self.module(first)?;
        let dialect: &dyn Dialect = &Wgsl { dot4: self.limits.dot4 };
        Ok(Shader {
            name: self.kernel.name.clone(),
            source: print(dialect, &module),
            shared_bytes: 4 * module.shared_words,
            scratch_bytes,
            lanes: module.lanes,
            slots: module.slots,
            grid,
        })
    }

    /// A shader as a program that is not spelled yet, its workgroups, and the bytes that shaders tell each other.
    fn module(&self, first: bool) -> Result<(Module, Grid, u64), (Option<usize>, Why)> {
        let Job { kernel, slots, schedule, max, limits, spread } = *self;
        let mut written = written_slots(kernel, slots).map_err(|why| (None, why))?;
        let scratch = written.len();
        written.extend(spread.then_some(true));
        if written.len() > limits.storage_buffers as usize {
            let (needed, limit) = (written.len(), limits.storage_buffers);
            return Err((None, Why::Buffers { needed, limit }));
        }
        let mut spaces = Vec::new();
        let mut put_down: u64 = 0;
        for (i, (part, split)) in kernel.parts.iter().zip(&schedule.parts).enumerate() {
            let fail = |why| (Some(i), why);
            // The second shader has only what is to be put together.
            if !first && !split.spread {
                continue;
            }
            let space = Space::new(part, split, split.spread && first).map_err(fail)?;
            let mut pass = Pass::Whole;
            if split.spread {
                let at = u32::try_from(put_down).map_err(|_| fail(too_much()))?;
                let words = space.chunk_rows(max).saturating_mul(u64::from(attend::chunk_words(space.cols)));
                put_down = put_down.saturating_add(words);
                pass = match first {
                    true => Pass::Chunks { slot: scratch, at },
                    false => Pass::Join { slot: scratch, at },
                };
            }
            spaces.push((i, space, pass));
        }
        if 4 * put_down > limits.binding_bytes || put_down > u64::from(u32::MAX) {
            return Err((None, too_much()));
        }
        let groups = spaces.iter().map(|(_, space, _)| space.groups());
        let grid = Grid { wide: 1 << limits.groups.max(1).ilog2(), parts: groups.collect() };
        let needed = grid.all(max);
        if needed > u64::from(grid.wide) * u64::from(grid.wide) {
            return Err((None, Why::Groups { needed, limit: limits.groups }));
        }

        let mut w = Writer::new(kernel, slots, schedule.lanes, limits);
        let mut group = Expr::Group(0);
        if needed > u64::from(grid.wide) {
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
            // One part has all workgroups, unless the last row of them is not full.
            if spaces.len() == 1 && needed <= u64::from(grid.wide) {
                written_part(&mut w, part, split, (space, *pass), &own).map_err(fail)?;
            } else {
                let count = space.count(&mut w.code);
                let is_own = own.less(&count);
                w.when(is_own, |w| written_part(w, part, split, (space, *pass), &own)).map_err(fail)?;
                begin = w.code.set("end", begin + count);
            }
            // One word more is what lanes agree on.
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
            title: format!("{}: {schedule}", kernel.name),
            slots: written,
            args_words: args_words(kernel.params.len()),
            lanes: schedule.lanes,
            shared_words: kept,
            functions: functions::called(&body),
            body,
        };
        Ok((module, grid, 4 * put_down))
    }
}

fn too_much() -> Why {
    Why::Form("puts more down between its shaders than a buffer has room for".into())
}

/// Whether each slot is written; slots have no gap.
fn written_slots(kernel: &Kernel, slots: &[usize]) -> Result<Vec<bool>, Why> {
    let count = slots.iter().map(|s| s + 1).max().unwrap_or(0);
    if slots.len() != kernel.params.len() || count > slots.len() {
        return Err(Why::Form(format!(
            "has {} parameters, and {} are bound",
            kernel.params.len(),
            slots.len()
        )));
    }
    let mut written = vec![false; count];
    for (slot, param) in slots.iter().zip(&kernel.params) {
        written[*slot] |= param.access == Access::Write;
    }
    Ok(written)
}

/// What a workgroup does for a part.
fn written_part(
    w: &mut Writer<'_>,
    part: &Part,
    split: &Split,
    (space, pass): (&Space, Pass),
    group: &Expr,
) -> Result<(), Why> {
    let place = space.place(&mut w.code, group);
    let made = prologue::prologue(w, part, &place)?;
    let results = match &part.anchor {
        Anchor::Map | Anchor::Reduce => Vec::new(),
        Anchor::Dot(_) => Dot::write(w, part, &place, split, made)?,
        Anchor::Attend(attend) => match attend::attend(w, attend, &place, split, pass)? {
            Some(result) => vec![result],
            // The second shader has what is done with the result.
            None => return Ok(()),
        },
    };
    store::program(w, part, &place, results)
}

/// What a part is, for people.
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
