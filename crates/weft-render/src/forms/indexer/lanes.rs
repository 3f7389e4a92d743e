//! `indexer.lanes`: the choice of the positions that a token attends to, by the scores of a few small heads. It takes any sizes.
//!
//! Lanes share scores of positions ([`scores`]), which go to scratch memory. One workgroup for a token then finds its highest scores
//! without sorting ([`choice`](super::choice)). With `spread`, which short steps have, each chunk of positions has a workgroup, and a
//! second shader chooses. With `narrow`, which the shortest have for long contexts, a shader between these has a workgroup for each slice
//! of the positions, and lists the few that can be chosen ([`narrow`](super::narrow)). Otherwise a workgroup does all for one token after
//! another, so that scratch memory does not grow with the step. A token that sees no more positions than are chosen gets all of them, and
//! nothing is scored.
//!
//! Replies of a GLM-5.2 keep 74 % of their speed at 32,768 positions on an H200, where they kept 66 % before choices were narrowed
//! (`bench/runs/2026-11-30-indexer-workgroups.md`).

pub(crate) mod scores;

use weft_kern::Part;

use crate::forms::checks::{self, Candidate};
use crate::forms::indexer::{choose, chunk};
use crate::forms::questions::Questions;
use crate::forms::words::form;
use crate::split::{PLAIN, Split, number};

form! {
    /// The choice of positions to attend to, by lanes.
    IndexerLanes "indexer.lanes"
    numbers {
        /// Lanes that compute a score together; a power of two.
        reduce,
        /// Positions that a lane scores at a time.
        upcast,
        /// Positions of a chunk, which all lanes score at once.
        chunk,
    }
    flags {
        /// Whether each chunk has its own workgroup, and a second shader chooses.
        spread,
        /// Whether a shader between these lists candidates, if a token sees many positions.
        narrow,
    }
}

impl Questions for IndexerLanes {
    fn suits(&self, part: &Part) -> bool {
        part.indexer().is_some()
    }

    fn new(split: &Split) -> IndexerLanes {
        let Split { reduce, upcast, chunk, spread, narrow, .. } = *split;
        IndexerLanes { reduce, upcast, chunk, spread, narrow }
    }

    fn split(&self, part: &Part) -> Split {
        let IndexerLanes { reduce, upcast, chunk, spread, narrow } = *self;
        Split { width: number(part.cols), reduce, upcast, chunk, spread, narrow, ..PLAIN }
    }

    fn check(&self, of: &Candidate<'_>) -> Result<(), String> {
        let IndexerLanes { reduce, upcast, .. } = *self;
        checks::variables(1, upcast)?;
        let most = choose::together(of.gpu, of.lanes);
        if reduce > most {
            return Err(format!("at most {most} lanes can exchange their shares of a score"));
        }
        chunk::check(of, &self.split(of.part))
    }

    fn neighbours(&self, part: &Part, _rows: usize) -> Vec<Split> {
        chunk::neighbours(&self.split(part))
    }

    /// There is no smaller variant: its memory depends on the number of chosen positions, and on lanes.
    fn smaller(&self, _part: &Part) -> Option<Split> {
        None
    }
}
