//! The terms of an e-graph, laid out for choosing: the forms of each class, and graphs made of one form each.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use weft_ir::{Builder, Graph, NodeId, Op};

use crate::saturate::Saturated;
use crate::term::Head;

/// A way to compute the value of a class.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Form {
    pub(crate) head: Arc<Head>,
    /// Their classes, by index.
    pub(crate) operands: Vec<usize>,
}

/// For each class, the index of a form.
pub(crate) type Choice = Vec<usize>;

/// All classes with their forms.
#[derive(Clone, Debug)]
pub(crate) struct Forms {
    pub(crate) classes: Vec<Vec<Form>>,
    /// The classes of the outputs, with their names.
    outputs: Vec<(String, usize)>,
    /// For each class, the first node of the graph that it came from. Graphs are built in this order.
    order: Vec<usize>,
    name: String,
}

impl Forms {
    /// Collects the forms of a graph's e-graph.
    pub(crate) fn new(graph: &Graph, from: &Saturated) -> Forms {
        let mut index = FxHashMap::default();
        for class in from.egraph.classes() {
            index.insert(class.id, index.len());
        }
        let number = |id: &egg::Id| index[&from.egraph.find(*id)];
        let mut classes = vec![Vec::new(); index.len()];
        for class in from.egraph.classes() {
            let forms: &mut Vec<Form> = &mut classes[number(&class.id)];
            for term in &class.nodes {
                let operands = term.operands.iter().map(number).collect();
                let form = Form { head: Arc::clone(&term.head), operands };
                // An e-graph that reached a limit may still have duplicate terms.
                if !forms.contains(&form) {
                    forms.push(form);
                }
            }
        }
        let mut order = vec![usize::MAX; classes.len()];
        for (node, class) in from.classes.iter().enumerate().rev() {
            order[number(class)] = node;
        }
        let class_of = |id: &NodeId| number(&from.classes[id.index()]);
        let outputs = graph.outputs().iter().map(|(name, id)| (name.clone(), class_of(id))).collect();
        Forms { classes, outputs, order, name: graph.name().into() }
    }

    /// The forms without products of weights, and without what is computed from them.
    pub(crate) fn as_stored(&self) -> Forms {
        let mut forms = self.clone();
        let no_product = |form: &Form| !matches!(form.head.op, Op::Product { .. });
        forms.classes.iter_mut().for_each(|class| class.retain(no_product));
        loop {
            let gone: Vec<bool> = forms.classes.iter().map(Vec::is_empty).collect();
            let before: usize = forms.classes.iter().map(Vec::len).sum();
            let computed = |form: &Form| !form.operands.iter().any(|operand| gone[*operand]);
            forms.classes.iter_mut().for_each(|class| class.retain(computed));
            if forms.classes.iter().map(Vec::len).sum::<usize>() == before {
                return forms;
            }
        }
    }

    /// The forms that make up a graph, and those of `others` for all other classes; `None` if a form is missing here.
    pub(crate) fn choice_of(&self, graph: &Graph, others: &Choice) -> Option<Choice> {
        let mut places: FxHashMap<&Form, (usize, usize)> = FxHashMap::default();
        for (class, forms) in self.classes.iter().enumerate() {
            places.extend(forms.iter().enumerate().map(|(at, form)| (form, (class, at))));
        }
        let mut choice = others.clone();
        let mut chosen = vec![false; choice.len()];
        let mut class_of: Vec<usize> = Vec::with_capacity(graph.nodes().len());
        for node in graph.nodes() {
            let operands = node.inputs.iter().map(|input| class_of[input.index()]).collect();
            let form = Form { head: Head::new(node.op.clone(), node.ty.clone()), operands };
            let (class, at) = *places.get(&form)?;
            // Of two nodes in one class the first represents both: it uses earlier ones only, so that there is no cycle.
            if !std::mem::replace(&mut chosen[class], true) {
                choice[class] = at;
            }
            class_of.push(class);
        }
        let mut outputs = graph.outputs().iter().map(|(name, id)| (name, class_of[id.index()]));
        outputs
            .all(|(name, class)| self.outputs.iter().any(|(n, c)| n == name && *c == class))
            .then_some(choice)
    }

    /// The classes that a choice computes, in order; `None` if it has a cycle, or if a class has no form.
    pub(crate) fn computed(&self, choice: &Choice) -> Option<Vec<usize>> {
        self.walk(choice, |_| true)
    }

    /// The first class that a choice needs, that has several forms and is not decided; `Some(None)` if there is none, `None` if
    /// the decided classes already have a cycle.
    pub(crate) fn undecided(&self, choice: &Choice, decided: &[bool]) -> Option<Option<usize>> {
        let is_decided = |class: usize| decided[class] || self.classes[class].len() == 1;
        Some(self.walk(choice, is_decided)?.into_iter().find(|class| !is_decided(*class)))
    }

    /// The classes that a choice needs, each after its operands. Undecided classes come without their operands.
    fn walk(&self, choice: &Choice, is_decided: impl Fn(usize) -> bool) -> Option<Vec<usize>> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let operands = |class: usize| {
            let form = self.classes[class].get(choice[class])?;
            Some(if is_decided(class) { &form.operands[..] } else { &[] })
        };
        let mut needed = vec![false; self.classes.len()];
        let mut list: Vec<usize> = self.outputs.iter().map(|(_, class)| *class).collect();
        while let Some(class) = list.pop() {
            if !std::mem::replace(&mut needed[class], true) {
                list.extend(operands(class)?);
            }
        }
        let mut roots: Vec<usize> = (0..needed.len()).filter(|class| needed[*class]).collect();
        roots.sort_by_key(|class| self.order[*class]);
        let mut marks = vec![Mark::New; self.classes.len()];
        let mut walked = Vec::with_capacity(roots.len());
        for root in roots {
            // Classes that were begun, each with the next operand to look at.
            let mut open = vec![(root, 0)];
            while let Some((class, next)) = open.last_mut() {
                if marks[*class] == Mark::Done {
                    open.pop();
                    continue;
                }
                marks[*class] = Mark::Open;
                match operands(*class)?.get(*next) {
                    Some(&operand) => {
                        *next += 1;
                        match marks[operand] {
                            Mark::New => open.push((operand, 0)),
                            Mark::Open => return None,
                            Mark::Done => {}
                        }
                    }
                    None => {
                        marks[*class] = Mark::Done;
                        walked.push(*class);
                    }
                }
            }
        }
        Some(walked)
    }

    /// The graph of a choice; `None` if there is none, or if the verifier refuses it.
    pub(crate) fn graph(&self, choice: &Choice) -> Option<Graph> {
        let mut g = Builder::new(self.name.as_str());
        let mut nodes = vec![None; self.classes.len()];
        for class in self.computed(choice)? {
            let Form { head, operands } = &self.classes[class][choice[class]];
            let inputs = operands.iter().map(|operand| nodes[*operand]).collect::<Option<Vec<NodeId>>>()?;
            nodes[class] = Some(g.push(head.op.clone(), inputs, Some(head.ty.clone())));
        }
        for (name, class) in &self.outputs {
            g.output(name, nodes[*class]?);
        }
        g.finish().ok()
    }
}
