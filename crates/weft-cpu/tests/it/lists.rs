//! `Attend` over lists of positions: against the interpreter, and against attention without lists, whose bits it has.

use weft_cpu::{CpuDevice, CpuOptions};
use weft_device::{Device, DeviceError};
use weft_kern::{Access, Anchor, Attend, Format, List, Param};
use weft_quant::GgmlType;

use crate::attend::{BLOCKS, GROUPED, Heads, LATENT, case};
use crate::support::data::Random;
use crate::support::{Arg, Case, Devices, compile, load, read, run};

fn attend(case: &mut Case) -> &mut Attend {
    let Anchor::Attend(attend) = &mut case.kernel.parts[0].anchor else { panic!("attention") };
    attend
}

/// The same case, in which each token sees at most `most` positions, which `pick` chooses of so many.
fn listed(case: &Case, most: usize, mut pick: impl FnMut(usize) -> Vec<i32>) -> Case {
    let mut case = case.clone();
    let param = case.args.len();
    attend(&mut case).list = Some(List { param, most, pool: 1 });
    let positions = case.args[3].floats(&case.args[3].bytes);
    let lists = positions.into_iter().flat_map(|pos| {
        let mut list = pick(pos as usize + 1);
        list.resize(most, -1);
        list
    });
    let arg = Arg::i32(&lists.collect::<Vec<_>>()).per_token(most);
    if let Some((args, _)) = &mut case.rounded {
        args.push(arg.clone());
    }
    case.args.push(arg);
    case.kernel.params.push(Param { access: Access::Read, format: Format::I32 });
    case
}

/// At most `most` of so many positions, in ascending order.
fn some(random: &mut Random, most: usize, seen: usize) -> Vec<i32> {
    let mut list = random.distinct(most.min(seen), seen);
    list.sort_unstable();
    list
}

/// With pools, a long list ends with the positions behind the last pool, and what is behind them does not count.
#[test]
fn lists_of_pools_end_with_the_positions_behind_the_last() {
    let (mut devices, mut random) = (Devices::all(), Random::new(24));
    for (most, pool) in [(19, 4), (131, 4), (9, 2)] {
        let positions: Vec<i32> = (most as i32 - 2..most as i32 + 7).chain([600]).collect();
        let plain = case(&mut random, GgmlType::F16, LATENT, 16, &[&positions]);
        let mut case =
            listed(&plain, most, |seen| some(&mut random, weft_kern::listed(seen, most, pool), seen));
        attend(&mut case).list = attend(&mut case).list.map(|list| List { pool, ..list });
        devices.check(&case);
    }
}

#[test]
fn a_list_of_all_positions_has_the_bits_of_attention_without_one() {
    let (mut devices, mut random) = (Devices::all(), Random::new(21));
    let chunk: Vec<i32> = (250..262).collect();
    for (ty, heads, page) in [
        (GgmlType::F16, LATENT, 16),
        (GgmlType::F32, GROUPED, 7),
        (GgmlType::Q8_0, BLOCKS, 32),
        (GgmlType::Q5_1, BLOCKS, 32),
        (GgmlType::Q4_0, BLOCKS, 32),
        (GgmlType::BF16, Heads { heads: 40, ..LATENT }, 64),
    ] {
        let plain = case(&mut random, ty, heads, page, &[&[0, 127, 128, 700], &chunk, &[5]]);
        for most in [701, 1024] {
            let listed = listed(&plain, most, |seen| (0..seen as i32).collect());
            devices.each(|device| {
                let [plain, listed] = [&plain, &listed].map(|case| run(device, case).unwrap()[6].clone());
                assert!(plain == listed, "{ty}, {most} entries: {}", device.caps().name);
            });
        }
    }
}

