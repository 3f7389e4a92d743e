//! Windows reports facts through functions of kernel32 and advapi32.
#![allow(
    unsafe_code,
    reason = "calls the system's functions, each of which gets room that outlives the call"
)]

use std::os::windows::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr::null_mut;

use windows_sys::Win32::Foundation::{CloseHandle, FILETIME, HANDLE};
use windows_sys::Win32::Storage::FileSystem::GetDiskFreeSpaceExW;
use windows_sys::Win32::System::Console::{
    CONSOLE_SCREEN_BUFFER_INFO, ENABLE_VIRTUAL_TERMINAL_PROCESSING, GetConsoleMode,
    GetConsoleScreenBufferInfo, GetStdHandle, STD_ERROR_HANDLE, STD_OUTPUT_HANDLE, SetConsoleMode,
};
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::Registry::{HKEY_LOCAL_MACHINE, RRF_RT_REG_SZ, RegGetValueW};
use windows_sys::Win32::System::SystemInformation::{
    GetLogicalProcessorInformationEx, GlobalMemoryStatusEx, MEMORYSTATUSEX, RelationAll,
};
use windows_sys::Win32::System::Threading::{
    ALL_PROCESSOR_GROUPS, GetActiveProcessorCount, GetCurrentProcess, GetProcessTimes, GetSystemTimes,
    OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION,
};

use crate::{CpuTime, topology};

/// The most bytes that the description of a machine's cores may take: 1,024 cores take 50 kB.
const MAX_TOPOLOGY: u32 = 16 << 20;

/// A text that ends with a zero, as the system wants it.
fn wide(text: &str) -> Vec<u16> {
    text.encode_utf16().chain([0]).collect()
}

pub(crate) fn processor_name() -> Option<String> {
    let key = wide(r"HARDWARE\DESCRIPTION\System\CentralProcessor\0");
    let name = wide("ProcessorNameString");
    let mut text = [0u16; 128];
    let mut bytes = size_of_val(&text) as u32;
    // SAFETY: both names end with a zero; `text` has room for `bytes` bytes; all live until the call returns.
    let error = unsafe {
        RegGetValueW(
            HKEY_LOCAL_MACHINE,
            key.as_ptr(),
            name.as_ptr(),
            RRF_RT_REG_SZ,
            null_mut(),
            text.as_mut_ptr().cast(),
            &raw mut bytes,
        )
    };
    let text = text.split(|unit| *unit == 0).next()?;
    (error == 0).then(|| String::from_utf16_lossy(text))
}

/// What the system says of cores and caches.
fn described() -> Option<Vec<u8>> {
    let mut len = 0;
    // SAFETY: without a buffer, the call only sets `len` to the room it wants.
    unsafe { GetLogicalProcessorInformationEx(RelationAll, null_mut(), &raw mut len) };
    if len == 0 || len > MAX_TOPOLOGY {
        return None;
    }
    // Records are aligned to 8 bytes.
    let mut room = vec![0u64; (len as usize).div_ceil(8)];
    // SAFETY: `room` has `len` bytes with the alignment of a record, and lives until the call returns.
    let done =
        unsafe { GetLogicalProcessorInformationEx(RelationAll, room.as_mut_ptr().cast(), &raw mut len) };
    let mut bytes: Vec<u8> = room.into_iter().flat_map(u64::to_le_bytes).collect();
    bytes.truncate(len as usize);
    (done != 0).then_some(bytes)
}

pub(crate) fn last_level_cache() -> Option<u64> {
    topology::last_level_cache(&described()?)
}

pub(crate) fn fast_threads() -> Option<u64> {
    topology::fast_threads(&described()?)
}

/// Windows places threads that work all the time on fast cores alone.
pub(crate) fn prefer_fast_cores() {}

pub(crate) fn available_memory() -> Option<u64> {
    let mut status = MEMORYSTATUSEX { dwLength: size_of::<MEMORYSTATUSEX>() as u32, ..Default::default() };
    // SAFETY: `status` says how large it is, and lives until the call returns.
    let done = unsafe { GlobalMemoryStatusEx(&raw mut status) };
    // Of all memory that programs ask for, files to swap to included, the system promises no more than this.
    (done != 0).then(|| status.ullAvailPhys.min(status.ullAvailPageFile))
}

/// A process that is closed when it is dropped.
struct Process(HANDLE);

