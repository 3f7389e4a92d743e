//! The work of a workgroup before it waits: the loads that do not depend on the launch before this one, and the prologue, if it does not
//! depend on it either.

use weft_kern::{Format, Instr, Part};
use weft_quant::GgmlType;
use weft_shader::expr::Expr;
use weft_shader::stmt::Stmt;

use crate::lower::prologue::{self, PrologueValues};
use crate::lower::quads::Quads;
use crate::lower::space::Place;
use crate::lower::writer::Writer;
use crate::refused::{Why, word};

/// Words of a line of memory.
const LINE: u32 = 32;

/// The loads and values of a part from before its workgroup waits for the previous launch.
pub(crate) struct BeforeWait {
    held: Option<Quads>,
    /// The prologue's values, if they do not depend on that launch.
    values: Option<PrologueValues>,
}

impl BeforeWait {
    /// Begins to load weights of the row program, and computes the prologue if it does not depend on the launch before this one.
    pub(crate) fn new(w: &mut Writer<'_>, part: &Part, place: &Place) -> Result<BeforeWait, Why> {
        fetch(w, part)?;
        let held = prologue::early(w, part)?;
        let values = match w.waits && prologue::is_stable(w, part) {
            true => Some(prologue::prologue(w, part, place, held.as_ref())?),
            false => None,
        };
        Ok(BeforeWait { held, values })
    }

    /// The prologue's values, computed here if they have not been. The workgroup must have waited.
    pub(crate) fn prologue(
        self,
        w: &mut Writer<'_>,
        part: &Part,
        place: &Place,
    ) -> Result<PrologueValues, Why> {
        match self.values {
            Some(values) => Ok(values),
            None => prologue::prologue(w, part, place, self.held.as_ref()),
        }
    }
}

/// Prefetches the weights that a part's row program reads for all rows alike, before the workgroup waits.
fn fetch(w: &mut Writer<'_>, part: &Part) -> Result<(), Why> {
    if !w.waits {
        return Ok(());
    }
    for instr in &part.body {
        let Instr::Load { view, indexed: None, len } = instr else { continue };
        let fixed = w.is_weight(view.param) && view.strides.iter().all(|stride| *stride == 0);
        if !fixed || w.format(view.param) != Format::Ggml(GgmlType::F32) || view.step != 1 {
            continue;
        }
        let lines = word(*len)?.div_ceil(LINE);
        let at = w.start(view.param) + Expr::Lane * LINE + word(view.offset)?;
        let slot = w.slot(view.param);
        w.when(Expr::Lane.less(lines), |w| {
            w.code.push(Stmt::Fetch(slot, at));
            Ok(())
        })?;
    }
    Ok(())
}
