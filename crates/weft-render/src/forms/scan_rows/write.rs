//! Scans, see [`weft_kern::Scan`].
//!
//! There is a workgroup for each head of some rows, because texts do not know the number of sequences of a step. If a state passes through
//! the rows, a workgroup walks the sequences that begin in its rows.

mod convolution;
mod decay;
mod delta;
mod head;

use weft_kern::{Part, Scan, ScanRule};
use weft_shader::expr::Expr;
use weft_shader::stmt::Stmt;

use crate::forms::dot::lanes::write::products::Results;
use crate::lower::before_wait::BeforeWait;
use crate::lower::lanes::Lanes;
use crate::lower::pass::Pass;
use crate::lower::space::{Place, Space};
use crate::lower::store;
use crate::lower::writer::Writer;
use crate::refused::{Why, word};
use crate::split::Split;
use convolution::Convolution;
use decay::Decay;
use delta::Delta;
use head::{Head, Rows};

/// The recurrence, with the lanes' values of the state.
enum Rule<'a> {
    Decay(Decay<'a>),
    Convolution(Convolution<'a>),
    Delta(Box<Delta<'a>>),
}

/// Writes a scan: the walk of a workgroup, or the row program of results that another shader stored.
pub(crate) fn write(
    w: &mut Writer<'_>,
    part: &Part,
    split: &Split,
    (space, pass): (&Space, Pass),
    group: &Expr,
) -> Result<(), Why> {
    let place = &space.place(&mut w.code, group);
    let Some(scan) = part.scan() else { return Err(Why::Form("has no scan".into())) };
    let mut lanes = match pass {
        Pass::Join { .. } => Lanes::new(w, part, place),
        _ => None,
    };
    if let Some(lanes) = lanes.as_mut().filter(|_| w.waits) {
        lanes.load(w)?;
    }
    let before_wait = BeforeWait::new(w, part, place)?;
    w.wait();
    if let Some(lanes) = &mut lanes {
        lanes.load(w)?;
    }
    before_wait.prologue(w, part, place)?;
    match pass {
        Pass::Join { slot, at, .. } => {
            let results = vec![picked_up(w, place, (slot, at))?];
            match lanes {
                Some(lanes) => lanes.write(w, &Results::Shared(results)),
                None => store::program(w, part, place, results),
            }
        }
        _ => walk(w, (part, scan), place, split, pass),
    }
}

/// Writes the walk of a workgroup, and the row programs of its rows, unless another shader runs them.
fn walk(w: &mut Writer<'_>, of: (&Part, &Scan), place: &Place, split: &Split, pass: Pass) -> Result<(), Why> {
    let results = w.pool.alloc(split.upcast.saturating_mul(place.width()));
    let rows = |w: &mut Writer<'_>, head: &Head| walk_of(w, of, (place, split), head, (pass, results));
    if place.is_single() {
        let head = Head::only(w, of, place)?;
        return rows(w, &head);
    }
    if let ScanRule::Convolution { .. } = of.1.rule {
        let head = Head::of_row(w, of, place)?;
        return rows(w, &head);
    }
    let [token, head] = head::axes(w, place)?;
    let [first, last] = head::beginning(w, of.1, &token, split.rows);
    w.count("q", (first, last, 1), |w, q| {
        let head = Head::whole(w, of, &head, &q)?;
        rows(w, &head)
    })
}

/// Writes the walk over a head's rows.
fn walk_of(
    w: &mut Writer<'_>,
    of: (&Part, &Scan),
    (place, split): (&Place, &Split),
    head: &Head,
    (pass, results): (Pass, u32),
) -> Result<(), Why> {
    let scan = of.1;
    let mut last = head.end.clone();
    let rule = match &scan.rule {
        ScanRule::Decay { x, decay } => Rule::Decay(Decay::new(w, (x, decay), place)),
        ScanRule::Convolution { x, w: weights, taps } => {
            let convolution = Convolution { x, weights: *weights, taps: word(*taps)? };
            last = convolution.last(head);
            if last.known().is_none() {
                last = w.code.uniform("last", last);
            }
            Rule::Convolution(convolution)
        }
        ScanRule::Delta(of) => Rule::Delta(Box::new(Delta::new(w, (scan, of), place, (split, head))?)),
    };
    match &rule {
        Rule::Decay(decay) => decay.begin(w, scan, head)?,
        Rule::Convolution(_) => {}
        Rule::Delta(delta) => delta.begin(w, scan, head, place)?,
    }
    // A state that passes through the rows is written after the certain rows and before the uncertain ones that follow.
    let passes = !matches!(rule, Rule::Convolution(_)) && head.certain != head.end;
    if passes {
        let halves = w.code.set("halves", Expr::U32(1).unless(&head.certain.less(head.end.clone()), 2u32));
        return w
            .count("half", (0u32.into(), halves, 1), |w, half| {
                let is_second = half.equal(1u32);
                let from =
                    w.code.set("half_from", head.token.clone().unless(&is_second, head.certain.clone()));
                let to = w.code.set("half_to", head.certain.clone().unless(&is_second, last));
                batches(w, of, (place, split), (head, &rule), (from, to), (pass, results))?;
                w.when(half.equal(0u32), |w| rule.end(w, scan, (head, place)))
            })
            .and_then(|()| rule.keep(w, scan, head));
    }
    batches(w, of, (place, split), (head, &rule), (head.token.clone(), last), (pass, results))?;
    rule.end(w, scan, (head, place))
}

impl Rule<'_> {
    /// Writes the state that follows from the certain rows.
    fn end(&self, w: &mut Writer<'_>, scan: &Scan, (head, place): (&Head, &Place)) -> Result<(), Why> {
        match self {
            Rule::Decay(decay) => decay.end(w, scan, head),
            Rule::Convolution(convolution) => convolution.end(w, scan, head, place),
            Rule::Delta(delta) => delta.end(w, scan, head, place),
        }
    }

    /// Stores the rows after the certain ones.
    fn keep(&self, w: &mut Writer<'_>, scan: &Scan, head: &Head) -> Result<(), Why> {
        match self {
            Rule::Decay(decay) => decay.keep(w, scan, head),
            // A convolution has stored them with its state.
            Rule::Convolution(_) => Ok(()),
            Rule::Delta(delta) => delta.keep(w, scan, head),
        }
    }
}

/// Writes the walk over rows in batches, and the row programs or stores of their results.
fn batches(
    w: &mut Writer<'_>,
    (part, scan): (&Part, &Scan),
    (place, split): (&Place, &Split),
    (head, rule): (&Head, &Rule<'_>),
    (from, last): (Expr, Expr),
    (pass, results): (Pass, u32),
) -> Result<(), Why> {
    let most = split.upcast;
    w.count_or_once("batch", (from, last.clone(), most), |w, batch| {
        let count = match most {
            1 => Expr::U32(1),
            _ => w.code.set("rows", (&last - &batch).min(most)),
        };
        let rows = Rows { first: batch, count, most };
        match rule {
            Rule::Decay(decay) => decay.rows(w, head, &rows, results)?,
            Rule::Convolution(convolution) => convolution.rows(w, scan, (head, place), &rows, results)?,
            Rule::Delta(delta) => delta.rows(w, head, &rows, results)?,
        }
        w.code.barrier();
        if let Pass::Chunks { slot, at } = pass {
            put_down(w, head, place, (&rows, results), (slot, at))?;
        } else {
            w.count_or_once("r", (0u32.into(), rows.count.clone(), 1), |w, r| {
                let axes = vec![w.code.set("i", &rows.first + &r), head.head.clone()];
                store::row(w, part, place, (axes, r), results)?;
                // The next row overwrites this workgroup memory.
                w.code.barrier();
                Ok(())
            })?;
        }
        // The next batch also overwrites it.
        w.code.barrier();
        Ok(())
    })
}

/// Stores the results of rows in scratch memory, from word `at` of a slot on.
fn put_down(
    w: &mut Writer<'_>,
    head: &Head,
    place: &Place,
    (rows, results): (&Rows, u32),
    (slot, at): (usize, u32),
) -> Result<(), Why> {
    let width = place.width();
    w.share(rows.most.saturating_mul(width), |w, item| {
        let (r, own) = (w.code.set("r", &item / width), w.code.set("own", &item % width));
        let column = w.code.set("column", &place.column + own);
        let exists = r.less(rows.count.clone()).both(&place.has_column(&column));
        w.when(exists, |w| {
            let row = place.row_number(&[&rows.first + &r, head.head.clone()]);
            let to = row * place.cols() + column + at;
            w.code.push(Stmt::Store(slot, to, Expr::Shared((item + results).into())));
            Ok(())
        })
    })
}

/// Loads the results of a row that another shader stored in scratch memory. Returns their offset in workgroup memory.
fn picked_up(w: &mut Writer<'_>, place: &Place, (slot, at): (usize, u32)) -> Result<u32, Why> {
    let width = place.width();
    let results = w.pool.alloc(width);
    let row = place.row(&mut w.code, &Expr::U32(0));
    let from = w.code.set("begins", place.row_number(&row.axes) * place.cols() + at);
    w.share(width, |w, own| {
        let column = place.column_to_read(&mut w.code, &own, true);
        w.code.store_shared(own + results, Expr::Word(slot, (&from + column).into()));
        Ok(())
    })?;
    w.code.barrier();
    Ok(results)
}
