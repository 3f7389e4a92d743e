//! The order kernels run in: whatever reads a buffer comes after all that write it.

use weft_kern::{Access, BufferId};

use crate::emit::Launch;

/// Sorts launches. Of those that could come next, the one with the lowest key does.
///
/// # Panics
/// If launches need each other; grouping makes no cycles.
pub(crate) fn order(launches: Vec<Launch>) -> Vec<Launch> {
    let buffers = |l: &Launch, access: Access| -> Vec<BufferId> {
        l.args.iter().zip(&l.kernel.params).filter(|(_, p)| p.access == access).map(|(b, _)| *b).collect()
    };
    let reads: Vec<_> = launches.iter().map(|l| buffers(l, Access::Read)).collect();
    let writes: Vec<_> = launches.iter().map(|l| buffers(l, Access::Write)).collect();
    let mut waiting: Vec<usize> = (0..launches.len()).collect();
    waiting.sort_by_key(|i| launches[*i].key);
    let mut done = Vec::with_capacity(launches.len());
    while !waiting.is_empty() {
        let ready = waiting.iter().position(|i| {
            let needed = |w: usize| w != *i && writes[w].iter().any(|b| reads[*i].contains(b));
            !waiting.iter().any(|w| needed(*w))
        });
        done.push(waiting.remove(ready.expect("launches need each other")));
    }
    let mut launches: Vec<Option<Launch>> = launches.into_iter().map(Some).collect();
    done.into_iter().filter_map(|i| launches[i].take()).collect()
}
