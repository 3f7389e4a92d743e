//! The shaders of a kernel, and the work of each on a part.

use crate::forms::attend::warpgroups::shares::Shares;
use crate::forms::indexer::memory::Memory;
use crate::lower::sorted::Sorted;

/// A shader of a kernel. They run one after another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Sorts rows by matrix.
    Sort,
    /// Multiplies sorted rows for the terms of weighted sums.
    Terms,
    /// Converts the queries of attention.
    Queries,
    /// Computes everything else.
    Main,
    /// Lists the candidates of indexers.
    Narrow,
    /// Combines the results of chunks, and runs the row program.
    Join,
}

/// The places of the queries of all rows, and of the factors of their scores, in scratch memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Queries {
    pub(crate) slot: usize,
    pub(crate) at: u32,
    pub(crate) factors: u32,
}

/// The part of a kernel that a shader computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pass {
    /// The whole part.
    Whole,
    /// The result of each chunk, stored in a scratch slot from word `at` on.
    Chunks { slot: usize, at: u32 },
    /// The queries of attention by cooperative matrices, stored as halves.
    Queries(Queries),
    /// The results of chunks, combined by the workgroup that computes them, and stored as if each row had one chunk.
    Joined { slot: usize, at: u32, queries: Option<Queries> },
    /// The combination of the results of chunks, which were computed for tiles of `rows` rows.
    Join { slot: usize, at: u32, rows: u32 },
    /// The epilogue of results whose shares or chunks were combined.
    Finish { slot: usize, at: u32 },
    /// The scores of a chunk of positions.
    Scores(Memory),
    /// The candidates in a slice of the positions.
    Narrow(Memory),
    /// The choice among scored positions.
    Choose(Memory),
    /// The whole part, with tiles shared evenly between workgroups.
    Shared(Shares),
    /// The whole part, whose rows some workgroups take in turn. Each has scratch memory of its own.
    InTurn { memory: Memory, groups: u32 },
    /// Some columns of a product, stored in a scratch slot from word `at` on. The last workgroup of a tile, by a counter of that slot, runs
    /// the row program.
    Gather { slot: usize, at: u32, counter: u32 },
    /// The order of rows that are sorted by their matrix.
    Sort(Sorted),
    /// Products of sorted rows.
    Sorted(Sorted),
    /// Products of sorted rows for the terms of weighted sums, stored in scratch memory.
    Terms(Sorted),
    /// The whole part, with the terms of weighted sums from scratch memory.
    Weighted(Sorted),
}

impl Pass {
    /// Its name in the comments of texts; empty if there is only one shader.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Pass::Whole => "",
            Pass::Chunks { .. } => "; chunks",
            Pass::Queries(_) => "; queries",
            Pass::Joined { .. } => "; chunks joined",
            Pass::Scores(_) => "; scores",
            Pass::Narrow(_) => "; narrowed",
            Pass::Choose(_) => "; chosen",
            Pass::Shared(_) => "; shared evenly",
            Pass::InTurn { .. } => "; rows in turn",
            Pass::Join { .. } => "; together",
            Pass::Finish { .. } => "; finished",
            Pass::Gather { .. } => "; gathered",
            Pass::Sort(_) => "; rows sorted",
            Pass::Sorted(_) => "; of sorted rows",
            Pass::Terms(_) => "; terms of sorted rows",
            Pass::Weighted(_) => "; terms added up",
        }
    }
}
