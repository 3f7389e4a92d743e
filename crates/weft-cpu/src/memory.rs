//! Buffers, and the one way kernels access them: an [`Arg`], which checks every access against its bounds.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::hint::black_box;
use std::ptr::{self, NonNull};

use weft_kern::{Access, Format, q8};
use weft_quant::GgmlType;

/// The alignment of buffers: a cache line, and the widest vector.
const ALIGN: usize = 64;

/// The allocator's natural alignment. A larger one would make the allocator write all the zeros itself, instead of
/// leaving that to the operating system, which zeroes each page when it is first touched.
const NATURAL: usize = 16;

/// At most the size of a page of memory, on any system.
const PAGE: usize = 4096;

/// Zeroed memory, aligned to [`ALIGN`].
#[derive(Debug)]
pub(crate) struct Memory {
    /// As allocated, with [`NATURAL`] alignment.
    base: NonNull<u8>,
    /// Offset of the aligned part.
    skip: usize,
    len: usize,
}

// SAFETY: the memory is owned, and only reached through methods that borrow it or through an `Arg`, whose maker
// answers for it.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Allocates `len` bytes; `None` if there is not enough memory.
    pub(crate) fn zeroed(len: usize) -> Option<Memory> {
        // SAFETY: the layout has a size, at least `ALIGN`.
        let base = NonNull::new(unsafe { alloc_zeroed(Memory::layout(len)?) })?;
        Some(Memory { base, skip: base.addr().get().wrapping_neg() % ALIGN, len })
    }

    /// Writes to every page, so that the system provides it now. Changes no byte.
    pub(crate) fn commit(&mut self) {
        let bytes = self.bytes_mut();
        for at in (0..bytes.len()).step_by(PAGE).chain(bytes.len().checked_sub(1)) {
            // The compiler must not see that this changes nothing.
            bytes[at] = black_box(bytes[at]);
        }
    }

    fn layout(len: usize) -> Option<Layout> {
        Layout::from_size_align(len.checked_add(ALIGN)?, NATURAL).ok()
    }

    /// The first byte.
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        // SAFETY: `skip` is below `ALIGN`, by which the allocation is longer than `len`.
        unsafe { self.base.as_ptr().add(self.skip) }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// All of it.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `len` bytes are allocated there, zeroed or written since. `Arg`s write only during a replay,
        // which borrows the device mutably.
        unsafe { std::slice::from_raw_parts(self.as_ptr(), self.len) }
    }

    /// All of it, mutable.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.as_ptr(), self.len) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(layout) = Memory::layout(self.len) {
            // SAFETY: allocated with this very layout.
            unsafe { dealloc(self.base.as_ptr(), layout) };
        }
    }
}

/// Plain numbers: every bit pattern is valid.
///
/// # Safety
/// The type has no padding and no invalid bit patterns.
pub(crate) unsafe trait Plain: Copy {}
// SAFETY: every bit pattern of these is a value.
unsafe impl Plain for u8 {}
// SAFETY: as above.
unsafe impl Plain for i8 {}
// SAFETY: as above.
unsafe impl Plain for u16 {}
// SAFETY: as above.
unsafe impl Plain for i32 {}
// SAFETY: as above.
unsafe impl Plain for f32 {}

/// An argument of a kernel: part of a buffer, in a format, to read or to write.
///
/// Positions and lengths count values. Every method returns `None` and touches nothing if they reach beyond the
/// argument, or if the argument has another format or access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arg {
    ptr: *mut u8,
    values: usize,
    bytes: usize,
    format: Format,
    access: Access,
    /// For a packed weight: the first byte of its tiles, the bytes of one tile, and the number of tiles.
    tiles: (*const u8, usize, usize),
}

// SAFETY: the caller of `Arg::new` promises that all threads of a replay may use it.
unsafe impl Send for Arg {}
// SAFETY: as above.
unsafe impl Sync for Arg {}

/// Rounded activations: quants, a scale per 32 and a sum per 16 of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounded<'a> {
    pub(crate) quants: &'a [i8],
    pub(crate) scales: &'a [f32],
    pub(crate) sums: &'a [f32],
}

