//! Random arguments of a kernel.

use weft_kern::{Format, Instr, Kernel, Pick, Source, View, interp, q8};
use weft_quant::GgmlType;
use weft_random::Random;

/// Rows of a random weight that differ; they repeat in larger ones. A prime, so that the rows of no two matrices of a stack
/// are the same.
const DISTINCT_ROWS: usize = 509;

/// The bound of indices for which a kernel does not say what they select.
const ANY: usize = 1 << 12;

/// The bytes of one argument: random numbers, or indices that the kernels can use.
///
/// # Errors
/// If there is no encoder for the type of a weight, as a sentence.
pub(super) fn random(
    source: &Source,
    format: Format,
    (values, row_len): (usize, usize),
    indices: Indices,
    random: &mut Random,
) -> Result<Vec<u8>, String> {
    if let Source::Constant(constant) = source {
        return Ok(constant.iter().flat_map(|v| v.0.to_le_bytes()).collect());
    }
    let mut floats = |n: usize| -> Vec<f32> { (0..n).map(|_| random.signed()).collect() };
    match format {
        Format::Q8 => Ok(rounded(&floats(values))),
        Format::Ggml(GgmlType::I32) => Ok(indices.draw(values, random)),
        Format::Ggml(ty) => {
            let row_len = row_len.max(1);
            let rows = values.div_ceil(row_len);
            let mut distinct = Vec::new();
            for _ in 0..rows.min(DISTINCT_ROWS) {
                let mut bytes = vec![0; format.bytes(row_len).ok_or("its rows are no whole blocks")?];
                weft_quant::encode(ty, &floats(row_len), &mut bytes).map_err(|error| error.to_string())?;
                distinct.push(bytes);
            }
            Ok((0..rows).flat_map(|row| &distinct[row % DISTINCT_ROWS]).copied().collect())
        }
    }
}

/// Rounded activations, as a buffer holds them.
fn rounded(values: &[f32]) -> Vec<u8> {
    interp::Buffer::q8(values.as_chunks().0.iter().map(q8::quantise).collect()).to_bytes()
}

/// The values that a parameter of indices may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Indices {
    /// They are less than this.
    bound: usize,
    /// Whether no two may be the same: rows are written there.
    distinct: bool,
}

impl Indices {
    /// Of a parameter of both kernels, whose parameters have so many values.
    pub(super) fn of(param: usize, kernels: [&Kernel; 2], values: &[usize]) -> Indices {
        let (mut bound, mut distinct) = (usize::MAX, false);
        let mut less = |view: &View, than: usize, written: bool| {
            if view.param == param {
                bound = bound.min(than);
                distinct |= written;
            }
        };
        for part in kernels.iter().flat_map(|kernel| &kernel.parts) {
            for product in part.products() {
                match &product.w.pick {
                    Pick::Ids(ids) => less(ids, product.w.count, false),
                    Pick::Sum(sum) => less(&sum.ids, product.w.count, false),
                    Pick::Only | Pick::Axis(_) => {}
                }
            }
            for instr in part.prologue.iter().flat_map(|prologue| &prologue.body).chain(&part.body) {
                if let Some((view, Some(indexed))) = instr.view() {
                    let rows = values[view.param] / indexed.stride.max(1);
                    less(&indexed.index, rows, matches!(instr, Instr::Store { .. }));
                }
            }
        }
        Indices { bound: if bound == usize::MAX { ANY } else { bound.max(1) }, distinct }
    }

    fn draw(self, values: usize, random: &mut Random) -> Vec<u8> {
        let mut all: Vec<usize> = match self.distinct {
            true => (0..self.bound).collect(),
            false => (0..values).map(|_| random.below(self.bound)).collect(),
        };
        if self.distinct {
            (1..all.len()).rev().for_each(|i| all.swap(i, random.below(i + 1)));
        }
        all.iter().cycle().take(values).flat_map(|i| i32::try_from(*i).unwrap_or(0).to_le_bytes()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_within_bounds_and_where_rows_are_written_distinct() {
        let mut random = Random::new(1);
        let mut drawn = |indices: Indices, values| -> Vec<i32> {
            let bytes = indices.draw(values, &mut random);
            bytes.as_chunks().0.iter().map(|b| i32::from_le_bytes(*b)).collect()
        };
        let any = drawn(Indices { bound: 5, distinct: false }, 40);
        assert!(
            any.len() == 40 && (0..5).all(|i| any.contains(&i)) && any.iter().all(|i| (0..5).contains(i))
        );
        let mut own = drawn(Indices { bound: 40, distinct: true }, 40);
        assert!(!own.is_sorted());
        own.sort_unstable();
        assert!(own.into_iter().eq(0..40));
    }
}
