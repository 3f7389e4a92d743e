//! What the operating system knows of this machine: its processor, memory and disks, its processes, and its console.
//!
//! Each question has one answer for all systems, and `None` where a system does not report it: callers then go on without it. What a
//! system is asked stands in its own file (`linux`, `apple`, `windows`), so that another system is another file.
//!
//! | question | Linux | macOS | Windows |
//! |---|---|---|---|
//! | [`processor_name`] | `/proc/cpuinfo` | `sysctl` | registry |
//! | [`last_level_cache`] | sysfs | `sysctl` | `GetLogicalProcessorInformationEx` |
//! | [`fast_threads`] | – | `sysctl` | `GetLogicalProcessorInformationEx` |
//! | [`available_memory`] | `/proc/meminfo` | – | `GlobalMemoryStatusEx` |
//! | [`resident_memory`] | `/proc/PID/status` | – | `K32GetProcessMemoryInfo` |
//! | [`free_on_disk`] | `statvfs` | `statvfs` | `GetDiskFreeSpaceExW` |
//! | [`cpu_time()`] | `/proc/stat` | – | `GetSystemTimes`, `GetProcessTimes` |
//! | [`free_large_blocks_at_once`] | `mallopt`, with glibc | – | – |
//! | [`give_back_freed_memory`] | `malloc_trim`, with glibc | – | – |
#![cfg_attr(
    not(any(windows, target_vendor = "apple", all(target_os = "linux", target_env = "gnu"))),
    forbid(unsafe_code)
)]

pub mod console;
mod cpu_time;

#[cfg(target_vendor = "apple")]
mod apple;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc;
#[cfg(any(target_os = "linux", test))]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "its parsers are tested everywhere"))]
mod linux;
#[cfg(any(windows, test))]
mod topology;
#[cfg(windows)]
mod windows;

use std::path::Path;

pub use cpu_time::CpuTime;

#[cfg(target_vendor = "apple")]
use apple as system;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(windows)]
use windows as system;

#[cfg(not(any(target_os = "linux", target_vendor = "apple", windows)))]
mod system {
    //! A system that is not asked anything.

    pub(crate) fn processor_name() -> Option<String> {
        None
    }

    pub(crate) fn last_level_cache() -> Option<u64> {
        None
    }

    pub(crate) fn fast_threads() -> Option<u64> {
        None
    }

    pub(crate) fn available_memory() -> Option<u64> {
        None
    }

    pub(crate) fn resident_memory(_pid: u32) -> Option<u64> {
        None
    }

    pub(crate) fn cpu_time() -> Option<crate::CpuTime> {
        None
    }

    pub(crate) fn prefer_fast_cores() {}
}

/// The CPU's name; its architecture if the system does not report a name.
pub fn processor_name() -> String {
    let name = system::processor_name().map(|name| name.trim().to_string()).filter(|name| !name.is_empty());
    name.unwrap_or_else(|| std::env::consts::ARCH.into())
}

/// The bytes of the largest cache of the processor.
pub fn last_level_cache() -> Option<u64> {
    system::last_level_cache()
}

/// The number of threads that the fastest cores run at once, where the machine has cores of several kinds and the system tells them
/// apart.
pub fn fast_threads() -> Option<usize> {
    system::fast_threads().and_then(|threads| usize::try_from(threads).ok()).filter(|threads| *threads > 0)
}

/// Asks for the calling thread to run on the fastest cores. Does nothing where the system decides alone.
pub fn prefer_fast_cores() {
    system::prefer_fast_cores();
}

/// The memory that programs can still get, in bytes.
pub fn available_memory() -> Option<u64> {
    system::available_memory()
}

/// The main memory that a process takes, in bytes, mapped files included.
pub fn resident_memory(pid: u32) -> Option<u64> {
    system::resident_memory(pid)
}

/// Makes this process give large blocks of memory back to the system when they are freed, for programs that run for long. The GNU C library
/// would learn to keep blocks of up to 32 MB, and as much again at the end of each of its arenas. Does nothing with other libraries.
pub fn free_large_blocks_at_once() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    glibc::free_large_blocks_at_once();
}

/// Gives the system the pages on which this process has no block of memory any more: for programs that have just freed many blocks and
/// go on. Does nothing with other libraries than the GNU C library.
pub fn give_back_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    glibc::give_back_freed_memory();
}

/// The time that the machine's cores have spent up to now.
pub fn cpu_time() -> Option<CpuTime> {
    system::cpu_time()
}

/// The bytes that this user can still write below a folder, which need not exist.
pub fn free_on_disk(folder: &Path) -> Option<u64> {
    let there = folder.ancestors().find(|folder| folder.exists())?;
    #[cfg(unix)]
    {
        let about = rustix::fs::statvfs(there).ok()?;
        // Some network file systems report no size at all.
        let known = about.f_blocks > 0;
        known.then(|| about.f_bavail.saturating_mul(about.f_frsize))
    }
    #[cfg(windows)]
    {
        windows::free_on_disk(there)
    }
    #[cfg(not(any(unix, windows)))]
    {
        let _ = there;
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn this_machine_is_described() {
        assert!(!processor_name().is_empty());
        if cfg!(any(target_os = "linux", windows)) {
            assert!(available_memory().unwrap() > 0);
            assert!(resident_memory(std::process::id()).unwrap() > 0);
        }
        if cfg!(any(unix, windows)) {
            let below = std::env::temp_dir().join("weft-host").join("not-there");
            assert!(free_on_disk(&below).is_some());
        }
    }

    #[test]
    fn time_goes_on() {
        let Some(before) = cpu_time() else { return };
        let end = Instant::now() + Duration::from_millis(200);
        while Instant::now() < end {}
        let after = cpu_time().unwrap();
        assert!(
            after.own > before.own && after.all > before.all && after.busy <= after.all,
            "{before:?} {after:?}"
        );
        assert!(after.cores > 0);
    }

    #[test]
    fn a_process_that_is_not_there_takes_no_memory_that_is_known() {
        assert_eq!(resident_memory(u32::MAX), None);
    }
}
