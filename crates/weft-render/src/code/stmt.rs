//! Statements of the structured program.

use crate::code::expr::Expr;

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Stmt {
    /// For people.
    Note(String),
    /// A name for a value.
    Let(String, Expr),
    /// A variable with its first value.
    Var(String, Expr),
    /// A variable's next value.
    Set(String, Expr),
    /// A word of a slot.
    Store(usize, Expr, Expr),
    /// The upper or the lower half of a word of a slot, whose other half may be another workgroup's. In `half` that is zero.
    StoreHalf { slot: usize, at: Expr, upper: bool, half: Expr },
    /// A word of the workgroup's memory.
    Keep(Expr, Expr),
    /// `for name = from; name < to; name += step`.
    For { name: String, from: Expr, to: Expr, step: Expr, body: Vec<Stmt> },
    /// A condition, and what is done if it holds.
    If { condition: Expr, then: Vec<Stmt> },
    /// All lanes of the workgroup arrive before one goes on, and see what the others kept.
    Barrier,
    /// A name for a word that is the same for all lanes; languages that ask for uniform control flow then know it to be. All lanes must come here.
    Agree(String, Expr),
}

/// Calls `stmt` with every statement, and `expr` with every expression within them.
pub(crate) fn visit(stmts: &[Stmt], stmt: &mut impl FnMut(&Stmt), expr: &mut impl FnMut(&Expr)) {
    for each in stmts {
        stmt(each);
        match each {
            Stmt::Let(_, e) | Stmt::Var(_, e) | Stmt::Set(_, e) | Stmt::Agree(_, e) => e.visit(expr),
            Stmt::Store(_, at, word) | Stmt::StoreHalf { at, half: word, .. } | Stmt::Keep(at, word) => {
                at.visit(expr);
                word.visit(expr);
            }
            Stmt::For { from, to, step, body, .. } => {
                [from, to, step].into_iter().for_each(|e| e.visit(expr));
                visit(body, stmt, expr);
            }
            Stmt::If { condition, then } => {
                condition.visit(expr);
                visit(then, stmt, expr);
            }
            Stmt::Note(_) | Stmt::Barrier => {}
        }
    }
}
