//! Copies to the card beside the work of its stream, from the host's memory in place.

use std::ffi::c_void;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUresult};

use super::{Context, DeviceMemory, Event, Failure, PinnedMemory, check};

/// Registered memory begins and ends at multiples of this, which all usual sizes of pages divide.
const PAGE: usize = 64 << 10;

/// The flag of [`sys::cuMemHostRegister_v2`] for memory that the card reads only, such as that of a file.
const READ_ONLY: u32 = 0x08;

/// Bytes that the card reads in place: whole pages of them where they are, and what is before and after as a copy.
pub(crate) struct HostBytes {
    context: Arc<Context>,
    /// The registered pages, if there are any.
    pages: Option<(*mut c_void, usize)>,
    /// The bytes before the pages, and those after.
    ends: PinnedMemory,
    before: usize,
    after: usize,
    /// The owner of the pages.
    _held: Arc<dyn AsRef<[u8]> + Send + Sync>,
}

// SAFETY: the pages are plain memory that nothing writes to, and the driver takes it from any thread.
unsafe impl Send for HostBytes {}

impl HostBytes {
    /// Registers bytes. The driver may refuse: there is a limit to memory that cannot be moved, and not all systems can do it for files.
    pub(crate) fn new(
        context: &Arc<Context>,
        held: Arc<dyn AsRef<[u8]> + Send + Sync>,
    ) -> Result<HostBytes, Failure> {
        let bytes = (*held).as_ref();
        let first = bytes.as_ptr().addr().next_multiple_of(PAGE) - bytes.as_ptr().addr();
        let whole = bytes.len().saturating_sub(first) / PAGE * PAGE;
        let (before, after) =
            if whole == 0 { (bytes.len(), 0) } else { (first, bytes.len() - first - whole) };
        let mut ends = PinnedMemory::zeroed(context, before + after)?;
        ends.part_mut(0, before).copy_from_slice(&bytes[..before]);
        ends.part_mut(before, after).copy_from_slice(&bytes[bytes.len() - after..]);
        let mut pages = None;
        if whole > 0 {
            let start: *mut c_void = bytes[first..].as_ptr().cast_mut().cast();
            // SAFETY: the range is a part of `held`, which lives until `drop` has taken it back. The card only reads it.
            check(unsafe { sys::cuMemHostRegister_v2(start, whole, READ_ONLY) })?;
            pages = Some((start, whole));
        }
        Ok(HostBytes { context: Arc::clone(context), pages, ends, before, after, _held: held })
    }

    /// Copies ranges of the bytes, each to a place of a memory, after all work so far. Later work may run meanwhile, and must not use these
    /// places before it [waits](Context::wait_for) for `done`, or the copies [have ended](Context::has_ended).
    ///
    /// # Panics
    /// If a range is not in the bytes, or its place not in the memory.
    pub(crate) fn copy(
        &self,
        ranges: impl Iterator<Item = (Range<usize>, usize)>,
        to: &DeviceMemory,
        done: &Event,
    ) -> Result<(), Failure> {
        self.context.enter()?;
        let Context { stream, copies, .. } = *self.context;
        // SAFETY: event and streams exist. A wait is for what has been recorded by now.
        check(unsafe { sys::cuEventRecord(done.raw, stream) })?;
        // SAFETY: see above.
        check(unsafe { sys::cuStreamWaitEvent(copies, done.raw, 0) })?;
        for (range, place) in ranges {
            let fits = place.checked_add(range.len()).is_some_and(|end| end <= to.bytes());
            assert!(fits && range.end <= self.len(), "{range:?} of {} bytes to {place}", self.len());
            for (at, start, bytes) in self.parts() {
                let (first, end) = (range.start.max(at), range.end.min(at + bytes));
                if first >= end {
                    continue;
                }
                let address = to.address() + (place + first - range.start) as u64;
                let start = start.wrapping_byte_add(first - at);
                // SAFETY: both ranges exist, and both memories outlive the copy: dropping either waits for it.
                check(unsafe { sys::cuMemcpyHtoDAsync_v2(address, start, end - first, copies) })?;
            }
        }
        // SAFETY: see above.
        check(unsafe { sys::cuEventRecord(done.raw, copies) })
    }

    /// The number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.before + self.pages.map_or(0, |(_, bytes)| bytes) + self.after
    }

    /// The parts: place, address and size of each.
    fn parts(&self) -> impl Iterator<Item = (usize, *const c_void, usize)> {
        let ends = self.ends.as_slice().as_ptr();
        let pages = self.pages.unwrap_or((ptr::null_mut(), 0));
        // Within the memory of both ends, or at its end if nothing follows.
        let after: *const c_void = ends.wrapping_add(self.before).cast();
        let parts = [
            (0, ends.cast(), self.before),
            (self.before, pages.0.cast_const(), pages.1),
            (self.before + pages.1, after, self.after),
        ];
        parts.into_iter().filter(|(.., bytes)| *bytes > 0)
    }
}

impl Context {
    /// Whether what was recorded has happened.
    pub(crate) fn has_ended(&self, done: &Event) -> Result<bool, Failure> {
        self.enter()?;
        // SAFETY: the event exists.
        match unsafe { sys::cuEventQuery(done.raw) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            result => check(result).map(|()| true),
        }
    }

    /// Records an event after all work so far.
    pub(crate) fn record(&self, event: &Event) -> Result<(), Failure> {
        self.enter()?;
        // SAFETY: event and stream exist.
        check(unsafe { sys::cuEventRecord(event.raw, self.stream) })
    }

    /// Blocks until what was recorded has happened.
    pub(crate) fn wait_until(&self, event: &Event) -> Result<(), Failure> {
        self.enter()?;
        // SAFETY: the event exists.
        check(unsafe { sys::cuEventSynchronize(event.raw) })
    }

    /// Makes later work wait for a copy.
    pub(crate) fn wait_for(&self, done: &Event) -> Result<(), Failure> {
        self.enter()?;
        // SAFETY: event and stream exist.
        check(unsafe { sys::cuStreamWaitEvent(self.stream, done.raw, 0) })
    }
}

impl Drop for HostBytes {
    fn drop(&mut self) {
        // Copies may still read them.
        let _ = self.context.wait_for_copies();
        if let Some((start, _)) = self.pages {
            // SAFETY: registered in `new`, and nothing reads them any more.
            let _ = unsafe { sys::cuMemHostUnregister(start) };
        }
    }
}
