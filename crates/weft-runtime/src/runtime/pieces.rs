//! The state that a sequence has in a model, as bytes: to keep it on disk and to restore it.

use std::collections::BTreeSet;

use weft_device::Order;
use weft_ir::StateKind;

use super::Runtime;
use crate::compile::{Class, State};
use crate::error::Error;
use crate::layout::PAGE;

/// A piece of the state that a sequence has in a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece {
    /// A page of rows, in states with a row a token.
    Page,
    /// A slot, in states of whole sequences, without kept rows.
    States,
}

/// A copy of the first `rows` rows of a page to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageCopy {
    /// The page with the rows.
    pub from: u32,
    /// The page that they are copied to.
    pub to: u32,
    /// Both pages in layers with a sliding window that have pages of their own.
    pub windowed: Option<(u32, u32)>,
    /// The number of rows.
    pub rows: usize,
}

impl Piece {
    /// The bytes of a part in a state. `None` if it has none there.
    fn bytes(self, state: &State) -> Option<usize> {
        match (self, state.kind) {
            (Piece::Page, StateKind::PerSequence) => None,
            (Piece::Page, _) => Some(PAGE * state.row_bytes),
            (Piece::States, kind) => (kind == StateKind::PerSequence).then_some(state.snapshot_bytes),
        }
    }

    /// Where the part of this number begins in a state.
    fn begin(self, state: &State, at: u32) -> usize {
        at as usize
            * match self {
                Piece::Page => PAGE * state.row_bytes,
                Piece::States => state.row_bytes,
            }
    }
}

impl Runtime {
    /// The bytes of a part.
    pub fn piece_bytes(&self, piece: Piece) -> usize {
        self.shared.states.values().filter_map(|state| piece.bytes(state)).sum()
    }

    /// Reads the page or the slot of this number: its rows in each state, in the order of the states' names.
    ///
    /// # Errors
    /// If the device fails, possibly because of an earlier step.
    pub fn read_piece(&self, piece: Piece, at: u32, out: &mut Vec<u8>) -> Result<(), Error> {
        out.resize(self.piece_bytes(piece), 0);
        let mut rest = out.as_mut_slice();
        for state in self.shared.states.values() {
            let Some(bytes) = piece.bytes(state) else { continue };
            let (rows, more) = rest.split_at_mut(bytes);
            self.device.read(state.buffer, piece.begin(state, at), rows)?;
            rest = more;
        }
        Ok(())
    }

    /// Writes a page or a slot that [`read_piece`](Runtime::read_piece) has read.
    ///
    /// # Errors
    /// If it has another size, or the device fails.
    pub fn write_piece(&mut self, piece: Piece, at: u32, mut rows: &[u8]) -> Result<(), Error> {
        let (found, expected) = (rows.len(), self.piece_bytes(piece));
        if found != expected {
            return Err(Error::Batch(format!("{piece:?} of {found} bytes: expected {expected}")));
        }
        for state in self.shared.states.values() {
            let Some(bytes) = piece.bytes(state) else { continue };
            let (own, more) = rows.split_at(bytes);
            self.device.write(state.buffer, piece.begin(state, at), own)?;
            rows = more;
        }
        Ok(())
    }

    /// Blocks until the device has done everything.
    ///
    /// # Errors
    /// If a step failed.
    pub fn wait(&mut self) -> Result<(), Error> {
        Ok(self.device.wait()?)
    }

    /// Identifies all that the bits of a page depend on, except the model and the options: the device's numbers, the order of its
    /// sums, and the contents of a page.
    pub fn numbers(&mut self) -> String {
        let Runtime { device, variants, shared, .. } = self;
        let mut orders: BTreeSet<Order> = BTreeSet::new();
        // The order of sums in users' texts is not known.
        let mut texts: BTreeSet<&str> = BTreeSet::new();
        if let Some(tuning) = device.tuning() {
            let compiled = std::iter::once(variants.used()).chain(variants.used().plain.as_deref());
            for program in compiled.flat_map(|compiled| &compiled.classes).flat_map(Class::all_programs) {
                for kernel in &program.kernels {
                    texts.extend(kernel.texts.iter().map(|text| text.source.as_str()));
                    let schedule = tuning.schedule(kernel, &program.max);
                    orders.extend(schedule.into_iter().flat_map(|schedule| tuning.orders(kernel, &schedule)));
                }
            }
        }
        let states = shared.states.iter().map(|(name, state)| (name, state.snapshot_bytes));
        let numbers = &device.caps().hardware.numbers;
        let own = if texts.is_empty() { String::new() } else { format!(" {texts:?}") };
        format!("{numbers:?} {orders:?} {PAGE} rows of {:?}{own}", states.collect::<Vec<_>>())
    }
}
