//! The backends of this build: one line for each.
//!
//! A new device needs a crate and a line here. No other file asks for the cargo features `gpu` and `cuda`.

use std::io;
use std::path::Path;

use weft_cpu::CpuBackend;
use weft_device::{Backend, ReferenceBackend};

use crate::devices::preferred::Preferred;
use crate::devices::{machines, tuned, uses};

/// All backends, the default first.
pub static BACKENDS: &[&dyn Backend] = &[&CpuBackend, &GPU, CUDA, &ReferenceBackend];

const GPU: Preferred = Preferred {
    first: CUDA,
    usual: WGPU,
    about: if cfg!(any(feature = "gpu", feature = "cuda")) {
        "a GPU, through CUDA where that works, otherwise through Vulkan or Metal"
    } else {
        "a GPU, through CUDA, Vulkan or Metal; not in this build"
    },
};

#[cfg(feature = "gpu")]
const WGPU: &dyn Backend = &weft_wgpu::GpuBackend;

#[cfg(not(feature = "gpu"))]
const WGPU: &dyn Backend = &left_out::LeftOut {
    name: "gpu",
    about: "a GPU, through Vulkan or Metal; not in this build",
    why: "this build of Weft has no GPU support; build it with `--features gpu`, which is on by default, or use `--device cpu`",
};

#[cfg(feature = "cuda")]
const CUDA: &dyn Backend = &weft_cuda::CudaBackend;

#[cfg(not(feature = "cuda"))]
const CUDA: &dyn Backend = &left_out::LeftOut {
    name: "cuda",
    about: "an NVIDIA GPU, through CUDA; not in this build",
    why: "this build of Weft has no CUDA support; build it with `--features cuda`, which is on by default, or use `--device cpu`",
};

#[cfg(not(all(feature = "gpu", feature = "cuda")))]
mod left_out {
    //! A backend that this build does not include. It keeps its name, so that an error can say what to do.

    use weft_device::{Backend, Device, DeviceInfo, OpenError, OpenOptions, Target};

    pub(super) struct LeftOut {
        pub(super) name: &'static str,
        pub(super) about: &'static str,
        pub(super) why: &'static str,
    }

    impl Backend for LeftOut {
        fn name(&self) -> &'static str {
            self.name
        }

        fn about(&self) -> &'static str {
            self.about
        }

        fn has_names(&self) -> bool {
            true
        }

        fn probe(&self) -> Vec<DeviceInfo> {
            Vec::new()
        }

        fn missing(&self) -> &'static str {
            self.why
        }

        fn open(&self, _: Option<&str>, _: &OpenOptions) -> Result<Box<dyn Device>, OpenError> {
            Err(OpenError::Missing { backend: self.name, why: self.why })
        }

        fn target(&self, _: Option<&str>, _: &OpenOptions) -> Result<Target, OpenError> {
            Err(OpenError::Missing { backend: self.name, why: self.why })
        }
    }
}

/// Removes the files that devices keep in a folder: compiled kernels, tuned schedules, measurements, and
/// decisions that were kept. Returns the number of bytes freed.
///
/// # Errors
/// If the folder exists but cannot be read, or a file cannot be removed.
pub fn clear_device_files(folder: &Path) -> io::Result<u64> {
    let own = machines::clear(folder)? + tuned::clear(folder)? + uses::clear(folder)?;
    BACKENDS.iter().try_fold(own, |freed, backend| Ok(freed + backend.clear(folder)?))
}
