//! Tests CUDA C++ with NVRTC: the kernels of fixtures compile for the oldest generation of GPUs that has their text, those of a layer of
//! GLM-4.7-Flash for every generation, and registers suffice.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::graphs::{file_tests, fixtures, graph_in, graph_of, plans, root, slots, some_fixtures};
use weft_ir::Graph;
use weft_kern::{Plan, parse_plan};
use weft_nvrtc::{Nvrtc, REPORT, Usage, usage};
use weft_render::{CUDA_OPTIONS, Gpu, Language, Shader, Target, render, short_contexts};

/// The compute capabilities of Turing, Ampere and Hopper, each with the multiprocessors of a card.
const CARDS: [((i32, i32), u32); 3] = [((7, 5), 40), ((8, 0), 108), ((9, 0), 132)];

/// The compute capabilities of other cards with new instructions: Ada and Blackwell.
const MORE_CARDS: [((i32, i32), u32); 2] = [((8, 9), 128), ((12, 0), 170)];

/// The most bytes of spilled registers that a kernel may load. A few cost nothing; a kernel with more does not fit.
const MOST_SPILLED: u32 = 64;

/// An H200, whose launches may begin before the previous one has ended.
pub(super) fn target() -> Target {
    Target { language: Language::Cuda, gpu: Gpu::of_cuda((9, 0), 132) }
}

/// The distinct texts of plans for a card, by their text without its first line and its kernel's name.
fn texts<'p>(plans: impl Iterator<Item = &'p Plan>, gpu: &Gpu) -> BTreeMap<String, Shader> {
    let target = Target { language: Language::Cuda, gpu: gpu.clone() };
    let mut texts = BTreeMap::new();
    for plan in plans {
        for (at, call) in plan.calls.iter().enumerate() {
            let (kernel, slots) = (&plan.kernels[call.kernel], slots(plan, at, true));
            let shaders = render(kernel, &slots, &plan.max, &target);
            for shader in shaders.unwrap_or_else(|refused| panic!("{refused}")) {
                assert!(shader.shared_bytes < gpu.most_shared_bytes);
                let body = shader.source.split_once('\n').map_or("", |(_, body)| body);
                texts.entry(body.replace(&shader.entry, "kernel")).or_insert(shader);
            }
        }
    }
    texts
}

/// Joins several texts, which compiles faster. Each has a namespace and a unique entry point.
fn joined(shaders: &[Shader]) -> String {
    let texts = shaders.iter().enumerate().map(|(i, shader)| {
        let text = shader.source.replace(&shader.entry, &format!("kernel_{i}"));
        format!("namespace n{i} {{\n{text}}}\n")
    });
    texts.collect()
}

/// Compiles the texts of plans for cards, `together` of them at a time, on all cores: each for the first card that has it, because later
/// cards have all its instructions, and those of the plans `everywhere` for all cards. Returns the resources of each kernel.
fn compile(
    nvrtc: &Nvrtc,
    plans: &[&Plan],
    everywhere: &[&Plan],
    cards: impl IntoIterator<Item = ((i32, i32), u32)>,
    together: usize,
) -> Vec<Usage> {
    let mut jobs = Vec::new();
    let mut before = BTreeSet::new();
    for (capability, processors) in cards {
        let gpu = Gpu::of_cuda(capability, processors);
        let mut all = texts(plans.iter().copied(), &gpu);
        all.retain(|body, _| before.insert(body.clone()));
        all.extend(texts(everywhere.iter().copied(), &gpu));
        assert!(all.len() > 100, "{} texts", all.len());
        let shaders: Vec<Shader> = all.into_values().collect();
        jobs.extend(shaders.chunks(together).map(|chunk| (capability, chunk.to_vec())));
    }
    let (todo, used) = (Mutex::new(jobs.iter()), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let Some(((major, minor), shaders)) = todo.lock().unwrap().next() else { break };
            let text = joined(shaders);
            let own = if shaders.iter().any(|shader| shader.own_architecture) { "a" } else { "" };
            let arch = format!("--gpu-architecture=sm_{major}{minor}{own}");
            let options: Vec<&str> = CUDA_OPTIONS.into_iter().chain([arch.as_str(), REPORT]).collect();
            let compiled =
                nvrtc.compile(&text, &options).unwrap_or_else(|log| panic!("{arch}:\n{log}\n{text}"));
            // Serialized products of warpgroups take several times as long, and the assembler only reports it in its log.
            assert!(!compiled.log.contains("serialized"), "{arch}:\n{}", compiled.log);
            let mut kernels = usage(&compiled.log);
            assert_eq!(kernels.len(), shaders.len(), "{}", compiled.log);
            for kernel in &mut kernels {
                let at: usize = kernel.name.strip_prefix("kernel_").unwrap().parse().unwrap();
                kernel.name.clone_from(&shaders[at].name);
            }
            used.lock().unwrap().extend(kernels);
        }
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    used.into_inner().unwrap()
}

