//! Memory of the card, and host memory that the card can copy from.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::{ptr, slice};

use cudarc::driver::sys;

use super::{Context, Failure, check};

/// Memory of the card.
#[derive(Debug)]
pub(crate) struct DeviceMemory {
    context: Arc<Context>,
    address: sys::CUdeviceptr,
    bytes: usize,
}

impl DeviceMemory {
    /// Allocates memory, filled with zeros.
    pub(crate) fn zeroed(context: &Arc<Context>, bytes: usize) -> Result<DeviceMemory, Failure> {
        context.enter()?;
        let bytes = bytes.max(4);
        let mut address = 0;
        // SAFETY: the driver stores an address; `drop` frees it.
        check(unsafe { sys::cuMemAlloc_v2(&raw mut address, bytes) })?;
        let memory = DeviceMemory { context: Arc::clone(context), address, bytes };
        // SAFETY: the range is what was allocated.
        check(unsafe { sys::cuMemsetD8Async(address, 0, bytes, context.stream) })?;
        Ok(memory)
    }

    /// Its size.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where it begins, in the card's address space.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// Copies bytes in, after all work before. The host may change `from` only after the stream has passed the copy.
    ///
    /// # Panics
    /// If there is no such range.
    pub(crate) fn write(
        &self,
        offset: usize,
        from: &PinnedMemory,
        at: usize,
        len: usize,
    ) -> Result<(), Failure> {
        assert!(offset.checked_add(len).is_some_and(|end| end <= self.bytes), "{len} bytes at {offset}");
        assert!(at.checked_add(len).is_some_and(|end| end <= from.bytes), "{len} bytes at {at}");
        self.context.enter()?;
        // SAFETY: both ranges exist, and both memories outlive the copy: dropping either waits for it.
        check(unsafe {
            let from = from.start.as_ptr().cast_const().cast::<u8>().add(at);
            sys::cuMemcpyHtoDAsync_v2(self.address + offset as u64, from.cast(), len, self.context.stream)
        })
    }

    /// Copies bytes out to place `at`, after all work before. They are there when the stream has passed the copy.
    ///
    /// # Panics
    /// If there is no such range.
    pub(crate) fn read(
        &self,
        offset: usize,
        to: &mut PinnedMemory,
        at: usize,
        len: usize,
    ) -> Result<(), Failure> {
        assert!(offset.checked_add(len).is_some_and(|end| end <= self.bytes), "{len} bytes at {offset}");
        assert!(at.checked_add(len).is_some_and(|end| end <= to.bytes), "{len} bytes at {at}");
        self.context.enter()?;
        let from = self.address + offset as u64;
        // SAFETY: both ranges exist, and both memories outlive the copy: dropping either waits for it.
        check(unsafe {
            let to = to.start.as_ptr().cast::<u8>().add(at);
            sys::cuMemcpyDtoHAsync_v2(to.cast(), from, len, self.context.stream)
        })
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // Work may still use it.
        let _ = self.context.wait_for_copies();
        // SAFETY: allocated in `zeroed`, and nothing uses it any more.
        let _ = unsafe { sys::cuMemFree_v2(self.address) };
    }
}

/// Host memory that the card copies from and to directly.
#[derive(Debug)]
pub(crate) struct PinnedMemory {
    context: Arc<Context>,
    start: NonNull<c_void>,
    bytes: usize,
}

// SAFETY: this is plain memory, and the driver takes it from any thread.
unsafe impl Send for PinnedMemory {}

impl PinnedMemory {
    /// Allocates memory of zeros.
    pub(crate) fn zeroed(context: &Arc<Context>, bytes: usize) -> Result<PinnedMemory, Failure> {
        context.enter()?;
        let bytes = bytes.max(1);
        let mut start = ptr::null_mut();
        // SAFETY: the driver stores an address; `drop` frees it.
        check(unsafe { sys::cuMemHostAlloc(&raw mut start, bytes, 0) })?;
        let start = NonNull::new(start)
            .ok_or(Failure { code: sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY, why: "no address".into() })?;
        // SAFETY: the range is what was allocated.
        unsafe { start.cast::<u8>().write_bytes(0, bytes) };
        Ok(PinnedMemory { context: Arc::clone(context), start, bytes })
    }

    /// Its size.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Its contents. The caller has waited for the copies that write them.
    pub(crate) fn as_slice(&self) -> &[u8] {
        // SAFETY: the memory is initialised, and no copy writes to it: whoever reads waits for its copies.
        unsafe { slice::from_raw_parts(self.start.as_ptr().cast(), self.bytes) }
    }

    /// Some of it, to be overwritten. The caller has waited for the copies that read this range: otherwise the card may see old or new
    /// bytes.
    ///
    /// # Panics
    /// If there is no such range.
    pub(crate) fn part_mut(&mut self, at: usize, len: usize) -> &mut [u8] {
        assert!(at.checked_add(len).is_some_and(|end| end <= self.bytes), "{len} bytes at {at}");
        // SAFETY: the range exists, is initialised and belongs to this value alone. The card may read it at the same time, which is no
        // access of this program.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr().cast::<u8>().add(at), len) }
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        // Copies may still use it.
        let _ = self.context.wait_for_copies();
        // SAFETY: allocated in `zeroed`, and nothing uses it any more.
        let _ = unsafe { sys::cuMemFreeHost(self.start.as_ptr()) };
    }
}
