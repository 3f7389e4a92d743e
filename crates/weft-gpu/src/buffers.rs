//! The buffers of a GPU device, by index.

use std::ops::Index;

use weft_device::{BufferId, DeviceError};

use crate::weights::WeightLayout;

/// A buffer: memory of a GPU in the form `M` of its API.
#[derive(Debug)]
pub struct Buffer<M> {
    /// The memory.
    pub memory: M,
    /// Its size in bytes, as asked for; for a weight, its bytes in the file.
    pub bytes: usize,
    /// The layout of its weight, if it holds one. Only kernels read weights.
    pub weight: Option<WeightLayout>,
}

/// Buffers, numbered from 0 in the order in which they were added.
#[derive(Debug)]
pub struct Buffers<M>(Vec<Buffer<M>>);

impl<M> Default for Buffers<M> {
    fn default() -> Buffers<M> {
        Buffers(Vec::new())
    }
}

impl<M> Buffers<M> {
    /// Adds a buffer.
    ///
    /// # Errors
    /// [`DeviceError::Usage`] if there are too many.
    pub fn add(&mut self, buffer: Buffer<M>) -> Result<BufferId, DeviceError> {
        let id = u32::try_from(self.0.len());
        let id = id.map_err(|_| DeviceError::Usage("too many buffers".into()))?;
        self.0.push(buffer);
        Ok(BufferId(id))
    }

    /// The buffer with a number.
    pub fn get(&self, id: BufferId) -> Option<&Buffer<M>> {
        self.0.get(id.0 as usize)
    }

    /// A buffer of which the host may access the `len` bytes from `offset` on.
    ///
    /// # Errors
    /// [`DeviceError::Usage`] if it does not exist, is a weight, or is smaller.
    pub fn for_host(&self, id: BufferId, offset: usize, len: usize) -> Result<&Buffer<M>, DeviceError> {
        let end = offset.checked_add(len);
        match self.get(id) {
            None => Err(DeviceError::Usage(format!("{id:?} does not exist"))),
            Some(Buffer { weight: Some(_), .. }) => {
                Err(DeviceError::Usage(format!("{id:?} is a weight, which only kernels can read")))
            }
            Some(buffer) if end.is_some_and(|end| end <= buffer.bytes) => Ok(buffer),
            Some(buffer) => {
                let has = buffer.bytes;
                Err(DeviceError::Usage(format!("{len} bytes at {offset} of {id:?}, which has {has}")))
            }
        }
    }

    /// Bytes of all buffers, as asked for.
    pub fn bytes(&self) -> u64 {
        self.0.iter().fold(0, |sum, buffer| sum + buffer.bytes as u64)
    }

    /// The number of buffers.
    #[expect(
        clippy::len_without_is_empty,
        reason = "a device asks how many there are, not whether there are any"
    )]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Removes all but the first `len` buffers.
    pub fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }
}

/// # Panics
/// If there is no such buffer.
impl<M> Index<BufferId> for Buffers<M> {
    type Output = Buffer<M>;

    fn index(&self, id: BufferId) -> &Buffer<M> {
        &self.0[id.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_gets_ranges_that_exist_and_are_no_weights() {
        let mut buffers = Buffers::default();
        for weight in [None, Some(WeightLayout { tiles: None, pieces: 1 })] {
            buffers.add(Buffer { memory: (), bytes: 8, weight }).unwrap();
        }
        let said = |id, offset, len| match buffers.for_host(BufferId(id), offset, len) {
            Ok(buffer) => format!("{} bytes", buffer.bytes),
            Err(error) => error.to_string(),
        };
        for (id, offset, len, expected) in [
            (0, 0, 8, "8 bytes"),
            (0, 8, 0, "8 bytes"),
            (0, 4, 5, "5 bytes at 4 of BufferId(0), which has 8"),
            (0, usize::MAX, 2, "2 bytes at 18446744073709551615 of BufferId(0), which has 8"),
            (1, 0, 1, "BufferId(1) is a weight, which only kernels can read"),
            (2, 0, 0, "BufferId(2) does not exist"),
        ] {
            assert!(said(id, offset, len).contains(expected), "{}", said(id, offset, len));
        }
        buffers.truncate(1);
        assert!(buffers.get(BufferId(1)).is_none() && buffers.len() == 1);
    }
}
