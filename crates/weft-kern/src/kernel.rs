//! The kernel: one launch of one part, or of several side by side, each an anchor with a row program before and after it.

use std::iter;
use std::sync::Arc;

use weft_ir::{Dim, RopeStyle};

use crate::anchor::{Anchor, Attend, Indexer, Product, Scan};
use crate::given::GivenText;
use crate::program::{Instr, Param, ParamId, Prologue, ValueId, View, lens};

/// A kernel: what a device launches. Its parts run side by side: none reads what another writes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Kernel {
    /// Its name, unique in a plan.
    pub name: String,
    /// The buffers it works on.
    pub params: Vec<Param>,
    /// Its parts, at least one.
    pub parts: Vec<Part>,
    /// Texts that a user gives to be run for it, each on devices of that language. They say nothing about what the kernel computes.
    pub texts: Vec<Arc<GivenText>>,
}

/// A part of a kernel: for every row of a space, the prologue, the anchor and then the row program.
///
/// Rows are independent of each other, unless the anchor [walks sequences](Anchor::walks_sequences). So are the columns, if all
/// values of the program are whole rows or scalars, without reduction, rotation, selection and take
/// ([`Part::columns_independent`]). A device may divide the work there as it likes. The order in which it adds the terms of an
/// output may depend on the part only. ([`crate::interp`] defines the exact values, a device's own tests its bits.)
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Part {
    /// The axes of the row space; only the first may be symbolic.
    pub rows: Vec<Dim>,
    /// The columns of a row: the length of the anchor's results, and the largest length of a value.
    pub cols: usize,
    /// Computes an operand of the anchor.
    pub prologue: Option<Prologue>,
    /// Computed first.
    pub anchor: Anchor,
    /// The row program after the anchor.
    pub body: Vec<Instr>,
}

impl Kernel {
    /// Returns whether two kernels differ only in their names.
    pub fn same_work(&self, other: &Kernel) -> bool {
        let Kernel { name: _, params, parts, texts } = self;
        (params, parts, texts) == (&other.params, &other.parts, &other.texts)
    }

    /// Returns whether a parameter is nothing but the weight of products that [round](Product::rounds), so that a device which has
    /// its tiles needs no rows.
    pub fn only_multiplies_by(&self, param: ParamId) -> bool {
        let is_it = |view: &View| view.param == param;
        let reads = |instr: &Instr| {
            instr.view().is_some_and(|(view, row)| is_it(view) || row.is_some_and(|row| is_it(&row.index)))
        };
        let mut multiplies = false;
        for part in &self.parts {
            let program = part.prologue.iter().flat_map(|prologue| &prologue.body).chain(&part.body);
            if part.anchor.reads_values(param, &self.params) || program.into_iter().any(reads) {
                return false;
            }
            multiplies |= part.products().iter().any(|product| product.w.param == param);
        }
        multiplies
    }
}

impl Part {
    /// The products, if they are the anchor.
    pub fn products(&self) -> &[Product] {
        match &self.anchor {
            Anchor::Dot(products) => products,
            _ => &[],
        }
    }

    /// The attention, if it is the anchor.
    pub fn attention(&self) -> Option<&Attend> {
        match &self.anchor {
            Anchor::Attend(attend) => Some(attend),
            _ => None,
        }
    }

    /// The indexer, if it is the anchor.
    pub fn indexer(&self) -> Option<&Indexer> {
        match &self.anchor {
            Anchor::Indexer(indexer) => Some(indexer),
            _ => None,
        }
    }

    /// The scan, if it is the anchor.
    pub fn scan(&self) -> Option<&Scan> {
        match &self.anchor {
            Anchor::Scan(scan) => Some(scan),
            _ => None,
        }
    }

    /// Every parameter that it reads or writes. A parameter may be among them more than once.
    pub fn params(&self) -> Vec<ParamId> {
        let program = self.prologue.iter().flat_map(|prologue| &prologue.body).chain(&self.body);
        let views = program.filter_map(Instr::view);
        let by_program =
            views.flat_map(|(view, by)| iter::once(view.param).chain(by.map(|by| by.index.param)));
        by_program.chain(self.anchor.params()).collect()
    }