impl Arg {
    /// `values` values at `ptr`; `None` if they are not a whole number of blocks, or if `ptr` is not aligned to 4
    /// although the format is accessed as numbers rather than bytes.
    ///
    /// # Safety
    /// As long as the `Arg` is used, `ptr` is valid for as many bytes as the format takes for that many values,
    /// initialised, for reads or writes according to `access`. While it is used to read, nothing writes these
    /// bytes; while it is used to write, nothing reads them, and no two threads write the same bytes; while it is used to update,
    /// no thread reads or writes bytes that another one writes.
    pub(crate) unsafe fn new(ptr: *mut u8, values: usize, format: Format, access: Access) -> Option<Arg> {
        let bytes = format.bytes(values)?;
        let numbers = matches!(format, Format::F32 | Format::I32 | Format::Q8) || access.writes();
        let aligned = !numbers || ptr.addr().is_multiple_of(align_of::<f32>());
        aligned.then_some(Arg { ptr, values, bytes, format, access, tiles: (std::ptr::null(), 0, 0) })
    }

    /// A weight of `values` values whose tiles alone are read: there are no other bytes.
    pub(crate) fn without_bytes(values: usize, format: Format) -> Arg {
        let ptr = ptr::NonNull::<f32>::dangling().as_ptr().cast();
        Arg { ptr, values, bytes: 0, format, access: Access::Read, tiles: (ptr::null(), 0, 0) }
    }

    /// The same with packed tiles of `bytes` bytes each.
    ///
    /// # Safety
    /// As long as the `Arg` is used, `tiles` is valid for reads of `bytes · count` bytes, and nothing writes them.
    pub(crate) unsafe fn with_tiles(self, tiles: *const u8, bytes: usize, count: usize) -> Arg {
        Arg { tiles: (tiles, bytes, count), ..self }
    }

    /// A tile of a weight.
    #[inline(always)]
    pub(crate) fn tile(&self, index: usize) -> Option<&[u8]> {
        let (tiles, bytes, count) = self.tiles;
        // SAFETY: the caller of `with_tiles` promised that there are this many tiles.
        (index < count).then(|| unsafe { std::slice::from_raw_parts(tiles.add(index * bytes), bytes) })
    }

    /// An argument at the beginning of a memory.
    #[cfg(test)]
    pub(crate) fn test(memory: &Memory, values: usize, format: Format, access: Access) -> Arg {
        assert!(format.bytes(values).unwrap() <= memory.len());
        // SAFETY: in bounds, as was just checked; a test uses one at a time, on one thread.
        unsafe { Arg::new(memory.as_ptr(), values, format, access).unwrap() }
    }

    /// The number of values it has room for.
    pub(crate) fn values(&self) -> usize {
        self.values
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    pub(crate) fn f32s(&self, at: usize, len: usize) -> Option<&[f32]> {
        self.read(Format::F32, at, len)
    }

    pub(crate) fn i32s(&self, at: usize, len: usize) -> Option<&[i32]> {
        self.read(Format::I32, at, len)
    }

    /// The bytes of `len` values of a GGML type, both being whole numbers of blocks.
    pub(crate) fn blocks(&self, at: usize, len: usize) -> Option<&[u8]> {
        let Format::Ggml(ty) = self.format else { return None };
        let (n, size) = (ty.block_len(), ty.block_bytes());
        let whole = at.is_multiple_of(n) && len.is_multiple_of(n) && at.checked_add(len)? <= self.values;
        if whole { self.slice(at / n * size, len / n * size) } else { None }
    }

    /// `len` rounded activations, both numbers being multiples of 32.
    pub(crate) fn rounded(&self, at: usize, len: usize) -> Option<Rounded<'_>> {
        let [scales, sums] = self.q8_planes(at, len)?;
        Some(Rounded {
            quants: self.slice(at, len)?,
            scales: self.slice(scales, len / q8::BLOCK)?,
            sums: self.slice(sums, len / 16)?,
        })
    }

    pub(crate) fn write_f32s(&self, at: usize, values: &[f32]) -> Option<()> {
        self.write(Format::F32, at, values)
    }

    /// Copies values of a state that is updated in place.
    #[inline(always)]
    pub(crate) fn read_state(&self, at: usize, out: &mut [f32]) -> Option<()> {
        let at = at.checked_mul(size_of::<f32>())?;
        if self.format != Format::F32 || self.access != Access::ReadWrite || !self.holds::<f32>(at, out.len())
        {
            return None;
        }
        // SAFETY: within the bytes that `new` was promised, which no other thread writes meanwhile, so `out` is elsewhere; aligned,
        // because `new` found the beginning aligned and `at` is a multiple.
        unsafe { ptr::copy_nonoverlapping(self.ptr.add(at).cast(), out.as_mut_ptr(), out.len()) };
        Some(())
    }