/// The kernels of some fixtures compile in steps of all sizes, and those of a whole layer of GLM-4.7-Flash in the shortest and the longest
/// step on every card.
#[test]
fn kernels_of_some_fixtures_compile() {
    kernels_compile(some_fixtures);
}

#[test]
#[ignore = "slow"]
fn every_kernel_of_every_fixture_compiles() {
    kernels_compile(fixtures);
}

fn kernels_compile(fixtures: fn() -> Vec<Arc<Graph>>) {
    let Some(nvrtc) = Nvrtc::for_test("CUDA texts") else { return };
    let all: Vec<_> = fixtures().iter().map(|graph| plans(graph)).collect();
    let layer = plans(&graph_of(&root("filetests/graphs/glm_moe_layer.graph")));
    let longest = layer.usual().map(|plan| plan.max.tokens).max().unwrap();
    let layer = layer.usual().filter(|plan| [1, longest].contains(&plan.max.tokens));
    let plans: Vec<&Plan> = all.iter().flat_map(|plans| plans.usual()).collect();
    report(compile(&nvrtc, &plans, &layer.collect::<Vec<_>>(), CARDS, 16));
}

/// The attention of prompts on Hopper spills no registers, also where workgroups share tiles, which they do with fewer multiprocessors than
/// tiles.
#[test]
fn attention_by_warpgroups_keeps_its_registers() {
    let Some(nvrtc) = Nvrtc::for_test("attention by warpgroups") else { return };
    let layer = plans(&graph_of(&root("filetests/graphs/glm_moe_layer.graph")));
    for (processors, shares) in [(132, false), (64, true)] {
        let gpu = Gpu::of_cuda((9, 0), processors);
        let texts = texts(layer.usual(), &gpu);
        let mut texts = texts.into_values().filter(|shader| shader.own_architecture);
        let shader = texts.next().expect("no warpgroups");
        assert_eq!(shader.source.contains("shared evenly"), shares);
        let log = compiled(&nvrtc, &[shader], "--gpu-architecture=sm_90a");
        assert!(!log.contains("serialized"), "{log}");
        assert_spills(&log, 1, 0);
    }
}

/// Kernels on matrix units leave registers for two or three workgroups on a multiprocessor; other kernels have no limit.
#[test]
fn workgroups_on_matrix_units_share_a_multiprocessor() {
    let layer = plans(&graph_of(&root("filetests/graphs/glm_moe_layer.graph")));
    let mut found = BTreeSet::new();
    for shader in texts(layer.usual(), &Gpu::of_cuda((9, 0), 132)).into_values() {
        let bounds = shader.source.split_once("__launch_bounds__(").unwrap().1.split_once(')').unwrap().0;
        let multiplies =
            shader.source.split_once("__launch_bounds__").unwrap().1.contains("multiply_matrices(");
        assert!(!multiplies || ["128, 3", "256, 2"].contains(&bounds), "{bounds}: {}", shader.name);
        found.insert((multiplies, bounds.to_string()));
    }
    assert!(found.len() > 2, "{found:?}");
}

