//! Kernels that do one thing each, to measure the speed of any device.

use weft_kern::{
    Access, Anchor, Binary, Dim, F32, Factor, Format, Instr, Kernel, Matrices, Param, Part, Pick, Product,
    Reduce, Unary, View,
};
use weft_quant::GgmlType;

/// Values that [`read`] loads for each that it stores. The loads are independent, so that enough of them are in flight at any time. (A
/// large GPU needs 20 kB in flight per core, where it runs two thousand lanes.)
pub(crate) const TOGETHER: usize = 8;

/// Columns of [`read`]: about one for each lane of a workgroup, so that lanes load adjacent values.
pub(crate) const COLS: usize = 256;

/// Writes one number.
///
/// Parameters: to, `f32[1]`.
pub(crate) fn empty() -> Kernel {
    let body = vec![Instr::Const(F32(0.0)), store(0, view(0, None, 1))];
    kernel("empty", [WRITE], Vec::new(), 1, Anchor::Map, body)
}

/// Reads `bytes` bytes once, and writes one value for the sum of each [`TOGETHER`] values.
///
/// Parameters: from, `f32[bytes / 4]`; to, `f32[bytes / 4 / TOGETHER]`.
pub(crate) fn read(bytes: usize) -> Kernel {
    let row = TOGETHER * COLS;
    let from = |i| View { param: 0, offset: i * COLS, strides: vec![row], step: 1 };
    let mut body: Vec<Instr> = (0..TOGETHER).map(|i| load(from(i), COLS)).collect();
    for i in 1..TOGETHER {
        let sum = if i == 1 { 0 } else { body.len() - 1 };
        body.push(Instr::Binary(Binary::Add, sum, i));
    }
    body.push(store(body.len() - 1, view(1, Some(COLS), 1)));
    kernel("read", [READ, WRITE], vec![Dim::Const(bytes / 4 / row)], COLS, Anchor::Map, body)
}

/// A row program like a norm: for each of `rows` rows, norms and sums the same `values` values. One worker computes a row.
///
/// Parameters: from, `f32[values]`; to, `f32[rows]`.
pub(crate) fn norm(rows: usize, values: usize) -> Kernel {
    let body = vec![
        load(view(0, Some(0), 1), values),
        Instr::Binary(Binary::Mul, 0, 0),
        Instr::Reduce(Reduce::Sum, 1),
        Instr::Unary(Unary::Rsqrt, 2),
        Instr::Binary(Binary::Mul, 0, 3),
        Instr::Binary(Binary::Mul, 4, 0),
        Instr::Reduce(Reduce::Sum, 5),
        store(6, view(1, Some(1), 0)),
    ];
    kernel("norm", [READ, WRITE], vec![Dim::Const(rows)], values, Anchor::Reduce, body)
}

/// Multiplies `rows` rows of `k` values by a matrix of `n` such rows.
///
/// Parameters: x, `q8[rows, k]` or `f32[rows, k]`; w, `ty[n, k]`; y, `f32[rows, n]`.
pub(crate) fn product(ty: GgmlType, rows: usize, n: usize, k: usize) -> Kernel {
    let w = Matrices { param: 1, pick: Pick::Only, from: None, count: 1, n, k, first: 0, stride: n };
    let x = if ty.is_quantised() { Format::Q8 } else { Format::F32 };
    let products = vec![Product { x: Factor::View(view(0, Some(k), 1)), w, transposed: false }];
    let params = [Param { access: Access::Read, format: x }, weight(ty), WRITE];
    let body = vec![Instr::Acc(0), store(0, view(2, Some(n), 1))];
    kernel("product", params, vec![Dim::Const(rows)], n, Anchor::Dot(products), body)
}

/// Multiplies one row of `k` values by one of `count` matrices of `n` such rows, picked by a number.
///
/// Parameters: x, `q8[k]`; w, `ty[count · n, k]`; the number, `i32[1]`; y, `f32[n]`.
pub(crate) fn picked_product(ty: GgmlType, count: usize, n: usize, k: usize) -> Kernel {
    let pick = Pick::Ids(view(2, Some(1), 0));
    let w = Matrices { param: 1, pick, from: None, count, n, k, first: 0, stride: n };
    let products = vec![Product { x: Factor::View(view(0, Some(k), 1)), w, transposed: false }];
    let [x, ids] =
        [Format::Q8, Format::Ggml(GgmlType::I32)].map(|format| Param { access: Access::Read, format });
    let body = vec![Instr::Acc(0), store(0, view(3, Some(n), 1))];
    kernel("picked", [x, weight(ty), ids, WRITE], vec![Dim::Const(1)], n, Anchor::Dot(products), body)
}

const READ: Param = Param { access: Access::Read, format: Format::F32 };
const WRITE: Param = Param { access: Access::Write, format: Format::F32 };

