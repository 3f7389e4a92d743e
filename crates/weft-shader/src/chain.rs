//! Chains: several launches in one.
//!
//! A launch that depends on the previous one begins when that one has ended, which takes microseconds. The kernels of a step of one token
//! take hardly longer. So where all workgroups of a launch run at once, consecutive kernels become the *stages* of one launch, a chain,
//! whose workgroups wait for each other. With `n` workgroups, each has every `n`-th group of each stage. It counts itself when it has ended
//! a stage. Before it first needs the output of other kernels, it waits until all workgroups with work in the previous stage have counted
//! themselves.
//!
//! A stage does the work of the kernel's own launch in the same order, so that no bit differs.
//!
//! Graphics APIs do not guarantee that a workgroup makes progress while others wait for it. In practice those that have begun do. A
//! *census*, a launch of the same text that does nothing else, counts how many run at once. A workgroup whose wait times out gives up and
//! reports it.
//!
//! Memory through which workgroups of one launch communicate is declared coherent, because their caches are not.

use std::collections::BTreeMap;

use crate::cooperative::Arrays;
use crate::expr::Expr;
use crate::grid::Grid;
use crate::module::{Function, Module, Slot};
use crate::stmt::{MET, Stmt};

/// The most stages of a chain. Each has a counter.
pub const MOST_STAGES: usize = 31;

/// Words between two counters. Each has its own line of memory, so that workgroups that wait do not slow those that count.
pub(crate) const LINE: u32 = 32;

/// Words that a chain binds after its slots. The first word is the runtime's own. Then come [`TIMED_OUT`], the number of workgroups that
/// have left the chain, a word that only a census uses, and, from a line of memory on, the counters of its stages.
pub const CHAIN_WORDS: usize = LINE as usize * (1 + MOST_STAGES);

/// The word that is not 0 after the wait of a workgroup has timed out.
pub const TIMED_OUT: usize = 1;

/// The words that must be 0 before a census and be reset to 0 after it. A census is a launch whose workgroups only count how many of them
/// run at once.
pub const CENSUS: [usize; 3] = [2, 3, LINE as usize];

/// The word with the census's result, the last of these.
pub const CENSUS_RESULT: usize = CENSUS[2];

/// The number of workgroups of a census: more than any stage has.
pub const CENSUS_GROUPS: u32 = 4096;

/// The variable that holds the number of a workgroup's group of a stage.
pub fn group_of(stage: usize) -> String {
    format!("group_of_stage_{stage}")
}

/// Names of variables: the last stage with work, and the number of workgroups that had some.
const ENDED: &str = "ended";
const WORKING: &str = "working";

/// The variables of a chain. No value of a kernel may have one of these names.
pub const VARIABLES: &[&str] = &[ENDED, WORKING, MET];

/// Makes a chain of these stages, which must have the same number of lanes and be at most [`MOST_STAGES`]. `args_words` is the number of
/// argument words of all of them.
pub fn chained(stages: &[(Module, Grid)], args_words: usize) -> Module {
    let zero = |name: &str| Stmt::Var(name.into(), Expr::U32(0));
    let mut body: Vec<Stmt> = [ENDED, WORKING].map(zero).into();
    let last = stages.len().saturating_sub(1);
    for (stage, (module, grid)) in stages.iter().enumerate() {
        body.push(Stmt::Note(format!("stage {stage}: {}", module.title)));
        body.extend(staged(stage, module, grid));
        if stage < last {
            body.extend(counted(stage));
        }
    }
    body.push(Stmt::Leave(stages.len() as u32));
    let all = || stages.iter().map(|(module, _)| module);
    Module {
        name: "chain".into(),
        title: format!("{} launches in one", stages.len()),
        slots: bound(stages),
        piece_words: all().map(|module| module.piece_words).max().unwrap_or(u32::MAX),
        args_words,
        lanes: all().map(|module| module.lanes).max().unwrap_or(1),
        dependent: false,
        releases_early: false,
        shared_words: all().map(|module| module.shared_words).max().unwrap_or(0),
        arrays: Arrays::default(),
        functions: functions(all()),
        body,
        together: 0,
        chain: true,
    }
}

/// The functions that stages call, each once, by name.
fn functions<'m>(modules: impl Iterator<Item = &'m Module>) -> Vec<Function> {
    let all = modules.flat_map(|module| &module.functions);
    let by_name: BTreeMap<&str, &Function> = all.map(|function| (function.name, function)).collect();
    by_name.into_values().cloned().collect()
}

/// The slots of a chain: written if any of its stages writes them.
pub fn bound(stages: &[(Module, Grid)]) -> Vec<Slot> {
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
    let mut out = vec![Stmt::Let(count_of(stage), grid.now())];
    // A workgroup's first group waits for all of them.
    let is_first = Expr::name(&*group).equal(Expr::Group(0));
    let wait = match stage {
        0 => None,
        _ => Some(Stmt::If { condition: is_first, then: vec![meet] }),
    };
    let mut body = replaced(&module.body, wait.as_ref());
    // The next group begins when no lane needs this one's workgroup memory any more.
    body.push(Stmt::Barrier);
    out.push(Stmt::For { name: group, from: Expr::Group(0), to: count, step: Expr::Launched, body });
    out
}

/// Counts the workgroup and records the stage, if it had work.
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

/// The statements, with their wait for the previous launch replaced by another statement.
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
