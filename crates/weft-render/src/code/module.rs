//! A shader before a dialect spells it: its buffers, functions and body.

use std::collections::BTreeSet;

use crate::code::cooperative::Arrays;
use crate::code::expr::{Expr, Fun};
use crate::code::stmt::{Stmt, visit};
use crate::shader::{Content, Memory};

/// The type of a function's parameter or result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Type {
    U32,
    F32,
}

/// A function of the shader's own.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) params: &'static [(&'static str, Type)],
    pub(crate) result: Type,
    pub(crate) body: Vec<Stmt>,
    pub(crate) value: Expr,
}

/// A buffer that a shader binds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slot {
    pub(crate) written: bool,
    pub(crate) content: Content,
    /// The storage buffers that it is bound as, one after another.
    pub(crate) pieces: u32,
    /// Whether workgroups read what others of the same launch stored.
    pub(crate) coherent: bool,
}

/// A shader before a dialect spells it.
#[derive(Clone, Debug)]
pub(crate) struct Module {
    /// The kernel's name.
    pub(crate) name: String,
    /// A comment at the top.
    pub(crate) title: String,
    pub(crate) slots: Vec<Slot>,
    /// Words of each piece of a slot but the last.
    pub(crate) piece_words: u32,
    pub(crate) args_words: usize,
    pub(crate) lanes: u32,
    /// Whether it may begin before the launch that it depends on has ended.
    pub(crate) dependent: bool,
    /// Whether the next launch may begin before it has waited.
    pub(crate) hands_over: bool,
    /// Words of workgroup memory.
    pub(crate) shared_words: u32,
    /// The arrays of cooperative matrices, beside that.
    pub(crate) arrays: Arrays,
    pub(crate) functions: Vec<Function>,
    pub(crate) body: Vec<Stmt>,
    /// How many of its workgroups a multiprocessor should have room for, which limits their registers; 0 if that does not matter.
    pub(crate) together: u32,
    /// Whether it is a [chain](crate::chain), which binds the counts of its stages after the slots.
    pub(crate) chain: bool,
}

impl Module {
    /// The slots that [`Stmt::StoreHalf`] stores to.
    pub(crate) fn slots_of_halves(&self) -> BTreeSet<usize> {
        let mut slots = BTreeSet::new();
        let mut see = |stmt: &Stmt| {
            if let Stmt::StoreHalf { slot, .. } = stmt {
                slots.insert(*slot);
            }
        };
        visit(&self.body, &mut see, &mut |_| {});
        slots
    }

    /// The slots of which four words are loaded at once.
    pub(crate) fn slots_of_fours(&self) -> BTreeSet<usize> {
        let mut slots = BTreeSet::new();
        visit(&self.body, &mut |_| {}, &mut |e| {
            if let Expr::Four(Some(slot), _) = e {
                slots.insert(*slot);
            }
        });
        slots
    }

    /// Which words of `sizes` it reads.
    pub(crate) fn sizes_read(&self) -> [bool; 4] {
        let mut read = [false; 4];
        visit(&self.body, &mut |_| {}, &mut |e| {
            if let Expr::Size(i) = e {
                read[*i] = true;
            }
        });
        read
    }

    /// Whether warpgroups multiply matrices.
    pub(crate) fn uses_warpgroups(&self) -> bool {
        let mut uses = false;
        visit(&self.body, &mut |stmt| uses |= matches!(stmt, Stmt::Warpgroup(_)), &mut |_| {});
        uses
    }

    /// Whether lanes exchange values within subgroups, or multiply matrices of bytes together.
    pub(crate) fn shuffles(&self) -> bool {
        self.calls(Fun::Shuffle) || self.needs_spirv()
    }

    /// Whether it says of cooperative matrices what WGSL has no words for.
    pub(crate) fn needs_spirv(&self) -> bool {
        let is = |stmt: &Stmt| matches!(stmt, Stmt::Cooperative(of) if of.needs_spirv());
        let mut found = false;
        visit(&self.body, &mut |stmt| found |= is(stmt), &mut |_| {});
        found
    }

    /// How it uses memory, as far as it matters to a chain.
    pub(crate) fn memory(&self) -> Memory {
        Memory {
            halves: self.slots_of_halves(),
            fours: self.slots_of_fours(),
            cooperates: self.arrays != Arrays::default() || self.needs_spirv(),
        }
    }

    /// Whether its body calls a function.
    pub(crate) fn calls(&self, fun: Fun) -> bool {
        let mut calls = false;
        visit(&self.body, &mut |_| {}, &mut |e| calls |= matches!(e, Expr::Call(other, _) if *other == fun));
        calls
    }
}