fn weight(ty: GgmlType) -> Param {
    Param { access: Access::Read, format: Format::Ggml(ty) }
}

fn view(param: usize, stride: Option<usize>, step: usize) -> View {
    View { param, offset: 0, strides: stride.into_iter().collect(), step }
}

fn load(view: View, len: usize) -> Instr {
    Instr::Load { view, indexed: None, len }
}

fn store(value: usize, view: View) -> Instr {
    Instr::Store { value, view, indexed: None }
}

fn kernel<const N: usize>(
    name: &str,
    params: [Param; N],
    rows: Vec<Dim>,
    cols: usize,
    anchor: Anchor,
    body: Vec<Instr>,
) -> Kernel {
    let part = Part { rows, cols, prologue: None, anchor, body };
    Kernel { name: name.into(), params: params.to_vec(), parts: vec![part], texts: Vec::new() }
}

#[cfg(test)]
mod tests {
    use weft_kern::{Sizes, interp, q8, verify_call};

    use super::*;

    /// Returns what a kernel computes; the last argument is the output, filled with NaN before.
    fn run(kernel: &Kernel, args: &[(usize, Vec<u8>)]) -> Vec<f32> {
        let values: Vec<usize> = args.iter().map(|(values, _)| *values).collect();
        verify_call(kernel, &values, &Sizes::default()).unwrap();
        let arguments = args.iter().zip(&kernel.params);
        let mut buffers: Vec<_> = arguments
            .map(|((values, bytes), param)| interp::Buffer::from_bytes(param.format, *values, bytes).unwrap())
            .collect();
        interp::run(kernel, &mut buffers, &Sizes::default()).unwrap();
        let last = &buffers[args.len() - 1];
        (0..values[args.len() - 1]).map(|i| last.float(i)).collect()
    }

    fn floats(values: impl Iterator<Item = f32>) -> (usize, Vec<u8>) {
        let bytes: Vec<u8> = values.flat_map(f32::to_le_bytes).collect();
        (bytes.len() / 4, bytes)
    }

    fn output(values: usize) -> (usize, Vec<u8>) {
        (values, vec![0xff; 4 * values])
    }

    #[test]
    fn the_whole_buffer_is_read_once() {
        let bytes = 16 << 20;
        let values = [bytes / 4, bytes / 4 / TOGETHER];
        verify_call(&read(bytes), &values, &Sizes::default()).unwrap();
        let from = floats((0..2 * TOGETHER * COLS).map(|i| i as f32));
        let found = run(&read(4 * from.0), &[from, output(2 * COLS)]);
        for (i, found) in found.iter().enumerate() {
            let expected: usize =
                (0..TOGETHER).map(|j| i / COLS * TOGETHER * COLS + j * COLS + i % COLS).sum();
            assert_eq!(*found, expected as f32, "{i}");
        }
    }

    #[test]
    fn rows_of_a_norm_are_equal_and_the_empty_kernel_writes_a_number() {
        // Each value divided by the root of the sum of squares, times itself: their sum is that root.
        let found = run(&norm(3, 4), &[floats([1.0, 1.0, 1.0, 1.0].into_iter()), output(3)]);
        assert_eq!(found, [2.0; 3]);
        assert_eq!(run(&empty(), &[output(1)]), [0.0]);
    }

    #[test]
    fn products_multiply_by_the_matrix_that_is_picked() {
        let (n, k) = (2, 32);
        let w = floats((0..n * k).map(|i| (i / k + 1) as f32));
        let x = floats((0..3 * k).map(|i| (i / k) as f32));
        let found = run(&product(GgmlType::F32, 3, n, k), &[x, w, output(3 * n)]);
        assert_eq!(found, [0.0, 0.0, 32.0, 64.0, 64.0, 128.0]);

        // Blocks of q8_0 with a scale of one, whose values are all the number of their row.
        let rows = 3 * n;
        let block = |row: usize| [&0x3c00u16.to_le_bytes()[..], &[row as u8; 32]].concat();
        let w: Vec<u8> = (0..rows).flat_map(block).collect();
        let mut x = vec![1u8; k];
        x.extend(1.0f32.to_le_bytes());
        x.extend([16.0f32; 2].iter().flat_map(|sum| sum.to_le_bytes()));
        assert_eq!(x.len(), q8::buffer_bytes(k).unwrap());
        for number in 0..3i32 {
            let args = [(k, x.clone()), (rows * k, w.clone()), (1, number.to_le_bytes().into()), output(n)];
            let found = run(&picked_product(GgmlType::Q8_0, 3, n, k), &args);
            assert_eq!(found, [64.0 * number as f32, 64.0 * number as f32 + 32.0], "matrix {number}");
        }
    }
}
