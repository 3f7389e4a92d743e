//! Weights that are replaced while the card computes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use weft_device::{BufferId, DeviceError, Packing as _, RowsOf16, Weight};
use weft_gpu::WeightLayout;

use crate::buffers::{self, Buffer, HostMemory};
use crate::driver::{Context, Copies, Failure, HostBytes, Moment};

/// What copies weights beside other work.
#[derive(Default)]
pub(crate) struct Stream {
    // Dropped in this order: copies read bytes.
    copies: Option<Copies>,
    /// When each weight that was replaced has its contents.
    replaced: BTreeMap<BufferId, Moment>,
    /// The bytes of weights, by their address. Those that the driver does not register go through other memory.
    sources: BTreeMap<usize, Option<HostBytes>>,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("sources", &self.sources.len()).finish_non_exhaustive()
    }
}

impl Stream {
    /// Blocks until all copies have ended.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        self.copies.as_ref().map_or(Ok(()), Copies::finish)
    }

    /// Forgets weights from this number of buffers on.
    pub(crate) fn truncate(&mut self, buffers: usize) {
        self.replaced.retain(|id, _| (id.0 as usize) < buffers);
    }

    /// The bytes of tiles, which the card copies, and the stream that does it. `None` if the driver does not register them.
    fn source(
        &mut self,
        context: &Arc<Context>,
        tiles: &Arc<dyn AsRef<[u8]> + Send + Sync>,
    ) -> Result<Option<(&Copies, &HostBytes)>, Failure> {
        if self.copies.is_none() {
            self.copies = Some(Copies::new(context)?);
        }
        let key = (**tiles).as_ref().as_ptr().addr();
        let source =
            self.sources.entry(key).or_insert_with(|| HostBytes::new(context, Arc::clone(tiles)).ok());
        Ok(self.copies.as_ref().zip(source.as_ref()))
    }
}

impl Stream {
    /// Begins to replace a weight, see [`Streaming::replace`](weft_device::Streaming::replace). `failed` describes a failure of the driver.
    pub(crate) fn replace(
        &mut self,
        (context, staging): (&Arc<Context>, &mut HostMemory),
        (buffer, to): (BufferId, &Buffer),
        (with, unread): (&Weight, usize),
        failed: impl Fn(&Failure) -> DeviceError,
    ) -> Result<(), DeviceError> {
        let layout = WeightLayout::of(with);
        if to.weight != Some(layout) || to.bytes != (*with.bytes).as_ref().len() {
            return Err(DeviceError::Usage(format!("{buffer:?} is no weight like {with:?}")));
        }
        let moment = match self.replaced.remove(&buffer) {
            Some(moment) => moment,
            None => Moment::new(context).map_err(|failure| failed(&failure))?,
        };
        let source = match with.tiles.as_ref().filter(|_| layout.tiles.is_some()) {
            Some(tiles) => self.source(context, tiles).map_err(|failure| failed(&failure))?,
            None => None,
        };
        let Some((copies, source)) = source else {
            // After all work, and before all that follows.
            return buffers::fill(staging, &to.memory, with, layout, |_, failure| failed(failure));
        };
        let tile = RowsOf16.tile(with.ty, with.row_len);
        let skipped = tile.map_or(0, |tile| unread / tile.rows * tile.bytes);
        copies.copy((source, skipped), &to.memory, &moment).map_err(|failure| failed(&failure))?;
        self.replaced.insert(buffer, moment);
        Ok(())
    }

    /// Makes later work wait for a weight that is being replaced.
    pub(crate) fn wait_for(&self, buffer: BufferId) -> Result<(), Failure> {
        match (&self.copies, self.replaced.get(&buffer)) {
            (Some(copies), Some(moment)) => copies.wait_for(moment),
            _ => Ok(()),
        }
    }
}
