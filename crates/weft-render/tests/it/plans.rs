//! Renders every kernel of every test graph as WGSL.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::graphs::{file_tests, fixtures, graph_of, plans, root, slots, some_fixtures};
use crate::valid::{adapters, metal_bytes, validate};
use weft_fuse::{Options, fuse_with};
use weft_ir::{Builder, Dim, Graph, Recurrence, Shape, Sizes};
use weft_quant::GgmlType;
use weft_render::{Content, Gpu, Language, Target, Why, render};

/// Renders every call of every plan of a graph, and validates each text once. Returns the number of shaders.
fn all_ways(graph: &Graph, seen: &mut BTreeSet<String>, refused: &mut Vec<String>) -> usize {
    let mut rendered = 0;
    for plan in plans(graph).all() {
        for (at, call) in plan.calls.iter().enumerate() {
            let (kernel, slots) = (&plan.kernels[call.kernel], slots(plan, at, false));
            for target in adapters() {
                match render(kernel, &slots, &plan.max, &target) {
                    Ok(shaders) => {
                        for shader in shaders {
                            assert!(shader.shared_bytes < target.gpu.shared_bytes);
                            rendered += 1;
                            if seen.insert(shader.source.clone()) {
                                validate(&shader, &target);
                            }
                        }
                    }
                    Err(why) => refused.push(why.to_string()),
                }
            }
        }
    }
    rendered
}

#[test]
fn kernels_of_the_file_tests() {
    let (mut seen, mut refused) = (BTreeSet::new(), Vec::new());
    for graph in file_tests() {
        let rendered = all_ways(&graph, &mut seen, &mut refused);
        assert!(rendered > 0, "{}", graph.name());
    }
    assert_eq!(refused, Vec::<String>::new());
}

#[test]
fn kernels_of_some_fixtures() {
    kernels_of(&some_fixtures());
}

#[test]
#[ignore = "slow"]
fn kernels_of_the_fixtures() {
    kernels_of(&fixtures());
}

fn kernels_of(graphs: &[Arc<Graph>]) {
    let (mut seen, mut refused) = (BTreeSet::new(), Vec::new());
    let rendered: usize = graphs.iter().map(|graph| all_ways(graph, &mut seen, &mut refused)).sum();
    assert!(rendered > 100, "{rendered} shaders");
    assert_eq!(refused, Vec::<String>::new());
}

/// Tests candidates for the next token in vocabularies that no block divides, and with fewer tokens than are chosen.
#[test]
fn candidates_of_any_vocabulary() {
    let cuda = [Gpu::of_cuda((9, 0), 132), Gpu::of_cuda((7, 5), 40), Gpu::cuda()];
    let cuda = cuda.map(|gpu| Target { language: Language::Cuda, gpu });
    let targets: Vec<Target> = cuda.into_iter().chain(adapters()).collect();
    let others = [1, 2, 63, 64, 65, 321, 2047, 32_001, 50_257, 151_936];
    for vocab in (500..1030).chain(others) {
        let graph = weft_models::candidates(vocab, 64).unwrap().graph;
        for rows in [1, 64] {
            let max = Sizes::of(rows).rows(rows).slots(64).pages(2);
            let plan = fuse_with(&graph, &Options { max, ..Options::default() }).unwrap().plan;
            for (at, call) in plan.calls.iter().enumerate() {
                let (kernel, slots) = (&plan.kernels[call.kernel], slots(&plan, at, false));
                for target in &targets {
                    if let Err(why) = render(kernel, &slots, &max, target) {
                        panic!("{vocab} tokens, {rows} rows: {why}");
                    }
                }
            }
        }
    }
}