    /// Replaces the number of each parameter by the one that `numbers` has for it.
    pub fn renumber(&mut self, numbers: &[ParamId]) {
        let program = self.prologue.iter_mut().flat_map(|prologue| &mut prologue.body).chain(&mut self.body);
        for instr in program {
            if let Instr::Load { view, indexed, .. } | Instr::Store { view, indexed, .. } = instr {
                view.param = numbers[view.param];
                indexed.iter_mut().for_each(|by| by.index.param = numbers[by.index.param]);
            }
        }
        self.anchor.params_mut().into_iter().for_each(|param| *param = numbers[*param]);
    }

    /// The axes of the prologue's rows.
    pub fn prologue_rows(&self) -> &[Dim] {
        &self.rows[..self.rows.len().min(1)]
    }

    /// The length of each value of the row program; 0 for a store.
    pub fn lens(&self) -> Vec<usize> {
        lens(&self.body, self.cols)
    }

    /// Returns whether columns may be computed independently: each value of every vector depends only on its own column.
    pub fn columns_independent(&self) -> bool {
        let lens = self.lens();
        self.body.iter().enumerate().all(|(i, instr)| match instr {
            Instr::Reduce(..) | Instr::Rope { .. } | Instr::TopK { .. } | Instr::Take { .. } => false,
            Instr::Store { value, .. } => lens[*value] == self.cols,
            _ => lens[i] == 1 || lens[i] == self.cols,
        })
    }

    /// Returns how many neighbouring columns must be computed together: one if columns are [independent](Part::columns_independent),
    /// two if they are rotated in pairs; `None` if whole rows must be.
    pub fn columns_together(&self) -> Option<usize> {
        if self.columns_independent() {
            return Some(1);
        }
        let (lens, all) = (self.lens(), self.cols);
        // Cosines and sines have a value for each pair, which nothing else may read.
        let only_turns = |v: ValueId| {
            self.body.iter().all(|instr| match instr {
                Instr::Rope { x, .. } => *x != v,
                other => other.operands().all(|x| x != v),
            })
        };
        let apart = self.body.iter().enumerate().all(|(v, instr)| match instr {
            Instr::Reduce(..) | Instr::TopK { .. } | Instr::Take { .. } => false,
            Instr::Rope { style, x, .. } => *style == RopeStyle::Pairs && lens[*x] == all,
            Instr::Store { value, .. } => lens[*value] == all,
            _ if lens[v] == 1 || lens[v] == all => true,
            Instr::Load { len, .. } => 2 * len == all && only_turns(v),
            _ => false,
        });
        apart.then_some(2)
    }
}

#[cfg(test)]
mod tests {
    use weft_ir::{Binary, F32, Reduce, Unary};

    use super::*;

    fn load(param: ParamId, len: usize) -> Instr {
        let view = View { param, offset: 0, strides: Vec::new(), step: 1 };
        Instr::Load { view, indexed: None, len }
    }

    fn together(style: RopeStyle, more: &[Instr]) -> Option<usize> {
        let (value, view) = (3, View { param: 3, offset: 0, strides: Vec::new(), step: 1 });
        let mut body =
            vec![Instr::Acc(0), load(1, 32), load(2, 32), Instr::Rope { style, x: 0, cos: 1, sin: 2 }];
        body.extend_from_slice(more);
        body.push(Instr::Store { value, view, indexed: None });
        Part { rows: Vec::new(), cols: 64, prologue: None, anchor: Anchor::Map, body }.columns_together()
    }

    #[test]
    fn columns_are_apart_or_in_pairs_unless_rows_are_whole() {
        let scaled = [Instr::Const(F32(2.0)), Instr::Binary(Binary::Mul, 3, 4)];
        assert_eq!(together(RopeStyle::Pairs, &scaled), Some(2));
        assert_eq!(together(RopeStyle::Halves, &scaled), None);
        assert_eq!(together(RopeStyle::Pairs, &[Instr::Reduce(Reduce::Sum, 3)]), None);
        let more_of_cosines = [Instr::Unary(Unary::Neg, 1)];
        assert_eq!(together(RopeStyle::Pairs, &more_of_cosines), None, "which have a value for each pair");
        let body = vec![Instr::Acc(0), load(1, 64), Instr::Binary(Binary::Add, 0, 1)];
        let part = Part { rows: Vec::new(), cols: 64, prologue: None, anchor: Anchor::Map, body };
        assert_eq!(part.columns_together(), Some(1));
    }
}
