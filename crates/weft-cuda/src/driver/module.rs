//! Compiled kernels, loaded.

use std::ffi::CString;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys;

use super::{Context, Failure, check};

/// A loaded image of compiled kernels.
#[derive(Debug)]
pub(crate) struct Module {
    context: Arc<Context>,
    raw: sys::CUmodule,
}

// SAFETY: a handle, which the driver takes from any thread.
unsafe impl Send for Module {}
// SAFETY: nothing changes a module after it was loaded.
unsafe impl Sync for Module {}

/// A kernel of a module, which it keeps alive.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    _module: Arc<Module>,
    pub(super) raw: sys::CUfunction,
}

// SAFETY: a handle, which the driver takes from any thread.
unsafe impl Send for Function {}
// SAFETY: nothing changes a function after it was found.
unsafe impl Sync for Function {}

impl Module {
    /// Loads an image: what NVRTC compiled for this card.
    pub(crate) fn load(context: &Arc<Context>, image: &[u8]) -> Result<Arc<Module>, Failure> {
        context.enter()?;
        let mut raw = ptr::null_mut();
        // SAFETY: an image says how long it is itself. It is NVRTC's, from memory or from a file with a checksum over all
        // of its bytes; whoever could forge such a file could as well replace this program.
        check(unsafe { sys::cuModuleLoadData(&raw mut raw, image.as_ptr().cast()) })?;
        Ok(Arc::new(Module { context: Arc::clone(context), raw }))
    }

    /// The kernel with this name, which may use `dynamic_bytes` bytes of dynamic shared memory.
    pub(crate) fn function(self: &Arc<Module>, name: &str, dynamic_bytes: u32) -> Result<Function, Failure> {
        self.context.enter()?;
        let name = CString::new(name).unwrap_or_default();
        let mut raw = ptr::null_mut();
        // SAFETY: the module is loaded, and the name ends with a zero.
        check(unsafe { sys::cuModuleGetFunction(&raw mut raw, self.raw, name.as_ptr()) })?;
        if dynamic_bytes > 0 {
            let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function was found above.
            check(unsafe { sys::cuFuncSetAttribute(raw, attribute, dynamic_bytes as i32) })?;
        }
        Ok(Function { _module: Arc::clone(self), raw })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // Its kernels may still run.
        let _ = self.context.wait();
        // SAFETY: loaded in `load`; every function keeps its module alive, so none is left.
        let _ = unsafe { sys::cuModuleUnload(self.raw) };
    }
}
