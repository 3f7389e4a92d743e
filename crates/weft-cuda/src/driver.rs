//! The CUDA driver: safe functions and owned objects over its C interface.
//!
//! Everything belongs to one [`Context`]. Its stream runs copies and graphs in order; weights may be copied in another one at the same time
//! ([`HostBytes`]). Objects keep their context alive and free themselves, after all work that may use them: dropping memory waits for both
//! streams.

mod copies;
mod graph;
mod memory;
mod module;

use std::ffi::{CStr, c_int};
use std::ptr;
use std::sync::{Arc, OnceLock};

use cudarc::driver::sys::{self, CUresult, CUstream_flags};

pub(crate) use copies::HostBytes;
pub(crate) use graph::{Event, Graph, Node};
pub(crate) use memory::{DeviceMemory, PinnedMemory};
pub(crate) use module::{Function, Module};

/// A failed call of the driver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failure {
    pub(crate) code: CUresult,
    /// The driver's own words.
    pub(crate) why: String,
}

/// `Ok` if the driver says so.
fn check(code: CUresult) -> Result<(), Failure> {
    if code == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let mut text = ptr::null();
    // SAFETY: the driver stores a pointer to a constant string, or null for a code it does not know.
    let known = unsafe { sys::cuGetErrorString(code, &raw mut text) };
    let why = match known {
        CUresult::CUDA_SUCCESS if !text.is_null() => {
            // SAFETY: see above.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        }
        _ => format!("{code:?}"),
    };
    Err(Failure { code, why })
}

/// The driver's library, initialised. There is one per process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Driver(());

impl Driver {
    /// Loads the driver; `None` if the machine has none, or no card.
    pub(crate) fn load() -> Option<Driver> {
        static LOADED: OnceLock<bool> = OnceLock::new();
        let loaded = LOADED.get_or_init(|| {
            // SAFETY: this loads NVIDIA's library, whose initialisers have no demands.
            let present = unsafe { sys::is_culib_present() };
            // SAFETY: the library is there. `cuInit` fails without a card or a kernel module.
            present && unsafe { sys::cuInit(0) } == CUresult::CUDA_SUCCESS
        });
        loaded.then_some(Driver(()))
    }

    /// The newest CUDA that the driver supports, as major and minor version.
    pub(crate) fn version(self) -> (i32, i32) {
        let mut version: c_int = 0;
        // SAFETY: the driver stores a number.
        let found = check(unsafe { sys::cuDriverGetVersion(&raw mut version) });
        if found.is_err() { (0, 0) } else { (version / 1000, version % 1000 / 10) }
    }

    /// How many cards there are.
    pub(crate) fn cards(self) -> i32 {
        let mut count: c_int = 0;
        // SAFETY: the driver stores a number.
        let found = check(unsafe { sys::cuDeviceGetCount(&raw mut count) });
        if found.is_err() { 0 } else { count }
    }

    /// A card's handle; there are [`cards`](Driver::cards) of them.
    pub(crate) fn card(self, ordinal: i32) -> Result<CardHandle, Failure> {
        let mut device: sys::CUdevice = 0;
        // SAFETY: the driver stores a handle, which is valid as long as the process.
        check(unsafe { sys::cuDeviceGet(&raw mut device, ordinal) })?;
        Ok(CardHandle { device })
    }
}

/// A property of a card that is a number.
pub(crate) type Attribute = sys::CUdevice_attribute;

/// A card.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CardHandle {
    device: sys::CUdevice,
}

impl CardHandle {
    /// Its name.
    pub(crate) fn name(self) -> Result<String, Failure> {
        let mut name = [0u8; 256];
        // SAFETY: the driver stores at most `name.len()` bytes, the last one a zero.
        check(unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as c_int, self.device) })?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(name.to_string_lossy().trim().to_string())
    }

    /// One of its numbers.
    pub(crate) fn attribute(self, attribute: Attribute) -> Result<i32, Failure> {
        let mut value: c_int = 0;
        // SAFETY: the driver stores a number.
        check(unsafe { sys::cuDeviceGetAttribute(&raw mut value, attribute, self.device) })?;
        Ok(value)
    }

    /// Bytes of its memory.
    pub(crate) fn memory(self) -> Result<usize, Failure> {
        let mut bytes = 0;
        // SAFETY: the driver stores a number.
        check(unsafe { sys::cuDeviceTotalMem_v2(&raw mut bytes, self.device) })?;
        Ok(bytes)
    }
}

/// A card's context, with its streams.
#[derive(Debug)]
pub(crate) struct Context {
    device: sys::CUdevice,
    raw: sys::CUcontext,
    stream: sys::CUstream,
    /// Copies beside the work of the stream.
    copies: sys::CUstream,
}

// SAFETY: the driver's functions may be called from any thread; every method makes the context current on its own
// thread first.
unsafe impl Send for Context {}
// SAFETY: see above; the driver locks what it shares.
unsafe impl Sync for Context {}

impl Context {
    /// Opens a card.
    pub(crate) fn open(card: CardHandle) -> Result<Arc<Context>, Failure> {
        let device = card.device;
        let mut raw = ptr::null_mut();
        // SAFETY: the handle is valid; `drop` releases the context.
        check(unsafe { sys::cuDevicePrimaryCtxRetain(&raw mut raw, device) })?;
        let mut context = Context { device, raw, stream: ptr::null_mut(), copies: ptr::null_mut() };
        context.enter()?;
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        for stream in [&mut context.stream, &mut context.copies] {
            // SAFETY: the context is current; `drop` destroys the streams.
            check(unsafe { sys::cuStreamCreate(stream, flags) })?;
        }
        Ok(Arc::new(context))
    }

    /// Makes this context the calling thread's.
    fn enter(&self) -> Result<(), Failure> {
        // SAFETY: the context is retained until `drop`.
        check(unsafe { sys::cuCtxSetCurrent(self.raw) })
    }

    /// Bytes of the card's memory that are free.
    pub(crate) fn free_memory(&self) -> Result<u64, Failure> {
        self.enter()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: the driver stores two numbers.
        check(unsafe { sys::cuMemGetInfo_v2(&raw mut free, &raw mut total) })?;
        Ok(free as u64)
    }

    /// Blocks until all work has completed, but for [copies](HostBytes) beside it.
    pub(crate) fn wait(&self) -> Result<(), Failure> {
        self.enter()?;
        // SAFETY: the stream lives as long as the context.
        check(unsafe { sys::cuStreamSynchronize(self.stream) })
    }

    /// Blocks until all work and all copies have completed.
    fn wait_for_copies(&self) -> Result<(), Failure> {
        self.wait()?;
        // SAFETY: the stream lives as long as the context.
        check(unsafe { sys::cuStreamSynchronize(self.copies) })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // A failure cannot be reported any more.
        let _ = self.enter();
        for stream in [self.stream, self.copies].into_iter().filter(|stream| !stream.is_null()) {
            // SAFETY: created in `open`; nothing else refers to it, since all objects keep the context alive.
            let _ = unsafe { sys::cuStreamDestroy_v2(stream) };
        }
        // SAFETY: retained in `open`.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}
