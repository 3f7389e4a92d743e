//! Texts that are wrong in one place: the emulator finds it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use weft_check::case::{Case, constant, load_of, matrices, part, store_to, view};
use weft_check::data::Random;
use weft_check::{Arg, Emulator};
use weft_kern::{
    Anchor, Attend, Binary, Cached, Dim, F32, Factor, Format, Instr, Pick, Product, Prologue, Reduce, Unary,
};
use weft_quant::GgmlType;

use crate::device;

/// Products over a norm: values in shared memory, sums over lanes and warps.
fn norm_and_dot() -> Case {
    let mut random = Random::new(1);
    let (tokens, len, n) = (3, 512, 40);
    let args = vec![
        Arg::f32(&random.floats(tokens * len)),
        Arg::weight(GgmlType::Q4_0, n, len, random.weight(GgmlType::Q4_0, n * len)),
        Arg::out(Format::F32, tokens * n),
    ];
    let norm = vec![
        load_of(0, &[len], len),
        Instr::Binary(Binary::Mul, 0, 0),
        Instr::Reduce(Reduce::Sum, 1),
        constant(1.0 / len as f32),
        Instr::Binary(Binary::Mul, 2, 3),
        Instr::Unary(Unary::Rsqrt, 4),
        Instr::Binary(Binary::Mul, 0, 5),
    ];
    let w = matrices(1, Pick::Only, 1, n, len);
    let anchor = Anchor::Dot(vec![Product { x: Factor::Prologue, w, transposed: false }]);
    let body = vec![Instr::Acc(0), store_to(2, &[n], 0)];
    let prologue = Some(Prologue { body: norm, value: 6 });
    let part = weft_kern::Part { prologue, ..part(&[Dim::T], n, anchor, body) };
    // Values that the prologue rounds may be a step off.
    Case::new(vec![part], args, tokens, 1 << 16)
}

/// Attention over some positions.
fn attention() -> Case {
    let mut random = Random::new(2);
    let (heads, len, page, last) = (16, 64, 8, [70, 9]);
    let pages = 12;
    let args = vec![
        Arg::f32(&random.floats(2 * heads * len)),
        Arg::floats_of(GgmlType::F16, &random.floats(pages * page * len)),
        Arg::i32(&last),
        Arg::i32(&[0, 9]),
        Arg::i32(&random.distinct(pages - 1, pages)),
        Arg::out(Format::F32, 2 * heads * len),
    ];
    let cached = || Cached { param: 1, offset: 0, row_stride: len, head_stride: len };
    let attend = Attend {
        q: view(0, &[heads * len, len], 1),
        k: cached(),
        v: cached(),
        pos: 2,
        first: 3,
        pages: 4,
        scale: F32(0.2),
        heads,
        kv_heads: 1,
        k_len: len,
        page,
        window: None,
        sinks: None,
        list: None,
        most_pages: None,
    };
    let body = vec![Instr::Acc(0), store_to(5, &[heads * len, len], 0)];
    let anchor = Anchor::Attend(Box::new(attend));
    Case::new(vec![part(&[Dim::T, Dim::Const(heads)], len, anchor, body)], args, 2, 1024)
}

/// The mistakes that are found in a case whose texts are edited.
fn found(
    device: &mut Emulator,
    case: &Case,
    edit: impl Fn(&str) -> String + Send + 'static,
) -> Option<String> {
    device.edit(edit);
    match case.run(device, case.tokens) {
        Ok(found) => case.seen_by(device).agrees(&found).err(),
        Err(error) => Some(error.to_string()),
    }
}

/// A text with something else at the `nth` place where `what` is, counted from 0.
fn replaced(text: &str, what: &str, nth: usize, with: &str) -> String {
    match text.match_indices(what).nth(nth) {
        Some((at, _)) => format!("{}{with}{}", &text[..at], &text[at + what.len()..]),
        None => text.to_string(),
    }
}

#[test]
fn missing_barriers() {
    let Some(mut device) = device("missing_barriers") else { return };
    const BARRIER: &str = "__syncthreads();";
    for case in [norm_and_dot(), attention()] {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let whole = found(&mut device, &case, move |text| {
            counted.store(text.matches(BARRIER).count(), Ordering::Relaxed);
            text.to_string()
        });
        assert_eq!(whole, None);
        let count = count.load(Ordering::Relaxed);
        assert!(count >= 3, "{count} barriers");
        let mut missed = Vec::new();
        for nth in 0..count {
            let without = found(&mut device, &case, move |text| replaced(text, BARRIER, nth, ""));
            println!("without barrier {nth} of {count}: {without:?}");
            missed.extend(without.is_none().then_some(nth));
        }
        // Of these, each lane reads only what it wrote itself.
        println!("nothing is wrong without {missed:?} of {count} barriers");
        assert!(2 * missed.len() < count, "{missed:?} of {count}");
    }
}

#[test]
fn what_not_all_lanes_reach() {
    let Some(mut device) = device("what_not_all_lanes_reach") else { return };
    let case = norm_and_dot();
    let mut check = |what: &'static str, with: &'static str, expected: &str| {
        let found = found(&mut device, &case, move |text| replaced(text, what, 0, with));
        assert!(found.as_ref().is_some_and(|found| found.contains(expected)), "{with}: {found:?}");
    };
    check(
        "__syncthreads();",
        "if (lane < 32u) __syncthreads(); else\n__syncthreads();",
        "is at a barrier, and lane",
    );
    check("__syncthreads();", "if (lane < 32u) return; __syncthreads();", "has ended");
    check("__shfl_xor_sync(warp,", "lane == 7u ? 0.0f : __shfl_xor_sync(warp,", "shuffles with lane 7");
    check(
        "__shfl_xor_sync(warp,",
        "__shfl_xor_sync(warp & 0xffu,",
        "shuffles with lane 8, which waits at line",
    );
}

#[test]
fn what_is_out_of_bounds() {
    let Some(mut device) = device("what_is_out_of_bounds") else { return };
    let case = norm_and_dot();
    let mut check = |what: &'static str, with: &'static str, expected: &str| {
        let found = found(&mut device, &case, move |text| replaced(text, what, 0, with));
        assert!(found.as_ref().is_some_and(|found| found.contains(expected)), "{with}: {found:?}");
    };
    check("b0[", "b0[2000u + ", "of slot 0, which has 1536");
    check("b0[", "b0[0u - 4u + ", "of slot 0, which has 1536");
    check("*(const uint4*)&b0[", "*(const uint4*)&b0[1u + ", "do not begin at a multiple of four");
    check("b1[", "b1[5000000u + ", "of slot 1, which has");
    check("b2[", "b2[200u + ", "of slot 2, which has 120");
    check("&pool[", "&pool[1u << 20u | ", "of an array is out of bounds");
    check("__syncthreads();", "((unsigned int*)(b2 + 119u))[1] = 0u;", "wrote beside slot 2");
    check("const auto", "const auto x y", "error:");
}

/// A block that reads what another one wrote.
#[test]
fn blocks_that_depend_on_each_other() {
    let Some(mut device) = device("blocks_that_depend_on_each_other") else { return };
    let case = norm_and_dot();
    let wrong = found(&mut device, &case, |text| {
        // Every block continues a count in the last output.
        let at = text.rfind('}').unwrap();
        format!(
            "{}  if (lane == 0u) {{ b2[blockIdx.x] = b2[(blockIdx.x + 119u) % 120u] + 1u; }}\n}}\n",
            &text[..at]
        )
    });
    assert!(wrong.is_some());
}
