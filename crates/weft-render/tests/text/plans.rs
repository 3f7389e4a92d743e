//! All kernels of all graphs at hand.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::valid::{adapters, slots, validate};
use weft_fuse::{Mode, Options, decisions, fuse_with};
use weft_gguf::Gguf;
use weft_ir::{Graph, Sizes, Switches};
use weft_kern::Machine;
use weft_models::{BuildOptions, build};
use weft_quant::GgmlType;
use weft_render::{Target, Why, render};

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Renders every call of every way to compile a graph; how many shaders that were.
fn all_ways(graph: &Graph, refused: &mut Vec<String>) -> usize {
    let mut rendered = 0;
    let mut seen = BTreeSet::new();
    let mut all_off = Switches::default();
    decisions().for_each(|d| all_off.set(d, Mode::Off));
    for switches in [Switches::default(), all_off] {
        for tokens in [1, 16, 300] {
            for workers in [2, 64] {
                let max = Sizes { tokens, rows: 4, slots: 4096, pages: 128 };
                let machine = Machine { workers, ..Machine::default() };
                let options = Options { max, machine, switches: switches.clone(), ..Options::default() };
                let Ok(fusion) = fuse_with(graph, &options) else { continue };
                let plan = &fusion.plan;
                for call in &plan.calls {
                    let (kernel, slots) = (&plan.kernels[call.kernel], slots(plan, call));
                    for target in adapters() {
                        match render(kernel, &slots, &max, &target) {
                            Ok(shaders) => {
                                for shader in shaders {
                                    assert!(shader.shared_bytes < target.limits.shared_bytes);
                                    rendered += 1;
                                    if seen.insert(shader.source.clone()) {
                                        validate(&shader);
                                    }
                                }
                            }
                            Err(why) => refused.push(why.to_string()),
                        }
                    }
                }
            }
        }
    }
    rendered
}

#[test]
fn kernels_of_the_file_tests() {
    let (mut graphs, mut refused) = (0, Vec::new());
    for folder in ["kernels", "fuse"] {
        for entry in std::fs::read_dir(root("filetests").join(folder)).unwrap() {
            let content = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let input = content.split("\n---\n").next().unwrap();
            let graph: Vec<&str> = input.lines().filter(|l| !l.starts_with("test ")).collect();
            let graph = weft_ir::parse(&graph.join("\n")).unwrap();
            assert!(all_ways(&graph, &mut refused) > 0, "{}", graph.name());
            graphs += 1;
        }
    }
    assert!(graphs > 10, "{graphs} graphs");
    assert_eq!(refused, Vec::<String>::new());
}

#[test]
fn kernels_of_the_fixtures() {
    let (mut rendered, mut refused) = (0, Vec::new());
    let types = [GgmlType::F16, GgmlType::BF16, GgmlType::F32, GgmlType::Q8_0];
    for (name, kv) in
        ["ds2-tiny-q4_0", "glm-tiny-q4_0", "glm-tiny-q4_k_m", "glm-tiny-q8_0"].into_iter().zip(types)
    {
        let gguf = Gguf::open(&root("fixtures").join(format!("{name}.gguf"))).unwrap();
        let model = build(&gguf, &BuildOptions { kv, ..BuildOptions::default() }).unwrap();
        let mut graphs: Vec<&Graph> = Vec::new();
        for segment in &model.segments {
            if !graphs.iter().any(|g| std::ptr::eq(*g, &*segment.graph)) {
                graphs.push(&segment.graph);
            }
        }
        for graph in graphs {
            rendered += all_ways(graph, &mut refused);
        }
    }
    assert!(rendered > 100, "{rendered} shaders");
    assert_eq!(refused, Vec::<String>::new());
}

/// What a workgroup would have to keep is counted before anything is compiled.
#[test]
fn too_small_an_adapter_is_told_which_limit() {
    let content = std::fs::read_to_string(root("filetests/kernels/rms_norm_into_dot.t")).unwrap();
    let input = content.split("\n---\n").next().unwrap();
    let graph: Vec<&str> = input.lines().filter(|l| !l.starts_with("test ")).collect();
    let graph = weft_ir::parse(&graph.join("\n")).unwrap();
    let max = Sizes { tokens: 1, rows: 1, slots: 64, pages: 2 };
    let fusion = fuse_with(&graph, &Options { max, ..Options::default() }).unwrap();
    let call = &fusion.plan.calls[0];
    let (kernel, slots) = (&fusion.plan.kernels[call.kernel], slots(&fusion.plan, call));
    let [large, _] = adapters();
    let why = |limits| render(kernel, &slots, &max, &Target { limits, ..large.clone() }).unwrap_err().why;
    let small = weft_render::Limits { shared_bytes: 1 << 10, ..large.limits.clone() };
    assert!(matches!(why(small), Why::Shared { limit: 1024, .. }));
    let few = weft_render::Limits { storage_buffers: 1, ..large.limits.clone() };
    assert!(matches!(why(few), Why::Buffers { limit: 1, .. }));
    let narrow = weft_render::Limits { groups: 1, ..large.limits.clone() };
    assert!(matches!(why(narrow), Why::Groups { limit: 1, .. }));
}
