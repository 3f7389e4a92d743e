//! The device's buffers, and how bytes get into and out of them.

use std::cell::RefCell;

use weft_device::{DeviceError, Weight};
use weft_gpu::{WeightLayout, lay_out};
use wgpu::{BufferUsages, SubmissionIndex};

use crate::canary::{self, Canary};
use crate::context::Context;

/// The unit in which GPUs address buffers.
const WORD: usize = 4;

/// A buffer of the device.
pub(crate) type Buffer = weft_gpu::Buffer<wgpu::Buffer>;

/// All buffers of the device.
pub(crate) type Buffers = weft_gpu::Buffers<wgpu::Buffer>;

/// A buffer of zeros.
pub(crate) fn zeroed(context: &Context, bytes: usize, largest: usize) -> Result<Buffer, DeviceError> {
    Ok(Buffer { memory: create(context, bytes, largest)?, bytes, weight: None })
}

/// A weight as it is, or in tiles if it is quantised: kernels read quantised weights in tiles only.
pub(crate) fn weight(context: &Context, weight: &Weight, largest: usize) -> Result<Buffer, DeviceError> {
    let layout = WeightLayout::of(weight);
    let memory = create(context, layout.bytes(weight)?, largest)?;
    let mut upload = Upload::new(context, &memory);
    lay_out(weight, layout, |piece| upload.push(piece))?;
    Ok(Buffer { memory, bytes: weight.check()?, weight: Some(layout) })
}

/// Copies bytes into a buffer. If they begin or end within a word, that word is read first, which waits for the device.
pub(crate) fn write(
    context: &Context,
    (staging, canary): (&Staging, &Canary),
    to: &Buffer,
    offset: usize,
    bytes: &[u8],
) -> Result<(), DeviceError> {
    if bytes.is_empty() {
        return Ok(());
    }
    let (start, end) = words(offset, bytes.len());
    let write = |at: usize, bytes: &[u8]| {
        let send = || context.queue.write_buffer(&to.memory, at as u64, bytes);
        context.checked("bytes for a buffer", bytes.len(), send)
    };
    if start == offset && end == offset + bytes.len() {
        return write(offset, bytes);
    }
    let mut whole = vec![0; end - start];
    staging.read(context, canary, to, start, &mut whole)?;
    whole[offset - start..][..bytes.len()].copy_from_slice(bytes);
    write(start, &whole)
}

/// The smallest range of whole words around a range of bytes.
fn words(offset: usize, len: usize) -> (usize, usize) {
    (offset / WORD * WORD, (offset + len).next_multiple_of(WORD))
}

/// A buffer of zeros, at least as large as the smallest that can be bound.
pub(crate) fn create(context: &Context, bytes: usize, largest: usize) -> Result<wgpu::Buffer, DeviceError> {
    let size = bytes.checked_next_multiple_of(WORD).filter(|size| *size <= largest);
    let too_large = || DeviceError::TooLarge { device: context.name.clone(), bytes, largest };
    let described = wgpu::BufferDescriptor {
        label: None,
        size: size.ok_or_else(too_large)?.max(WORD) as u64,
        usage: BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC,
        mapped_at_creation: false,
    };
    context.checked("a buffer", bytes, || context.device.create_buffer(&described))
}

/// An upload into a buffer, from its beginning on.
struct Upload<'a> {
    context: &'a Context,
    to: &'a wgpu::Buffer,
    at: usize,
    before: Option<SubmissionIndex>,
}

impl<'a> Upload<'a> {
    fn new(context: &'a Context, to: &'a wgpu::Buffer) -> Upload<'a> {
        Upload { context, to, at: 0, before: None }
    }

    /// Uploads the next piece: whole words, unless it is the last one.
    fn push(&mut self, piece: &[u8]) -> Result<(), DeviceError> {
        let (words, rest) = piece.split_at(piece.len() / WORD * WORD);
        let (queue, at) = (&self.context.queue, self.at as u64);
        let submitted = self.context.checked("a weight", piece.len(), || {
            queue.write_buffer(self.to, at, words);
            if !rest.is_empty() {
                let mut last = [0; WORD];
                last[..rest.len()].copy_from_slice(rest);
                queue.write_buffer(self.to, at + words.len() as u64, &last);
            }
            queue.submit([])
        })?;
        self.at += piece.len();
        // Before there is a third piece in host memory, the first must be gone.
        match self.before.replace(submitted) {
            Some(before) => self.context.wait(before),
            None => Ok(()),
        }
    }
}

/// A buffer that host and device share, for reading back. It is reused.
#[derive(Debug, Default)]
pub(crate) struct Staging(RefCell<Option<wgpu::Buffer>>);

impl Staging {
    /// Copies bytes out of a buffer; the range must lie within it.
    ///
    /// # Errors
    /// [`DeviceError::Incomplete`] if any submission before did not run to its end: then these bytes may be stale.
    pub(crate) fn read(
        &self,
        context: &Context,
        canary: &Canary,
        buffer: &Buffer,
        offset: usize,
        out: &mut [u8],
    ) -> Result<(), DeviceError> {
        if out.is_empty() {
            return Ok(());
        }
        let (start, end) = words(offset, out.len());
        let len = (end - start) as u64;
        let all = len + canary::BYTES;
        let mut kept = self.0.borrow_mut();
        let staging = match kept.take().filter(|kept| kept.size() >= all) {
            Some(staging) => staging,
            None => {
                let described = wgpu::BufferDescriptor {
                    label: None,
                    size: all,
                    usage: BufferUsages::COPY_DST | BufferUsages::MAP_READ,
                    mapped_at_creation: false,
                };
                let create = || context.device.create_buffer(&described);
                context.checked("memory to read from", end - start, create)?
            }
        };
        let submitted = context.checked("a copy", end - start, || {
            let mut encoder = context.device.create_command_encoder(&Default::default());
            // The copy itself is counted: the count comes after the bytes, so that stale bytes have a stale count.
            canary.count(&mut encoder.begin_compute_pass(&Default::default()));
            encoder.copy_buffer_to_buffer(&buffer.memory, start as u64, &staging, 0, len);
            encoder.copy_buffer_to_buffer(canary.buffer(), 0, &staging, len, canary::BYTES);
            let submitted = context.queue.submit([encoder.finish()]);
            staging.map_async(wgpu::MapMode::Read, ..all, |_| ());
            submitted
        })?;
        canary.submitted();
        context.wait(submitted)?;
        let mapped = staging.get_mapped_range(..all);
        let mapped = mapped.map_err(|error| context.refused("to read a buffer", &error.to_string()))?;
        out.copy_from_slice(&mapped[offset - start..][..out.len()]);
        let count = mapped[len as usize..].first_chunk().copied().unwrap_or_default();
        drop(mapped);
        staging.unmap();
        *kept = Some(staging);
        canary.check(context, count)
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn ranges_grow_to_whole_words() {
        for (offset, len, expected) in
            [(0, 4, (0, 4)), (1, 2, (0, 4)), (3, 2, (0, 8)), (4, 5, (4, 12)), (8, 0, (8, 8))]
        {
            assert_eq!(words(offset, len), expected);
        }
    }
}
