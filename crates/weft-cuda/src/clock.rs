//! When each node of a program began and ended, by the card's own clock.

use std::sync::Arc;

use weft_kern::Sizes;

use crate::driver::{Context, Event, Failure, Graph, Node};

/// A program's graph with an event between any two nodes, for steps of certain sizes. No node starts early in it.
#[derive(Debug)]
pub(crate) struct Clock {
    pub(crate) sizes: Sizes,
    events: Vec<Arc<Event>>,
    graph: Graph,
}

impl Clock {
    /// A clock for these nodes.
    pub(crate) fn new(context: &Arc<Context>, nodes: &[Node], sizes: Sizes) -> Result<Clock, Failure> {
        let events = (0..=nodes.len()).map(|_| Event::new(context)).collect::<Result<Vec<_>, _>>()?;
        let graph = Graph::new(context, nodes, &events)?;
        Ok(Clock { sizes, events, graph })
    }

    /// Runs the nodes. Returns the nanoseconds from the first node's beginning to there, and to the end of each node.
    pub(crate) fn run(&mut self, context: &Context) -> Result<Vec<u64>, Failure> {
        self.graph.launch()?;
        context.wait()?;
        let Some(first) = self.events.first() else { return Ok(Vec::new()) };
        self.events.iter().map(|event| event.since(first)).collect()
    }
}
