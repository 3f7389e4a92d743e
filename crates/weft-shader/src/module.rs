//! A shader in no language yet: its buffers, functions and body.

use std::collections::BTreeSet;

use crate::cooperative::Arrays;
use crate::expr::{Expr, Fun};
use crate::stmt::{Stmt, visit};

/// The type of a function's parameter or result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// A word.
    U32,
    /// A float.
    F32,
}

/// A function of the shader's own.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name, which [`Expr::Own`] calls.
    pub name: &'static str,
    /// Its parameters.
    pub params: &'static [(&'static str, Type)],
    /// The type of its result.
    pub result: Type,
    /// The statements before it returns.
    pub body: Vec<Stmt>,
    /// The result.
    pub value: Expr,
}

/// The content of a slot, which decides when it may be read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Content {
    /// A weight, which no kernel ever writes.
    Weight,
    /// Memory that no concurrent launch writes: it may be read before the previous launch has ended.
    Stable,
    /// Anything else.
    Open,
}

/// The uses of memory by a text that matter to a [chain](crate::chain).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// The slots to which it stores halves of words.
    pub halves: BTreeSet<usize>,
    /// The slots from which it loads four words at once.
    pub fours: BTreeSet<usize>,
    /// Whether it has cooperative matrices, which have their own workgroup memory.
    pub cooperates: bool,
}

/// A buffer that a shader binds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Whether the launch writes it.
    pub written: bool,
    /// When it may be read.
    pub content: Content,
    /// The number of consecutive storage buffers that it is bound as.
    pub pieces: u32,
    /// Whether workgroups read the stores of others of the same launch.
    pub coherent: bool,
}

/// A shader in no language yet.
#[derive(Clone, Debug)]
pub struct Module {
    /// The kernel's name.
    pub name: String,
    /// A comment at the top.
    pub title: String,
    /// The buffers that it binds.
    pub slots: Vec<Slot>,
    /// Words of each piece of a slot except the last.
    pub piece_words: u32,
    /// Words of its arguments, a multiple of four.
    pub args_words: usize,
    /// Lanes of a workgroup.
    pub lanes: u32,
    /// Whether it may begin before the launch that it depends on has ended.
    pub dependent: bool,
    /// Whether the next launch may begin before it has waited.
    pub releases_early: bool,
    /// Words of workgroup memory.
    pub shared_words: u32,
    /// The arrays of cooperative matrices, in addition to these.
    pub arrays: Arrays,
    /// Functions that the body calls.
    pub functions: Vec<Function>,
    /// The statements of the entry point.
    pub body: Vec<Stmt>,
    /// The number of workgroups that a multiprocessor should have room for, which limits their registers; 0 for no limit.
    pub together: u32,
    /// Whether it is a [chain](crate::chain), which binds the counts of its stages after the slots.
    pub chain: bool,
}

impl Module {
    /// A module without statements, slots or arguments, for workgroups of `lanes`.
    pub const fn new(lanes: u32) -> Module {
        Module {
            name: String::new(),
            title: String::new(),
            slots: Vec::new(),
            piece_words: u32::MAX,
            args_words: 4,
            lanes,
            dependent: false,
            releases_early: false,
            shared_words: 0,
            arrays: Arrays { fours: 0, floats: 0 },
            functions: Vec::new(),
            body: Vec::new(),
            together: 0,
            chain: false,
        }
    }

    /// The slots that [`Stmt::StoreHalf`] stores to.
    pub fn slots_of_halves(&self) -> BTreeSet<usize> {
        let mut slots = BTreeSet::new();
        let mut see = |stmt: &Stmt| {
            if let Stmt::StoreHalf { slot, .. } = stmt {
                slots.insert(*slot);
            }
        };
        visit(&self.body, &mut see, &mut |_| {});
        slots
    }

    /// The slots from which four words are loaded at once.
    pub fn slots_of_fours(&self) -> BTreeSet<usize> {
        let mut slots = BTreeSet::new();
        visit(&self.body, &mut |_| {}, &mut |e| {
            if let Expr::Four(Some(slot), _) = e {
                slots.insert(*slot);
            }
        });
        slots
    }

    /// The words of `sizes` that it reads.
    pub fn sizes_read(&self) -> [bool; 4] {
        let mut read = [false; 4];
        visit(&self.body, &mut |_| {}, &mut |e| {
            if let Expr::Size(i) = e {
                read[*i] = true;
            }
        });
        read
    }

    /// Whether warpgroups multiply matrices.
    pub fn uses_warpgroups(&self) -> bool {
        let mut uses = false;
        visit(&self.body, &mut |stmt| uses |= matches!(stmt, Stmt::Warpgroup(_)), &mut |_| {});
        uses
    }

    /// Whether lanes exchange values within subgroups, or multiply matrices of bytes together.
    pub fn shuffles(&self) -> bool {
        self.calls(Fun::Shuffle) || self.needs_spirv()
    }

    /// Whether it has operations on cooperative matrices that WGSL cannot express.
    pub fn needs_spirv(&self) -> bool {
        let is = |stmt: &Stmt| matches!(stmt, Stmt::Cooperative(of) if of.needs_spirv());
        let mut found = false;
        visit(&self.body, &mut |stmt| found |= is(stmt), &mut |_| {});
        found
    }

    /// Its uses of memory that matter to a chain.
    pub fn memory(&self) -> Memory {
        Memory {
            halves: self.slots_of_halves(),
            fours: self.slots_of_fours(),
            cooperates: self.arrays != Arrays::default() || self.needs_spirv(),
        }
    }

    /// Whether its body calls a function.
    pub fn calls(&self, fun: Fun) -> bool {
        let mut calls = false;
        visit(&self.body, &mut |_| {}, &mut |e| calls |= matches!(e, Expr::Call(other, _) if *other == fun));
        calls
    }
}
