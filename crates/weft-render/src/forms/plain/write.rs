//! The text of a part without a product: its row program.

use weft_kern::Part;
use weft_shader::expr::Expr;

use crate::lower::before_wait::BeforeWait;
use crate::lower::pass::Pass;
use crate::lower::space::Space;
use crate::lower::store;
use crate::lower::writer::Writer;
use crate::refused::Why;
use crate::split::Split;

/// Writes the row program of a workgroup's rows and columns.
pub(crate) fn write(
    w: &mut Writer<'_>,
    part: &Part,
    _split: &Split,
    (space, _): (&Space, Pass),
    group: &Expr,
) -> Result<(), Why> {
    let place = &space.place(&mut w.code, group);
    let before_wait = BeforeWait::new(w, part, place)?;
    w.wait();
    before_wait.prologue(w, part, place)?;
    store::program(w, part, place, Vec::new())
}
