//! The text of a selection from long rows: both shaders.

use weft_kern::Part;
use weft_shader::expr::Expr;

use crate::forms::select_blocks::tops::Tops;
use crate::lower::before_wait::BeforeWait;
use crate::lower::pass::Pass;
use crate::lower::space::Space;
use crate::lower::store;
use crate::lower::writer::Writer;
use crate::refused::Why;
use crate::split::Split;

/// Writes a selection: the largest key of each of a workgroup's blocks, or the selection from the blocks of a row.
pub(crate) fn write(
    w: &mut Writer<'_>,
    part: &Part,
    split: &Split,
    (space, pass): (&Space, Pass),
    group: &Expr,
) -> Result<(), Why> {
    let place = &space.place(&mut w.code, group);
    let before_wait = BeforeWait::new(w, part, place)?;
    w.wait();
    before_wait.prologue(w, part, place)?;
    match pass {
        Pass::Chunks { slot, at } => {
            let tops = Tops::new(w, place, (slot, at), split.chunk);
            store::largest_of_blocks(w, part, place, &tops)
        }
        Pass::Join { slot, at, .. } => {
            let tops = Tops::new(w, place, (slot, at), split.chunk);
            store::selection(w, part, place, tops)
        }
        _ => Err(Why::Form("selects from the blocks of a row in one shader".into())),
    }
}
