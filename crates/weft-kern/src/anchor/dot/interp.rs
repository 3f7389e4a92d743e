//! The definition of a product.

use weft_ir::Binary;

use super::{Factor, Pick, Product};
use crate::interp::{Buffer, Number, base, binary, index, load, program};
use crate::program::{Param, Prologue};
use crate::q8;

/// The results of a product for a row.
pub(in crate::anchor) fn compute<N: Number>(
    product: &Product,
    (params, before): (&[Param], Option<&Prologue>),
    args: &[Buffer<'_>],
    row: &[usize],
) -> Result<Vec<N>, String> {
    let w = &product.w;
    // The left factor, of which a sum has several rows.
    let x = |term: usize, apart: usize| -> Result<Vec<N>, String> {
        match &product.x {
            Factor::View(view) => Ok(load(args, view, base(view, row) + term * apart, product.x_len())),
            Factor::Prologue => prologue(before, args, row, product.rounds(params)),
        }
    };
    let matrix = match &w.pick {
        Pick::Only => 0,
        Pick::Axis(axis) => row[*axis],
        Pick::Ids(view) => match (index(args, view, row, 0, w.count), w.from) {
            (Ok(matrix), Some(from)) if matrix < from => return Ok(vec![N::exact(0.0); product.cols()]),
            (Err(_), Some(_)) => return Ok(vec![N::exact(0.0); product.cols()]),
            (matrix, _) => matrix?,
        },
        Pick::Sum(sum) => {
            let mut total: Vec<N> = Vec::new();
            for term in 0..sum.terms {
                let matrix = index(args, &sum.ids, row, term, w.count)?;
                let at = base(&sum.weights, row) + term * sum.weights.step;
                let weight = N::exact(args[sum.weights.param].float(at));
                let each = multiply(args, product, matrix, &x(term, sum.apart)?).into_iter();
                let each = each.map(|y| binary(Binary::Mul, y, weight));
                total = match term {
                    0 => each.collect(),
                    _ => total.iter().zip(each).map(|(t, y)| binary(Binary::Add, *t, y)).collect(),
                };
            }
            return Ok(total);
        }
    };
    Ok(multiply(args, product, matrix, &x(0, 0)?))
}

/// The prologue's value for a row, rounded to `q8` and back if the product reads it rounded.
fn prologue<N: Number>(
    prologue: Option<&Prologue>,
    args: &[Buffer<'_>],
    row: &[usize],
    rounded: bool,
) -> Result<Vec<N>, String> {
    let prologue = prologue.ok_or("the part has no prologue")?;
    let row = &row[..row.len().min(1)];
    let mut values = program(&prologue.body, args, row, &[], &mut Vec::new())?;
    let mut x: Vec<N> = values.swap_remove(prologue.value);
    if rounded {
        for block in x.as_chunks_mut::<{ q8::BLOCK }>().0 {
            *block = N::rounded_q8(block, &q8::quantise(&block.map(N::value)));
        }
    }
    Ok(x)
}

/// Multiplies one row by one matrix.
fn multiply<N: Number>(args: &[Buffer<'_>], product: &Product, matrix: usize, x: &[N]) -> Vec<N> {
    let w = &product.w;
    // For each output, the sum so far and the number's own data about it.
    let mut sums = vec![(0.0f64, N::Sum::default()); product.cols()];
    let add = |sum: &mut (f64, N::Sum), x: N, (weight, magnitude): (f32, f64)| {
        sum.0 += f64::from(x.value()) * f64::from(weight);
        N::add(&mut sum.1, x, weight, magnitude);
    };
    for n in 0..w.n {
        let row = w.first + matrix * w.stride + n;
        let weights = args[w.param].row(row, w.k);
        let magnitudes = if N::MAGNITUDES { args[w.param].magnitudes(row, &weights) } else { Vec::new() };
        let weight = |k: usize| (weights[k], magnitudes.get(k).copied().unwrap_or(0.0));
        if product.transposed {
            sums.iter_mut().enumerate().for_each(|(k, sum)| add(sum, x[n], weight(k)));
        } else {
            let mut sum = Default::default();
            x.iter().enumerate().for_each(|(k, x)| add(&mut sum, *x, weight(k)));
            sums[n] = sum;
        }
    }
    sums.into_iter().map(|(value, sum)| N::product(value as f32, sum, x.len())).collect()
}
