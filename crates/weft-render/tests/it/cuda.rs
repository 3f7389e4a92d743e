//! CUDA C++ held against NVRTC: every kernel of every fixture compiles for every generation of GPUs.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;

use crate::graphs::{file_tests, fixtures, graph_of, plans, root, slots};
use crate::nvrtc;
use weft_kern::Plan;
use weft_nvrtc::Nvrtc;
use weft_render::{CUDA_OPTIONS, Language, Limits, Shader, Target, render};

/// Ampere, Hopper, Blackwell.
const ARCHITECTURES: [&str; 3] = ["sm_80", "sm_90", "sm_120"];

/// An H200, with launches that begin before the one before them has ended.
pub(super) fn target() -> Target {
    let limits = Limits { processors: 132, dependent_launch: true, ..Limits::cuda() };
    Target { language: Language::Cuda, limits }
}

/// The distinct texts of plans, by all of a text but its first line and its kernel's name.
fn texts<'p>(plans: impl Iterator<Item = &'p Plan>) -> BTreeMap<String, Shader> {
    let mut texts = BTreeMap::new();
    for plan in plans {
        for call in &plan.calls {
            let (kernel, slots) = (&plan.kernels[call.kernel], slots(plan, call));
            let shaders = render(kernel, &slots, &plan.max, &target());
            for shader in shaders.unwrap_or_else(|refused| panic!("{refused}")) {
                assert!(shader.shared_bytes < target().limits.shared_bytes);
                let body = shader.source.split_once('\n').map_or("", |(_, body)| body);
                texts.entry(body.replace(&shader.entry, "kernel")).or_insert(shader);
            }
        }
    }
    texts
}

/// Joins several texts, which compiles faster. Each has a namespace and a unique entry point.
fn joined(shaders: &[&Shader]) -> String {
    let texts = shaders.iter().enumerate().map(|(i, shader)| {
        let text = shader.source.replace(&shader.entry, &format!("kernel_{i}"));
        format!("namespace n{i} {{\n{text}}}\n")
    });
    texts.collect()
}

/// Compiles texts for all architectures, `together` of them at a time, on all cores.
fn compile(nvrtc: &Nvrtc, texts: &BTreeMap<String, Shader>, together: usize) {
    let shaders: Vec<&Shader> = texts.values().collect();
    let texts: Vec<String> = match together {
        1 => shaders.iter().map(|shader| shader.source.clone()).collect(),
        _ => shaders.chunks(together).map(joined).collect(),
    };
    let pairs = texts.iter().flat_map(|text| ARCHITECTURES.map(|arch| (text, arch)));
    let todo = Mutex::new(pairs);
    let work = || {
        loop {
            let Some((text, arch)) = todo.lock().unwrap().next() else { break };
            let arch = format!("--gpu-architecture={arch}");
            let options: Vec<&str> = CUDA_OPTIONS.iter().copied().chain([arch.as_str()]).collect();
            if let Err(log) = nvrtc.compile(text, &options) {
                panic!("{arch}:\n{log}\n{text}");
            }
        }
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
}

/// The kernels that a GPU runs: of every fixture in steps of all sizes, and of a whole layer of GLM-4.7-Flash in a decode step.
#[test]
fn every_kernel_of_every_fixture_compiles() {
    let Some(nvrtc) = nvrtc::open("CUDA texts") else { return };
    let all: Vec<_> = fixtures().iter().map(|graph| plans(graph)).collect();
    let layer = plans(&graph_of(&root("filetests/cuda/glm_moe_layer.t")));
    let decode = layer.usual().filter(|plan| plan.max.tokens == 1);
    let texts = texts(all.iter().flat_map(|plans| plans.usual()).chain(decode));
    assert!(texts.len() > 100, "{} texts", texts.len());
    compile(&nvrtc, &texts, 16);
}

/// Those of other decisions and machines as well, each text by itself.
#[test]
#[ignore = "takes minutes; run it after changes to the renderer"]
fn every_kernel_of_all_graphs_compiles_for_all() {
    let Some(nvrtc) = nvrtc::open("all CUDA texts") else { return };
    let graphs = [fixtures(), file_tests()].concat();
    let all: Vec<_> = graphs.iter().map(|graph| plans(graph)).collect();
    let texts = texts(all.iter().flat_map(|plans| plans.all()));
    compile(&nvrtc, &texts, 1);
}

#[test]
fn what_does_not_compile_is_found() {
    let Some(nvrtc) = nvrtc::open("a wrong text") else { return };
    let log = nvrtc.compile("__global__ void f() { unsigned int x = y; }", &[]).unwrap_err();
    assert!(log.contains("\"y\" is undefined"), "{log}");
}