    /// Writes values of a state that is updated in place.
    pub(crate) fn write_state(&self, at: usize, values: &[f32]) -> Option<()> {
        self.write(Format::F32, at, values)
    }

    pub(crate) fn write_i32s(&self, at: usize, values: &[i32]) -> Option<()> {
        self.write(Format::I32, at, values)
    }

    /// `f16` or `bf16` values, as bits.
    pub(crate) fn write_halves(&self, at: usize, values: &[u16]) -> Option<()> {
        let half = matches!(self.format, Format::Ggml(GgmlType::F16 | GgmlType::BF16));
        self.write(if half { self.format } else { return None }, at, values)
    }

    /// Whole blocks of a quantised type, from the first value of a block on.
    pub(crate) fn write_blocks(&self, at: usize, bytes: &[u8]) -> Option<()> {
        let Format::Ggml(ty) = self.format else { return None };
        let whole = ty.is_quantised() && at.is_multiple_of(ty.block_len());
        self.put(if whole { at / ty.block_len() * ty.block_bytes() } else { return None }, bytes)
    }

    /// A block of 32 rounded activations.
    pub(crate) fn write_rounded(&self, at: usize, block: &q8::Block) -> Option<()> {
        let [scales, sums] = self.q8_planes(at, q8::BLOCK)?;
        self.put(at, &block.quants)?;
        self.put(scales, &[block.scale])?;
        self.put(sums, &block.sums)
    }

    /// Where the scales and the sums of activations are, in bytes.
    fn q8_planes(&self, at: usize, len: usize) -> Option<[usize; 2]> {
        let blocks = at.is_multiple_of(q8::BLOCK) && len.is_multiple_of(q8::BLOCK);
        if self.format != Format::Q8 || !blocks || at.checked_add(len)? > self.values {
            return None;
        }
        let scales = self.values + at / q8::BLOCK * 4;
        let sums = self.values + self.values / q8::BLOCK * 4 + at / 16 * 4;
        Some([scales, sums])
    }

    fn read<T: Plain>(&self, format: Format, at: usize, len: usize) -> Option<&[T]> {
        if self.format == format { self.slice(at.checked_mul(size_of::<T>())?, len) } else { None }
    }

    fn write<T: Plain>(&self, format: Format, at: usize, values: &[T]) -> Option<()> {
        if self.format == format { self.put(at.checked_mul(size_of::<T>())?, values) } else { None }
    }

    /// Whether there are `len` numbers at byte `at`.
    fn holds<T: Plain>(&self, at: usize, len: usize) -> bool {
        let end = len.checked_mul(size_of::<T>()).and_then(|n| n.checked_add(at));
        end.is_some_and(|end| end <= self.bytes) && at.is_multiple_of(align_of::<T>())
    }

    #[inline(always)]
    fn slice<T: Plain>(&self, at: usize, len: usize) -> Option<&[T]> {
        if self.access != Access::Read || !self.holds::<T>(at, len) {
            return None;
        }
        // SAFETY: within the bytes that `new` was promised, which nothing writes meanwhile; aligned, because byte
        // slices need no alignment, and formats read as wider numbers were found aligned in `new` and `at` is a
        // multiple.
        Some(unsafe { std::slice::from_raw_parts(self.ptr.add(at).cast(), len) })
    }

