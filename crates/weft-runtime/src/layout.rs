//! The layout of states and of a step's inputs: facts that graphs, buffers and memory share.

use weft_models::{ADAPTER_SCALES, ADAPTERS, BuildOptions};

/// The number of rows in a page of the KV cache.
pub const PAGE: usize = BuildOptions::PAGE;

/// The slots that a sequence holds at most in states of whole sequences: its state, and the one before its last step, to which it can
/// go back.
pub const HELD_SLOTS: usize = 2;

/// The inputs of layers with a sliding window that take the place of `slots` and `pages`.
pub(crate) const WINDOW_SLOTS: &str = "window_slots";
pub(crate) const WINDOW_PAGES: &str = "window_pages";

/// The inputs that all segments of a step share. Models with states of whole sequences have [those of scans](weft_ir::SCAN_LISTS), too.
pub(crate) const STEP_INPUTS: [&str; 11] = [
    "tokens",
    "pos",
    "slots",
    "first",
    "pages",
    "out_rows",
    WINDOW_SLOTS,
    WINDOW_PAGES,
    "next_slots",
    ADAPTERS,
    ADAPTER_SCALES,
];

/// The pages of layers with a sliding window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// The most positions that a token sees.
    pub positions: usize,
    /// The pages.
    pub pages: usize,
    /// The pages that sequences need only during a step: for its tokens, and for the last page of each.
    pub margin: usize,
}

impl Window {
    /// The most pages that a sequence needs between two steps, if a page has `page` rows.
    pub fn of_one(&self, page: usize) -> usize {
        (self.positions - 1).div_ceil(page) + 1
    }
}

/// What else a model has inputs for.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Optional {
    /// A layer that predicts one token more.
    pub(crate) predicts: bool,
    /// Adapters that requests choose.
    pub(crate) adapters: bool,
}
