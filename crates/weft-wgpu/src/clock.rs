//! When each launch began and ended, by the GPU's own clock.

use weft_device::{DeviceError, Lane, Span};
use wgpu::{BufferUsages, ComputePassTimestampWrites, QuerySet};

use crate::context::Context;

/// Launches of a query set: it holds two timestamps of each, and at most 4096.
const TOGETHER: usize = wgpu::QUERY_SET_MAX_QUERIES as usize / 2;

/// Bytes of a timestamp.
const MARK: usize = 8;

/// The timestamps of a program's launches.
#[derive(Debug)]
pub(crate) struct Clock {
    sets: Vec<QuerySet>,
    /// Where the GPU writes the timestamps of each set, one after another, and where the host reads
    /// them.
    marks: wgpu::Buffer,
    read: wgpu::Buffer,
    launches: usize,
}

impl Clock {
    /// Whether the GPU has a clock.
    pub(crate) fn is_there(context: &Context) -> bool {
        context.device.features().contains(wgpu::Features::TIMESTAMP_QUERY)
    }

    /// Makes room for the times of `launches` launches.
    pub(crate) fn new(context: &Context, launches: usize) -> Result<Clock, DeviceError> {
        let device = &context.device;
        let size = (launches.div_ceil(TOGETHER).max(1) * 2 * TOGETHER * MARK) as u64;
        let buffer = |usage| wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
        let set = |first: usize| {
            let count = 2 * TOGETHER.min(launches - first) as u32;
            device.create_query_set(&wgpu::QuerySetDescriptor {
                label: None,
                ty: wgpu::QueryType::Timestamp,
                count,
            })
        };
        context.checked("a clock", size as usize, || Clock {
            sets: (0..launches).step_by(TOGETHER).map(set).collect(),
            marks: device.create_buffer(&buffer(BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC)),
            read: device.create_buffer(&buffer(BufferUsages::COPY_DST | BufferUsages::MAP_READ)),
            launches,
        })
    }

    /// Where the timestamps of a launch go. This is the `first` of its dispatches, or the `last`,
    /// or both.
    pub(crate) fn writes(
        &self,
        launch: usize,
        first: bool,
        last: bool,
    ) -> Option<ComputePassTimestampWrites<'_>> {
        let at = 2 * (launch % TOGETHER) as u32;
        (first || last).then(|| ComputePassTimestampWrites {
            query_set: &self.sets[launch / TOGETHER],
            beginning_of_pass_write_index: first.then_some(at),
            end_of_pass_write_index: last.then_some(at + 1),
        })
    }

    /// Copies the timestamps to where the host can read them.
    pub(crate) fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        for (i, set) in self.sets.iter().enumerate() {
            encoder.resolve_query_set(set, 0..set.count(), &self.marks, (i * 2 * TOGETHER * MARK) as u64);
        }
        encoder.copy_buffer_to_buffer(&self.marks, 0, &self.read, 0, self.marks.size());
    }

    /// Maps the timestamps for reading, after the submission that resolves them.
    pub(crate) fn ask(&self) {
        self.read.map_async(wgpu::MapMode::Read, .., |_| ());
    }

    /// Records the timestamps in `lane`. The GPU's clock has an origin of its own: its first
    /// timestamp is taken to be `submitted`, in the lane's nanoseconds. A launch has timestamps if it
    /// `ran`.
    pub(crate) fn record(
        &self,
        context: &Context,
        submitted: u64,
        ran: impl Fn(usize) -> bool,
        lane: &Lane<'_>,
    ) -> Result<(), DeviceError> {
        let mapped = self.read.get_mapped_range(..);
        let mapped = mapped.map_err(|error| context.refused("to read its clock", &error.to_string()))?;
        let period = f64::from(context.queue.get_timestamp_period());
        let (ticks, _) = mapped.as_chunks::<MARK>();
        let mark = |i: usize| u64::from_le_bytes(ticks[i]);
        spans((0..self.launches).filter(|i| ran(*i)), mark, period, submitted, &mut |i, span| {
            lane.set(i, span)
        });
        drop(mapped);
        self.read.unmap();
        Ok(())
    }
}

/// The spans of launches, whose two timestamps in ticks of `period` nanoseconds are next to each
/// other.
fn spans(
    launches: impl Iterator<Item = usize>,
    mark: impl Fn(usize) -> u64,
    period: f64,
    submitted: u64,
    record: &mut dyn FnMut(usize, Span),
) {
    let mut first = None;
    let mut before: Option<(usize, Span)> = None;
    for launch in launches {
        let origin = *first.get_or_insert(mark(2 * launch));
        let ns = |tick: u64| submitted + (tick.saturating_sub(origin) as f64 * period) as u64;
        let (begin, done) = (ns(mark(2 * launch)), ns(mark(2 * launch + 1)));
        if let Some((launch, span)) = before {
            // It was free when the next one began.
            record(launch, Span { free: begin.max(span.done), ..span });
        }
        before = Some((launch, Span { begin, done: done.max(begin), free: done.max(begin) }));
    }
    if let Some((launch, span)) = before {
        record(launch, span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_is_free_when_the_next_begins() {
        let marks = [100, 110, 0, 0, 115, 140];
        let mut recorded = Vec::new();
        spans([0, 2].into_iter(), |i| marks[i], 2.0, 1000, &mut |i, span| recorded.push((i, span)));
        let span = |begin, done, free| Span { begin, done, free };
        assert_eq!(recorded, [(0, span(1000, 1020, 1030)), (2, span(1030, 1080, 1080))]);
        spans(std::iter::empty(), |_| 0, 1.0, 0, &mut |_, _| panic!("nothing ran"));
    }
}
