//! Tests of attention by cooperative matrices: its schedules, and the graphs that do not suit it.

use weft_fuse::{CostModel, Options, fuse_with};
use weft_ir::Sizes;
use weft_kern::Machine;
use weft_render::{Gpu, Shader, Target, render};

use crate::graphs::slots;
use crate::valid::{adapters, validate};

/// Latent attention of 20 heads.
const GRAPH: &str = "graph attention {
  %0 = input q : f32[T, 20, 576]
  %1 = state kv : f16[S, 576]
  %2 = slice %1 axis=1 start=0 len=512 : f16[S, 512]
  %3 = input pos : i32[T]
  %4 = input first : i32[T]
  %5 = input pages : i32[P]
  %6 = attend %0 %1 %2 %3 %4 %5 scale=0.125 kv_heads=1 page=32 : f32[T, 20, 512]
  output y = %6
}
";

/// The shaders of a graph's attention in steps of this many tokens.
fn shaders(graph: &str, tokens: usize, target: &Target) -> Vec<Shader> {
    let max = Sizes::of(tokens).rows(1).slots(8192).pages(256);
    let costs = CostModel::fixed(Machine { workers: 1, ..Machine::default() });
    let graph = weft_ir::parse(graph).unwrap();
    let plan = fuse_with(&graph, &Options { max, costs, ..Options::default() }).unwrap().plan;
    let [call] = &plan.calls[..] else { panic!("one kernel: {plan}") };
    let slots = slots(&plan, 0, false);
    render(&plan.kernels[call.kernel], &slots, &max, target).unwrap()
}

fn cooperates(shaders: &[Shader]) -> bool {
    shaders.iter().any(|shader| shader.source.contains("coopMultiplyAdd"))
}

#[test]
fn tiles_leave_few_workgroups_of_the_last_round_without_work() {
    let [.., card] = adapters();
    // In rounds of 128 workgroups, tiles of 80 rows take one round for 512 tokens, and tiles of 64 rows take five for 2,048 tokens, where
    // others take more.
    for (tokens, schedule) in [
        (1, "attend.cooperative rows 10 spread"),
        (64, "attend.cooperative rows 10"),
        (128, "attend.cooperative rows 32"),
        (512, "attend.cooperative rows 80"),
        (2048, "attend.cooperative rows 64"),
    ] {
        let shaders = shaders(GRAPH, tokens, &card);
        assert!(cooperates(&shaders), "{tokens} tokens");
        let title = shaders[0].source.lines().next().unwrap();
        assert!(title.contains(schedule), "{tokens} tokens: {title}");
        assert_eq!(shaders.len(), if tokens < 128 { 2 } else { 3 }, "{tokens} tokens");
        shaders.iter().for_each(|shader| validate(shader, &card));
    }
}

/// A graph that does not suit them in one step is computed without them in all, so that a token has the same bits in all.
#[test]
fn what_does_not_suit_is_computed_without() {
    let [.., card] = adapters();
    let with = |gpu: Gpu| Target { gpu, ..card.clone() };
    let gpu = &card.gpu;
    let graph = |from: &str, to: &str| {
        assert!(GRAPH.contains(from));
        GRAPH.replace(from, to)
    };
    for (graph, target) in [
        (GRAPH.to_string(), with(gpu.clone().with(|features| features.cooperative = false))),
        (GRAPH.to_string(), with(Gpu { shared_bytes: 32 << 10, ..gpu.clone() })),
        (GRAPH.to_string(), with(Gpu { processors: 0, ..gpu.clone() })),
        (GRAPH.to_string(), with(Gpu { subgroup: Some(16), ..gpu.clone() })),
        (graph("f16[S", "bf16[S"), card.clone()),
        (graph("page=32", "page=32 window=64"), card.clone()),
        (graph("kv_heads=1", "kv_heads=1").replace("576", "600"), card.clone()),
    ] {
        for tokens in [1, 64, 512] {
            let shaders = shaders(&graph, tokens, &target);
            assert!(!cooperates(&shaders), "{tokens} tokens\n{graph}\n{:?}", target.gpu);
        }
    }
}
