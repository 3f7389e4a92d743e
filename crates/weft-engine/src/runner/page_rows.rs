//! The rows of a page in all states of a model, as bytes: to keep them on disk and to bring them back.

use std::collections::BTreeSet;

use weft_device::Order;

use super::Runner;
use crate::compile::Class;
use crate::error::Error;
use crate::model::PAGE;

impl Runner {
    /// Checks that pages are all that a sequence leaves behind.
    fn only_pages(&self) -> Result<(), Error> {
        if self.room.states.is_none() {
            return Ok(());
        }
        let why =
            "pages cannot be moved: the model also has states of whole sequences, which are not in pages";
        Err(Error::Option(why.into()))
    }

    /// The size of a page's rows in bytes.
    pub(crate) fn page_bytes(&self) -> usize {
        self.shared.states.values().map(|state| PAGE * state.row_bytes).sum()
    }

    /// Reads a page: its rows in each state, in the order of the states' names.
    ///
    /// # Errors
    /// If the device fails, possibly because of an earlier step, or the model has states of whole sequences.
    pub(crate) fn read_page(&self, page: u32, out: &mut Vec<u8>) -> Result<(), Error> {
        self.only_pages()?;
        out.resize(self.page_bytes(), 0);
        let mut rest = out.as_mut_slice();
        for state in self.shared.states.values() {
            let bytes = PAGE * state.row_bytes;
            let (rows, more) = rest.split_at_mut(bytes);
            self.device.read(state.buffer, page as usize * bytes, rows)?;
            rest = more;
        }
        Ok(())
    }

    /// Writes a page that [`read_page`](Runner::read_page) has read.
    ///
    /// # Errors
    /// If it has another size, the device fails, or the model has states of whole sequences.
    pub(crate) fn write_page(&mut self, page: u32, mut rows: &[u8]) -> Result<(), Error> {
        self.only_pages()?;
        let (found, expected) = (rows.len(), self.page_bytes());
        if found != expected {
            return Err(Error::Batch(format!("a page of {found} bytes: expected {expected}")));
        }
        for state in self.shared.states.values() {
            let bytes = PAGE * state.row_bytes;
            let (own, more) = rows.split_at(bytes);
            self.device.write(state.buffer, page as usize * bytes, own)?;
            rows = more;
        }
        Ok(())
    }

    /// Blocks until the device has done everything.
    ///
    /// # Errors
    /// If a step failed.
    pub(crate) fn wait(&mut self) -> Result<(), Error> {
        Ok(self.device.wait()?)
    }

    /// What the bits of a page depend on besides the model and the options: the device's numbers, the order of its sums,
    /// and what a page consists of.
    pub(crate) fn numbers(&mut self) -> String {
        let Runner { device, variants, shared, .. } = self;
        let mut orders: BTreeSet<Order> = BTreeSet::new();
        // In what order texts that a person gave add up is known to nobody.
        let mut texts: BTreeSet<&str> = BTreeSet::new();
        if let Some(tuning) = device.tuning() {
            for program in variants.used().classes.iter().flat_map(Class::all_programs) {
                for kernel in &program.kernels {
                    texts.extend(kernel.texts.iter().map(|text| text.source.as_str()));
                    let schedule = tuning.schedule(kernel, &program.max);
                    orders.extend(schedule.into_iter().flat_map(|schedule| tuning.orders(kernel, &schedule)));
                }
            }
        }
        let states = shared.states.iter().map(|(name, state)| (name, state.row_bytes));
        let numbers = &device.caps().hardware.numbers;
        let own = if texts.is_empty() { String::new() } else { format!(" {texts:?}") };
        format!("{numbers:?} {orders:?} {PAGE} rows of {:?}{own}", states.collect::<Vec<_>>())
    }
}
