//! The text of products by lanes: [`products`] adds them up, and the row program follows in the lanes that have results, if it can.

mod join;
pub(crate) mod products;

use weft_kern::Part;
use weft_shader::expr::Expr;

use crate::forms::dot::lanes::write::products::{Dot, Results};
use crate::lower::before_wait::BeforeWait;
use crate::lower::lanes::Lanes;
use crate::lower::pass::Pass;
use crate::lower::space::Space;
use crate::lower::store;
use crate::lower::writer::Writer;
use crate::refused::Why;
use crate::split::Split;

/// Writes the products of a workgroup's rows and columns, and their row program.
pub(crate) fn write(
    w: &mut Writer<'_>,
    part: &Part,
    split: &Split,
    (space, _): (&Space, Pass),
    group: &Expr,
) -> Result<(), Why> {
    let place = &space.place(&mut w.code, group);
    let mut dot = Dot::new(w, part, place, split)?;
    let mut lanes = Lanes::new(w, part, place);
    if let Some(lanes) = lanes.as_mut().filter(|_| w.waits) {
        lanes.load(w)?;
    }
    let before_wait = BeforeWait::new(w, part, place)?;
    w.wait();
    if let Some(lanes) = &mut lanes {
        lanes.load(w)?;
    }
    dot.load_picked(w)?;
    dot.copy(w)?;
    let values = before_wait.prologue(w, part, place)?;
    match (dot.write(w, values, lanes.is_some())?, lanes) {
        (results, Some(lanes)) => lanes.write(w, &results),
        (Results::Shared(results), None) => store::program(w, part, place, results),
        (Results::Lanes(_), None) => {
            Err(Why::Form("has results in lanes whose program needs whole rows".into()))
        }
    }
}
