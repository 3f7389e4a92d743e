//! Runs the files of `filetests/wgsl` and `filetests/cuda`. Each has a graph and the text of its kernels for a large GPU or Apple's, or the
//! schedules of its kernels in steps of several sizes.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::chains::chain_of;
use crate::cuda;
use crate::graphs::{root, slots};
use crate::include::included;
use crate::valid::{adapters, validate, with_chains};
use weft_fuse::{CostModel, Options, fuse_with};
use weft_ir::Sizes;
use weft_kern::{Machine, Plan};
use weft_render::{Content, Language, Scheduler, Target, TunedSchedules, render};

/// The line between the input and the expected output.
const SEPARATOR: &str = "\n---\n";

fn run(input: &str) -> String {
    let (header, text): (Vec<&str>, Vec<&str>) = input.lines().partition(|l| l.starts_with("test "));
    let words: Vec<&str> = header
        .first()
        .expect(
            "a line `test wgsl`, `test large`, `test chain`, `test apple`, `test cooperative`, `test cuda` or `test schedules`",
        )
        .split_whitespace()
        .collect();
    let target = match words[..2] {
        ["test", "wgsl"] => adapters()[0].clone(),
        ["test", "large"] => adapters()[1].clone(),
        ["test", "chain"] => with_chains(),
        ["test", "apple"] => adapters()[3].clone(),
        ["test", "cooperative"] => adapters()[4].clone(),
        ["test", "cuda" | "schedules"] => cuda::target(),
        _ => panic!("{words:?}"),
    };
    let sizes = |key: &str| -> Vec<usize> {
        let found = words.iter().find_map(|w| w.strip_prefix(key)?.strip_prefix('='));
        found.map_or(vec![1], |n| n.split(',').map(|n| n.parse().unwrap()).collect())
    };
    let size = |key: &str| sizes(key)[0];
    let given = |key: &str| words.iter().any(|word| word.starts_with(key)).then(|| size(key));
    let graph = weft_ir::parse(&text.join("\n")).unwrap();
    let machine = Machine { workers: size("workers") as u64, ..Machine::default() };
    let of = |tokens| Sizes::of(tokens).rows(size("R")).slots(size("S")).pages(size("P"));
    let fused = |max| {
        fuse_with(&graph, &Options { max, costs: CostModel::fixed(machine), ..Options::default() }).unwrap()
    };
    if words[1] == "schedules" {
        return sizes("T").into_iter().map(|tokens| schedules(&fused(of(tokens)).plan, &target)).collect();
    }
    let max = of(size("T"));
    let fusion = fused(max);
    if target.gpu.features.chains {
        let chain = chain_of(&fusion.plan, &max, &target);
        validate(&chain.shader, &target);
        return format!("{}\n", chain.shader.source);
    }
    let mut out = String::new();
    let (kernel, of) = (given("kernel"), given("of"));
    assert!(of.is_none_or(|of| of == fusion.plan.calls.len()), "{} kernels", fusion.plan.calls.len());
    for (at, call) in fusion.plan.calls.iter().enumerate() {
        if kernel.is_some_and(|kernel| kernel != at + 1) {
            continue;
        }
        let mut slots = slots(&fusion.plan, at, target.language == Language::Cuda);
        for (pieces, content) in slots.pieces.iter_mut().zip(&slots.contents) {
            *pieces = if *content == Content::Weight { size("pieces") as u32 } else { 1 };
        }
        for shader in render(&fusion.plan.kernels[call.kernel], &slots, &max, &target).unwrap() {
            if target.language == Language::Wgsl {
                validate(&shader, &target);
            }
            let _ = writeln!(out, "{}", shader.source);
        }
    }
    out
}

/// The schedules of a plan's kernels.
fn schedules(plan: &Plan, target: &Target) -> String {
    let scheduler = Scheduler::new(target.clone(), TunedSchedules::default());
    let mut out = format!("steps of {}\n", plan.max.tokens);
    for call in &plan.calls {
        let kernel = &plan.kernels[call.kernel];
        let schedule = scheduler.schedule(kernel, &plan.max).unwrap();
        let _ = writeln!(out, "  {}\n    {}", kernel.name, schedule.replace("; ", "\n    "));
    }
    out
}

/// The files of a folder of `filetests/`.
fn texts(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root("filetests").join(folder)).unwrap();
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect()
}

#[test]
fn every_file_gives_what_it_says() {
    let bless = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut failures = String::new();
    let mut files = 0;
    for path in ["wgsl", "cuda", "cuda/glm_moe_layer"].into_iter().flat_map(texts) {
        let content = std::fs::read_to_string(&path).unwrap();
        let (input, expected) = content.split_once(SEPARATOR).unwrap_or((content.trim_end(), ""));
        files += 1;
        let found = run(&included(input));
        if found != expected && bless {
            std::fs::write(&path, format!("{}{SEPARATOR}{found}", input.trim_end())).unwrap();
        } else if found != expected {
            let _ = write!(failures, "{}:\nexpected:\n{expected}\nfound:\n{found}\n", path.display());
        }
    }
    assert!(files >= 7 && failures.is_empty(), "{files} files\n{failures}");
}
