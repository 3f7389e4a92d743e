//! Cooperative matrices in CUDA C++, by the instructions that load and multiply matrices of halves: so their texts can be run where
//! texts in CUDA C++ can. No kernel for an NVIDIA GPU uses them, since those know how matrices lie in lanes.

use crate::code::cooperative::{Arrays, Cooperative, Operand};
use crate::code::module::Module;

/// Sums of a lane: those of eight columns, which units multiply at once, and of the next eight.
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

/// An operation, as lines.
pub(super) fn text(of: &Cooperative, operands: &[String]) -> Vec<String> {
    let names = |name: &str| (0..4).map(|i| format!("{name}_w{i}")).collect::<Vec<_>>().join(", ");
    match of {
        Cooperative::StoreHalves { .. } => {
            let (at, words) = (&operands[0], operands[1..].join(", "));
            vec![format!("store_four(&halves[{at} * 2u], {words});")]
        }
        Cooperative::Sums(name) => vec![format!("float {name}[{SUMS}] = {{}};")],
        Cooperative::Load { into, operand, stride, .. } => {
            // Lane `8 · m + r` says where row `r` of matrix `m` is.
            let (load, row, unit) = match operand {
                Operand::Rows => ("load_matrices", "lane % 16u", "lane % 32u / 16u"),
                Operand::Columns => ("load_matrices", "lane % 8u + lane % 32u / 16u * 8u", "lane / 8u % 2u"),
                Operand::ColumnsBeside => ("load_turned", "lane % 16u", "lane % 32u / 16u"),
            };
            let (at, names) = (&operands[0], names(into));
            vec![
                format!("unsigned int {names};"),
                format!("{load}({names}, &halves[({at} + ({row}) * {stride}u) * 2u + {unit} * 4u]);"),
            ]
        }
        Cooperative::Multiply { sums, rows, columns } => (0..2)
            .map(|half| {
                let sums: Vec<String> = (0..4).map(|i| format!("{sums}[{}]", 4 * half + i)).collect();
                let columns = [0, 1].map(|i| format!("{columns}_w{}", 2 * half + i)).join(", ");
                format!("multiply_halves({}, {}, {columns});", sums.join(", "), names(rows))
            })
            .collect(),
        Cooperative::Store { sums, stride, .. } => (0..SUMS)
            .map(|i| {
                let row = format!("(lane % 32u / 4u + {}u) * {stride}u", i / 2 % 2 * 8);
                let column = format!("lane % 4u * 2u + {}u", i % 2 + i / 4 * 8);
                format!("floats[{} + {row} + {column}] = {sums}[{i}];", operands[0])
            })
            .collect(),
        Cooperative::SubgroupBarrier => vec!["__syncwarp();".into()],
    }
}
