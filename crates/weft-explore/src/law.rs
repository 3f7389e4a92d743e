//! A rule as an equation, and the e-graph that it works on.

use egg::{Applier, Id, PatternAst, Rewrite, SearchMatches, Searcher, Subst, Symbol, Var};
use weft_ir::{Dim, Op, Shape, Type};

use crate::term::{EGraph, Facts, Head, Term, Typing, infer};

/// An equation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Law {
    /// The name of its rule.
    pub(crate) name: &'static str,
    /// Whether it may apply to a term with this operation.
    pub(crate) about: fn(&Op) -> bool,
    /// Adds the terms that equal a term of this class.
    pub(crate) apply: fn(&mut Terms<'_>, Id, &Term),
}

impl Law {
    /// The law as `egg` takes it.
    pub(crate) fn rewrite(self) -> Result<Rewrite<Term, Typing>, String> {
        Rewrite::new(self.name, self, self)
    }
}

/// Finds classes only: a law depends on attributes and sizes, which patterns cannot express.
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

/// The e-graph that a law works on.
pub(crate) struct Terms<'a> {
    graph: &'a mut EGraph,
    /// Classes that were united.
    merged: Vec<Id>,
}

impl Terms<'_> {
    /// The terms of a class.
    pub(crate) fn of(&self, class: Id) -> Vec<Term> {
        self.graph[class].nodes.clone()
    }

    /// The operands of the terms of a class that have this operation.
    pub(crate) fn with<const N: usize>(&self, class: Id, op: &Op) -> Vec<[Id; N]> {
        let terms = self.graph[class].nodes.iter().filter(|term| term.head.op == *op);
        terms.filter_map(|term| term.operands[..].try_into().ok()).collect()
    }

    /// The terms, with their classes, that have a class among their operands.
    pub(crate) fn users(&self, class: Id) -> Vec<(Id, Term)> {
        let users = self.graph[class].parents();
        users.map(|id| (self.graph.find(id), self.graph.id_to_node(id).clone())).collect()
    }

    pub(crate) fn facts(&self, class: Id) -> &Facts {
        &self.graph[class].data
    }

    pub(crate) fn ty(&self, class: Id) -> &Type {
        &self.facts(class).ty
    }

    pub(crate) fn dims(&self, class: Id) -> Vec<Dim> {
        self.ty(class).shape.dims().to_vec()
    }

    /// The class of a term, which is added if it is new; `None` if the operation does not fit its operands.
    pub(crate) fn add(&mut self, op: Op, operands: &[Id], declared: Option<Type>) -> Option<Id> {
        let types: Vec<Type> = operands.iter().map(|id| self.ty(*id).clone()).collect();
        let ty = infer(&op, &types, declared)?;
        Some(self.graph.add(Term { head: Head::new(op, ty), operands: operands.to_vec() }))
    }

    pub(crate) fn reshape(&mut self, x: Id, shape: impl Into<Shape>) -> Option<Id> {
        let dtype = self.ty(x).dtype;
        self.add(Op::Reshape, &[x], Some(Type::new(dtype, shape)))
    }

    pub(crate) fn slice(&mut self, x: Id, axis: usize, start: usize, len: usize) -> Option<Id> {
        self.add(Op::Slice { axis, start, len }, &[x], None)
    }

    /// Unites two classes, if there is a second one of the same type.
    pub(crate) fn same(&mut self, class: Id, other: Option<Id>) {
        if let Some(other) = other
            && self.ty(class) == self.ty(other)
            && self.graph.union(class, other)
        {
            self.merged.push(self.graph.find(class));
        }
    }
}
