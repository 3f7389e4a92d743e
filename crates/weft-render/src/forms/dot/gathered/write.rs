//! The text of products that are spread over workgroups although their row program needs whole rows: each workgroup stores its columns in
//! scratch memory, and the last one to arrive runs the row program. The place where a column is computed changes no bit.

use weft_kern::Part;
use weft_shader::expr::Expr;
use weft_shader::stmt::Stmt;

use crate::forms::dot::gathered::router::Router;
use crate::forms::dot::lanes::write::products::{Dot, Results};
use crate::lower::before_wait::BeforeWait;
use crate::lower::pass::Pass;
use crate::lower::space::{Place, Space};
use crate::lower::store;
use crate::lower::writer::Writer;
use crate::refused::Why;
use crate::split::Split;

/// Writes the products of a workgroup's rows and columns, and their row program in the last workgroup of the tile.
pub(crate) fn write(
    w: &mut Writer<'_>,
    part: &Part,
    split: &Split,
    (space, pass): (&Space, Pass),
    group: &Expr,
) -> Result<(), Why> {
    let place = &space.place(&mut w.code, group);
    let Pass::Gather { slot, at, counter } = pass else {
        return Err(Why::Form("spreads a product over workgroups without scratch memory".into()));
    };
    let mut dot = Dot::new(w, part, place, split)?;
    let mut router = Router::new(w, part, place);
    if let Some(router) = router.as_mut().filter(|_| w.waits) {
        router.load(w)?;
    }
    let before_wait = BeforeWait::new(w, part, place)?;
    w.wait();
    dot.load_picked(w)?;
    dot.copy(w)?;
    let values = before_wait.prologue(w, part, place)?;
    let results = dot.write(w, values, router.is_some())?;
    gather(w, part, place, (&results, router), (slot, at, counter))
}

/// Stores the workgroup's `results`, and runs the row program in the last workgroup of the tile.
/// `scratch` is the slot, its first word for this part, and the part's first counter.
fn gather(
    w: &mut Writer<'_>,
    part: &Part,
    place: &Place,
    (results, router): (&Results, Option<Router<'_>>),
    (slot, at, counter): (usize, u32, u32),
) -> Result<(), Why> {
    let (rows, width, cols) = (place.tile(), place.width(), place.cols());
    let products = match results {
        Results::Shared(at) => at.len() as u32,
        Results::Lanes(values) => values.len() as u32,
    };
    // The tile's results, product after product.
    let tile = w.code.set("gathered", place.tile_number() * (products * rows * cols) + at);
    w.share(rows * width, |w, item| {
        let own = w.code.set("own", &item % width);
        let column = w.code.set("column", &place.column + &own);
        w.when(place.has_column(&column), |w| {
            for i in 0..products {
                let to = &tile + (&item / width + i * rows) * cols + &column;
                let word = match results {
                    Results::Shared(at) => Expr::Shared((&item + at[i as usize]).into()),
                    Results::Lanes(values) => values[i as usize].clone().bits(),
                };
                w.code.push(Stmt::Store(slot, to, word));
            }
            Ok(())
        })
    })?;
    let last = w.code.arrive("last", slot, place.tile_number() + counter, place.blocks());
    w.when(last, |w| {
        let whole = place.with_all_columns();
        if let Some(router) = router {
            let column = w.code.set("column", Expr::Lane.min(cols - 1));
            let word = |i: u32| Expr::Word(slot, (&tile + (i * cols) + &column).into()).float();
            let all: Vec<Expr> = (0..products).map(|i| w.code.set("gathered", word(i))).collect();
            return router.write(w, &all);
        }
        let gathered = w.pool.alloc(products * rows * cols);
        w.share(products * rows * cols, |w, item| {
            let word = Expr::Word(slot, (&tile + &item).into());
            w.code.store_shared(item + gathered, word);
            Ok(())
        })?;
        w.code.barrier();
        store::program(w, part, &whole, (0..products).map(|i| gathered + i * rows * cols).collect())
    })
}
