//! The search for the best graph, by the compiler's own cost.
//!
//! Every graph that differs from a known one in the form of one class is compiled, the neighbours of the cheapest first, until
//! there are no more or the time is over. Expensive graphs have neighbours, too: two changes may pay where neither does alone.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

use rustc_hash::{FxBuildHasher, FxHashSet};
use weft_fuse::{Cost, Options, fuse_with};
use weft_ir::rules::RULES;
use weft_ir::{Graph, Mode};

use crate::forms::{Choice, Forms};

/// What is compared: nanoseconds, then kernels, then bytes of weights, then nodes.
type Score = (u64, u64, u64, usize);

/// The score of a graph that does not compile. Its neighbours come last.
const WORST: Score = (u64::MAX, u64::MAX, u64::MAX, usize::MAX);

/// The most classes whose forms are all tried after a change, among those that were not computed before it. Further ones keep
/// their form.
const OPENED: usize = 32;

/// The result of a search.
#[derive(Clone, Debug)]
pub(crate) struct Best {
    pub(crate) graph: Graph,
    pub(crate) cost: Cost,
    /// The number of graphs that were compiled.
    pub(crate) compiled: usize,
    /// Whether these are all graphs that changes lead to.
    pub(crate) all: bool,
}

/// Searches for the best graph, starting from these choices, with the given options; `None` if nothing compiles.
///
/// The rules are off, since they would undo what is chosen.
pub(crate) fn search(
    forms: &Forms,
    options: &Options,
    beginnings: Vec<Choice>,
    time: Duration,
) -> Option<Best> {
    let mut options = options.clone();
    RULES.iter().for_each(|rule| options.switches.set(&rule.decision, Mode::Off));
    let (begun, hashes, open) = (Instant::now(), FxHashSet::default(), BinaryHeap::new());
    let mut known = Known { forms, options, begun, time, hashes, open, best: None };
    for choice in beginnings {
        known.look_at(&choice);
    }
    while !known.is_over()
        && let Some(Reverse((_, choice))) = known.open.pop()
    {
        known.look_around(choice);
    }
    let all = !known.is_over();
    let (_, graph, cost) = known.best?;
    Some(Best { graph, cost, compiled: known.hashes.len(), all })
}

/// The graphs that were compiled.
struct Known<'a> {
    forms: &'a Forms,
    options: Options,
    begun: Instant,
    time: Duration,
    /// A hash of each. A graph is a few kilobytes, and one that is mistaken for another is only missed.
    hashes: FxHashSet<u64>,
    /// Choices whose neighbours were not looked at yet.
    open: BinaryHeap<Reverse<(Score, Choice)>>,
    best: Option<(Score, Graph, Cost)>,
}

impl Known<'_> {
    fn is_over(&self) -> bool {
        self.begun.elapsed() >= self.time
    }

    /// Looks at every graph that has another form of one class.
    fn look_around(&mut self, mut choice: Choice) {
        let computed = self.forms.computed(&choice).unwrap_or_default();
        let mut decided = vec![false; choice.len()];
        computed.iter().for_each(|class| decided[*class] = true);
        for class in computed {
            let own = choice[class];
            for form in (0..self.forms.classes[class].len()).filter(|form| *form != own) {
                choice[class] = form;
                self.complete(&mut choice, &mut decided, OPENED);
            }
            choice[class] = own;
        }
    }

    /// Looks at a choice, with all forms of the undecided classes that it needs.
    fn complete(&mut self, choice: &mut Choice, decided: &mut [bool], opened: usize) {
        let Some(class) = self.forms.undecided(choice, decided) else { return };
        let Some(class) = class.filter(|_| opened > 0) else { return self.look_at(choice) };
        let own = choice[class];
        decided[class] = true;
        for form in 0..self.forms.classes[class].len() {
            if self.is_over() {
                break;
            }
            choice[class] = form;
            self.complete(choice, decided, opened - 1);
        }
        decided[class] = false;
        choice[class] = own;
    }

    /// Compiles the graph of a choice, if there is one and it is new.
    fn look_at(&mut self, choice: &Choice) {
        let Some(graph) = self.forms.graph(choice) else { return };
        if !self.hashes.insert(FxBuildHasher.hash_one(&graph)) {
            return;
        }
        let cost = fuse_with(&graph, &self.options).ok().map(|fusion| fusion.cost);
        let score = cost.map_or(WORST, |c| (c.ns, c.kernels, c.weight_bytes, graph.nodes().len()));
        self.open.push(Reverse((score, choice.clone())));
        if let Some(cost) = cost
            && self.best.as_ref().is_none_or(|(best, ..)| score < *best)
        {
            self.best = Some((score, graph, cost));
        }
    }
}
