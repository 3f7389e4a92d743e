//! The device's buffers, and how bytes get into and out of them.

use std::cell::RefCell;
use std::iter;

use weft_device::{DeviceError, Weight};
use weft_gpu::{WeightLayout, lay_out};
use weft_render::Gpu;
use wgpu::{BufferUsages, SubmissionIndex};

use crate::canary::{self, Canary};
use crate::context::Context;

/// The unit in which GPUs address buffers.
const WORD: usize = 4;

/// The unit in which kernels may: vectors of four words. The last vector of a buffer has to be there as a whole, and a binding of
/// vectors has at least one.
const VECTOR: usize = 16;

/// A buffer of the device.
pub(crate) type Buffer = weft_gpu::Buffer<Memory>;

/// All buffers of the device.
pub(crate) type Buffers = weft_gpu::Buffers<Memory>;

/// The memory of a buffer. A weight that is larger than a kernel can bind is in several pieces.
#[derive(Debug)]
pub(crate) struct Memory {
    first: wgpu::Buffer,
    more: Vec<wgpu::Buffer>,
}

impl Memory {
    /// All pieces, in order.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = &wgpu::Buffer> {
        iter::once(&self.first).chain(&self.more)
    }
}

/// A buffer of zeros.
pub(crate) fn zeroed(context: &Context, bytes: usize, largest: usize) -> Result<Buffer, DeviceError> {
    let memory = Memory { first: create(context, bytes, largest)?, more: Vec::new() };
    Ok(Buffer { memory, bytes, weight: None })
}

/// A weight as it is, or in tiles if it is quantised: kernels read quantised weights in tiles only. `largest` is the size of
/// the largest weight.
pub(crate) fn weight(
    context: &Context,
    weight: &Weight,
    gpu: &Gpu,
    largest: usize,
) -> Result<Buffer, DeviceError> {
    let layout = WeightLayout::in_pieces(weight, gpu)?;
    let bytes = layout.bytes(weight)?;
    if bytes > largest {
        return Err(DeviceError::TooLarge { device: context.name.clone(), bytes, largest });
    }
    let piece = usize::try_from(gpu.piece_bytes).unwrap_or(usize::MAX);
    let first = create(context, bytes.min(piece), piece)?;
    let rest = (1..layout.pieces as usize).map(|i| (bytes - i * piece).min(piece));
    let more = rest.map(|bytes| create(context, bytes, piece)).collect::<Result<_, _>>()?;
    let memory = Memory { first, more };
    let (to, next) = (&memory.first, memory.more.iter());
    let mut upload = Upload { context, next, to, at: 0, piece, before: None };
    lay_out(weight, layout, |bytes| upload.push(bytes))?;
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
        let send = || context.queue.write_buffer(&to.memory.first, at as u64, bytes);
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

/// A buffer of zeros, of whole vectors, at least as large as the smallest that can be bound.
pub(crate) fn create(context: &Context, bytes: usize, largest: usize) -> Result<wgpu::Buffer, DeviceError> {
    let size = bytes.checked_next_multiple_of(VECTOR).filter(|size| *size <= largest);
    let too_large = || DeviceError::TooLarge { device: context.name.clone(), bytes, largest };
    let described = wgpu::BufferDescriptor {
        label: None,
        size: size.ok_or_else(too_large)?.max(VECTOR) as u64,
        usage: BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC,
        mapped_at_creation: false,
    };
    context.checked("a buffer", bytes, || context.device.create_buffer(&described))
}

/// An upload into a buffer's pieces, from the beginning on.
struct Upload<'a, I> {
    context: &'a Context,
    /// The pieces after the current one.
    next: I,
    to: &'a wgpu::Buffer,
    at: usize,
    /// Bytes of each piece but the last.
    piece: usize,
    before: Option<SubmissionIndex>,
}

impl<'a, I: Iterator<Item = &'a wgpu::Buffer>> Upload<'a, I> {
    fn push(&mut self, mut bytes: &[u8]) -> Result<(), DeviceError> {
        loop {
            let room = self.piece - self.at;
            let (now, later) = bytes.split_at(bytes.len().min(room));
            self.send(now)?;
            bytes = later;
            if bytes.is_empty() {
                return Ok(());
            }
            let full = || DeviceError::Usage("a weight has more bytes than its buffers".into());
            self.to = self.next.next().ok_or_else(full)?;
            self.at = 0;
        }
    }

    /// Uploads the next bytes of the current piece: whole words, unless they are the last ones.
    fn send(&mut self, bytes: &[u8]) -> Result<(), DeviceError> {
        let (words, rest) = bytes.split_at(bytes.len() / WORD * WORD);
        let (queue, at) = (&self.context.queue, self.at as u64);
        let submitted = self.context.checked("a weight", bytes.len(), || {
            queue.write_buffer(self.to, at, words);
            if !rest.is_empty() {
                let mut last = [0; WORD];
                last[..rest.len()].copy_from_slice(rest);
                queue.write_buffer(self.to, at + words.len() as u64, &last);
            }
            queue.submit([])
        })?;
        self.at += bytes.len();
        // Before there is a third upload in host memory, the first must be gone.
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
            encoder.copy_buffer_to_buffer(&buffer.memory.first, start as u64, &staging, 0, len);
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
