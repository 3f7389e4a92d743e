//! Statistics of an engine.

use crate::prompts::counts::PromptCacheStats;
use weft_runtime::{Crossings, SlotUse};

use crate::speculate::SpeculationStats;

/// Statistics of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// The number of generations that have pages.
    pub running: usize,
    /// The number of generations that wait for pages.
    pub waiting: usize,
    /// The number of preemptions so far.
    pub preempted: u64,
    /// The number of steps computed so far.
    pub steps: u64,
    /// The number of tokens computed so far: of prompts and replies, and again after preemptions.
    pub computed: u64,
    /// The number of tokens generated so far.
    pub generated: u64,
    /// The number of prompt tokens that were looked up in the prefix cache so far.
    pub prefix_queries: u64,
    /// The number of them that were found.
    pub prefix_hits: u64,
    /// The number of pages of the KV cache.
    pub pages: usize,
    /// The number of pages that sequences hold.
    pub pages_held: usize,
    /// The number of pages in the prefix cache that no sequence holds.
    pub pages_kept: usize,
    /// Statistics of the prompt cache on disk.
    pub prompt_cache: PromptCacheStats,
    /// Statistics of speculation.
    pub speculation: SpeculationStats,
    /// How often the experts that tokens chose were in slots of the device; all 0 if none are.
    pub slots: SlotUse,
    /// What two devices did together; nothing if there is one.
    pub crossings: Crossings,
}
