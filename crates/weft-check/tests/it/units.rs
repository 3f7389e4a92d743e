//! Attention and indexers on matrix units: schedules that the heuristic does not choose.

use weft_check::Emulator;
use weft_check::data::Random;
use weft_check::suite::attend::{Shape, case_of};
use weft_check::suite::indexer;
use weft_kern::Anchor;
use weft_quant::GgmlType;

use crate::{device, folder};

/// How a tile's rows are chosen, how many warps it has and whether chunks are spread changes no bit.
#[test]
#[ignore = "slow"]
fn layouts_of_attention_on_matrix_units() {
    let Some(mut device) = device("layouts_of_attention_on_matrix_units") else { return };
    let mut random = Random::new(1);
    // Latent attention with rows of any tokens, and grouped attention.
    let latent = Shape { heads: 6, kv_heads: 1, k_len: 128, v_len: 80, latent: true };
    let grouped = Shape { heads: 8, kv_heads: 2, k_len: 64, v_len: 96, latent: false };
    for (shape, layouts) in [
        (latent, &["rows 6", "rows 3", "rows 1", "rows 16", "rows 32", "rows 37", "rows 5 apart"][..]),
        (grouped, &["rows 4", "rows 2", "rows 3 apart", "rows 32 apart"][..]),
    ] {
        let case = case_of(&mut random, GgmlType::F16, shape, &[62..67, 0..3, 64..65, 1..20]);
        for order in ["reduce 4 chunk 64", "reduce 1 chunk 32"] {
            let mut first: Option<Vec<u8>> = None;
            for layout in layouts {
                for lanes in [128, 256] {
                    for spread in ["", " spread"] {
                        let rows: usize = layout.split(' ').nth(1).unwrap().parse().unwrap();
                        let within = (shape.heads / shape.kv_heads).is_multiple_of(rows);
                        if !spread.is_empty() && !within {
                            continue;
                        }
                        let (rows, apart) =
                            layout.split_once(" apart").map_or((*layout, ""), |(rows, _)| (rows, " apart"));
                        let schedule = format!("lanes {lanes}; attend.units {rows} {order}{apart}{spread}");
                        let found = case.check_with(&mut device, &schedule);
                        let first = first.get_or_insert_with(|| found[6].clone());
                        assert!(*first == found[6], "{schedule}: other bits");
                    }
                }
            }
        }
    }
}

/// More chunks than are joined at once: the bits are those of one workgroup that visits all of them.
#[test]
fn many_chunks() {
    let Some(mut device) = device("many_chunks") else { return };
    let mut random = Random::new(2);
    let shape = Shape { heads: 2, kv_heads: 1, k_len: 80, v_len: 64, latent: true };
    let case = case_of(&mut random, GgmlType::F16, shape, &[4230..4232, 2047..2048, 0..1, 2048..2049]);
    let order = String::from("lanes 256; attend.units rows 2 reduce 1 chunk 32");
    let whole = case.check_with(&mut device, &order);
    let spread = case.check_with(&mut device, &format!("{order} spread"));
    assert!(whole[6] == spread[6], "other bits when chunks are spread");
    // The longest sequence has 529 of the step's pages: there are no more chunks than it needs.
    let mut bounded = case.clone();
    let Anchor::Attend(attend) = &mut bounded.kernel.parts[0].anchor else { panic!("expected attention") };
    attend.most_pages = Some(529);
    let bounded = bounded.check_with(&mut device, &format!("{order} spread"));
    assert!(whole[6] == bounded[6], "other bits when the length of a sequence is known");
}

/// How a tile's rows are chosen, and whether chunks are spread, changes no bit of attention by cooperative matrices.
pub(super) fn layouts_of_cooperative_matrices(device: Option<Emulator>) {
    let Some(mut device) = device else { return };
    let mut random = Random::new(3);
    let several = [120..131, 0..3, 64..65, 200..201];
    // Large texts take long to compile.
    for ((heads, k_len, v_len, latent), all) in [
        ((10, 576, 512, true), &[10, 80][..]),
        ((6, 160, 128, true), &[1, 3, 32, 48]),
        ((16, 96, 256, false), &[2, 16, 64]),
    ] {
        let shape = Shape { heads, kv_heads: 1, k_len, v_len, latent };
        let case = case_of(&mut random, GgmlType::F16, shape, &several);
        let mut first: Option<Vec<u8>> = None;
        for rows in all {
            let spread = if *rows > 16 { &[""][..] } else { &["", " spread"] };
            for spread in spread {
                let schedule = format!("lanes 256; attend.cooperative rows {rows}{spread}");
                let found = case.check_with(&mut device, &schedule);
                let first = first.get_or_insert_with(|| found[6].clone());
                assert!(*first == found[6], "{schedule}: other bits");
            }
        }
    }
}

/// A token in a long context, whose chunks are joined in large batches. 531 and 576 chunks are two large batches and a small one, and 577
/// are three large ones. The bits are those of one workgroup.
#[test]
fn large_batches_of_chunks() {
    let Some(mut device) = device("large batches of chunks") else { return };
    let mut random = Random::new(3);
    let shape = Shape { heads: 2, kv_heads: 1, k_len: 80, v_len: 64, latent: true };
    let order = String::from("lanes 256; attend.units rows 2 reduce 1 chunk 32");
    for chunks in [531, 576, 577] {
        let last = 32 * chunks - 7;
        let case = case_of(&mut random, GgmlType::F16, shape, std::slice::from_ref(&(last..last + 1)));
        let whole = case.check_with(&mut device, &order);
        let spread = case.check_with(&mut device, &format!("{order} spread"));
        assert!(whole[6] == spread[6], "other bits when {chunks} chunks are spread");
    }
}

/// Results of a token in a long context are stored whole rows at a time, where these are long enough. The bits are those of one workgroup.
#[test]
fn results_of_a_long_context() {
    let small = Emulator::small_for_test("results of a long context", &folder(), 4);
    let Some(mut device) = small else { return };
    let mut random = Random::new(5);
    // Columns of a warp: 64 as with GLM-4.7-Flash, 32, and 16, which are too few.
    for (rows, v_len) in [(20, 512), (3, 256), (10, 128)] {
        let shape = Shape { heads: rows, kv_heads: 1, k_len: v_len + 64, v_len, latent: true };
        let last = 64 * 9 - 7;
        let case = case_of(&mut random, GgmlType::F16, shape, std::slice::from_ref(&(last..last + 1)));
        let order = format!("lanes 256; attend.units rows {rows} reduce 4 chunk 64");
        let whole = case.check_with(&mut device, &order);
        let spread = case.check_with(&mut device, &format!("{order} spread"));
        assert!(whole[6] == spread[6], "{rows} rows of {v_len} columns: other bits when chunks are spread");
    }
}

/// How many lanes and positions a workgroup has, and who chooses, changes no list.
#[test]
fn layouts_of_indexers_on_matrix_units() {
    let Some(mut device) = device("layouts_of_indexers_on_matrix_units") else { return };
    indexer::layouts_on_units(&mut device);
}
