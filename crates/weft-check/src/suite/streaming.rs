//! Weights that are replaced while others are read.

use std::sync::Arc;

use weft_device::{
    BufferId, Device, KernelLaunch, Packing as _, Program, Region, RowsCopied, RowsOf16, Weight,
};
use weft_kern::{Access, Anchor, Dim, Format, Instr, Kernel, Param, Pick, Sizes};
use weft_quant::GgmlType;

use crate::case::{matrices, part, product, store_to, view};
use crate::data::{Random, rounded};

const TY: GgmlType = GgmlType::Q4_0;
const K: usize = 2048;

/// Weights of so many rows take turns in two slots, as layers do in a step: the next one is on its way while one is read. The first
/// `unread` rows of a slot may keep what they had.
///
/// # Panics
/// If a product is not that by the weight whose turn it is.
pub fn weights_take_turns(device: &mut dyn Device, rows: usize, unread: usize) {
    let mut random = Random::new(11);
    let weights: Vec<Weight> = (0..4).map(|_| weight(&mut random, rows)).collect();
    let x = rounded(&random.floats(K));
    let (from, to) = (device.alloc(x.len()).unwrap(), device.alloc(4 * rows).unwrap());
    device.write(from, 0, &x).unwrap();
    let multiply = |device: &mut dyn Device, weight: BufferId| {
        let program = program(rows, [from, weight, to]);
        device.compile(&program).unwrap()
    };
    let read = |device: &dyn Device| {
        let mut bytes = vec![0; 4 * (rows - unread)];
        device.read(to, 4 * unread, &mut bytes).unwrap();
        bytes
    };
    let mut expected = Vec::new();
    for weight in &weights {
        let whole = device.pack(weight.clone()).unwrap();
        let program = multiply(device, whole);
        device.replay(program, &Sizes::of(1)).unwrap();
        expected.push(read(device));
    }
    let slots = [0, 1].map(|i: usize| device.pack(weights[i].clone()).unwrap());
    let programs = slots.map(|slot| multiply(device, slot));
    for (weight, slot) in weights.iter().zip(slots.iter().cycle()) {
        device.streaming().unwrap().prepare(*slot, weight).unwrap();
    }
    for turn in 0..24 {
        let (next, slot) = ((turn + 1) % weights.len(), slots[(turn + 1) % 2]);
        device
            .streaming()
            .unwrap()
            .replace(slot, &weights[next], &[RowsCopied::in_place(unread..rows)])
            .unwrap();
        device.streaming().unwrap().wait_for(slots[turn % 2]).unwrap();
        device.replay(programs[turn % 2], &Sizes::of(1)).unwrap();
        // Without looking, the next copy begins while this is computed.
        if turn % 3 > 0 {
            assert!(read(device) == expected[turn % weights.len()], "turn {turn}");
        }
    }
    let all = RowsCopied::in_place(0..rows);
    for wrong in [
        RowsCopied { to: 16, ..all.clone() },
        RowsCopied::in_place(1..17),
        RowsCopied::in_place(0..rows + 16),
    ] {
        let replaced =
            device.streaming().unwrap().replace(slots[0], &weights[0], std::slice::from_ref(&wrong));
        assert!(replaced.is_err(), "{wrong:?}");
    }
    assert!(device.streaming().unwrap().prepare(to, &weights[0]).is_err(), "no weight");
}

/// A weight in tiles.
fn weight(random: &mut Random, rows: usize) -> Weight {
    let bytes = random.weight(TY, rows * K);
    let tile = RowsOf16.tile(TY, K).unwrap();
    let mut tiles = vec![0; rows / tile.rows * tile.bytes];
    let all = bytes.chunks(bytes.len() / (rows / tile.rows)).zip(tiles.chunks_mut(tile.bytes));
    all.for_each(|(rows, tile)| RowsOf16.pack(TY, K, rows, tile));
    Weight { ty: TY, rows, row_len: K, bytes: Arc::new(bytes), tiles: Some(Arc::new(tiles)) }
}

/// One row times a weight.
fn program(rows: usize, [from, weight, to]: [BufferId; 3]) -> Program {
    let of = product(view(0, &[0], 1), matrices(1, Pick::Only, 1, rows, K), false);
    let body = vec![Instr::Acc(0), store_to(2, &[0], 0)];
    let parts = vec![part(&[Dim::Const(1)], rows, Anchor::Dot(vec![of]), body)];
    let param = |access, format| Param { access, format };
    let params = vec![
        param(Access::Read, Format::Q8),
        param(Access::Read, Format::Ggml(TY)),
        param(Access::Write, Format::F32),
    ];
    let kernel = Kernel { name: "turn".into(), params, parts, texts: Vec::new() };
    let region = |buffer, values| Region { buffer, offset: 0, values };
    let args = vec![region(from, K), region(weight, rows * K), region(to, rows)];
    Program {
        max: Sizes::of(1),
        kernels: vec![Arc::new(kernel)],
        launches: vec![KernelLaunch { kernel: 0, args }],
    }
}
