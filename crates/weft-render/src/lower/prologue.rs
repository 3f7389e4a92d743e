//! Prologues: every workgroup computes what its part multiplies into workgroup memory.

use weft_kern::{Param, Part, Product, Prologue};

use crate::code::expr::Expr;
use crate::lower::round::{self, Rounded};
use crate::lower::row_program::{Column, RowProgram, RowState};
use crate::lower::space::Place;
use crate::lower::writer::Writer;
use crate::refused::{Why, word};

/// A prologue's results for the rows of a tile, in workgroup memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PrologueValues {
    /// As floats, one row after another, if some product reads floats.
    pub(crate) floats: Option<u32>,
    /// Rounded, if some product reads rounded values.
    pub(crate) rounded: Option<Rounded>,
}

/// Computes a part's prologue, if it has one.
pub(crate) fn prologue(w: &mut Writer<'_>, part: &Part, place: &Place) -> Result<PrologueValues, Why> {
    let Some(prologue) = &part.prologue else { return Ok(PrologueValues::default()) };
    let params: &[Param] = &w.kernel.params;
    let reads = |rounds: bool| {
        let read = |p: &&Product| p.x == weft_kern::Factor::Prologue && p.rounds(params) == rounds;
        part.products().iter().any(|p| read(&p))
    };
    let (floats, rounded) = (reads(false), reads(true));
    let rows = place.tile();
    let lens = prologue.lens();
    let n = word(lens[prologue.value])?;
    let all = rows.checked_mul(n).ok_or_else(|| Why::Form("has more rows than 32 bits can count".into()))?;
    let made = PrologueValues {
        floats: floats.then(|| w.pool.room(all)),
        rounded: rounded.then(|| round::room(w, all)),
    };
    w.code.note("what is multiplied");
    let mut program = RowProgram::new(&prologue.body, lens, Vec::new(), 0);
    if rows == 1 {
        row(w, &mut program, prologue, place, (n, Expr::U32(0)), made)?;
    } else {
        w.count("r", (0u32.into(), rows.into(), 1), |w, r| {
            row(w, &mut program, prologue, place, (n, r), made)
        })?;
    }
    Ok(made)
}

/// Computes a row of the tile.
fn row(
    w: &mut Writer<'_>,
    program: &mut RowProgram<'_>,
    prologue: &Prologue,
    place: &Place,
    (n, r): (u32, Expr),
    made: PrologueValues,
) -> Result<(), Why> {
    let mut axes = place.row_to_read(&mut w.code, &r).axes;
    axes.truncate(1);
    let mut spot = RowState::new(axes, r.clone());
    program.prepare(w, &mut spot)?;
    let mut value = |w: &mut Writer<'_>, c: &Expr| {
        program.value(w, &mut spot.clone(), prologue.value, &Column::whole(c.clone()))
    };
    if let Some(floats) = made.floats {
        w.share(n, |w, c| {
            let bits = value(w, &c)?.bits();
            w.code.store_shared(&r * n + &c + floats, bits);
            Ok(())
        })?;
        w.code.barrier();
    }
    match made.rounded {
        Some(to) => round::round(w, n, &r, to, &mut value),
        None => Ok(()),
    }
}
