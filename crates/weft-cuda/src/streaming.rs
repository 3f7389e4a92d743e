//! Weights that are replaced while the card computes.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::Arc;

use weft_device::{BufferId, DeviceError, Packing as _, RowsCopied, RowsOf16, Weight, WeightBytes};
use weft_gpu::WeightLayout;

use crate::buffers::{self, Buffer, HostMemory};
use crate::driver::{Context, Event, Failure, HostBytes};

/// What copies weights beside other work.
#[derive(Default)]
pub(crate) struct Stream {
    /// For each weight that is replaced, the end of the last copy.
    replaced: BTreeMap<BufferId, Arc<Event>>,
    /// The tiles of weights, by their address. Those that the driver does not register are copied by the host first.
    sources: BTreeMap<usize, Option<HostBytes>>,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("sources", &self.sources.len()).finish_non_exhaustive()
    }
}

impl Stream {
    /// Forgets weights from this number of buffers on.
    pub(crate) fn truncate(&mut self, buffers: usize) {
        self.replaced.retain(|id, _| (id.0 as usize) < buffers);
    }

    /// Prepares to replace a weight, see [`Streaming::prepare`](weft_device::Streaming::prepare).
    pub(crate) fn prepare(
        &mut self,
        context: &Arc<Context>,
        (buffer, to): (BufferId, &Buffer),
        with: &Weight,
        failed: impl Fn(&Failure) -> DeviceError,
    ) -> Result<(), DeviceError> {
        let layout = WeightLayout::of(with);
        if to.weight != Some(layout) {
            return Err(DeviceError::Usage(format!("{buffer:?} is no weight like {with:?}")));
        }
        if let Entry::Vacant(new) = self.replaced.entry(buffer) {
            new.insert(Event::new(context).map_err(|failure| failed(&failure))?);
        }
        if let Some(tiles) = with.tiles.as_ref().filter(|_| layout.tiles.is_some()) {
            let source = || HostBytes::new(context, Arc::clone(tiles)).ok();
            self.sources.entry(address(tiles)).or_insert_with(source);
        }
        Ok(())
    }

    /// Begins to replace a weight, see [`Streaming::replace`](weft_device::Streaming::replace).
    pub(crate) fn replace(
        &mut self,
        staging: &mut HostMemory,
        (buffer, to): (BufferId, &Buffer),
        (with, rows): (&Weight, &[RowsCopied]),
        failed: impl Fn(&Failure) -> DeviceError,
    ) -> Result<(), DeviceError> {
        let tile = RowsOf16.tile(with.ty, with.row_len);
        let (Some(done), Some(layout), Some(tile)) = (self.replaced.get(&buffer), to.weight, tile) else {
            return Err(DeviceError::Usage(format!("{buffer:?} is not prepared to be replaced")));
        };
        let most = to.memory.bytes() / tile.bytes * tile.rows;
        let bytes = |copied: &RowsCopied| copied.bytes(tile, (with.rows, most));
        if let Some(wrong) = rows.iter().find(|copied| bytes(copied).is_none()) {
            return Err(DeviceError::Usage(format!("{wrong:?} of {buffer:?} are not whole tiles")));
        }
        let source = with.tiles.as_ref().and_then(|tiles| self.sources.get(&address(tiles))?.as_ref());
        if let Some(source) = source {
            let copied = rows.iter().filter_map(bytes);
            return source.copy(copied, &to.memory, done).map_err(|failure| failed(&failure));
        }
        // After all work, and before all that follows.
        for copied in rows {
            let part = with.part(copied.from.clone(), Some(tile));
            let at = copied.to / tile.rows * tile.bytes;
            buffers::fill(staging, (&to.memory, at), &part, layout, |_, failure| failed(failure))?;
        }
        Ok(())
    }

    /// Whether all copies to a weight have ended.
    pub(crate) fn is_replaced(&self, context: &Context, buffer: BufferId) -> Result<bool, Failure> {
        self.replaced.get(&buffer).map_or(Ok(true), |done| context.has_ended(done))
    }

    /// Makes later work wait for a weight that is being replaced.
    pub(crate) fn wait_for(&self, context: &Context, buffer: BufferId) -> Result<(), Failure> {
        self.replaced.get(&buffer).map_or(Ok(()), |done| context.wait_for(done))
    }
}

/// The address of tiles, which identifies them as long as they live.
fn address(tiles: &WeightBytes) -> usize {
    (**tiles).as_ref().as_ptr().addr()
}
