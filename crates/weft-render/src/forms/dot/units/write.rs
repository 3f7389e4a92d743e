//! The text of products of many rows on matrix units or [from panels](crate::forms::DotPanels), and of products of [few rows with the same
//! matrix](crate::forms::DotFewRows) by lanes.
//!
//! A warp multiplies 16 rows of activations by 8 columns of a weight at a time, 32 values deep: one block, whose integer sum is exact. The
//! sum is scaled and added to a float, block by block and share by share, in the order in which lanes add when they multiply. So the bits
//! are the same for one row and for many.
//!
//! Operands are copied to workgroup memory some blocks ahead ([`stage`]). The warps of a workgroup have different columns, or different
//! shares of sums, which are added in workgroup memory.
//!
//! Rows that select their matrices are sorted first ([`sorted`]). A shader of its own computes the terms of a weighted sum in this way, and
//! the shader that runs the row program adds them up.

mod multiply;
mod scales;
pub(crate) mod shape;
mod stage;

use weft_kern::{Factor, Format, Instr, Part, Pick, Product, View};
use weft_quant::GgmlType;
use weft_shader::expr::{Expr, Fun};
use weft_shader::stmt::Stmt;

use crate::forms::dot::few_rows;
use crate::forms::dot::panels;
use crate::forms::dot::units::write::multiply::Multiply;
use crate::forms::dot::units::write::scales::TOGETHER;
use crate::forms::dot::units::write::shape::{Shape, Task, alike, form, with_empty_shares};
use crate::lower::pass::Pass;
use crate::lower::reduce::{self, Fold};
use crate::lower::sorted::{self, Sorted};
use crate::lower::space::{Place, Space};
use crate::lower::store;
use crate::lower::writer::Writer;
use crate::refused::{Why, word};
use crate::schedule::picks::Picks;
use crate::split::Split;

/// Writes the pass of a part whose products are on matrix units or from panels.
pub(crate) fn write(
    w: &mut Writer<'_>,
    part: &Part,
    split: &Split,
    (space, pass): (&Space, Pass),
    group: &Expr,
) -> Result<(), Why> {
    if let Pass::Sort(order) = pass {
        let picks = Picks::of(part).ok_or_else(|| form("rows without matrices of their own"))?;
        return sorted::sort(w, (&picks, space), &order, group);
    }
    // The order of rows is known when the previous launch has ended.
    if !matches!(pass, Pass::Whole | Pass::Weighted(_)) {
        w.wait();
    }
    let place = space.place(&mut w.code, group);
    match pass {
        Pass::Terms(order) => sorted::tile(w, &place, &order, |w, place, number| {
            let sums = part.products().iter().filter(|p| matches!(p.w.pick, Pick::Sum(_)));
            let tasks: Vec<Task<'_>> = sums.map(|p| task(p, &number)).collect::<Result<_, _>>()?;
            let results = multiply_all(w, &tasks, place, split)?;
            results.iter().try_for_each(|result| store_terms(w, place, &order, *result))
        }),
        Pass::Sorted(order) => sorted::tile(w, &place, &order, |w, place, number| {
            let tasks: Vec<Task<'_>> =
                part.products().iter().map(|p| task(p, &number)).collect::<Result<_, _>>()?;
            let results = multiply_all(w, &tasks, place, split)?;
            store::program(w, part, place, results)
        }),
        _ => {
            let first = place.row_to_read(&mut w.code, &Expr::U32(0)).axes;
            let joined = |product: &Product| match (&product.w.pick, pass) {
                (Pick::Sum(_), Pass::Weighted(order)) => Some(order),
                _ => None,
            };
            let mut tasks = Vec::new();
            for product in part.products().iter().filter(|product| joined(product).is_none()) {
                let number = match &product.w.pick {
                    Pick::Axis(axis) => first[*axis].clone(),
                    _ => Expr::U32(0),
                };
                tasks.push(task(product, &number)?);
            }
            let mut multiplied = multiply_all(w, &tasks, &place, split)?.into_iter();
            w.wait();
            let mut results = Vec::new();
            for product in part.products() {
                results.push(match joined(product) {
                    Some(order) => weighted(w, product, &place, &order)?,
                    None => multiplied.next().unwrap_or(0),
                });
            }
            let sums = part.products().iter().any(|product| joined(product).is_some());
            if sums && !own_columns(w, part) {
                w.code.barrier();
            }
            store::program(w, part, &place, results)
        }
    }
}