    #[inline(always)]
    fn put<T: Plain>(&self, at: usize, values: &[T]) -> Option<()> {
        if !self.access.writes() || !self.holds::<T>(at, values.len()) {
            return None;
        }
        // SAFETY: within the bytes that `new` was promised, which no other thread writes or reads
        // meanwhile, so `values` is elsewhere; aligned as in `slice`.
        unsafe { ptr::copy_nonoverlapping(values.as_ptr(), self.ptr.add(at).cast(), values.len()) };
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned_zeroed_and_costs_nothing_until_touched() {
        // Larger than most machines' memory: only touched pages may count.
        let mut memory = Memory::zeroed(1 << 36).or_else(|| Memory::zeroed(1 << 30)).unwrap();
        assert_eq!(memory.as_ptr().addr() % ALIGN, 0);
        let end = memory.len() - 1;
        memory.bytes_mut()[end] = 7;
        assert_eq!((memory.bytes()[0], memory.bytes()[end / 2], memory.bytes()[end]), (0, 0, 7));
        assert!(Memory::zeroed(usize::MAX - 8).is_none());
        assert_eq!(Memory::zeroed(0).unwrap().bytes(), []);
    }

    #[test]
    fn committing_changes_nothing() {
        for len in [0, 1, PAGE - 1, 3 * PAGE + 5] {
            let mut memory = Memory::zeroed(len).unwrap();
            memory.bytes_mut().iter_mut().enumerate().for_each(|(i, byte)| *byte = i as u8);
            memory.commit();
            assert!(memory.bytes().iter().enumerate().all(|(i, &byte)| byte == i as u8));
        }
    }

    /// Linux says of every page whether it is in memory: bit 63 of its entry.
    #[test]
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn committed_memory_is_there() {
        use std::os::unix::fs::FileExt as _;

        let present = |memory: &Memory| {
            let map = std::fs::File::open("/proc/self/pagemap").unwrap();
            let first = memory.as_ptr().addr() / PAGE;
            let last = (memory.as_ptr().addr() + memory.len() - 1) / PAGE;
            let mut entries = vec![0; 8 * (last - first + 1)];
            map.read_exact_at(&mut entries, 8 * first as u64).unwrap();
            entries.chunks(8).filter(|entry| entry[7] & 0x80 != 0).count() * 100 / (last - first + 1)
        };
        let mut memory = Memory::zeroed(8 << 20).unwrap();
        assert!(present(&memory) < 50);
        memory.commit();
        assert_eq!(present(&memory), 100);
    }

    #[test]
    fn nothing_outside_an_argument_is_reached() {
        let memory = Memory::zeroed(256).unwrap();
        let read = Arg::test(&memory, 8, Format::F32, Access::Read);
        assert_eq!(read.f32s(6, 2), Some(&[0.0, 0.0][..]));
        for (at, len) in [(7, 2), (9, 0), (usize::MAX, 2), (usize::MAX / 4 + 1, 1), (0, usize::MAX / 2)] {
            assert!(read.f32s(at, len).is_none(), "{len} values at {at}");
        }
        assert!(read.i32s(0, 1).is_none() && read.write_f32s(0, &[1.0]).is_none());
        let write = Arg::test(&memory, 8, Format::F32, Access::Write);
        assert!(write.write_f32s(7, &[1.0]).is_some());
        assert!(write.write_f32s(7, &[1.0, 1.0]).is_none() && write.f32s(0, 1).is_none());
        assert_eq!(read.f32s(7, 1), Some(&[1.0][..]));
    }

    #[test]
    fn an_argument_without_bytes_has_none() {
        let weight = Arg::without_bytes(64, Format::Ggml(GgmlType::Q4_0));
        assert_eq!(weight.values(), 64);
        assert!(weight.blocks(0, 32).is_none() && weight.tile(0).is_none());
        let numbers = Arg::without_bytes(64, Format::F32);
        assert!(numbers.f32s(0, 1).is_none() && numbers.write_f32s(0, &[1.0]).is_none());
    }

    #[test]
    fn blocks_are_whole() {
        let memory = Memory::zeroed(256).unwrap();
        let weight = Arg::test(&memory, 64, Format::Ggml(GgmlType::Q4_0), Access::Read);
        assert_eq!(weight.blocks(32, 32).map(<[u8]>::len), Some(18));
        assert!(weight.blocks(16, 32).is_none() && weight.blocks(0, 48).is_none());
        assert!(weight.blocks(64, 32).is_none() && weight.rounded(0, 32).is_none());
    }

    #[test]
    fn planes_of_rounded_activations_do_not_overlap() {
        let memory = Memory::zeroed(256).unwrap();
        let write = Arg::test(&memory, 96, Format::Q8, Access::Write);
        let block = |i: i8| q8::Block { quants: [i; 32], scale: f32::from(i), sums: [0.5, -0.5] };
        for i in 0..3 {
            write.write_rounded(32 * i, &block(i as i8)).unwrap();
        }
        assert!(write.write_rounded(96, &block(0)).is_none() && write.write_rounded(16, &block(0)).is_none());
        let read = Arg::test(&memory, 96, Format::Q8, Access::Read);
        let all = read.rounded(32, 64).unwrap();
        assert_eq!(
            (all.quants[0], all.quants[63], all.scales, all.sums),
            (1, 2, &[1.0, 2.0][..], &[0.5, -0.5, 0.5, -0.5][..])
        );
        assert!(read.rounded(64, 64).is_none());
    }
}
