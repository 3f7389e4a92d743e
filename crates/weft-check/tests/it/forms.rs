//! Drawn shapes on GPUs of every kind: each kernel has a form that takes it, and between them they meet every form.

use std::collections::BTreeSet;

use weft_check::suite::shapes::{DRAWS, MANY_SEEDS};
use weft_kern::{Kernel, Sizes, parse_plan};
use weft_render::{Gpu, Language, Scheduler, Slots, Target, TunedSchedules};

/// The forms that drawn kernels have. Scans are drawn elsewhere, and have one form.
const FORMS: [&str; 13] = [
    "attend.cooperative",
    "attend.lanes",
    "attend.units",
    "attend.warpgroups",
    "dot.few_rows",
    "dot.gathered",
    "dot.lanes",
    "dot.panels",
    "dot.units",
    "indexer.lanes",
    "indexer.units",
    "plain",
    "select.blocks",
];

/// GPUs of every kind.
fn targets() -> Vec<Target> {
    let card = Gpu {
        invocations: 1024,
        shared_bytes: 48 << 10,
        storage_buffers: 64,
        binding_bytes: 4 << 30,
        piece_bytes: 4 << 30,
        subgroup: Some(32),
        f16: true,
        dot4: true,
        word_stores: true,
        ..Gpu::webgpu()
    };
    // Each argument has a buffer of its own here.
    let least = Gpu { storage_buffers: 16, ..Gpu::webgpu() };
    let large = card.clone().with_tiles();
    let chains = large.clone().with(|features| features.chains = true);
    let halves = large.clone().with(|features| features.cooperative = true);
    let values = halves.clone().with(|features| features.cooperative_values = true);
    let wgsl = [least, Gpu::apple(), card.clone(), card.as_large(), large, chains, halves, values];
    let cards = [((7, 5), 40), ((8, 0), 108), ((8, 9), 128), ((9, 0), 132), ((12, 0), 170)];
    let cuda = cards.map(|(capability, processors)| Gpu::of_cuda(capability, processors));
    let target = |language| move |gpu| Target { language, gpu };
    let wgsl = wgsl.into_iter().map(target(Language::Wgsl));
    wgsl.chain(cuda.into_iter().chain([Gpu::cuda()]).map(target(Language::Cuda))).collect()
}

/// Renders a kernel for every GPU in steps of as many tokens, and adds the forms of its parts to `seen`.
fn render(what: &str, kernel: &Kernel, max: &Sizes, targets: &[Target], seen: &mut BTreeSet<String>) {
    let slots = Slots::without_weights(0..kernel.params.len());
    for target in targets {
        let scheduler = Scheduler::new(target.clone(), TunedSchedules::default());
        if let Err(refused) = scheduler.render(kernel, &slots, max) {
            panic!("{what}, {} tokens: {refused}\n{target:?}\n{kernel}", max.tokens);
        }
        let schedule = scheduler.schedule(kernel, max).expect("a schedule");
        let forms = schedule.split("; ").skip(1).filter_map(|form| form.split(' ').next());
        seen.extend(forms.map(str::to_string));
    }
}

#[test]
fn every_shape_has_a_form_on_every_gpu() {
    let (targets, mut seen) = (targets(), BTreeSet::new());
    for (name, draw) in DRAWS {
        for seed in MANY_SEEDS {
            let case = draw(seed);
            for tokens in [case.tokens, 16, 512] {
                let max = Sizes { tokens, ..case.sizes() };
                render(&format!("{name}, seed {seed}"), &case.kernel, &max, &targets, &mut seen);
            }
        }
    }
    assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), FORMS);
}

/// The heads of models whose vocabularies no tile divides, in every type that such a head has.
#[test]
fn vocabularies_of_any_size_have_heads() {
    let (targets, mut seen) = (targets(), BTreeSet::new());
    for vocab in [1, 321, 1003, 32_001, 50_257, 151_937] {
        for (x, ty) in
            [("q8", "q4_0"), ("q8", "q8_0"), ("q8", "q6_k"), ("q8", "mxfp4"), ("f32", "f16"), ("f32", "f32")]
        {
            let text = format!(
                "plan p T=512 R=64 S=0 P=0 arena=0 {{
b0 = input x : {x}[R, 2048]
b1 = weight w : {ty}[{vocab}, 2048]
b2 = output y : f32[R, {vocab}]
kernel head {{
  p0 read {x}
  p1 read {ty}
  p2 write f32
  rows [R] cols {vocab}
  dot x=p0[0; 2048; 1] w=p1 count=1 n={vocab} k=2048 first=0 stride={vocab} pick=only transposed=false
  v0 = acc 0
  v1 = store v0 p2[0; {vocab}; 1]
}}
call head b0 b1 b2
}}
"
            );
            let plan = parse_plan(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            for (tokens, rows) in [(1, 1), (5, 5), (64, 64), (512, 64)] {
                let max = Sizes { tokens, ..plan.max }.rows(rows);
                let what = format!("{vocab} tokens in {ty}");
                render(&what, &plan.kernels[0], &max, &targets, &mut seen);
            }
        }
    }
    assert!(!seen.contains("dot.units"), "no tile of matrix units divides these: {seen:?}");
}