/// Ten heads of a token share the loads of the cache in long steps, and as many as fit in smaller memory.
#[test]
fn prompts_have_many_heads_together() {
    let [card, large, ..] = adapters();
    let graph = graph_of(&root("filetests/graphs/glm_moe_layer.graph"));
    let heads = |tokens: usize, target: &Target| {
        let max = Sizes::of(tokens).rows(1).slots(8192).pages(256);
        let plan = fuse_with(&graph, &Options { max, ..Options::default() }).unwrap().plan;
        let mut found = None;
        for (at, call) in plan.calls.iter().enumerate() {
            for shader in render(&plan.kernels[call.kernel], &slots(&plan, at, false), &max, target).unwrap()
            {
                let split = shader.source.split_once(": attend [T, 20] × 512; attend.lanes rows ");
                found = found.or(split.map(|(_, split)| split.split(' ').next().unwrap().to_string()));
            }
        }
        found.unwrap().parse::<u32>().unwrap()
    };
    let small = Gpu { shared_bytes: 32 << 10, ..large.gpu.clone() };
    let small = Target { gpu: small, ..large.clone() };
    assert_eq!([1, 8, 128, 512].map(|tokens| heads(tokens, &large)), [2, 4, 10, 10]);
    assert_eq!([128, 512].map(|tokens| heads(tokens, &small)), [4, 4]);
    assert_eq!(heads(512, &card), 4);
}

/// Long steps of a large GPU without matrix units multiply from panels, and sort rows by their expert for this.
#[test]
fn prompts_multiply_from_panels() {
    let [card, large, ..] = adapters();
    let graph = graph_of(&root("filetests/graphs/glm_moe_layer.graph"));
    let parts = |tokens: usize, target: &Target, mark: &str| {
        let max = Sizes::of(tokens).rows(1).slots(8192).pages(256);
        let plan = fuse_with(&graph, &Options { max, ..Options::default() }).unwrap().plan;
        let texts = plan.calls.iter().enumerate().flat_map(|(at, call)| {
            render(&plan.kernels[call.kernel], &slots(&plan, at, false), &max, target).unwrap()
        });
        texts.map(|shader| shader.source.matches(mark).count()).sum::<usize>()
    };
    assert_eq!([64, 512].map(|tokens| parts(tokens, &large, "dot.panels") > 8), [false, true]);
    assert_eq!([64, 512].map(|tokens| parts(tokens, &large, "; rows sorted")), [0, 2]);
    assert_eq!(["dot.panels", "; rows sorted"].map(|mark| parts(512, &card, mark)), [0, 0]);
}

/// The products of a few replies on a large GPU without matrix units: rows, columns per workgroup, and columns per lane.
#[test]
fn a_few_replies_have_schedules_of_their_own() {
    let [_, large, ..] = adapters();
    let graph = graph_of(&root("filetests/graphs/glm_moe_layer.graph"));
    let splits = |tokens: usize| {
        let max = Sizes::of(tokens).rows(1).slots(8192).pages(256);
        let plan = fuse_with(&graph, &Options { max, ..Options::default() }).unwrap().plan;
        let texts = plan.calls.iter().enumerate().flat_map(|(at, call)| {
            render(&plan.kernels[call.kernel], &slots(&plan, at, false), &max, &large).unwrap()
        });
        let heads: Vec<String> =
            texts.map(|shader| shader.source.lines().next().unwrap().to_string()).collect();
        let of = |name: &str| {
            let named = heads.iter().find_map(|head| head.strip_prefix("// ")?.strip_prefix(name));
            named.unwrap_or_else(|| panic!("no {name} in {heads:#?}")).trim_start_matches(": ").to_string()
        };
        ["dot_2048x5120_q4_0", "dot_1536x2048_q4_0&dot_1536x2048_q4_0+1"].map(of)
    };
    // Eight rows, one after another in each lane, would be too few workgroups for the GPU. The router needs a whole row of 64 scores, so
    // its workgroups are as many as tiles of rows.
    let expected = [
        (1, "lanes 512; dot.lanes rows 1 width 16 reduce 32 upcast 1"),
        (8, "lanes 512; dot.lanes rows 4 width 32 reduce 32 upcast 2"),
        (16, "lanes 512; dot.lanes rows 8 width 32 reduce 32 upcast 2"),
        (64, "lanes 256; dot.lanes rows 8 width 16 reduce 32 upcast 2"),
    ];
    for (tokens, of_output) in expected {
        let [output, router] = splits(tokens);
        assert_eq!(output, of_output, "{tokens} tokens");
        assert!(
            router.contains("; dot.lanes rows 1 width 64 reduce 64 upcast 4; "),
            "{tokens} tokens: {router}"
        );
    }
}

