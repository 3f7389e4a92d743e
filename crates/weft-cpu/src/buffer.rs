//! The device's buffers: memory of its own, and weights where the file has them.

use std::fmt;

use weft_device::{Weight, WeightBytes};
use weft_quant::GgmlType;

use crate::memory::Memory;

/// A buffer. Its bytes stay where they are as long as it lives.
pub(crate) enum Buffer {
    /// To read and write.
    Memory(Memory),
    /// The bytes of a file.
    Weight(WeightBytes),
    /// A weight whose numbers were not aligned where it was.
    Copy(Memory),
}

impl Buffer {
    /// A weight, whose length has been checked; `None` if it must be copied and there is no memory for it.
    pub(crate) fn pack(weight: Weight) -> Option<Buffer> {
        let bytes = (*weight.bytes).as_ref();
        // Blocks are read byte by byte, these as numbers.
        let numbers = matches!(weight.ty, GgmlType::F32 | GgmlType::I32);
        if !numbers || bytes.as_ptr().addr().is_multiple_of(4) {
            return Some(Buffer::Weight(weight.bytes));
        }
        let mut copy = Memory::zeroed(bytes.len())?;
        copy.bytes_mut().copy_from_slice(bytes);
        Some(Buffer::Copy(copy))
    }

    /// The first byte, how many there are, and whether they may be written.
    pub(crate) fn raw(&self) -> (*mut u8, usize, bool) {
        match self {
            Buffer::Memory(memory) => (memory.as_ptr(), memory.len(), true),
            Buffer::Copy(memory) => (memory.as_ptr(), memory.len(), false),
            Buffer::Weight(weight) => {
                let bytes = (**weight).as_ref();
                (bytes.as_ptr().cast_mut(), bytes.len(), false)
            }
        }
    }

    /// Memory that the host may read and write.
    pub(crate) fn memory(&self) -> Option<&Memory> {
        if let Buffer::Memory(memory) = self { Some(memory) } else { None }
    }

    /// [`Buffer::memory`], to write to.
    pub(crate) fn memory_mut(&mut self) -> Option<&mut Memory> {
        if let Buffer::Memory(memory) = self { Some(memory) } else { None }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, bytes, writable) = self.raw();
        write!(f, "{}({bytes} bytes)", if writable { "Memory" } else { "Weight" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn weights_stay_where_they_are_unless_their_numbers_are_not_aligned() {
        struct At(Vec<u8>, usize);
        impl AsRef<[u8]> for At {
            fn as_ref(&self) -> &[u8] {
                &self.0[self.1..][..36]
            }
        }
        for (ty, row_len) in [(GgmlType::F32, 9), (GgmlType::Q4_0, 64)] {
            for skip in 0..8 {
                let bytes = Arc::new(At((0..64).collect(), skip));
                let weight = Weight { ty, rows: 1, row_len, bytes: Arc::clone(&bytes) as WeightBytes };
                weight.check().unwrap();
                let buffer = Buffer::pack(weight).unwrap();
                let (ptr, len, writable) = buffer.raw();
                let aligned = bytes.as_ref().as_ref().as_ptr().addr() % 4 == 0;
                let in_place = ptr.cast_const() == bytes.as_ref().as_ref().as_ptr();
                assert_eq!(in_place, aligned || ty == GgmlType::Q4_0, "{ty} at {skip}");
                assert_eq!((len, writable), (36, false));
                if let Buffer::Copy(copy) = &buffer {
                    assert_eq!(copy.bytes(), bytes.as_ref().as_ref());
                }
            }
        }
    }
}
