//! The contents of the prefix cache, as the router's events.

use std::sync::Arc;

use dynamo_backend_common::KvEventPublisher;
use dynamo_kv_router::protocols::{
    BlockHashOptions, ExternalSequenceBlockHash, KvCacheEvent, KvCacheEventData, KvCacheRemoveData,
    KvCacheStoreData, KvCacheStoredBlockData, compute_block_hash_for_seq,
};
use tracing::warn;
use weft_engine::CacheEvent;

/// Publishes changes in order.
pub fn publish(publisher: &Arc<KvEventPublisher>, changes: Vec<CacheEvent>) {
    let events = changes.into_iter().filter_map(data).map(|data| KvCacheEvent {
        event_id: publisher.next_event_id(),
        data,
        dp_rank: 0,
    });
    if let Err(error) = publisher.publish_batch(events.collect()) {
        warn!(%error, "the router is not told what the prefix cache holds");
    }
}

/// A change as the router reads it. Its own hash of a block is of the tokens alone, so that it knows the blocks of a prompt before any
/// worker has seen it.
fn data(change: CacheEvent) -> Option<KvCacheEventData> {
    match change {
        CacheEvent::Stored { page, before, tokens } => {
            let size = u32::try_from(tokens.len()).ok()?;
            let [tokens_hash] =
                compute_block_hash_for_seq(&tokens, size, BlockHashOptions::default()).try_into().ok()?;
            let block_hash = ExternalSequenceBlockHash(page);
            let block = KvCacheStoredBlockData { block_hash, tokens_hash, mm_extra_info: None };
            let parent_hash = before.map(ExternalSequenceBlockHash);
            Some(KvCacheEventData::Stored(KvCacheStoreData {
                parent_hash,
                start_position: None,
                blocks: vec![block],
            }))
        }
        CacheEvent::Removed { page } => Some(KvCacheEventData::Removed(KvCacheRemoveData {
            block_hashes: vec![ExternalSequenceBlockHash(page)],
        })),
        CacheEvent::Cleared => Some(KvCacheEventData::Cleared),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_the_hash_that_the_router_computes_of_a_prompt() {
        let tokens: Vec<u32> = (0..64).collect();
        let all = compute_block_hash_for_seq(&tokens, 32, BlockHashOptions::default());
        for (i, expected) in all.into_iter().enumerate() {
            let before = (i > 0).then_some(10);
            let stored = CacheEvent::Stored { page: 11, before, tokens: tokens[32 * i..][..32].into() };
            let Some(KvCacheEventData::Stored(found)) = data(stored) else { panic!("not stored") };
            assert_eq!(found.parent_hash, before.map(ExternalSequenceBlockHash));
            assert_eq!((found.blocks[0].tokens_hash, found.blocks[0].block_hash.0), (expected, 11));
        }
    }
}
