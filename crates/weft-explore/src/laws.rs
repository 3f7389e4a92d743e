//! The rules of `weft_ir::rules` as equations: each is applied in both directions, wherever it holds.
//!
//! Two things differ from the rules that the compiler applies. A rule asks who else reads a value, so that nothing is computed twice;
//! here both forms are kept, and what is chosen of them is priced as a whole. And a rule has one direction; here terms of either form
//! are added for the other. (Where the other direction would invent terms out of nothing, as `x` to `x·1`, there is nothing to add: to
//! be in one class is enough.)

mod columns;
mod constants;
mod experts;
mod folds;
mod heads;
mod identity;
mod movement;

use egg::{Applier, Id, PatternAst, Rewrite, SearchMatches, Searcher, Subst, Symbol, Var};
use weft_ir::{Dim, Op, Shape, Type};

use crate::term::{EGraph, Facts, Head, Term, Typing, infer};

/// An equation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Law {
    /// The name of the rule that it is.
    pub(crate) name: &'static str,
    /// Whether it has anything to say about a term with this operation.
    about: fn(&Op) -> bool,
    /// Adds what equals a term, which is of this class.
    apply: fn(&mut Terms<'_>, Id, &Term),
}

/// Every law, in the order of the rules.
pub(crate) static LAWS: [Law; 8] = [
    identity::LAW,
    movement::LAW,
    constants::LAW,
    heads::LAW,
    columns::LAW,
    experts::LAW,
    folds::QUERY,
    folds::OUTPUT,
];

impl Law {
    /// The law as the library wants it.
    pub(crate) fn rewrite(self) -> Result<Rewrite<Term, Typing>, String> {
        Rewrite::new(self.name, self, self)
    }
}

/// Finds classes only: what a law needs to know of them are attributes and sizes, of which patterns cannot speak.
impl Searcher<Term, Typing> for Law {
    fn search_eclass_with_limit(
        &self,
        graph: &EGraph,
        eclass: Id,
        _: usize,
    ) -> Option<SearchMatches<'_, Term>> {
        let found = graph[eclass].nodes.iter().any(|term| (self.about)(&term.head.op));
        found.then(|| SearchMatches { eclass, substs: vec![Subst::default()], ast: None })
    }

    fn vars(&self) -> Vec<Var> {
        Vec::new()
    }
}

impl Applier<Term, Typing> for Law {
    fn apply_one(
        &self,
        graph: &mut EGraph,
        class: Id,
        _: &Subst,
        _: Option<&PatternAst<Term>>,
        _: Symbol,
    ) -> Vec<Id> {
        let mut terms = Terms { graph, merged: Vec::new() };
        for term in terms.of(class).into_iter().filter(|term| (self.about)(&term.head.op)) {
            (self.apply)(&mut terms, class, &term);
        }
        terms.merged
    }
}

/// The e-graph as a law sees it.
pub(crate) struct Terms<'a> {
    graph: &'a mut EGraph,
    /// Classes that were two before.
    merged: Vec<Id>,
}

impl Terms<'_> {
    /// The terms of a class.
    fn of(&self, class: Id) -> Vec<Term> {
        self.graph[class].nodes.clone()
    }

    /// The operands of the terms of a class that have this operation.
    fn with<const N: usize>(&self, class: Id, op: &Op) -> Vec<[Id; N]> {
        let terms = self.graph[class].nodes.iter().filter(|term| term.head.op == *op);
        terms.filter_map(|term| term.operands[..].try_into().ok()).collect()
    }

    /// The terms, with their classes, that have a class among their operands.
    fn users(&self, class: Id) -> Vec<(Id, Term)> {
        let users = self.graph[class].parents();
        users.map(|id| (self.graph.find(id), self.graph.id_to_node(id).clone())).collect()
    }

    fn facts(&self, class: Id) -> &Facts {
        &self.graph[class].data
    }

    fn ty(&self, class: Id) -> &Type {
        &self.facts(class).ty
    }

    fn dims(&self, class: Id) -> Vec<Dim> {
        self.ty(class).shape.dims().to_vec()
    }

    /// The class of a term, which is added if it is new; `None` if the operation does not fit its operands.
    fn add(&mut self, op: Op, operands: &[Id], declared: Option<Type>) -> Option<Id> {
        let types: Vec<Type> = operands.iter().map(|id| self.ty(*id).clone()).collect();
        let ty = infer(&op, &types, declared)?;
        Some(self.graph.add(Term { head: Head::new(op, ty), operands: operands.to_vec() }))
    }

    fn reshape(&mut self, x: Id, shape: impl Into<Shape>) -> Option<Id> {
        let dtype = self.ty(x).dtype;
        self.add(Op::Reshape, &[x], Some(Type::new(dtype, shape)))
    }

    fn slice(&mut self, x: Id, axis: usize, start: usize, len: usize) -> Option<Id> {
        self.add(Op::Slice { axis, start, len }, &[x], None)
    }

    /// Two classes are equal, if there is a second one.
    fn same(&mut self, class: Id, other: Option<Id>) {
        if let Some(other) = other
            && self.ty(class) == self.ty(other)
            && self.graph.union(class, other)
        {
            self.merged.push(self.graph.find(class));
        }
    }
}
