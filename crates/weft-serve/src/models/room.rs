//! Memory for a model: its need, and the models that are unloaded for it.
//!
//! Models that nobody uses are unloaded first, the one used least recently before the others. If all are in use, the one used least
//! recently takes no more requests and is unloaded when its last one has ended: a model that is asked for all the time does not keep
//! others out.

use std::fs;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::watch;
use tracing::info;
use weft_host::available_memory;

use super::slot::{Brought, Slot};
use super::{Models, released};
use crate::error::{ApiError, Kind};
use crate::stage::Step;

/// How often models in use are looked at.
const POLL: Duration = Duration::from_millis(20);

impl Models {
    /// Unloads other models until there is memory for this one.
    pub(super) async fn make_room(
        &self,
        slot: &Slot,
        waiting: &watch::Sender<Brought>,
    ) -> Result<(), ApiError> {
        let need = self.need(slot).await?;
        loop {
            let Some(short) = self.is_short(slot, need) else { return Ok(()) };
            // While nobody waits, no other model has to leave.
            if waiting.is_closed() {
                return Err(ApiError::new(Kind::Unavailable, "nobody waits for the model any more"));
            }
            if self.unload_one(slot).await {
                continue;
            }
            if self.all().iter().any(Slot::is_releasing) {
                tokio::time::sleep(POLL).await;
                continue;
            }
            let Some(busy) = self.unpinned(slot).min_by_key(|other| other.used.load(Ordering::Relaxed))
            else {
                return Err(short.error(slot));
            };
            slot.progress.set(Some(Step::Memory));
            busy.leave(true);
            tokio::time::sleep(POLL).await;
        }
    }

    /// Other models that are loaded and may be unloaded.
    fn unpinned<'a>(&'a self, slot: &'a Slot) -> impl Iterator<Item = &'a Slot> {
        let other = move |other: &&Slot| !std::ptr::eq(*other, slot);
        self.all().iter().filter(other).filter(|other| !other.is_pinned() && other.loaded().is_some())
    }

    /// Unloads the model that was used least recently, of those that nobody uses and nobody pinned. Returns whether there was one.
    pub(super) async fn unload_one(&self, slot: &Slot) -> bool {
        let idle = self.unpinned(slot).filter(|other| !other.is_used());
        let Some(idle) = idle.min_by_key(|other| other.used.load(Ordering::Relaxed)) else { return false };
        // If it is being used again by now, the next one is looked for.
        let Some(unloaded) = idle.take_unused() else { return true };
        info!(model = %idle.source.name, "unloading, to make room");
        released(idle, unloaded).await;
        true
    }

    /// The bytes of memory that a model needs, if a limit makes that worth computing.
    async fn need(&self, slot: &Slot) -> Result<u64, ApiError> {
        if self.limits.memory.is_none() {
            return Ok(0);
        }
        if let Some(known) = slot.need() {
            return Ok(known);
        }
        let (options, path) = (self.options(slot).clone(), slot.source.path.clone());
        let computed = tokio::task::spawn_blocking(move || options.memory(path)).await;
        let name = &slot.source.name;
        let failed =
            |why: String| ApiError::new(Kind::Internal, format!("cannot load the model `{name}`: {why}"));
        let need = computed.map_err(|_| failed("its memory could not be computed".into()))?;
        let need = need.map_err(|error| failed(error.to_string()))?;
        Ok(*slot.need.get_or_init(|| need))
    }

    /// Whether there is too little memory for a model, and how much.
    fn is_short(&self, slot: &Slot, need: u64) -> Option<Short> {
        let others = || self.all().iter().filter(|other| !std::ptr::eq(*other, slot));
        let loaded = || others().filter(|other| other.loaded().is_some() || other.is_releasing());
        if let Some(limit) = self.limits.memory {
            let taken: u64 = loaded().filter_map(Slot::need).sum();
            if taken.saturating_add(need) > limit {
                return Some(Short { need, free: limit.saturating_sub(taken), limit: Some(limit) });
            }
        }
        let (need, free) = (file_bytes(slot), available_memory()?);
        let alone = loaded().next().is_none();
        // If nothing else can be unloaded, the loader says what is missing, if anything is.
        (free < need && !alone).then_some(Short { need, free, limit: None })
    }
}

/// Too little memory for a model, in bytes.
struct Short {
    need: u64,
    free: u64,
    /// The limit that was set, if that one is reached.
    limit: Option<u64>,
}

impl Short {
    /// The error if no other model can be unloaded.
    fn error(&self, slot: &Slot) -> ApiError {
        let (name, mb) = (&slot.source.name, |bytes: u64| bytes.div_ceil(1_000_000));
        let [need, free] = [mb(self.need), mb(self.free)];
        let message = match self.limit {
            Some(limit) if self.need > limit => format!(
                "`{name}` needs {need} MB of memory, more than the limit of {} MB; raise --memory, or lower --context or --kv-tokens",
                mb(limit)
            ),
            Some(limit) => format!(
                "`{name}` needs {need} MB of memory, and pinned models leave {free} MB of the limit of {} MB; unpin one, or raise \
                 --memory",
                mb(limit)
            ),
            None => format!(
                "`{name}` needs about {need} MB of memory, {free} MB are free, and the other models are pinned; unpin one"
            ),
        };
        ApiError::new(Kind::Internal, message)
    }
}

/// The memory that a model needs, roughly: the size of its files, and a tenth more.
fn file_bytes(slot: &Slot) -> u64 {
    fs::metadata(&slot.source.path).map_or(0, |file| file.len()) / 10 * 11
}
