//! Chains: several launches in one.
//!
//! A launch that depends on the one before it begins when that one has ended, which takes microseconds. The kernels of a step of one
//! token take hardly more. So where all workgroups of a launch run at once, kernels that follow each other become the *stages* of
//! one launch, a chain, whose workgroups wait for each other. If `n` workgroups are launched, each has every `n`-th group of each
//! stage. It counts itself when it has ended a stage. Before it first needs what other kernels wrote, it waits until all
//! workgroups with work in the stage before have counted themselves.
//!
//! Nothing else changes: a stage does what the kernel's own launch does, in the same order, so that no bit differs.
//!
//! Graphics APIs do not promise that a workgroup goes on while others wait for it. In practice those that have begun do. How many run
//! at once is counted by a *census*, a launch of the same text that does nothing else. A workgroup whose wait times out gives
//! up and says so.
//!
//! What workgroups of one launch read of each other is declared coherent, since their caches are not. Where one kernel stores
//! halves of words, which takes atomic words, and another loads four words at once, a chain ends between them.

mod joined;

use std::collections::BTreeSet;

use weft_kern::{Kernel, Sizes};

use crate::code::cooperative::Arrays;
use crate::code::expr::Expr;
use crate::code::module::{Module, Slot};
use crate::code::stmt::{MET, Stmt};
use crate::grid::Grid;
use crate::limits::{Language, Limits, Target};
use crate::lower::{Job, Link, functions, groups_now};
use crate::refused::{Refused, Why};
use crate::render::{dialect, shader};
use crate::schedule::Schedule;
use crate::shader::{Shader, Slots, args_words};

pub use joined::Joined;

/// Stages of a chain, at most: each has a word that counts.
pub const MOST_STAGES: usize = 31;

/// Words between two counts: each has a line of memory, so that those who wait do not hold up those who count.
pub(crate) const LINE: u32 = 32;

/// Words that a chain binds after its slots. The first is not its own. Then come [`IN_VAIN`], the number of workgroups that have
/// left the chain, one that only a census uses, and from a line of memory on, the counts of its stages.
pub const CHAIN_WORDS: usize = LINE as usize * (1 + MOST_STAGES);

/// The word of them that is not 0 once the wait of a workgroup has timed out.
pub const IN_VAIN: usize = 1;

/// The words of them that need to be 0 before a [census](Chain), and to be set to 0 after it.
pub const CENSUS: [usize; 3] = [2, 3, LINE as usize];

/// The last of these, which has the census's result.
pub const COUNTED: usize = CENSUS[2];

/// The workgroups of a census: more than any stage has.
pub const CENSUS_GROUPS: u32 = 4096;

/// A rendered chain.
///
/// A launch of its text is a census if the first of its [`args`](Chain::args) is 1: then it only counts how many workgroups run at
/// once. In all others there must be no more than that.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chain {
    /// Its text, which binds [`CHAIN_WORDS`] after all slots. Its own grid is empty.
    pub shader: Shader,
    /// The workgroups that the launches of its stages would have.
    pub stages: Vec<Grid>,
}

impl Chain {
    /// The workgroups of a launch, if so many run at once: as many as the largest stage has, at most; 0 if there is nothing to do.
    pub fn groups(&self, sizes: &Sizes, at_once: u32) -> u32 {
        let most = self.stages.iter().map(|stage| stage.all(sizes)).max().unwrap_or(0);
        most.min(u64::from(at_once.max(1))) as u32
    }

    /// The words of `args` for a launch whose kernels have these regions (byte offset within the slot, number of values). `None` if
    /// a region is beyond the range of 32 bits.
    pub fn args<R: IntoIterator<Item = (usize, usize)>>(
        kernels: impl IntoIterator<Item = R>,
    ) -> Option<Vec<u32>> {
        let mut words = vec![0; FIRST_ARGS];
        for regions in kernels {
            words.extend(Shader::args(regions)?);
        }
        Some(words)
    }
}

/// Words of `args` before those of the first kernel: whether the launch is a census, and three more that fill up a vector.
const FIRST_ARGS: usize = 4;

/// A kernel of a chain.
#[derive(Clone, Copy, Debug)]
pub struct Chained<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Its slots in the chain, from [`Joined::slots`].
    pub slots: &'a Slots,
    /// The first of its shaders that is in the chain. Those before it are launched by themselves.
    pub first_shader: usize,
}