/// Workgroups that gather a row count themselves, and the number of counters is limited: cards that gather and have no matrix units also
/// render the routers of the longest steps.
#[test]
fn the_longest_steps_have_counters_enough() {
    let graph = graph_of(&root("filetests/graphs/glm_moe_layer.graph"));
    let card = Target { language: Language::Cuda, gpu: Gpu::of_cuda((7, 5), 40) };
    for tokens in [16, 512, 8192] {
        let max = Sizes::of(tokens).rows(1).slots(8192).pages(256);
        let plan = fuse_with(&graph, &Options { max, ..Options::default() }).unwrap().plan;
        for (at, call) in plan.calls.iter().enumerate() {
            render(&plan.kernels[call.kernel], &slots(&plan, at, true), &max, &card).unwrap();
        }
    }
}

/// With little workgroup memory, a scan takes fewer rows at once, and its workgroups keep their number of rows.
#[test]
fn scans_fit_little_workgroup_memory() {
    let mut g = Builder::new("delta");
    let float = |g: &mut Builder, name: &str, dims: &[usize]| {
        let dims: Vec<Dim> = std::iter::once(Dim::T).chain(dims.iter().map(|n| Dim::Const(*n))).collect();
        g.input(name, GgmlType::F32, Shape::new(dims))
    };
    let operands = [("q", &[2, 128][..]), ("k", &[2, 128]), ("v", &[2, 128]), ("a", &[2]), ("b", &[2])];
    let operands = operands.map(|(name, dims)| float(&mut g, name, dims));
    let values = g.scan_state(Recurrence::Delta, &operands).and_then(|layout| layout.values()).unwrap();
    let state = g.sequence_state("s", [Dim::S, Dim::Const(values)]);
    let lists = g.scan_rows();
    let y = g.scan(Recurrence::Delta, &operands, state, lists);
    g.output("y", y);
    let max = Sizes::of(512).rows(1).slots(8).pages(8).sequences(8);
    let plan = fuse_with(&g.finish().unwrap(), &Options { max, ..Options::default() }).unwrap().plan;
    let title = |gpu: Gpu| {
        let target = Target { language: Language::Wgsl, gpu };
        let shaders = render(&plan.kernels[0], &slots(&plan, 0, false), &max, &target).unwrap();
        shaders[0].source.lines().next().unwrap().to_string()
    };
    // Each operand has its own buffer here.
    let least = Gpu { storage_buffers: 16, ..Gpu::webgpu() };
    let large = title(Gpu { shared_bytes: 64 << 10, ..least.clone() });
    assert!(large.ends_with("scan rows 16 width 128 reduce 1 upcast 16 apart"), "{large}");
    let small = title(least);
    assert!(small.ends_with("scan rows 16 width 128 reduce 1 upcast 4 apart"), "{small}");
}