/// Positions anywhere in the context, in any number of blocks; some next to each other.
#[test]
fn some_positions() {
    let (mut devices, mut random) = (Devices::all(), Random::new(22));
    for most in [1, 2, 100, 128, 129, 300] {
        for (ty, heads) in [
            (GgmlType::F16, LATENT),
            (GgmlType::F32, GROUPED),
            (GgmlType::Q8_0, BLOCKS),
            (GgmlType::Q5_1, BLOCKS),
            (GgmlType::Q4_0, BLOCKS),
        ] {
            let chunk: Vec<i32> = (120..140).collect();
            let plain =
                case(&mut random, ty, heads, 16, &[&[0, most as i32 - 1, most as i32], &[900], &chunk]);
            devices.check(&listed(&plain, most, |seen| some(&mut random, most, seen)));
        }
    }
    let glm = Heads { heads: 64, kv_heads: 1, k_len: 576, v_len: 512, latent: Some(0) };
    let plain = case(&mut random, GgmlType::F16, glm, 64, &[&[600, 601]]);
    devices.check(&listed(&plain, 257, |seen| some(&mut random, 257, seen)));
}

/// Blocks are counted in the list: the bits are those of a context that has nothing but the listed positions.
#[test]
fn the_bits_are_those_of_a_context_of_the_listed_positions() {
    let mut random = Random::new(23);
    let (most, page) = (200, 16);
    let plain = case(&mut random, GgmlType::F16, LATENT, page, &[&[999]]);
    let listed = listed(&plain, most, |seen| some(&mut random, most, seen));
    let list = listed.args[8].floats(&listed.args[8].bytes);
    // The same rows, one after another, in the pages of a shorter sequence.
    let mut short = plain.clone();
    short.args[3] = Arg::i32(&[most as i32 - 1]).per_token(1);
    let pages = plain.args[5].floats(&plain.args[5].bytes);
    let row = |position: usize| pages[2 + position / page] as usize * page + position % page;
    let bytes = plain.args[1].bytes.len() / (plain.args[1].values / attend(&mut plain.clone()).k.row_stride);
    for (to, from) in list.iter().enumerate() {
        let from = plain.args[1].bytes[row(*from as usize) * bytes..][..bytes].to_vec();
        short.args[1].bytes[row(to) * bytes..][..bytes].copy_from_slice(&from);
    }
    Devices::all().each(|device| {
        let [listed, short] = [&listed, &short].map(|case| run(device, case).unwrap()[6].clone());
        assert!(listed == short, "{}", device.caps().name);
    });
}

#[test]
fn hostile_lists_are_refused() {
    let mut random = Random::new(24);
    let plain = case(&mut random, GgmlType::F16, LATENT, 16, &[&[300], &[40]]);
    let good = listed(&plain, 64, |seen| some(&mut random, 64, seen));
    for threads in [1, 4] {
        let mut device = CpuDevice::new(CpuOptions { threads: Some(threads), isa: None }).unwrap();
        let args = load(&mut device, &good);
        let program = compile(&mut device, &good, &args).unwrap();
        let (list, out) = (args[8].buffer, args[6].buffer);
        device.replay(program, &good.sizes()).unwrap();
        let expected = read(&device, out, good.args[6].bytes.len());
        for (entry, wrong) in [(0, -1), (63, 301), (5, i32::MAX), (64, 41), (64 + 40, i32::MIN)] {
            device.write(list, 4 * entry, &i32::to_le_bytes(wrong)).unwrap();
            let fault = device.replay(program, &good.sizes());
            assert_eq!(fault, Err(DeviceError::Index { kernel: "tested".into() }), "{wrong} at {entry}");
            device.write(list, 4 * entry, &good.args[8].bytes[4 * entry..][..4]).unwrap();
            device.replay(program, &good.sizes()).unwrap();
            assert_eq!(read(&device, out, expected.len()), expected, "after {wrong} at {entry}");
        }
        // Entries after the end of a short list are ignored.
        device.write(list, 4 * (64 + 41), &i32::MAX.to_le_bytes()).unwrap();
        device.replay(program, &good.sizes()).unwrap();
        assert_eq!(read(&device, out, expected.len()), expected);
    }
}
