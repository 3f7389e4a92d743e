//! Dot products of bytes in integers and in floats: the same bits.

use weft_check::Arg;
use weft_check::case::{Case, load_of, matrices, part, product, roundings, store_to, view};
use weft_check::data::{Random, weight_types};
use weft_kern::{Anchor, Dim, Format, Instr, Pick};
use weft_render::{Gpu, Target, TunedSchedules};

use super::open;
use crate::device::GpuDevice;

/// Runs a case on a GPU with other features, and returns what it wrote.
fn run(device: &mut GpuDevice, case: &Case, change: impl Fn(&mut Gpu)) -> Vec<Vec<u8>> {
    let before = device.scheduler.renderer.clone();
    let mut target: Target = before.target().clone();
    change(&mut target.gpu);
    device.scheduler.renderer = weft_render::Scheduler::new(target, TunedSchedules::default());
    let found = case.run(device, case.tokens).unwrap();
    device.scheduler.renderer = before;
    found
}

#[test]
fn products_have_the_same_bits_in_integers_and_floats() {
    let Some(mut device) = open("products in integers and floats") else { return };
    let mut random = Random::new(11);
    let mut compared = 0;
    for ty in weight_types().filter(|ty| ty.int_layout().is_some()) {
        for (tokens, n) in [(1, 33), (6, 48)] {
            let k = 4 * ty.block_len().max(32);
            let x = random.floats(tokens * k);
            let args = vec![
                Arg::activations(ty, &x),
                Arg::weight(ty, n, k, random.weight(ty, n * k)),
                Arg::out(Format::F32, tokens * n),
            ];
            let products = vec![product(view(0, &[k], 1), matrices(1, Pick::Only, 1, n, k), false)];
            let body = vec![Instr::Acc(0), store_to(2, &[n], 0)];
            let parts = vec![part(&[Dim::T], n, Anchor::Dot(products), body)];
            let case = Case::new(parts, args, tokens, roundings(ty, k));
            let [integers, floats] = [true, false].map(|dot4| run(&mut device, &case, |gpu| gpu.dot4 = dot4));
            case.compare(&integers);
            assert_eq!(integers[2], floats[2], "{ty}, {tokens} tokens");
            compared += 1;
        }
    }
    assert!(compared >= 20, "{compared} products");
}

#[test]
fn rounding_has_the_same_bits_in_integers_and_floats() {
    let Some(mut device) = open("rounding in integers and floats") else { return };
    let mut random = Random::new(12);
    let (tokens, cols) = (3, 320);
    let mut x = random.floats(tokens * cols);
    x[5] = f32::NAN;
    x[70] = 3e38;
    let args = vec![Arg::f32(&x), Arg::out(Format::Q8, tokens * cols)];
    let body = vec![load_of(0, &[cols], cols), store_to(1, &[cols], 0)];
    let case = Case::new(vec![part(&[Dim::T], cols, Anchor::Map, body)], args, tokens, 1);
    let ways = [(true, true), (false, true), (true, false), (false, false)].map(|(dot4, subgroups)| {
        run(&mut device, &case, |gpu| {
            gpu.dot4 = dot4;
            gpu.subgroup = gpu.subgroup.filter(|_| subgroups);
        })
    });
    case.compare(&ways[0]);
    assert!(ways.iter().all(|way| way[1] == ways[0][1]));
}