/// Weights larger than a binding are several bindings, in all kernels that read weights.
#[test]
fn kernels_of_weights_in_pieces() {
    let [_, _, _, apple, _] = adapters();
    let (mut seen, mut in_pieces, mut refused) = (BTreeSet::new(), 0, 0);
    for graph in file_tests() {
        for plan in plans(&graph).usual() {
            for (at, call) in plan.calls.iter().enumerate() {
                let mut slots = slots(plan, at, false);
                let weights = slots.contents.iter().map(|content| *content == Content::Weight);
                slots.pieces = weights.map(|weight| if weight { 3 } else { 1 }).collect();
                let more: usize = slots.pieces.iter().map(|pieces| *pieces as usize - 1).sum();
                let shaders = match render(&plan.kernels[call.kernel], &slots, &plan.max, &apple) {
                    Ok(shaders) => shaders,
                    Err(why) => {
                        assert!(matches!(why.why, Why::Buffers { .. }), "{why}");
                        refused += 1;
                        continue;
                    }
                };
                for shader in shaders {
                    assert!(shader.slots.len() >= slots.of.iter().max().unwrap() + 1 + more);
                    in_pieces += usize::from(more > 0);
                    if seen.insert(shader.source.clone()) {
                        validate(&shader, &apple);
                    }
                }
            }
        }
    }
    assert!(in_pieces > 30 && refused == 0, "{in_pieces} shaders with pieces, {refused} refused");
    // Only weights are in pieces.
    let graph = graph_of(&root("filetests/kernels/rms_norm_into_dot.t"));
    let max = Sizes::of(1).rows(1).slots(64).pages(2);
    let fusion = fuse_with(&graph, &Options { max, ..Options::default() }).unwrap();
    let kernel = &fusion.plan.kernels[fusion.plan.calls[0].kernel];
    let mut slots = slots(&fusion.plan, 0, false);
    slots.pieces = slots.pieces.iter().map(|_| 2).collect();
    let why = render(kernel, &slots, &max, &apple).unwrap_err().why;
    assert!(matches!(&why, Why::Form(why) if why.contains("pieces")), "{why:?}");
}

/// Metal rounds each array up to 16 bytes, and a limit counts the rounded bytes and not those in the text.
#[test]
fn workgroup_memory_is_counted_as_metal_counts_it() {
    let apple = Target { language: Language::Wgsl, gpu: Gpu::apple() };
    let mut tried = 0;
    for graph in file_tests() {
        for plan in plans(&graph).usual() {
            for (at, call) in plan.calls.iter().enumerate() {
                let (kernel, slots) = (&plan.kernels[call.kernel], slots(plan, at, false));
                let shaders = |gpu: Gpu| {
                    render(kernel, &slots, &plan.max, &Target { gpu, ..apple.clone() }).unwrap_or_default()
                };
                // A kernel that this GPU refuses has no shaders.
                let Some(bytes) = shaders(apple.gpu.clone()).iter().map(metal_bytes).max() else {
                    continue;
                };
                for less in [1, 4, 8, 12, 16, 20, 28].into_iter().filter(|less| *less < bytes) {
                    let gpu = Gpu { shared_bytes: bytes - less, ..apple.gpu.clone() };
                    for shader in shaders(gpu.clone()) {
                        let found = metal_bytes(&shader);
                        assert!(found <= gpu.shared_bytes, "{found} bytes of {}: {kernel:?}", bytes - less);
                        tried += 1;
                    }
                }
            }
        }
    }
    assert!(tried > 100, "{tried} shaders");
}

/// The workgroup memory is counted before anything is compiled.
#[test]
fn too_small_an_adapter_is_told_which_limit() {
    let graph = graph_of(&root("filetests/kernels/rms_norm_into_dot.t"));
    let max = Sizes::of(1).rows(1).slots(64).pages(2);
    let fusion = fuse_with(&graph, &Options { max, ..Options::default() }).unwrap();
    let call = &fusion.plan.calls[0];
    let (kernel, slots) = (&fusion.plan.kernels[call.kernel], slots(&fusion.plan, 0, false));
    let [large, ..] = adapters();
    let why = |gpu| render(kernel, &slots, &max, &Target { gpu, ..large.clone() }).unwrap_err().why;
    let small = weft_render::Gpu { shared_bytes: 1 << 10, ..large.gpu.clone() };
    assert!(matches!(why(small), Why::Shared { limit: 1024, .. }));
    let few = weft_render::Gpu { storage_buffers: 1, ..large.gpu.clone() };
    assert!(matches!(why(few), Why::Buffers { limit: 1, .. }));
    let narrow = weft_render::Gpu { groups: 1, ..large.gpu.clone() };
    assert!(matches!(why(narrow), Why::Groups { limit: 1, .. }));
}
