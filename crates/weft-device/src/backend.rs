//! Backends: kinds of devices, each with its way to find and open them.
//!
//! Each device crate exports one [`Backend`], and one list names them all; `--device` and `weft devices` are made from that list.

use std::io;
use std::path::{Path, PathBuf};

use crate::device::Device;
use crate::error::DeviceError;
use crate::info::DeviceInfo;
use crate::target::Target;
use crate::tuning::Departure;

/// How to open a device.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OpenOptions {
    /// Host threads that compute, or prepare work for other devices; `None` takes as many as the machine has.
    pub threads: Option<usize>,
    /// Where a device may keep files that make the next start faster: compiled kernels, tuned schedules. `None` keeps nothing.
    pub folder: Option<PathBuf>,
    /// Whether tuned schedules in the folder are left alone, neither used nor replaced.
    pub ignore_tuned: bool,
}

impl OpenOptions {
    /// The folder of tuned schedules; `None` if they are to be ignored.
    pub fn schedule_folder(&self) -> Option<&Path> {
        self.folder.as_deref().filter(|_| !self.ignore_tuned)
    }

    /// [`threads`](OpenOptions::threads), or as many as the machine runs at once.
    pub fn host_threads(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        self.threads.unwrap_or_else(all)
    }
}

/// A kind of device that this program can run on.
pub trait Backend: Sync {
    /// The word that selects it: the `gpu` of `--device gpu`. Lower case, no colon.
    fn name(&self) -> &'static str;

    /// Its devices in a few words: `a GPU, through Vulkan or Metal`.
    fn about(&self) -> &'static str;

    /// Whether a machine can have several, which are then selected by name: `gpu:NAME`.
    fn has_names(&self) -> bool {
        false
    }

    /// The word in the help for the part after its name and a colon: `NAME` for part of a device's name, if there are
    /// [names](Backend::has_names).
    fn variant(&self) -> Option<&'static str> {
        self.has_names().then_some("NAME")
    }

    /// The devices there are, the best first. Drivers are loaded here and in [`open`](Backend::open), and not before.
    fn probe(&self) -> Vec<DeviceInfo>;

    /// Why a machine may have no such device, and what to do about it: part of a sentence.
    fn missing(&self) -> &'static str {
        "this machine has none"
    }

    /// Whether its best device can run programs, as far as can be known without opening it.
    ///
    /// # Errors
    /// Why not, and what to do about it.
    fn ready(&self) -> Result<(), String> {
        if self.probe().is_empty() { Err(self.missing().into()) } else { Ok(()) }
    }

    /// A note about this backend for a list of devices, if there is anything to say.
    fn note(&self) -> Option<String> {
        None
    }

    /// Opens the first device whose name contains `name`, ignoring case; without a name, the best. There is never a name unless
    /// [`variant`](Backend::variant) says so, which may be something else than `NAME`: the CPU takes an instruction set.
    ///
    /// # Errors
    /// If there is no such device, or it cannot be opened.
    fn open(&self, name: Option<&str>, options: &OpenOptions) -> Result<Box<dyn Device>, OpenError>;

    /// The device that [`open`](Backend::open) would open, as a target to compile for.
    ///
    /// # Errors
    /// If there is no such device.
    fn target(&self, name: Option<&str>, options: &OpenOptions) -> Result<Target, OpenError>;

    /// How schedules of its devices can differ from their own choice; none, if they have no schedules.
    fn departures(&self) -> Vec<&'static Departure> {
        Vec::new()
    }

    /// Removes the files that its devices keep in a [folder](OpenOptions::folder). Returns how many bytes that frees.
    ///
    /// # Errors
    /// If the folder exists and cannot be read, or a file cannot be removed.
    fn clear(&self, folder: &Path) -> io::Result<u64> {
        let _ = folder;
        Ok(0)
    }
}

/// Why a device could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The machine has no device of the backend.
    #[error("there is no `{backend}` device: {why}")]
    Missing {
        /// The backend's name.
        backend: &'static str,
        /// The text of [`Backend::missing`].
        why: &'static str,
    },
    /// No device of that name.
    #[error(
        "no `{backend}` device is called `{wanted}`; found {}; any part of a name will do",
        quoted(found)
    )]
    Unknown {
        /// The backend's name.
        backend: &'static str,
        /// The name asked for.
        wanted: String,
        /// The names of all its devices.
        found: Vec<String>,
    },
    /// The driver failed to open it.
    #[error("cannot open `{device}`: {why}")]
    Failed {
        /// The device's name.
        device: String,
        /// The driver's message.
        why: String,
    },
    /// It was found and refused an option, or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Which of a backend's devices `wanted` means: the index of the first name that contains it, ignoring case, or 0 without one.
///
/// # Errors
/// [`OpenError::Missing`] if there are no names, [`OpenError::Unknown`] if none matches.
pub fn choose(backend: &dyn Backend, names: &[String], wanted: Option<&str>) -> Result<usize, OpenError> {
    let name = backend.name();
    if names.is_empty() {
        return Err(OpenError::Missing { backend: name, why: backend.missing() });
    }
    let Some(wanted) = wanted else { return Ok(0) };
    let lower = wanted.to_lowercase();
    let found = names.iter().position(|name| name.to_lowercase().contains(&lower));
    let unknown = || OpenError::Unknown { backend: name, wanted: wanted.into(), found: names.to_vec() };
    found.ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Toy;

    impl Backend for Toy {
        fn name(&self) -> &'static str {
            "toy"
        }

        fn about(&self) -> &'static str {
            "nothing"
        }

        fn probe(&self) -> Vec<DeviceInfo> {
            Vec::new()
        }

        fn open(&self, name: Option<&str>, _: &OpenOptions) -> Result<Box<dyn Device>, OpenError> {
            Err(choose(self, &[], name).unwrap_err())
        }

        fn target(&self, name: Option<&str>, _: &OpenOptions) -> Result<Target, OpenError> {
            Err(choose(self, &[], name).unwrap_err())
        }
    }

    #[test]
    fn a_device_is_chosen_by_part_of_its_name() {
        let names: Vec<String> =
            ["NVIDIA H200", "Intel Graphics", "llvmpipe (LLVM 19)"].map(str::to_string).into();
        let choose = |names: &[String], wanted| choose(&Toy, names, wanted);
        for (wanted, expected) in [(None, 0), (Some("llvm"), 2), (Some("INTEL"), 1), (Some("n"), 0)] {
            assert_eq!(choose(&names, wanted), Ok(expected), "{wanted:?}");
        }
        assert_eq!(
            choose(&names, Some("radeon")).unwrap_err().to_string(),
            "no `toy` device is called `radeon`; found `NVIDIA H200`, `Intel Graphics`, `llvmpipe (LLVM 19)`; \
             any part of a name will do"
        );
        for wanted in [None, Some("radeon")] {
            assert_eq!(
                Toy.open(wanted, &OpenOptions::default()).err().unwrap().to_string(),
                "there is no `toy` device: this machine has none"
            );
        }
    }
}
