//! The synchronisation of the workgroups of a [chain](crate::chain). The counters are those of [`CHAIN_WORDS`](crate::CHAIN_WORDS).
//!
//! A workgroup that has ended a stage executes `storageBarrier`, which releases its stores, and then counts itself. A waiting workgroup
//! could execute another to acquire them. WGSL has nothing weaker, and on an NVIDIA H100 it takes about 1 µs of a stage's 3 to 7
//! (`bench/runs/2026-11-26-vulkan-chains.md`). Instead, all lanes read the final count from workgroup memory, and load the others' stores
//! at addresses that depend on it: [`MET`](crate::stmt::MET) is 0, but neither compiler nor GPU can know that earlier. Stores after a wait
//! come after the two barriers with which lanes read the count.
//!
//! Vulkan's memory model does not guarantee that this suffices. It does where one cache of the whole GPU serves all loads and stores of
//! coherent memory, as on NVIDIA's, and workgroups execute dependent instructions in order. Other GPUs have no chains unless tests ask for
//! them.

/// The functions of a chain. A lane whose wait has timed out reports it and continues, and so do all others, also of later launches: the
/// runtime drops their results. Reading a counter takes about a microsecond, so the time-out is about one second, less than systems allow a
/// launch.
pub(super) const TEXT: &str = "fn count(stage: u32) {
  atomicAdd(&counts[32u * (stage + 1u)], 1u);
}

fn meet(stage: u32, working: u32) -> u32 {
  for (var looks = 1u; looks < 0x100000u; looks += 1u) {
    let found = atomicLoad(&counts[32u * (stage + 1u)]);
    if (found >= working) { return found >> 31u; }
    if (looks % 1024u == 0u && atomicLoad(&counts[1u]) > 0u) { break; }
  }
  atomicStore(&counts[1u], 1u);
  return 0u;
}

fn leave(stages: u32, launched: u32) {
  if (atomicAdd(&counts[2u], 1u) + 1u == launched) {
    for (var stage = 0u; stage < stages; stage += 1u) { atomicStore(&counts[32u * (stage + 1u)], 0u); }
    atomicStore(&counts[2u], 0u);
  }
}

fn census() {
  if (atomicAdd(&counts[2u], 1u) < 0x80000000u) {
    for (var i = 0u; i < 100u; i += 1u) {
      if (atomicAdd(&counts[3u], 1u) == 0xffffffffu) { break; }
    }
    let begun = atomicOr(&counts[2u], 0x80000000u);
    if (begun < 0x80000000u) { atomicStore(&counts[32u], begun); }
  }
}
";

/// The beginning of a chain. In a census, workgroups stay long enough for all that run at once to begin; the first that ends reports their
/// number. All lanes of a workgroup wait for the one that counts, because a GPU can reuse the places of lanes that have ended.
pub(super) const CENSUS: &str =
    "if (args[0].x > 0u) { if (lane == 0u) { census(); } workgroupBarrier(); return; }";

#[cfg(test)]
mod tests {
    use super::TEXT;
    use crate::chain::{CENSUS, CENSUS_RESULT, LINE, TIMED_OUT};

    #[test]
    fn its_words_are_those_that_runtimes_know() {
        assert_eq!((LINE, TIMED_OUT, CENSUS, CENSUS_RESULT), (32, 1, [2, 3, 32], 32));
        for word in ["counts[1u]", "counts[2u]", "counts[3u]", "counts[32u]", "counts[32u * (stage + 1u)]"] {
            assert!(TEXT.contains(word), "{word}");
        }
    }
}
