//! From a kernel and its schedule to text.
//!
//! Each part becomes a range of workgroups. A workgroup computes the part's prologue for its rows, then the anchor's results, which it keeps in its
//! memory, then the row program. What is written down is a small structured program; a [dialect](crate::dialect) spells it.

mod attend;
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
use crate::schedule::{self, Schedule, Split};
use crate::shader::{Grid, Shader, args_words};
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

/// Renders a verified kernel as WGSL for steps of sizes up to `max`, with a schedule that the heuristic chooses. `slots[i]` is the slot of the kernel's
/// parameter `i`; slots are numbered from 0 without a gap.
///
/// # Errors
/// [`Refused`], naming the limit of the adapter it would break.
pub fn render(kernel: &Kernel, slots: &[usize], max: &Sizes, limits: &Limits) -> Result<Shader, Refused> {
    let mut schedule = schedule::choose(kernel, max, limits);
    loop {
        let refused = match render_with(kernel, slots, &schedule, max, limits) {
            Ok(shader) => return Ok(shader),
            Err(refused) => refused,
        };
        let (Why::Shared { .. }, Some(part)) = (&refused.why, refused.part) else { return Err(refused) };
        match schedule::smaller(&schedule.parts[part]) {
            Some(smaller) => schedule.parts[part] = smaller,
            None => return Err(refused),
        }
    }
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
) -> Result<Shader, Refused> {
    let (module, grid) = module(kernel, slots, schedule, max, limits).map_err(|(part, why)| Refused {
        kernel: kernel.name.clone(),
        part,
        why,
    })?;
    let dialect: &dyn Dialect = &Wgsl { dot4: limits.dot4 };
    Ok(Shader {
        name: kernel.name.clone(),
        source: print(dialect, &module),
        shared_bytes: 4 * module.shared_words,
        lanes: module.lanes,
        slots: module.slots,
        grid,
    })
}

/// The kernel as a program that is not spelled yet.
fn module(
    kernel: &Kernel,
    slots: &[usize],
    schedule: &Schedule,
    max: &Sizes,
    limits: &Limits,
) -> Result<(Module, Grid), (Option<usize>, Why)> {
    let written = written_slots(kernel, slots).map_err(|why| (None, why))?;
    if written.len() > limits.storage_buffers as usize {
        let (needed, limit) = (written.len(), limits.storage_buffers);
        return Err((None, Why::Buffers { needed, limit }));
    }
    schedule::check(kernel, schedule, limits).map_err(|(part, why)| (part, Why::Schedule(why)))?;
    let spaces: Vec<Space> = kernel
        .parts
        .iter()
        .zip(&schedule.parts)
        .enumerate()
        .map(|(i, (part, split))| Space::new(part, split).map_err(|why| (Some(i), why)))
        .collect::<Result<_, _>>()?;
    let grid =
        Grid { wide: 1 << limits.groups.max(1).ilog2(), parts: spaces.iter().map(Space::groups).collect() };
    let needed = grid.all(max);
    if needed > u64::from(grid.wide) * u64::from(grid.wide) {
        return Err((None, Why::Groups { needed, limit: limits.groups }));
    }

    let mut w = Writer::new(kernel, slots, schedule.lanes);
    let mut group = Expr::Group(0);
    if needed > u64::from(grid.wide) {
        group = w.code.set("group_number", Expr::Group(1) * grid.wide + group);
    }
    let mut kept = 0;
    let mut begin = Expr::U32(0);
    for (i, (part, split)) in kernel.parts.iter().zip(&schedule.parts).enumerate() {
        let fail = |why| (Some(i), why);
        w.pool.clear();
        w.code.note(format!("part {i}: {}; {split}", title(part)));
        let own = w.code.set("own_group", &group - &begin);
        // One part has all workgroups, unless the last row of them is not full.
        if kernel.parts.len() == 1 && needed <= u64::from(grid.wide) {
            written_part(&mut w, part, split, &spaces[i], &own).map_err(fail)?;
        } else {
            let count = spaces[i].count(&mut w.code);
            let is_own = own.less(&count);
            w.when(is_own, |w| written_part(w, part, split, &spaces[i], &own)).map_err(fail)?;
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
    Ok((module, grid))
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
    space: &Space,
    group: &Expr,
) -> Result<(), Why> {
    let place = space.place(&mut w.code, group);
    let made = prologue::prologue(w, part, &place)?;
    let results = match &part.anchor {
        Anchor::Map | Anchor::Reduce => Vec::new(),
        Anchor::Dot(_) => Dot::write(w, part, &place, split, made)?,
        Anchor::Attend(attend) => vec![attend::attend(w, attend, &place, split)?],
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
