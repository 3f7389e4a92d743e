//! The NVIDIA cards of this machine, and what each can do.

use crate::driver::{Attribute, CardHandle, Driver, Failure};
use weft_render::Gpu;

/// The oldest compute capability that is supported: Turing's, the first with all the instructions that are rendered.
pub(crate) const OLDEST: (i32, i32) = (7, 5);

/// The oldest CUDA that a driver must support: the first with graphs whose kernels may start early.
pub(crate) const OLDEST_DRIVER: (i32, i32) = (12, 3);

/// An NVIDIA card. It has not been opened.
#[derive(Clone, Debug)]
pub struct Card {
    pub(crate) handle: CardHandle,
    pub(crate) name: String,
    /// Its compute capability.
    pub(crate) capability: (i32, i32),
    /// Streaming multiprocessors.
    pub(crate) processors: u32,
    /// Bytes of its memory.
    pub(crate) memory: usize,
    /// Bytes of its second-level cache.
    pub(crate) cache: usize,
    /// Bytes of shared memory that a block may ask for.
    pub(crate) shared_bytes: u32,
    /// The newest CUDA that its driver supports.
    pub(crate) driver: (i32, i32),
    /// Bytes per second of its memory's interface, if the driver knows.
    pub(crate) bandwidth: Option<u64>,
}

/// The NVIDIA cards of this machine, in the driver's order: the fastest first. None without a driver.
///
/// The driver is loaded when this is first called.
pub fn cards() -> Vec<Card> {
    let Some(driver) = Driver::load() else { return Vec::new() };
    (0..driver.cards()).filter_map(|ordinal| card(driver, ordinal).ok()).collect()
}

fn card(driver: Driver, ordinal: i32) -> Result<Card, Failure> {
    let handle = driver.card(ordinal)?;
    let number = |attribute| handle.attribute(attribute);
    let count = |attribute| number(attribute).map(|n| u32::try_from(n).unwrap_or(0));
    // Kilohertz and bits, two transfers a clock. Drivers of late report no clock.
    let clock = number(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE).unwrap_or(0);
    let bits = number(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH).unwrap_or(0);
    let bandwidth = u64::try_from(clock).unwrap_or(0) * 1000 * 2 * (u64::try_from(bits).unwrap_or(0) / 8);
    Ok(Card {
        handle,
        name: handle.name()?,
        capability: (
            number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        processors: count(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        memory: handle.memory()?,
        cache: count(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)? as usize,
        shared_bytes: count(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        driver: driver.version(),
        bandwidth: Some(bandwidth).filter(|bandwidth| *bandwidth > 0),
    })
}

impl Card {
    /// NVRTC's name of its architecture.
    pub(crate) fn architecture(&self) -> String {
        let (major, minor) = self.capability;
        format!("sm_{major}{minor}")
    }

    /// Identifies the card and its driver, for files that are valid for these alone.
    pub(crate) fn key(&self) -> String {
        let (major, minor) = self.driver;
        format!("cuda {}, {}, CUDA {major}.{minor}", self.name, self.architecture())
    }

    /// The GPU that kernels are rendered for.
    pub(crate) fn gpu(&self) -> Gpu {
        let gpu = Gpu::of_cuda(self.capability, self.processors);
        Gpu { most_shared_bytes: self.shared_bytes, ..gpu }
    }

    /// Why this card cannot be used, and what to do about it.
    pub(crate) fn unsupported(&self) -> Option<String> {
        unsupported(self.capability, self.driver)
    }
}

/// Why a card of this compute capability cannot be used with a driver that supports CUDA up to this version.
fn unsupported(capability: (i32, i32), driver: (i32, i32)) -> Option<String> {
    let ((major, minor), (oldest, least)) = (capability, OLDEST);
    if capability < OLDEST {
        return Some(format!(
            "its compute capability is {major}.{minor}, and Weft needs {oldest}.{least} or later; `--device gpu` may \
             work through Vulkan"
        ));
    }
    let ((major, minor), (oldest, least)) = (driver, OLDEST_DRIVER);
    (driver < OLDEST_DRIVER).then(|| {
        format!(
            "its driver supports CUDA {major}.{minor}, and Weft needs {oldest}.{least} or later; install a newer driver, \
             or use `--device gpu`"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_cards_and_drivers_are_refused_with_what_to_do() {
        for (capability, driver, said) in [
            ((7, 5), (12, 3), ""),
            ((12, 0), (13, 0), ""),
            (
                (7, 2),
                (13, 0),
                "its compute capability is 7.2, and Weft needs 7.5 or later; `--device gpu` may work",
            ),
            ((6, 1), (11, 0), "its compute capability is 6.1"),
            (
                (9, 0),
                (12, 2),
                "its driver supports CUDA 12.2, and Weft needs 12.3 or later; install a newer driver",
            ),
            ((9, 0), (0, 0), "its driver supports CUDA 0.0"),
        ] {
            let found = unsupported(capability, driver);
            assert_eq!(found.is_some(), !said.is_empty(), "{found:?}");
            assert!(found.unwrap_or_default().starts_with(said), "{said}");
        }
    }
}