/// Renders verified kernels with their schedules as a chain.
pub(crate) fn render_chain(
    kernels: &[(Chained<'_>, Schedule)],
    max: &Sizes,
    target: &Target,
) -> Result<Chain, Refused> {
    if !target.limits.chains || target.language != Language::Wgsl {
        let why = Why::Form("cannot be in a chain: its workgroups can't wait for each other".into());
        let kernel = kernels.first().map(|(of, _)| of.kernel.name.clone()).unwrap_or_default();
        return Err(Refused { kernel, part: None, why });
    }
    let (mut stages, mut scratch_bytes, mut args) = (Vec::new(), 0, FIRST_ARGS);
    for (Chained { kernel, slots, first_shader }, schedule) in kernels {
        let refused = |(part, why)| Refused { kernel: kernel.name.clone(), part, why };
        let mut job = Job::new(kernel, slots, schedule, max, &target.limits).map_err(refused)?;
        for step in job.steps().into_iter().skip(*first_shader) {
            job.link = Some(Link { group: group_of(stages.len()), args, taken: VARIABLES });
            let (module, grid, scratch) = job.module(step).map_err(refused)?;
            stages.push((module, grid));
            scratch_bytes = scratch.max(scratch_bytes);
        }
        args += args_words(kernel.params.len());
    }
    let name = || kernels.iter().map(|(of, _)| &*of.kernel.name).collect::<Vec<_>>().join(", ");
    let module = chained(&stages, args, &target.limits);
    let module = module.map_err(|why| Refused { kernel: name(), part: None, why })?;
    let grid = Grid { wide: Grid::wide(&target.limits), parts: Vec::new() };
    let shader = shader(dialect(target), &module, grid, scratch_bytes);
    Ok(Chain { shader, stages: stages.into_iter().map(|(_, grid)| grid).collect() })
}

/// The name of a workgroup's group of a stage.
fn group_of(stage: usize) -> String {
    format!("group_of_stage_{stage}")
}

/// Variables: the last stage that had work, and the number of workgroups that had it.
const ENDED: &str = "ended";
const WORKING: &str = "working";

/// The variables of a chain. No value of a kernel has one of these names.
const VARIABLES: &[&str] = &[ENDED, WORKING, MET];

/// The chain of these stages.
fn chained(stages: &[(Module, Grid)], args_words: usize, limits: &Limits) -> Result<Module, Why> {
    let lanes: BTreeSet<u32> = stages.iter().map(|(module, _)| module.lanes).collect();
    let (Some(lanes), 1, 1..=MOST_STAGES) = (lanes.first().copied(), lanes.len(), stages.len()) else {
        let count = stages.len();
        return Err(Why::Form(format!("cannot be a chain of {count} stages with {lanes:?} lanes")));
    };
    let slots = bound(stages);
    let needed = slots.iter().map(|slot| slot.pieces as usize).sum::<usize>() + 1;
    if needed > limits.storage_buffers as usize {
        return Err(Why::Buffers { needed, limit: limits.storage_buffers });
    }
    let zero = |name: &str| Stmt::Var(name.into(), Expr::U32(0));
    let mut body: Vec<Stmt> = [ENDED, WORKING].map(zero).into();
    let last = stages.len() - 1;
    for (stage, (module, grid)) in stages.iter().enumerate() {
        body.push(Stmt::Note(format!("stage {stage}: {}", module.title)));
        body.extend(staged(stage, module, grid));
        if stage < last {
            body.extend(counted(stage));
        }
    }
    body.push(Stmt::Leave(stages.len() as u32));
    let all = || stages.iter().map(|(module, _)| module);
    Ok(Module {
        name: "chain".into(),
        title: format!("{} launches in one", stages.len()),
        slots,
        piece_words: all().map(|module| module.piece_words).max().unwrap_or(u32::MAX),
        args_words,
        lanes,
        dependent: false,
        hands_over: false,
        shared_words: all().map(|module| module.shared_words).max().unwrap_or(0),
        arrays: Arrays::default(),
        functions: functions::called(&body),
        body,
        together: 0,
        chain: true,
    })
}

/// The slots of a chain: written if any of its stages writes them.
fn bound(stages: &[(Module, Grid)]) -> Vec<Slot> {
    let mut bound: Vec<Slot> = Vec::new();
    for (module, _) in stages {
        for (i, slot) in module.slots.iter().enumerate() {
            match bound.get_mut(i) {
                Some(known) => known.written |= slot.written,
                None => bound.push(*slot),
            }
        }
    }
    for slot in &mut bound {
        slot.coherent = slot.written;
    }
    bound
}

/// The number of a stage's groups in this step.
fn count_of(stage: usize) -> String {
    format!("groups_of_stage_{stage}")
}

/// A stage's groups, one after another.
fn staged(stage: usize, module: &Module, grid: &Grid) -> Vec<Stmt> {
    let (group, count) = (group_of(stage), Expr::name(count_of(stage)));
    let meet = Stmt::Meet { stage: Expr::name(ENDED), count: Expr::name(WORKING) };
    let mut out = vec![Stmt::Let(count_of(stage), groups_now(grid))];
    // The first of a workgroup's groups waits for all.
    let is_first = Expr::name(&*group).equal(Expr::Group(0));
    let wait = match stage {
        0 => None,
        _ => Some(Stmt::If { condition: is_first, then: vec![meet] }),
    };
    let mut body = replaced(&module.body, wait.as_ref());
    // The next group begins when no lane needs what this one has in workgroup memory.
    body.push(Stmt::Barrier);
    out.push(Stmt::For { name: group, from: Expr::Group(0), to: count, step: Expr::Launched, body });
    out
}

/// Counts the workgroup, and remembers the stage, if it had work.
fn counted(stage: usize) -> [Stmt; 2] {
    let count = Expr::name(count_of(stage));
    let set = |name: &str, value: Expr| Stmt::Set(name.into(), value);
    let number = stage as u32;
    [
        Stmt::If { condition: Expr::Group(0).less(&count), then: vec![Stmt::Ended(number)] },
        Stmt::If {
            condition: count.greater(0u32),
            then: vec![set(ENDED, number.into()), set(WORKING, count.min(Expr::Launched))],
        },
    ]
}

/// The statements, with another one where they wait for the launch before.
fn replaced(stmts: &[Stmt], wait: Option<&Stmt>) -> Vec<Stmt> {
    let replace = |stmt: &Stmt| match stmt {
        Stmt::Wait => wait.cloned(),
        Stmt::If { condition, then } => {
            Some(Stmt::If { condition: condition.clone(), then: replaced(then, wait) })
        }
        // Nothing waits within a loop.
        stmt => Some(stmt.clone()),
    };
    stmts.iter().filter_map(replace).collect()
}