impl Drop for Process {
    fn drop(&mut self) {
        // SAFETY: this is the only owner of the handle, which `OpenProcess` returned.
        unsafe { CloseHandle(self.0) };
    }
}

pub(crate) fn resident_memory(pid: u32) -> Option<u64> {
    // SAFETY: the call takes numbers only.
    let handle = unsafe { OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, pid) };
    if handle.is_null() {
        return None;
    }
    let process = Process(handle);
    let size = size_of::<PROCESS_MEMORY_COUNTERS>() as u32;
    let mut counters = PROCESS_MEMORY_COUNTERS { cb: size, ..Default::default() };
    // SAFETY: the handle is open, and `counters` has `size` bytes; both live until the call returns.
    let done = unsafe { K32GetProcessMemoryInfo(process.0, &raw mut counters, size) };
    (done != 0).then_some(counters.WorkingSetSize as u64)
}

/// The bytes that this user can still write below a folder that exists.
pub(crate) fn free_on_disk(folder: &Path) -> Option<u64> {
    let mut path: Vec<u16> = folder.as_os_str().encode_wide().chain([0]).collect();
    // An empty path is the current folder.
    if path == [0] {
        path = wide(".");
    }
    let mut free = 0;
    // SAFETY: the path ends with a zero; `free` lives until the call returns; the other two results are not wanted.
    let done = unsafe { GetDiskFreeSpaceExW(path.as_ptr(), &raw mut free, null_mut(), null_mut()) };
    (done != 0).then_some(free)
}

pub(crate) fn cpu_time() -> Option<CpuTime> {
    let [mut idle, mut kernel, mut user] = [FILETIME::default(); 3];
    // SAFETY: the three results live until the call returns.
    if unsafe { GetSystemTimes(&raw mut idle, &raw mut kernel, &raw mut user) } == 0 {
        return None;
    }
    let [mut created, mut ended, mut own_kernel, mut own_user] = [FILETIME::default(); 4];
    // SAFETY: the handle of the own process is always open, and the four results live until the call returns.
    let done = unsafe {
        GetProcessTimes(
            GetCurrentProcess(),
            &raw mut created,
            &raw mut ended,
            &raw mut own_kernel,
            &raw mut own_user,
        )
    };
    // SAFETY: the call takes a number only.
    let cores = unsafe { GetActiveProcessorCount(ALL_PROCESSOR_GROUPS) };
    let ticks = |time: FILETIME| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    // The kernel's time has the idle time in it.
    let all = ticks(kernel).saturating_add(ticks(user));
    let own = ticks(own_kernel).saturating_add(ticks(own_user));
    (done != 0 && cores > 0).then(|| CpuTime { cores, all, busy: all.saturating_sub(ticks(idle)), own })
}

/// The handle and mode of a standard stream that is a console.
fn console(stream: u32) -> Option<(HANDLE, u32)> {
    // SAFETY: the call takes a number only.
    let handle = unsafe { GetStdHandle(stream) };
    let mut mode = 0;
    // SAFETY: a handle that is none, or no console, makes the call fail; `mode` lives until it returns.
    let is_console = unsafe { GetConsoleMode(handle, &raw mut mode) } != 0;
    is_console.then_some((handle, mode))
}

/// Makes both output streams understand escape sequences, where they are consoles.
pub(crate) fn enable_escapes() -> bool {
    let enabled = |stream| {
        console(stream).is_none_or(|(handle, mode)| {
            // SAFETY: the handle is that of a console, and the call takes numbers only.
            unsafe { SetConsoleMode(handle, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0 }
        })
    };
    let both = [STD_OUTPUT_HANDLE, STD_ERROR_HANDLE].map(enabled);
    both.into_iter().all(|enabled| enabled)
}

pub(crate) fn columns() -> Option<usize> {
    let (handle, _) = console(STD_OUTPUT_HANDLE)?;
    let mut about = CONSOLE_SCREEN_BUFFER_INFO::default();
    // SAFETY: the handle is that of a console, and `about` lives until the call returns.
    let done = unsafe { GetConsoleScreenBufferInfo(handle, &raw mut about) };
    let window = about.srWindow;
    let columns = usize::try_from(i32::from(window.Right) - i32::from(window.Left) + 1).ok()?;
    (done != 0 && columns > 0).then_some(columns)
}
