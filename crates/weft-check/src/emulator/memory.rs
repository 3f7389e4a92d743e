//! Buffers between guard zones.

use std::ops::Range;

/// Bytes of a guard zone, and the alignment of buffers, as `cudaMalloc` has it.
const GUARD: usize = 256;

/// The byte that guard zones are filled with.
const PATTERN: u8 = 0xa5;

/// A buffer between guard zones.
#[derive(Debug)]
pub(crate) struct Memory {
    all: Vec<u8>,
    /// Where the buffer is in it: whole words, at least one.
    range: Range<usize>,
    /// Bytes of the buffer that were asked for.
    len: usize,
}

impl Memory {
    /// A buffer of zeros.
    pub(crate) fn zeroed(len: usize) -> Memory {
        let words = len.next_multiple_of(4).max(4);
        let mut all = vec![0; words + 3 * GUARD];
        let start = GUARD + all[GUARD..].as_ptr().align_offset(GUARD);
        let range = start..start + words;
        all[..range.start].fill(PATTERN);
        all[range.end..].fill(PATTERN);
        Memory { all, range, len }
    }

    /// A buffer with the same bytes.
    pub(crate) fn copy(&self) -> Memory {
        let mut copy = Memory::zeroed(self.len);
        copy.bytes_mut().copy_from_slice(self.bytes());
        copy
    }

    /// Its bytes, without those that pad its last word.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.all[self.range.start..][..self.len]
    }

    /// Its bytes, without those that pad its last word.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.all[self.range.start..][..self.len]
    }

    /// Its first word, and the number of words.
    pub(crate) fn words(&mut self) -> (*mut u32, usize) {
        let words = &mut self.all[self.range.clone()];
        (words.as_mut_ptr().cast(), words.len() / 4)
    }

    /// Whether the guard zones are as they were.
    pub(crate) fn is_sound(&self) -> bool {
        let Range { start, end } = self.range;
        self.all[..start].iter().chain(&self.all[end..]).all(|byte| *byte == PATTERN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_beside_a_buffer_is_seen() {
        for len in [0, 1, 256, 1001] {
            let mut memory = Memory::zeroed(len);
            memory.bytes_mut().fill(1);
            let (words, count) = memory.words();
            assert_eq!((words.addr() % GUARD, count), (0, len.div_ceil(4).max(1)));
            assert!(memory.is_sound() && memory.bytes().iter().all(|byte| *byte == 1));
            let end = memory.range.end;
            memory.all[end] = 0;
            assert!(!memory.is_sound());
        }
    }
}
