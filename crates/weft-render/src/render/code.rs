//! Statements of a shader, and the pen that writes them.

use std::collections::BTreeMap;

use crate::render::expr::{Expr, Fun};

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
    /// A name for a word that lane 0 has and all lanes then know to be the same. Includes a barrier.
    Agree(String, Expr),
}

/// Statements under the pen: blocks within blocks, and names that are not taken.
#[derive(Debug)]
pub(crate) struct Code {
    blocks: Vec<Vec<Stmt>>,
    names: BTreeMap<String, u32>,
    /// Lanes of a workgroup.
    pub(crate) lanes: u32,
}

impl Code {
    pub(crate) fn new(lanes: u32) -> Code {
        Code { blocks: vec![Vec::new()], names: BTreeMap::new(), lanes }
    }

    /// What was written.
    pub(crate) fn finish(mut self) -> Vec<Stmt> {
        self.blocks.pop().unwrap_or_default()
    }

    pub(crate) fn push(&mut self, stmt: Stmt) {
        if let Some(block) = self.blocks.last_mut() {
            block.push(stmt);
        }
    }

    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.push(Stmt::Note(text.into()));
    }

    /// A name like `stem` that is not taken.
    pub(crate) fn fresh(&mut self, stem: &str) -> String {
        let n = self.names.entry(stem.to_string()).or_insert(0);
        *n += 1;
        if *n == 1 { stem.to_string() } else { format!("{stem}_{n}") }
    }

    /// Names a value, unless it is as simple as a name.
    pub(crate) fn set(&mut self, stem: &str, value: Expr) -> Expr {
        if value.is_atom() {
            return value;
        }
        let name = self.fresh(stem);
        self.push(Stmt::Let(name.clone(), value));
        Expr::name(name)
    }

    /// Names a word of lane 0's that all lanes know to be the same.
    pub(crate) fn agree(&mut self, stem: &str, word: Expr) -> Expr {
        let name = self.fresh(stem);
        self.push(Stmt::Agree(name.clone(), word));
        Expr::name(name)
    }

    /// A variable.
    pub(crate) fn var(&mut self, stem: &str, value: impl Into<Expr>) -> Expr {
        let name = self.fresh(stem);
        self.push(Stmt::Var(name.clone(), value.into()));
        Expr::name(name)
    }

    /// Gives a variable its next value.
    pub(crate) fn assign(&mut self, var: &Expr, value: Expr) {
        if let Expr::Name(name) = var {
            self.push(Stmt::Set(name.to_string(), value));
        }
    }

    /// `var = a · b + var`.
    pub(crate) fn add_product(&mut self, var: &Expr, a: Expr, b: Expr) {
        self.assign(var, Expr::call(Fun::Fma, [a, b, var.clone()]));
    }

    /// Keeps a word for the workgroup.
    pub(crate) fn keep(&mut self, at: Expr, word: Expr) {
        self.push(Stmt::Keep(at, word));
    }

    pub(crate) fn barrier(&mut self) {
        self.push(Stmt::Barrier);
    }

    /// Begins a block.
    pub(crate) fn open(&mut self) {
        self.blocks.push(Vec::new());
    }

    /// Ends a block that is run for `name = from; name < to; name += step`.
    pub(crate) fn close_for(&mut self, name: String, from: Expr, to: Expr, step: u32) {
        let body = self.blocks.pop().unwrap_or_default();
        self.push(Stmt::For { name, from, to, step: step.into(), body });
    }

    /// Ends a block that is run if a condition holds.
    pub(crate) fn close_if(&mut self, condition: Expr) {
        let then = self.blocks.pop().unwrap_or_default();
        self.push(Stmt::If { condition, then });
    }
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
