//! Says of a run that it was interrupted.

use std::fmt::{self, Write as _};

use super::html::Escaped;
use crate::journal::Record;

/// Says that a run is not whole, if it is not.
pub(super) fn write(record: &Record, out: &mut String) -> fmt::Result {
    let Some(how) = record.interruption() else { return Ok(()) };
    let id = record.id;
    writeln!(
        out,
        "<p class=\"drop\">Run {id} was {}: its figures are of what was measured until then.</p>",
        Escaped(&how)
    )
}
