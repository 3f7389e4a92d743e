//! Shapes drawn at random, as GPUs are checked with: sizes that no block, tile or vector divides, for every anchor but indexers. Their
//! lists are compared by `==`, for values whose sums are exact, and the CPU rounds queries and keys; [`indexer`](crate::indexer) has its
//! shapes.

use std::ops::Range;

use crate::support::{Case, Devices, attention};
use weft_check::suite::shapes::{DRAWS, MANY_SEEDS, SEEDS};

fn check(seeds: Range<u64>) {
    let mut devices = Devices::all();
    for (name, draw) in DRAWS {
        for seed in seeds.clone() {
            let drawn = draw(seed);
            if drawn.kernel.parts.iter().any(|part| part.indexer().is_some()) {
                continue;
            }
            println!("{name}, seed {seed}: {} tokens", drawn.tokens);
            let beyond = drawn.least * drawn.roundings as f32 * f32::EPSILON / 2.0;
            let rounded = Some((drawn.args.clone(), beyond));
            let weft_check::case::Case { kernel, args, tokens, roundings, .. } = drawn;
            let attends = kernel.parts.iter().any(|part| part.attention().is_some());
            let mut case = Case { kernel, args, tokens, roundings, rounded };
            if attends {
                attention::round(&mut case);
            }
            devices.check(&case);
        }
    }
}

#[test]
fn every_anchor_takes_any_shape() {
    check(SEEDS);
}

#[test]
#[ignore = "slow"]
fn every_anchor_takes_many_shapes() {
    check(MANY_SEEDS);
}