/// Whether each lane stores the columns that it added up, and reads no others. Stores of 16 bits and of blocks need several columns.
fn own_columns(w: &Writer<'_>, part: &Part) -> bool {
    let words = |param| matches!(w.format(param), Format::Ggml(GgmlType::F32 | GgmlType::I32));
    part.columns_independent()
        && part.body.iter().all(|instr| !matches!(instr, Instr::Store { view, .. } if !words(view.param)))
}

/// The product of rows that all have this matrix.
fn task<'p>(product: &'p Product, number: &Expr) -> Result<Task<'p>, Why> {
    let Factor::View(view) = &product.x else { return Err(form("a prologue")) };
    let number = if matches!(product.w.pick, Pick::Only) { &Expr::U32(0) } else { number };
    let matrix = number * word(product.w.stride)? + word(product.w.first)?;
    let apart = match &product.w.pick {
        Pick::Sum(sum) => Some(word(sum.apart)?),
        _ => None,
    };
    Ok(Task { product, view, matrix, apart })
}

/// Multiplies a tile's rows. Returns the offset of each product in workgroup memory: a row of the block's width per tile row.
fn multiply_all(
    w: &mut Writer<'_>,
    tasks: &[Task<'_>],
    place: &Place,
    split: &Split,
) -> Result<Vec<u32>, Why> {
    if tasks.is_empty() {
        w.code.barrier();
        return Ok(Vec::new());
    }
    let begins = find_activations(w, tasks, place)?;
    let begin_of =
        |task: &Task<'_>| begins.iter().find(|(of, _)| *of == task.view).map_or(0, |(_, begin)| *begin);
    if split.panels {
        return panels::write::multiply_all(w, tasks, place, split, begin_of);
    }
    if split.picked > 0 {
        return few_rows::write::multiply_all(w, tasks, place, split, begin_of);
    }
    multiply_on_units(w, tasks, place, split, begin_of)
}

/// Stores where the activations of each of a tile's rows begin. Returns, for each view of them, where these numbers are.
fn find_activations<'t>(
    w: &mut Writer<'_>,
    tasks: &[Task<'t>],
    place: &Place,
) -> Result<Vec<(&'t View, u32)>, Why> {
    let mut begins: Vec<(&View, u32)> = Vec::new();
    for task in tasks {
        if begins.iter().all(|(view, _)| *view != task.view) {
            begins.push((task.view, w.pool.alloc(place.tile())));
        }
    }
    w.share(place.tile(), |w, r| {
        let axes = place.row_to_read(&mut w.code, &r).axes;
        for (view, begin) in &begins {
            let apart = tasks.iter().find(|task| task.view == *view).and_then(|task| task.apart);
            let at = match (apart, axes.split_last()) {
                (Some(apart), Some((term, axes))) => w.base(view, axes)? + term * apart,
                _ => w.base(view, &axes)?,
            };
            w.code.store_shared(&r + *begin, at);
        }
        Ok(())
    })?;
    Ok(begins)
}

/// Multiplies a tile's rows on matrix units. `begin_of` is where workgroup memory has the first activation of each row of a task.
fn multiply_on_units(
    w: &mut Writer<'_>,
    tasks: &[Task<'_>],
    place: &Place,
    split: &Split,
    begin_of: impl Fn(&Task<'_>) -> u32,
) -> Result<Vec<u32>, Why> {
    let room = place.tile() * place.width();
    // Products of the same rows by weights of the same layout are multiplied in one pass over the rows.
    let together: Vec<Vec<&Task<'_>>> = if alike(w, tasks, |tiles| {
        (tiles.vectors(), tiles.scales(), tiles.mins(), tiles.factor().to_bits())
    })? {
        vec![tasks.iter().collect()]
    } else {
        tasks.iter().map(|task| vec![task]).collect()
    };
    let shapes: Vec<Shape> =
        together.iter().map(|tasks| Shape::new(w, tasks, place, split)).collect::<Result<_, _>>()?;
    let deep = shapes[0].deep;
    let ring = shapes.iter().map(|shape| shape.ring_words()).max().unwrap_or(0);
    let scales = shapes.iter().map(|shape| shape.all_scale_words()).max().unwrap_or(0);
    // The results overwrite operands when no product needs them any more.
    let own = if deep == 1 { room * tasks.len() as u32 } else { 0 };
    let (ring, scales) =
        (w.pool.alloc_aligned(ring.max(own), TOGETHER), w.pool.alloc_aligned(scales, TOGETHER));
    // One entry for each task.
    let all_shares =
        together.iter().zip(&shapes).flat_map(|(tasks, shape)| tasks.iter().map(|_| shape.shares()));
    let all_shares: Vec<u32> = all_shares.collect();
    let shared: Vec<u32> = all_shares
        .iter()
        .map(|shares| if deep > 1 { w.pool.alloc(room.saturating_mul(*shares)) } else { 0 })
        .collect();
    let mut multiplied = Vec::new();
    for ((tasks, shape), shared) in together.iter().zip(&shapes).zip(shared.chunks(together[0].len())) {
        w.code.barrier();
        for Task { product, .. } in tasks {
            w.code.note(format!("times {}[{}, {}]", w.format(product.w.param), product.w.n, product.w.k));
        }
        let begin = begin_of(tasks[0]);
        let multiply = Multiply::new(w, tasks, shape, place, (begin, ring, scales))?;
        multiplied.push(multiply.write(w, shared)?);
    }
    w.code.barrier();
    if deep == 1 {
        let results: Vec<u32> = (0..tasks.len() as u32).map(|i| ring + i * room).collect();
        let each = results.chunks(together[0].len());
        multiplied.iter().zip(each).for_each(|(totals, results)| totals.store(w, results));
        w.code.barrier();
        return Ok(results);
    }
    let results: Vec<u32> = tasks.iter().map(|_| w.pool.alloc(room)).collect();
    w.share(room, |w, item| {
        for ((shared, result), shares) in shared.iter().zip(&results).zip(&all_shares) {
            let sum = reduce::folded(w, Fold::Sum, &(&item + *shared), *shares, room);
            let sum = if shapes[0].empty_shares { with_empty_shares(sum) } else { sum };
            w.code.store_shared(&item + *result, sum.bits());
        }
        Ok(())
    })?;
    w.code.barrier();
    Ok(results)
}

/// Stores a tile's terms of a weighted sum in scratch memory.
fn store_terms(w: &mut Writer<'_>, place: &Place, order: &Sorted, result: u32) -> Result<(), Why> {
    let (width, cols) = (place.width(), place.cols());
    w.share(place.tile() * width, |w, item| {
        let r = w.code.set("r", &item / width);
        let row = place.row(&mut w.code, &r);
        let column = w.code.set("column", &place.column + &item % width);
        w.when(row.exists.both(&place.has_column(&column)), |w| {
            let to = place.row_number(&row.axes) * cols + column + order.terms;
            w.code.push(Stmt::Store(order.slot, to, Expr::Shared((item + result).into())));
            Ok(())
        })
    })
}

/// Adds up the terms of a weighted sum for a tile. Returns the offset of the sums.
fn weighted(w: &mut Writer<'_>, product: &Product, place: &Place, order: &Sorted) -> Result<u32, Why> {
    let Pick::Sum(sum) = &product.w.pick else { return Err(form("no weighted sum")) };
    let (width, cols, terms) = (place.width(), place.cols(), word(sum.terms)?);
    let result = w.pool.alloc(place.tile() * width);
    w.share(place.tile() * width, |w, item| {
        let r = w.code.set("r", &item / width);
        let axes = place.row_to_read(&mut w.code, &r).axes;
        let column = place.column_to_read(&mut w.code, &(&item % width), true);
        let first = w.base(&sum.weights, &axes)?;
        let from = place.row_number(&axes) * (terms * cols) + column + order.terms;
        let from = w.code.set("first_term", from);
        let all = w.code.var("all", 0.0f32);
        for i in 0..terms {
            let weight = w.load(sum.weights.param, &(&first + i * word(sum.weights.step)?))?;
            let term = Expr::call(Fun::Float, [Expr::Word(order.slot, (&from + i * cols).into())]);
            w.code.assign(&all, all.clone() + weight.times(term));
        }
        w.code.store_shared(item + result, all.bits());
        Ok(())
    })?;
    Ok(result)
}