/// Matrix units also multiply by weights with two scales in 32 values, with minima and without, and their texts spill no registers, except
/// for Q3_K: lanes of two products in one kernel hold eight too many.
#[test]
fn weights_with_scales_for_16_values_are_on_matrix_units() {
    let Some(nvrtc) = Nvrtc::for_test("scales for 16 values") else { return };
    let file = std::fs::read_to_string(root("filetests/graphs/glm_moe_layer.graph")).unwrap();
    let gpu = Gpu::of_cuda((9, 0), 132);
    for (ty, spilled) in [("q6_k", 0), ("q3_k", 32), ("q2_k", MOST_SPILLED)] {
        // Rows of 192 values are not whole blocks of these.
        let changed = |line: &str| match line.contains("attn_k_b") {
            true => line.into(),
            false => line.replace("q4_0", ty),
        };
        let lines: Vec<String> = file.lines().map(changed).collect();
        let layer = plans(&graph_in(&lines.join("\n")));
        let longest = layer.usual().map(|plan| plan.max.tokens).max().unwrap();
        let longest = layer.usual().filter(|plan| plan.max.tokens == longest);
        let all = texts(longest, &gpu).into_values();
        let multiplies = |shader: &Shader| {
            let kernel = shader.source.split_once("__global__").unwrap().1;
            kernel.contains(&format!("times {ty}"))
        };
        let products: Vec<Shader> = all.filter(multiplies).collect();
        assert!(products.len() > 4, "{ty}: {}", products.len());
        for shader in &products {
            assert!(shader.source.contains("multiply_short_matrices("), "{}", shader.name);
        }
        assert_spills(&compiled(&nvrtc, &products, "--gpu-architecture=sm_90"), products.len(), spilled);
    }
}

/// The number of chunks does not matter: with one head per tile, replies were 10 to 14 % slower.
#[test]
fn attention_whose_chunks_have_own_workgroups_has_tiles_of_several_heads() {
    let layer = plans(&graph_of(&root("filetests/graphs/glm_moe_layer.graph")));
    let mut plan = layer.usual().find(|plan| plan.max.tokens == 1).unwrap().clone();
    let mut found = BTreeSet::new();
    for pages in 1..=32 {
        plan.max.pages = pages;
        for shader in texts([&plan].into_iter(), &Gpu::of_cuda((9, 0), 132)).into_values() {
            let part = shader.source.lines().find(|line| line.contains("// part 0:")).unwrap_or_default();
            if part.contains(" chunk 64 spread; chunks") {
                let rows = part.split_once("rows ").unwrap().1.split_once(' ').unwrap().0;
                found.insert(rows.parse::<u32>().unwrap());
            }
        }
    }
    assert!(found.len() > 1 && found.first() >= Some(&2), "{found:?}");
}

/// One token in a long context combines more chunks at once, and reads keys that the L2 cache need not keep. In a context of a single chunk
/// it combines none.
#[test]
fn contexts_of_three_lengths_have_texts_of_their_own() {
    let Some(nvrtc) = Nvrtc::for_test("long contexts") else { return };
    let layer = plans(&graph_of(&root("filetests/graphs/glm_moe_layer.graph")));
    let mut plan = layer.usual().find(|plan| plan.max.tokens == 1).unwrap().clone();
    for (capability, processors) in CARDS.into_iter().chain(MORE_CARDS) {
        let gpu = Gpu::of_cuda(capability, processors);
        let (major, minor) = capability;
        let [one_chunk, short] = short_contexts(processors);
        for positions in [one_chunk, short, 33_024] {
            let is_long = positions > short;
            plan.max.pages = positions / 32;
            let all = texts([&plan].into_iter(), &gpu).into_values();
            let attends: Vec<Shader> = all.filter(|shader| shader.name.starts_with("attend")).collect();
            let joins = usize::from(positions > one_chunk);
            assert_eq!(attends.len(), 1 + joins, "sm_{major}{minor}, {positions} positions");
            let says = |what: &str| attends.iter().any(|shader| shader.source.contains(what));
            // These cards have room for all heads on matrix units, and for two shaders that combine chunks and begin early.
            let has_room = matches!(capability, (8, 0) | (9, 0));
            assert_eq!(
                says("= load_once_4("),
                is_long && has_room,
                "sm_{major}{minor}, {positions} positions"
            );
            assert_eq!(
                says("auto many = "),
                is_long && major == 9,
                "sm_{major}{minor}, {positions} positions"
            );
            assert_eq!(
                says("auto passed_at = "),
                is_long && has_room,
                "sm_{major}{minor}, {positions} positions"
            );
            let log = compiled(&nvrtc, &attends, &format!("--gpu-architecture=sm_{major}{minor}"));
            assert_spills(&log, attends.len(), 0);
        }
    }
}

