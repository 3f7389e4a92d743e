//! Weights in several pieces: kernels that read them, and a weight that is larger than a GPU can bind.

use std::sync::Arc;

use weft_check::suite;
use weft_device::{Device, DeviceError, KernelLaunch, Program, Region, Weight};
use weft_kern::{Sizes, parse_plan};
use weft_quant::GgmlType;

use crate::support::{adapter, open};

/// A kernel suite.
type Kernels = fn(&mut dyn Device);

/// Kernels that read weights in every way, and bytes of a piece that cut their larger weights into several.
const KERNELS: [(Kernels, u64); 5] = [
    (suite::dot::every_format, 20_000),
    (suite::dot::gate_and_up_of_picked_matrices, 40_000),
    (suite::dot::sums_over_experts_beside_a_product_and_a_residual, 40_000),
    (suite::many::of_picked_matrices, 200_000),
    (suite::rows::rows_by_number, 2_000),
];

#[test]
#[ignore = "slow"]
fn kernels_read_all_pieces() {
    for (kernels, bytes) in KERNELS {
        let Some(adapter) = adapter("weights in pieces") else { return };
        kernels(&mut open(&adapter.with_pieces_of(bytes)));
    }
}

/// Rows before and after each cut, of a table that no binding can hold.
#[test]
fn a_weight_may_be_larger_than_a_binding() {
    let Some(adapter) = adapter("a weight larger than a binding") else { return };
    let bound = adapter.gpu().binding_bytes as usize;
    if bound > 256 << 20 {
        // Hardware binds gigabytes. The software of CI binds what Vulkan promises.
        return;
    }
    let mut device = open(&adapter);
    let row = 2 * COLS;
    let rows = 2 * bound / row + 3;
    let mut bytes = vec![0; rows * row];
    let chosen = [0, bound / row - 1, bound / row, 2 * bound / row - 1, 2 * bound / row, rows - 1];
    for (i, at) in chosen.iter().enumerate() {
        // 1.0, 2.0, 3.0 … as halves, with other columns between.
        let half = [0x3c00u16, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600][i];
        bytes[at * row..][..row].copy_from_slice(&half.to_le_bytes().repeat(COLS));
    }
    let table = Weight { ty: GgmlType::F16, rows, row_len: COLS, bytes: Arc::new(bytes), tiles: None };
    let too_large = Weight { rows: usize::MAX / row, ..table.clone() };
    assert!(matches!(device.pack(too_large), Err(DeviceError::Weight { .. } | DeviceError::Usage(_))));
    let table = device.pack(table).unwrap();
    let text = format!(
        "plan rows T=6 R=1 S=64 P=1 arena=0 {{
b0 = weight table : f16[{rows}, {COLS}]
b1 = input ids : i32[T]
b2 = output y : f32[T, {COLS}]
kernel rows {{
  p0 read f16
  p1 read i32
  p2 write f32
  rows [T] cols {COLS}
  map
  v0 = load {COLS} p0[0; 0; 1] @ p1[0; 1; 0] * {COLS}
  v1 = store v0 p2[0; {COLS}; 1]
}}
call rows b0 b1 b2
}}
"
    );
    let kernel = Arc::new(parse_plan(&text).unwrap().kernels.remove(0));
    let (ids, y) = (device.alloc(64).unwrap(), device.alloc(6 * 4 * COLS).unwrap());
    let args = [(table, rows * COLS), (ids, 6), (y, 6 * COLS)];
    let args = args.map(|(buffer, values)| Region { buffer, offset: 0, values });
    let max = Sizes::of(6);
    let launches = vec![KernelLaunch { kernel: 0, args: args.into() }];
    let program = device.compile(&Program { max, kernels: vec![kernel], launches }).unwrap();
    let words: Vec<u8> = chosen.iter().flat_map(|at| (*at as u32).to_le_bytes()).collect();
    device.write(ids, 0, &words).unwrap();
    device.replay(program, &max).unwrap();
    let mut out = vec![0xff; 6 * 4 * COLS];
    device.read(y, 0, &mut out).unwrap();
    let found: Vec<f32> = out.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    let expected: Vec<f32> = (1..=6).flat_map(|i| [i as f32; COLS]).collect();
    assert!(found == expected, "{:?}", found.chunks(COLS).map(|row| row[0]).collect::<Vec<_>>());
}

/// Values of a row.
const COLS: usize = 8192;
