//! Apple's systems report facts by name (`sysctlbyname`).
#![allow(unsafe_code, reason = "calls the system's C library")]

use std::ffi::{CString, c_char, c_int, c_uint, c_void};

use crate::CpuTime;

unsafe extern "C" {
    fn sysctlbyname(
        name: *const c_char,
        old: *mut c_void,
        old_len: *mut usize,
        new: *mut c_void,
        new_len: usize,
    ) -> c_int;
    fn pthread_set_qos_class_self_np(class: c_uint, relative_priority: c_int) -> c_int;
}

pub(crate) fn processor_name() -> Option<String> {
    of_text(&ask("machdep.cpu.brand_string")?)
}

pub(crate) fn last_level_cache() -> Option<u64> {
    // Performance cores share one.
    ["hw.perflevel0.l2cachesize", "hw.l3cachesize", "hw.l2cachesize"].into_iter().find_map(number)
}

pub(crate) fn fast_threads() -> Option<u64> {
    number("hw.perflevel0.logicalcpu")
}

/// Threads that wait for each other run as fast as the slowest.
pub(crate) fn prefer_fast_cores() {
    /// `QOS_CLASS_USER_INITIATED`: somebody waits for the result.
    const USER_INITIATED: c_uint = 0x19;
    // SAFETY: this takes two numbers and changes how the calling thread is scheduled. Where it fails, nothing changes.
    let _ = unsafe { pthread_set_qos_class_self_np(USER_INITIATED, 0) };
}

/// Not asked: what is free, inactive and purgeable would have to be told apart.
pub(crate) fn available_memory() -> Option<u64> {
    None
}

/// Not asked.
pub(crate) fn resident_memory(_pid: u32) -> Option<u64> {
    None
}

/// Not asked.
pub(crate) fn cpu_time() -> Option<CpuTime> {
    None
}

fn number(name: &str) -> Option<u64> {
    of_number(&ask(name)?)
}

/// A text, which ends with a zero.
fn of_text(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes.split(|byte| *byte == 0).next()?).ok()?.trim();
    (!text.is_empty()).then(|| text.to_string())
}

/// A number of 4 or 8 bytes.
fn of_number(bytes: &[u8]) -> Option<u64> {
    match *bytes {
        [a, b, c, d] => Some(u32::from_ne_bytes([a, b, c, d]).into()),
        [a, b, c, d, e, f, g, h] => Some(u64::from_ne_bytes([a, b, c, d, e, f, g, h])),
        _ => None,
    }
}

/// The bytes that the system keeps under a name, if it knows the name and they are few.
fn ask(name: &str) -> Option<Vec<u8>> {
    let name = CString::new(name).ok()?;
    let mut bytes = vec![0u8; 256];
    let mut len = bytes.len();
    // SAFETY: the name ends with a zero; `old` has room for `old_len` bytes, which both live until the call returns; nothing is set.
    let done = unsafe {
        sysctlbyname(name.as_ptr(), bytes.as_mut_ptr().cast(), &raw mut len, std::ptr::null_mut(), 0)
    };
    bytes.truncate(len);
    (done == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_end_with_a_zero() {
        assert_eq!(of_text(b"Apple M3 Max\0"), Some("Apple M3 Max".into()));
        assert_eq!(of_text(b"Apple M3 Max\0\xff\0"), Some("Apple M3 Max".into()));
        for nothing in [&b""[..], b"\0", b" \0", b"\xff\xfe\0"] {
            assert_eq!(of_text(nothing), None, "{nothing:?}");
        }
    }

    #[test]
    fn numbers_have_4_or_8_bytes() {
        assert_eq!(of_number(&12u32.to_ne_bytes()), Some(12));
        assert_eq!(of_number(&(48u64 << 30).to_ne_bytes()), Some(48 << 30));
        for wrong in [&[][..], &[1], &[1, 2, 3, 4, 5]] {
            assert_eq!(of_number(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn unknown_names_have_nothing() {
        assert_eq!(number("weft.no.such.name"), None);
        assert_eq!(number("hw.perflevel0.logicalcpu").is_some(), cfg!(target_arch = "aarch64"));
    }
}