/// If few rows select the same expert, lanes multiply them, and two workgroups share a multiprocessor's registers.
#[test]
fn few_rows_of_an_expert_keep_their_registers() {
    let Some(nvrtc) = Nvrtc::for_test("few rows of an expert") else { return };
    let file = std::fs::read_to_string(root("filetests/graphs/glm_moe_layer.graph")).unwrap();
    let gpu = Gpu::of_cuda((9, 0), 132);
    let types = ["q4_0", "q5_k", "q6_k", "q8_0"].map(|ty| (ty, 0));
    // These spill 12 and 8 bytes.
    for (ty, spilled) in types.into_iter().chain(["q4_k", "q2_k"].map(|ty| (ty, MOST_SPILLED))) {
        let changed =
            |line: &str| if line.contains("_exps ") { line.replace("q4_0", ty) } else { line.into() };
        let lines: Vec<String> = file.lines().map(changed).collect();
        let layer = plans(&graph_in(&lines.join("\n")));
        let mut steps = BTreeSet::new();
        for plan in layer.usual() {
            let by_lanes = |shader: &Shader| {
                let part = shader.source.lines().find(|line| line.contains("// part 0:")).unwrap_or_default();
                // Gate and up have two sums per row, and down has one.
                part.contains("dot.few_rows tile 4 ") && part.contains("; of sorted rows")
                    || part.contains("dot.few_rows tile 8 ") && part.contains("; terms of sorted rows")
            };
            let all = texts([plan].into_iter(), &gpu).into_values();
            let picked: Vec<Shader> = all.filter(by_lanes).collect();
            if picked.is_empty() {
                continue;
            }
            steps.insert(plan.max.tokens);
            assert_eq!(picked.len(), 2, "{ty}");
            assert!(picked.iter().all(|shader| shader.source.contains("__launch_bounds__(256, 2)")));
            assert_spills(&compiled(&nvrtc, &picked, "--gpu-architecture=sm_90"), picked.len(), spilled);
        }
        // Steps of one token and of many tokens do not have this form.
        assert_eq!(steps, BTreeSet::from([16]), "{ty}");
    }
}

/// The indexer of GLM-5.2 in contexts of up to 131,072 positions. Each token's scores have a shader, so have its candidates where steps are
/// short, and the choice. Keys that lanes hold stay in registers.
#[test]
fn indexers_keep_their_registers() {
    let Some(nvrtc) = Nvrtc::for_test("indexers") else { return };
    for (tokens, narrows) in [(1, true), (8, true), (64, false), (512, false)] {
        let plan = parse_plan(&INDEXER.replace("T=1", &format!("T={tokens}"))).unwrap();
        let all: Vec<Shader> = texts([&plan].into_iter(), &Gpu::of_cuda((9, 0), 132)).into_values().collect();
        let has = |pass: &str| all.iter().filter(|shader| shader.source.contains(pass)).count();
        let spread = usize::from(tokens <= 64);
        let passes = ["; scores", "; narrowed", "; chosen", "; rows in turn"].map(has);
        assert_eq!(passes, [spread, usize::from(narrows), spread, 1 - spread], "{tokens} tokens");
        let log = compiled(&nvrtc, &all, "--gpu-architecture=sm_90");
        assert_spills(&log, all.len(), 0);
        for Usage { name, registers, .. } in usage(&log) {
            // Two workgroups of 256 lanes share a multiprocessor.
            assert!(registers <= 128, "{tokens} tokens: {name} has {registers} registers");
        }
    }
}

