//! The text of a part without a product: its row program.

use weft_kern::Part;

use crate::lower::begin::Begun;
use crate::lower::space::Place;
use crate::lower::store;
use crate::lower::writer::Writer;
use crate::refused::Why;

/// Writes the row program of a workgroup's rows and columns.
pub(crate) fn write(w: &mut Writer<'_>, part: &Part, place: &Place) -> Result<(), Why> {
    let begun = Begun::new(w, part, place)?;
    w.wait();
    begun.prologue(w, part, place)?;
    store::program(w, part, place, Vec::new())
}
