//! A thread's scratch memory, and how much a kernel needs.

use std::ops::Range;

use weft_kern::q8;

use crate::attend::room::{Room, RoomSize};
use crate::dot::blocks::{Blocks, Entry};
use crate::grow::grow;
use crate::isa::Numbers;
use crate::made::Made;
use crate::rowprog::Registers;

/// Memory that a thread needs between the arguments of a kernel, allocated when programs are compiled.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) registers: Registers,
    /// An anchor's results.
    pub(crate) acc: Vec<f32>,
    /// Weight rows as `f32`.
    pub(crate) floats: Vec<f32>,
    /// The rows that packed weights are multiplied with.
    pub(crate) blocks: Blocks,
    /// Unpacked tiles of weights.
    pub(crate) tiles: Vec<Numbers>,
    /// Row numbers, in the order an anchor takes them.
    pub(crate) rows: Vec<usize>,
    /// Where each group of these begins.
    pub(crate) starts: Vec<usize>,
    /// A number for each row.
    pub(crate) numbers: Vec<usize>,
    /// The rows and matrices of a product's chunk.
    pub(crate) entries: Vec<Entry>,
    /// The chunk that `entries` and `blocks` belong to.
    pub(crate) chunk: Option<(Range<usize>, Option<usize>)>,
    /// Rows of a prologue.
    pub(crate) made: Made,
    /// For attention.
    pub(crate) attend: Room,
}

/// How much scratch memory a kernel needs: lengths of the parts of [`Scratch`].
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Needs {
    /// The number of slots, and the values of one.
    pub(crate) slots: (usize, usize),
    pub(crate) acc: usize,
    pub(crate) floats: usize,
    pub(crate) rows: usize,
    pub(crate) starts: usize,
    pub(crate) entries: usize,
    /// Laid-out blocks of 32 values.
    pub(crate) blocks: usize,
    /// Vectors of unpacked tiles.
    pub(crate) tiles: usize,
    /// Rows of a prologue, their values together, and the number of rounded values.
    pub(crate) made: (usize, usize, usize),
    pub(crate) attend: RoomSize,
}

impl Needs {
    /// The size that is enough for both.
    pub(crate) fn max(self, other: Needs) -> Needs {
        Needs {
            slots: (self.slots.0.max(other.slots.0), self.slots.1.max(other.slots.1)),
            acc: self.acc.max(other.acc),
            floats: self.floats.max(other.floats),
            rows: self.rows.max(other.rows),
            starts: self.starts.max(other.starts),
            entries: self.entries.max(other.entries),
            blocks: self.blocks.max(other.blocks),
            tiles: self.tiles.max(other.tiles),
            made: (
                self.made.0.max(other.made.0),
                self.made.1.max(other.made.1),
                self.made.2.max(other.made.2),
            ),
            attend: self.attend.max(other.attend),
        }
    }

    /// Bytes of scratch memory for one thread, about.
    pub(crate) fn bytes(&self) -> usize {
        let ((slots, width), (made_rows, made, rounded)) = (self.slots, self.made);
        let floats = [slots.saturating_add(1).saturating_mul(width), self.acc, self.floats, made];
        let floats = floats.into_iter().fold(0, usize::saturating_add);
        let numbers = [self.rows, self.rows, self.starts];
        let numbers = numbers.into_iter().fold(0, usize::saturating_add);
        let rounded = q8::buffer_bytes(rounded).unwrap_or(usize::MAX);
        floats
            .saturating_mul(size_of::<f32>())
            .saturating_add(numbers.saturating_mul(size_of::<usize>()))
            .saturating_add(self.entries.saturating_mul(size_of::<Entry>()))
            .saturating_add(made_rows)
            // Quants, a scale, two sums and two starts.
            .saturating_add(self.blocks.saturating_mul(32 + 4 + 8 + 8))
            .saturating_add(self.tiles.saturating_mul(size_of::<Numbers>()))
            .saturating_add(rounded)
            .saturating_add(self.attend.bytes())
    }
}

impl Scratch {
    /// Grows to this size; `None` if there is not enough memory.
    pub(crate) fn grow(&mut self, needs: &Needs) -> Option<()> {
        let (slots, width) = needs.slots;
        let Registers { slots: all, spare } = &mut self.registers;
        let width = width.max(spare.len());
        grow(all, slots)?;
        all.iter_mut().chain([spare]).try_for_each(|slot| grow(slot, width))?;
        grow(&mut self.acc, needs.acc)?;
        grow(&mut self.floats, needs.floats)?;
        grow(&mut self.rows, needs.rows)?;
        grow(&mut self.numbers, needs.rows)?;
        grow(&mut self.starts, needs.starts)?;
        grow(&mut self.entries, needs.entries)?;
        grow(&mut self.blocks.quants, needs.blocks)?;
        grow(&mut self.blocks.scales, needs.blocks)?;
        grow(&mut self.blocks.sums, needs.blocks)?;
        grow(&mut self.blocks.starts, needs.blocks)?;
        grow(&mut self.tiles, needs.tiles)?;
        let (rows, made, rounded) = needs.made;
        grow(&mut self.made.ready, rows)?;
        grow(&mut self.made.floats, made)?;
        grow(&mut self.made.quants, rounded)?;
        grow(&mut self.made.scales, rounded / q8::BLOCK)?;
        grow(&mut self.made.sums, rounded / 16)?;
        self.attend.grow(&needs.attend)
    }
}