const INDEXER: &str = "plan uses T=1 R=1 S=131072 P=4096 arena=0 {
b0 = input q : f32[T, 32, 128]
b1 = input w : f32[T, 32]
b2 = state index : f16[S, 128]
b3 = input pos : i32[T]
b4 = input first : i32[T]
b5 = input pages : i32[P]
b6 = output list : i32[T, 2048]
kernel indexer {
  p0 read f32
  p1 read f32
  p2 read f16
  p3 read i32
  p4 read i32
  p5 read i32
  p6 write i32
  rows [T] cols 2048
  indexer q=p0[0; 4096; 1] q_stride=128 w=p1[0; 32; 1] k=p2[0; 128, 128; 1] pos=p3 first=p4 pages=p5 heads=32 k_len=128 page=32
  v0 = acc 0
  v1 = store v0 p6[0; 2048; 1]
}
call indexer b0 b1 b2 b3 b4 b5 b6
}
";

/// The kernels of other decisions, machines and cards also compile, each text by itself.
#[test]
#[ignore = "takes minutes; run it after changes to the renderer"]
fn every_kernel_of_all_graphs_compiles_for_all() {
    let Some(nvrtc) = Nvrtc::for_test("all CUDA texts") else { return };
    let graphs = [fixtures(), file_tests()].concat();
    let all: Vec<_> = graphs.iter().map(|graph| plans(graph)).collect();
    let plans: Vec<&Plan> = all.iter().flat_map(|plans| plans.all()).collect();
    report(compile(&nvrtc, &[], &plans, CARDS.into_iter().chain(MORE_CARDS), 1));
}

/// NVRTC's report on these texts for an architecture.
fn compiled(nvrtc: &Nvrtc, shaders: &[Shader], architecture: &str) -> String {
    let options: Vec<&str> = CUDA_OPTIONS.into_iter().chain([architecture, REPORT]).collect();
    nvrtc.compile(&joined(shaders), &options).unwrap_or_else(|log| panic!("{log}")).log
}

/// Fails unless the report has this many kernels, none of them with more spilled bytes.
fn assert_spills(log: &str, kernels: usize, most: u32) {
    let used = usage(log);
    assert_eq!(used.len(), kernels, "{log}");
    assert!(used.iter().all(|kernel| kernel.spill_load_bytes.max(kernel.stack_bytes) <= most), "{log}");
}

/// Prints the kernels of each architecture that use the most registers, and fails if one spills more than it may.
fn report(mut used: Vec<Usage>) {
    used.sort_by_key(|kernel| (kernel.spill_load_bytes, kernel.stack_bytes, kernel.registers));
    let mut by_architecture: BTreeMap<&str, Vec<&Usage>> = BTreeMap::new();
    for kernel in used.iter().rev() {
        by_architecture.entry(&kernel.architecture).or_default().push(kernel);
    }
    let mut table = String::new();
    for (architecture, kernels) in by_architecture {
        let spilling = kernels.iter().filter(|kernel| kernel.spill_load_bytes > 0).count();
        table += &format!(
            "{architecture}: {} kernels, {spilling} spill registers; those that use most:\n",
            kernels.len()
        );
        for Usage { name, registers, stack_bytes, spill_store_bytes, spill_load_bytes, .. } in
            kernels.iter().copied().take(8)
        {
            table += &format!(
                "  {name:<32} {registers:>4} registers {stack_bytes:>6} B of stack, spilled {spill_store_bytes} B, \
                 loaded {spill_load_bytes} B\n"
            );
        }
    }
    // The report bypasses the harness, which hides the output of passing tests.
    let _ = write!(std::io::stderr(), "{table}");
    let worst = used.last().map_or(0, |kernel| kernel.spill_load_bytes);
    assert!(worst <= MOST_SPILLED, "a kernel loads {worst} B of spilled registers:\n{table}");
}

#[test]
fn what_does_not_compile_is_found() {
    let Some(nvrtc) = Nvrtc::for_test("a wrong text") else { return };
    let log = nvrtc.compile("__global__ void f() { unsigned int x = y; }", &[]).unwrap_err();
    assert!(log.contains("\"y\" is undefined"), "{log}");
}
