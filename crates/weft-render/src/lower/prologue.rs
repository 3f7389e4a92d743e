//! Prologues: every workgroup computes the activations of its part into workgroup memory.

use weft_kern::{Instr, Param, Part, Product, Prologue};
use weft_shader::expr::Expr;

use crate::lower::quads::Quads;
use crate::lower::round::{self, Rounded};
use crate::lower::row_program::{Column, RowProgram, RowState};
use crate::lower::space::Place;
use crate::lower::tile::has_minima;
use crate::lower::writer::Writer;
use crate::refused::{Why, word};

/// The most values of a row per lane.
const MOST_HELD: u32 = 16;

/// Lanes that round a block together, four values each.
const LEAST_SUBGROUP: u32 = 8;

/// A prologue's results for the rows of a tile, in workgroup memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PrologueValues {
    /// As floats, one row after another, if some product reads floats.
    pub(crate) floats: Option<u32>,
    /// Rounded, if some product reads rounded values.
    pub(crate) rounded: Option<Rounded>,
    /// Whether the sums of rounded values are needed.
    summed: bool,
}

/// The values of a part's prologue that lanes hold, if the GPU loads four at once. Weights among them are loaded at once if the workgroup
/// has yet to wait.
pub(crate) fn early(w: &mut Writer<'_>, part: &Part) -> Result<Option<Quads>, Why> {
    let Some(prologue) = part.prologue.as_ref().filter(|_| w.quads && w.subgroup >= LEAST_SUBGROUP) else {
        return Ok(None);
    };
    let n = word(prologue.lens()[prologue.value])?;
    if !n.is_multiple_of(4) || n > MOST_HELD * w.code.lanes {
        return Ok(None);
    }
    let mut quads = Quads::new(w, n);
    if w.waits {
        let lens = prologue.lens();
        quads.load(w, &prologue.body, &lens, &[], true)?;
    }
    Ok(Some(quads))
}

/// Whether a part has a prologue that can be computed before the previous launch has ended.
pub(crate) fn is_stable(w: &Writer<'_>, part: &Part) -> bool {
    let Some(prologue) = &part.prologue else { return false };
    let stable = |instr: &Instr| match instr {
        Instr::Load { view, indexed, .. } => {
            let by = indexed.as_ref().is_none_or(|by| w.is_stable(by.index.param));
            by && w.is_stable(view.param)
        }
        _ => true,
    };
    prologue.body.iter().all(stable)
}

/// Computes a part's prologue, if it has one. `held` is what [`early`] returned.
pub(crate) fn prologue(
    w: &mut Writer<'_>,
    part: &Part,
    place: &Place,
    held: Option<&Quads>,
) -> Result<PrologueValues, Why> {
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
        floats: floats.then(|| w.pool.alloc(all)),
        rounded: rounded.then(|| round::alloc(w, all)),
        summed: part.products().iter().any(|product| has_minima(w.format(product.w.param))),
    };
    w.code.note("what is multiplied");
    let mut program = RowProgram::new(&prologue.body, lens, Vec::new(), 0);
    if rows == 1 {
        row(w, &mut program, prologue, place, (n, Expr::U32(0), held), made)?;
    } else {
        w.count("r", (0u32.into(), rows.into(), 1), |w, r| {
            row(w, &mut program, prologue, place, (n, r, held), made)
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
    (n, r, held): (u32, Expr, Option<&Quads>),
    made: PrologueValues,
) -> Result<(), Why> {
    let mut axes = place.row_to_read(&mut w.code, &r).axes;
    axes.truncate(1);
    let mut spot = RowState::new(axes, r.clone());
    if let Some(quads) = held {
        return held_row(w, program, prologue, quads, (n, r, spot), made);
    }
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

/// Computes a row whose values the lanes hold.
fn held_row(
    w: &mut Writer<'_>,
    program: &mut RowProgram<'_>,
    prologue: &Prologue,
    quads: &Quads,
    (n, r, mut spot): (u32, Expr, RowState),
    made: PrologueValues,
) -> Result<(), Why> {
    let mut quads = quads.clone();
    quads.load(w, program.body, &program.lens, &spot.axes, false)?;
    spot.hold(&quads);
    program.prepare_held(w, &mut spot)?;
    let mut values = Vec::new();
    for four in quads.columns() {
        let mut each = Vec::new();
        for column in four {
            each.push(program.value(w, &mut spot, prologue.value, &Column::whole(column))?);
        }
        values.push(each);
    }
    if let Some(floats) = made.floats {
        for (words, values) in quads.words().iter().zip(&values) {
            w.when(words.exists.clone(), |w| {
                for (j, value) in values.iter().enumerate() {
                    let at = &r * n + (&words.word * 4u32 + (j as u32 + floats));
                    w.code.store_shared(at, value.clone().bits());
                }
                Ok(())
            })?;
        }
    }
    match made.rounded {
        Some(to) => round::held(w, n, &r, to, (quads.words(), &values), made.summed),
        None => {
            w.code.barrier();
            Ok(())
        }
    }
}
