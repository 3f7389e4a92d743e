//! A shader before it is spelled: its buffers, its functions, its body.

use crate::code::expr::{Expr, Fun};
use crate::code::stmt::{Stmt, visit};

/// A type of a function's parameter or result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Type {
    U32,
    F32,
}

/// A function of a shader's own.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) params: &'static [(&'static str, Type)],
    pub(crate) result: Type,
    pub(crate) body: Vec<Stmt>,
    pub(crate) value: Expr,
}

/// A shader before it is spelled.
#[derive(Clone, Debug)]
pub(crate) struct Module {
    /// The kernel's name.
    pub(crate) name: String,
    /// A comment at the top.
    pub(crate) title: String,
    /// Whether each slot is written.
    pub(crate) slots: Vec<bool>,
    pub(crate) args_words: usize,
    pub(crate) lanes: u32,
    /// Words of the workgroup's memory.
    pub(crate) shared_words: u32,
    pub(crate) functions: Vec<Function>,
    pub(crate) body: Vec<Stmt>,
}

impl Module {
    /// Whether lanes ask each other for values.
    pub(crate) fn shuffles(&self) -> bool {
        let mut shuffles = false;
        visit(&self.body, &mut |_| {}, &mut |e| shuffles |= matches!(e, Expr::Call(Fun::Shuffle, _)));
        shuffles
    }
}

/// The slots that halves of words are stored in.
pub(crate) fn slots_of_halves(body: &[Stmt]) -> Vec<usize> {
    let mut slots = Vec::new();
    let mut see = |stmt: &Stmt| {
        if let Stmt::StoreHalf { slot, .. } = stmt {
            slots.push(*slot);
        }
    };
    visit(body, &mut see, &mut |_| {});
    slots
}
