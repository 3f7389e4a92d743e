//! The memory allocator of the GNU C library, which Rust's programs for Linux use.
#![allow(unsafe_code, reason = "calls the system's C library")]

use std::ffi::c_int;

unsafe extern "C" {
    fn mallopt(parameter: c_int, value: c_int) -> c_int;
    fn malloc_trim(kept: usize) -> c_int;
}

/// The least size of a block that has pages of its own, in bytes: with what the library begins.
const OWN_PAGES: c_int = 128 << 10;

/// The most free memory at the end of an arena that is not given back, in bytes: with what the library begins.
const KEPT: c_int = 128 << 10;

pub(crate) fn free_large_blocks_at_once() {
    /// `M_TRIM_THRESHOLD` and `M_MMAP_THRESHOLD` of `malloc.h`.
    const PARAMETERS: [(c_int, c_int); 2] = [(-1, KEPT), (-3, OWN_PAGES)];
    for (parameter, value) in PARAMETERS {
        // SAFETY: this takes two numbers, and locks what it changes. Where it fails, nothing changes.
        let _ = unsafe { mallopt(parameter, value) };
    }
}

pub(crate) fn give_back_freed_memory() {
    // SAFETY: this takes a number, locks each arena while it works on it, and touches only pages that no block uses.
    let _ = unsafe { malloc_trim(0) };
}

#[cfg(test)]
mod tests {
    use crate::resident_memory;

    fn resident() -> f64 {
        resident_memory(std::process::id()).unwrap() as f64
    }

    /// Blocks of 40 kB, every second of which is freed: their pages go back although those around them are in use.
    fn pages_between_blocks_are_given_back() {
        const BLOCKS: usize = 2000;
        const BYTES: usize = 40_000;
        let mut blocks: Vec<Vec<u8>> = (0..BLOCKS).map(|i| vec![i as u8 | 1; BYTES]).collect();
        blocks.iter_mut().step_by(2).for_each(|block| *block = Vec::new());
        let before = resident();
        super::give_back_freed_memory();
        let (given, freed) = (before - resident(), (BLOCKS / 2 * BYTES) as f64);
        assert!(given > 0.7 * freed, "{given} of {freed} bytes");
        assert!(blocks.iter().skip(1).step_by(2).all(|block| block.iter().all(|byte| *byte != 0)));
    }

    /// Without the call, a freed block of 8 MB has the library keep the smaller ones that are freed afterwards.
    fn large_blocks_are_given_back_when_they_are_freed() {
        super::free_large_blocks_at_once();
        let fill = |bytes: usize| std::hint::black_box(vec![1u8; bytes]);
        drop(fill(8 << 20));
        let before = resident();
        let blocks: Vec<Vec<u8>> = (0..4).map(|_| fill(3 << 20)).collect();
        assert!(resident() - before > 11e6, "{} bytes", resident() - before);
        drop(blocks);
        assert!(resident() - before < 2e6, "{} bytes are kept", resident() - before);
    }

    /// One test, because the memory of the whole process is measured.
    #[test]
    fn freed_memory_goes_back_to_the_system() {
        large_blocks_are_given_back_when_they_are_freed();
        pages_between_blocks_are_given_back();
    }
}
