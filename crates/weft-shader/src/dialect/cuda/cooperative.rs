//! Cooperative matrices in CUDA C++, with the instructions for matrices of halves, so that tests can run their texts wherever CUDA C++
//! runs. No kernel for an NVIDIA GPU uses them, because CUDA's own matrices have a known layout in lanes.

use crate::cooperative::{Arrays, Cooperative, Operand};
use crate::module::Module;
use crate::stmt::RAISED;

/// Sums per lane: those of eight columns, which units multiply at once, and of the next eight.
const SUMS: usize = 8;

/// The arrays: halves are words here.
pub(super) fn arrays(module: &Module) -> Vec<String> {
    let Arrays { fours, floats } = module.arrays;
    match fours {
        0 => Vec::new(),
        _ => vec![
            format!("__shared__ __align__(16) unsigned int halves[{}];", 2 * fours),
            format!("__shared__ float floats[{floats}];"),
        ],
    }
}

/// The lines of an operation.
pub(super) fn text(of: &Cooperative, operands: &[String]) -> Vec<String> {
    match of {
        Cooperative::StoreHalves { .. } => {
            let (at, words) = (&operands[0], operands[1..].join(", "));
            vec![format!("store_four(&halves[{at} * 2u], {words});")]
        }
        Cooperative::Sums(name) => vec![format!("float {name}[{SUMS}] = {{}};")],
        Cooperative::Load { into, operand, stride, .. } => load(into, *operand, &operands[0], *stride),
        Cooperative::Multiply { sums, rows, columns } => {
            [0, 1].map(|half| multiply("multiply_halves", half, (sums, rows, columns))).into()
        }
        Cooperative::Store { sums, stride, .. } => each(|i| {
            let (row, column) = (row(i), column(i));
            format!("floats[{} + ({row}) * {stride}u + {column}] = {sums}[{i}];", operands[0])
        }),
        Cooperative::SubgroupBarrier => vec!["__syncwarp();".into()],
        Cooperative::LoadBytes { into, operand, stride, .. } => {
            load_bytes(into, *operand, &operands[0], *stride)
        }
        Cooperative::MultiplyBytes { into, rows, columns } => {
            let multiply = |half: usize| multiply("multiply_matrices", half, (into, rows, columns));
            let lower = |i: usize| format!("{into}[{i}] -= {RAISED:?}f;");
            let begin = [format!("float {into}[{SUMS}];"), multiply(0), multiply(1)];
            begin.into_iter().chain((0..SUMS).map(lower)).collect()
        }
        Cooperative::LoadFactors { into, operand, .. } => {
            let at = &operands[0];
            let factor = |i: usize| {
                let place = match operand {
                    Operand::Rows => row(i),
                    _ => column(i),
                };
                format!("__uint_as_float(pool[{at} + {place}])")
            };
            let factors: Vec<String> = (0..SUMS).map(factor).collect();
            vec![format!("const float {into}[{SUMS}] = {{{}}};", factors.join(", "))]
        }
        Cooperative::SumsFrom { name, from } => {
            let of = (0..SUMS).map(|i| format!("{from}[{i}]")).collect::<Vec<_>>().join(", ");
            vec![format!("float {name}[{SUMS}] = {{{of}}};")]
        }
        Cooperative::SetSums { sums, from } => each(|i| format!("{sums}[{i}] = {from}[{i}];")),
        Cooperative::AddSums { sums, more } => each(|i| format!("{sums}[{i}] += {more}[{i}];")),
        Cooperative::AddProducts { sums, factors } => each(|i| {
            let (first, others) =
                factors.split_first().map_or(("", &[][..]), |(first, others)| (first, others));
            let others: Vec<String> = others.iter().map(|factor| format!("{factor}[{i}]")).collect();
            format!("{sums}[{i}] = fmaf({first}[{i}], {}, {sums}[{i}]);", others.join(" * "))
        }),
        Cooperative::Rescale { sums, by, more, factor } => {
            each(|i| format!("{sums}[{i}] = fmaf({more}[{i}], {factor}[{i}], {sums}[{i}] * {by}[{i}]);"))
        }
        Cooperative::StoreSums { sums, stride, .. } => each(|i| {
            let at = &operands[0];
            format!("pool[{at} + ({}) * {stride}u + {}] = __float_as_uint({sums}[{i}]);", row(i), column(i))
        }),
    }
}

/// The names of the four words that a lane holds of a matrix.
fn words_of(name: &str) -> String {
    (0..4).map(|i| format!("{name}_w{i}")).collect::<Vec<_>>().join(", ")
}

/// Loads a matrix of halves.
fn load(into: &str, operand: Operand, at: &str, stride: u32) -> Vec<String> {
    // Lane `8 · m + r` gives the address of row `r` of matrix `m`.
    let (load, row, unit) = match operand {
        Operand::Rows => ("load_matrices", "lane % 16u", "lane % 32u / 16u"),
        Operand::Columns => ("load_matrices", "lane % 8u + lane % 32u / 16u * 8u", "lane / 8u % 2u"),
        Operand::ColumnsBeside => ("load_turned", "lane % 16u", "lane % 32u / 16u"),
    };
    let names = words_of(into);
    vec![
        format!("unsigned int {names};"),
        format!("{load}({names}, &halves[({at} + ({row}) * {stride}u) * 2u + {unit} * 4u]);"),
    ]
}

/// Multiplies 16 rows by a half of 16 columns.
fn multiply(function: &str, half: usize, (sums, rows, columns): (&str, &str, &str)) -> String {
    let sums: Vec<String> = (0..4).map(|i| format!("{sums}[{}]", 4 * half + i)).collect();
    let columns = [0, 1].map(|i| format!("{columns}_w{}", 2 * half + i)).join(", ");
    format!("{function}({}, {}, {columns});", sums.join(", "), words_of(rows))
}

/// Loads a matrix of bytes.
fn load_bytes(into: &str, operand: Operand, at: &str, stride: u32) -> Vec<String> {
    let word = |i: u32| {
        // The first two words are neighbours in a column if these are rows, and in a row if these are columns.
        let (below, beside) = match operand {
            Operand::Rows => (i % 2, i / 2),
            _ => (i / 2, i % 2),
        };
        let from =
            format!("{at} + (lane % 32u / 4u + {}u) * {stride}u + lane % 4u + {}u", below * 8, beside * 4);
        format!("{into}_w{i} = pool[{from}]")
    };
    vec![format!("unsigned int {};", (0..4).map(word).collect::<Vec<_>>().join(", "))]
}

/// A line for each sum of a lane.
fn each(line: impl Fn(usize) -> String) -> Vec<String> {
    (0..SUMS).map(line).collect()
}

/// The row of one of a lane's sums, and its column.
fn row(i: usize) -> String {
    format!("lane % 32u / 4u + {}u", i / 2 % 2 * 8)
}

fn column(i: usize) -> String {
    format!("lane % 4u * 2u + {}u", i % 2 + i / 4 * 8)
}
