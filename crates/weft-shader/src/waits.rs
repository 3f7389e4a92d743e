//! Checks that a shader waits for the previous launch in the right place.
//!
//! The rule: on every path, a workgroup waits exactly once before it first touches a slot that is neither a weight nor stable, and never
//! again. Only then may the next launch begin, unless this one releases it early ([`Module::releases_early`]). The next launch waits for
//! this one, so all earlier launches have ended by then, and before its wait it reads only memory that this one does not write.

use crate::expr::Expr;
use crate::module::{Content, Module, Slot};
use crate::stmt::{Stmt, visit};

/// Checks the rule for a module.
///
/// Parts of a kernel are consecutive blocks that exclude each other. Either each of them waits, or none does and the module waits before
/// them.
///
/// # Errors
/// The rule that is broken.
pub fn check(module: &Module) -> Result<(), String> {
    let rule = Rule { slots: &module.slots, releases_early: module.releases_early };
    let mut waited = false;
    let mut parts = 0u32;
    for stmt in &module.body {
        match stmt {
            Stmt::If { condition, then } if !waited && waits(then) => {
                touches_none(condition, rule.slots)?;
                alone(then, &rule)?;
                parts += 1;
            }
            _ => step(stmt, &rule, &mut waited)?,
        }
    }
    match (waited, parts) {
        (true, 0) | (false, 1..) => Ok(()),
        (true, _) => Err("a path waits twice".into()),
        (false, 0) => Err("no path waits".into()),
    }
}

/// The parts of a module that the rule depends on.
struct Rule<'m> {
    slots: &'m [Slot],
    releases_early: bool,
}

/// A block that waits once.
fn alone(stmts: &[Stmt], rule: &Rule<'_>) -> Result<(), String> {
    let mut waited = false;
    stmts.iter().try_for_each(|stmt| step(stmt, rule, &mut waited))
}

fn step(stmt: &Stmt, rule: &Rule<'_>, waited: &mut bool) -> Result<(), String> {
    if matches!(stmt, Stmt::Wait) {
        return if std::mem::replace(waited, true) { Err("a path waits twice".into()) } else { Ok(()) };
    }
    let one = std::slice::from_ref(stmt);
    if waits(one) {
        return Err("waits within a loop or on some paths only".into());
    }
    if *waited {
        return Ok(());
    }
    if launches(one) && !rule.releases_early {
        return Err("lets the next launch begin before it waits".into());
    }
    let mut fault = Ok(());
    let mut stored = None;
    visit(
        one,
        &mut |stmt| match stmt {
            Stmt::Store(slot, ..)
            | Stmt::StoreTwo(slot, ..)
            | Stmt::StoreHalf { slot, .. }
            | Stmt::Arrive { slot, .. }
            | Stmt::Signal { slot, .. }
            | Stmt::Await { slot, .. } => stored = Some(*slot),
            _ => {}
        },
        &mut |e| {
            if let (Ok(()), Expr::Word(slot, _) | Expr::Four(Some(slot), _)) = (&fault, e) {
                fault = touched(*slot, rule.slots);
            }
        },
    );
    fault.and(stored.map_or(Ok(()), |slot| Err(format!("stores to slot {slot} before it waits"))))
}

fn touches_none(e: &Expr, slots: &[Slot]) -> Result<(), String> {
    let mut fault = Ok(());
    e.visit(&mut |e| {
        if let (Ok(()), Expr::Word(slot, _) | Expr::Four(Some(slot), _)) = (&fault, e) {
            fault = touched(*slot, slots);
        }
    });
    fault
}

fn touched(slot: usize, slots: &[Slot]) -> Result<(), String> {
    match slots.get(slot) {
        Some(Slot { content: Content::Weight | Content::Stable, .. }) => Ok(()),
        _ => Err(format!("loads from slot {slot} before it waits")),
    }
}

fn waits(stmts: &[Stmt]) -> bool {
    has(stmts, |stmt| matches!(stmt, Stmt::Wait))
}

fn launches(stmts: &[Stmt]) -> bool {
    has(stmts, |stmt| matches!(stmt, Stmt::LaunchNext))
}

fn has(stmts: &[Stmt], wanted: impl Fn(&Stmt) -> bool) -> bool {
    let mut found = false;
    visit(stmts, &mut |stmt| found |= wanted(stmt), &mut |_| {});
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(body: Vec<Stmt>) -> Module {
        let slot = |content| Slot { written: content == Content::Open, content, pieces: 1, coherent: false };
        let slots = [Content::Weight, Content::Open, Content::Stable].map(slot).into();
        Module { slots, dependent: true, body, ..Module::new(32) }
    }

    fn load(slot: usize) -> Stmt {
        Stmt::Let("x".into(), Expr::Word(slot, Expr::U32(0).into()))
    }

    fn when(then: Vec<Stmt>) -> Stmt {
        Stmt::If { condition: Expr::True, then }
    }

    #[test]
    fn each_path_waits_once_before_it_touches_what_may_change() {
        for good in [
            vec![load(0), Stmt::Wait, load(1)],
            vec![load(2), Stmt::Wait, Stmt::LaunchNext, load(1)],
            vec![load(0), Stmt::Wait, when(vec![load(1)])],
            vec![when(vec![load(0), Stmt::Wait, load(1)]), when(vec![Stmt::Wait])],
        ] {
            assert_eq!(check(&module(good.clone())), Ok(()), "{good:?}");
        }
        for bad in [
            vec![load(0)],
            vec![load(1), Stmt::Wait],
            vec![Stmt::LaunchNext, Stmt::Wait],
            vec![when(vec![Stmt::LaunchNext, Stmt::Wait])],
            vec![Stmt::Store(1, 0u32.into(), 0u32.into()), Stmt::Wait],
            vec![Stmt::Wait, Stmt::Wait],
            vec![Stmt::Wait, when(vec![Stmt::Wait])],
            vec![when(vec![Stmt::Wait]), Stmt::Wait],
            vec![when(vec![Stmt::Wait]), load(1)],
            vec![when(vec![load(1), Stmt::Wait])],
            vec![when(vec![when(vec![Stmt::Wait]), load(1)])],
        ] {
            assert!(check(&module(bad.clone())).is_err(), "{bad:?}");
        }
        let handing =
            Module { releases_early: true, ..module(vec![Stmt::LaunchNext, load(0), Stmt::Wait, load(1)]) };
        assert_eq!(check(&handing), Ok(()));
    }
}
