//! Builds the statements of the structured program: nested blocks and unique names.

use std::collections::BTreeMap;

use crate::cooperative::{Cooperative, Operand};
use crate::expr::{Expr, Fun};
use crate::stmt::Stmt;

/// Statements under construction: blocks within blocks, and unique names.
#[derive(Debug)]
pub struct Builder {
    blocks: Vec<Vec<Stmt>>,
    names: BTreeMap<String, u32>,
    /// Lanes of a workgroup.
    pub lanes: u32,
}

impl Builder {
    /// A builder without statements, for workgroups of `lanes`.
    pub fn new(lanes: u32) -> Builder {
        Builder { blocks: vec![Vec::new()], names: BTreeMap::new(), lanes }
    }

    /// Returns the statements.
    pub fn finish(mut self) -> Vec<Stmt> {
        self.blocks.pop().unwrap_or_default()
    }

    /// Adds a statement to the innermost block.
    pub fn push(&mut self, stmt: Stmt) {
        if let Some(block) = self.blocks.last_mut() {
            block.push(stmt);
        }
    }

    /// Pushes a statement if a condition holds.
    pub fn push_if(&mut self, condition: bool, stmt: Stmt) {
        if condition {
            self.push(stmt);
        }
    }

    /// Adds a comment.
    pub fn note(&mut self, text: impl Into<String>) {
        self.push(Stmt::Note(text.into()));
    }

    /// A unique name that begins with `stem`.
    pub fn fresh(&mut self, stem: &str) -> String {
        let n = self.names.entry(stem.to_string()).or_insert(0);
        *n += 1;
        if *n == 1 { stem.to_string() } else { format!("{stem}_{n}") }
    }

    /// Names a value, unless repeating it costs nothing.
    pub fn set(&mut self, stem: &str, value: Expr) -> Expr {
        if value.is_atom() {
            return value;
        }
        let name = self.fresh(stem);
        self.push(Stmt::Let(name.clone(), value));
        Expr::name(name)
    }

    /// Names an address without its constant term, so that addresses that differ only in this constant share a register.
    pub fn address(&mut self, stem: &str, value: Expr) -> Expr {
        match value.split_sum() {
            Some((base, n)) => self.set(stem, base) + n,
            None => self.set(stem, value),
        }
    }

    /// Names four words that are loaded at once.
    pub fn four(&mut self, stem: &str, value: Expr) -> [Expr; 4] {
        let name = self.fresh(stem);
        self.push(Stmt::Let(name.clone(), value));
        std::array::from_fn(|i| Expr::Part(name.as_str().into(), i))
    }

    /// Counts the workgroup at word `at` of a slot, and names the condition that it is the last of `count`. All lanes must get here.
    pub fn arrive(&mut self, stem: &str, slot: usize, at: Expr, count: u32) -> Expr {
        let name = self.fresh(stem);
        self.push(Stmt::Arrive { name: name.clone(), slot, at, count });
        Expr::name(name)
    }

    /// Names a word that is the same in all lanes. All lanes must get here.
    pub fn uniform(&mut self, stem: &str, word: Expr) -> Expr {
        let name = self.fresh(stem);
        self.push(Stmt::Uniform(name.clone(), word));
        Expr::name(name)
    }

    /// Defines a variable.
    pub fn var(&mut self, stem: &str, value: impl Into<Expr>) -> Expr {
        let name = self.fresh(stem);
        self.push(Stmt::Var(name.clone(), value.into()));
        Expr::name(name)
    }

    /// Assigns to a variable.
    pub fn assign(&mut self, var: &Expr, value: Expr) {
        if let Expr::Name(name) = var {
            self.push(Stmt::Set(name.to_string(), value));
        }
    }

    /// `var = a · b + var`.
    pub fn add_product(&mut self, var: &Expr, a: Expr, b: Expr) {
        self.assign(var, Expr::call(Fun::Fma, [a, b, var.clone()]));
    }

    /// Stores a word in workgroup memory.
    pub fn store_shared(&mut self, at: Expr, word: Expr) {
        self.push(Stmt::StoreShared(at, word));
    }

    /// Stores four words of halves in workgroup memory, from an even number of fours on.
    pub fn store_halves(&mut self, at: Expr, words: [Expr; 4]) {
        let at = self.set("to", at);
        self.push(Stmt::Cooperative(Cooperative::StoreHalves { at, words }));
    }

    /// Names a matrix of factors of rows or columns, from sixteen words of workgroup memory.
    pub fn factors(&mut self, stem: &str, operand: Operand, at: Expr) -> String {
        let into = self.fresh(stem);
        self.push(Stmt::Cooperative(Cooperative::LoadFactors { into: into.clone(), operand, at }));
        into
    }

    /// Names the lane's words of four matrices of halves in workgroup memory. All lanes of a warp must
    /// get here.
    pub fn matrices(&mut self, stem: &str, at: Expr, turned: bool) -> [Expr; 4] {
        let into = [(); 4].map(|()| self.fresh(stem));
        let names = into.clone().map(Expr::name);
        self.push(Stmt::LoadMatrices { into, at, turned });
        names
    }

    /// Adds a [`Stmt::Barrier`].
    pub fn barrier(&mut self) {
        self.push(Stmt::Barrier);
    }

    /// Begins a block.
    pub fn open(&mut self) {
        self.blocks.push(Vec::new());
    }

    /// Ends a block, and adds its statements to the surrounding block or drops them.
    pub fn close_if_kept(&mut self, kept: bool) {
        let block = self.blocks.pop().unwrap_or_default();
        if let Some(around) = self.blocks.last_mut().filter(|_| kept) {
            around.extend(block);
        }
    }

    /// Ends the block of a loop: `name = from; name < to; name += step`.
    pub fn close_for(&mut self, name: String, from: Expr, to: Expr, step: u32) {
        let body = self.blocks.pop().unwrap_or_default();
        self.push(Stmt::For { name, from, to, step: step.into(), body });
    }

    /// Ends the block of a condition.
    pub fn close_if(&mut self, condition: Expr) {
        let then = self.blocks.pop().unwrap_or_default();
        self.push(Stmt::If { condition, then });
    }
}
