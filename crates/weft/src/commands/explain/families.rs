//! Generates `docs/families.md`: the fusions in the layers of each family, and the reasons against others. A test keeps the page up to
//! date.
#![cfg(test)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::num::NonZeroUsize;

use expect_test::expect_file;
use weft_engine::inspect::{CostModel, ExplainOptions, explain};
use weft_gguf::Gguf;
use weft_ir::Switches;
use weft_make::{Preset, QuantMix, SynthOptions, synth_header};
use weft_models::{BuildOptions, ModelGraph, architectures, build};

use super::facts::{Facts, Kernel, Plan, Step};
use crate::test_folder::TestFolder;

const PREFACE: &str = "\
# What is fused, by family

For each model family the kernels of its layers, at the sizes of a published model and with weights in Q4_0: what each kernel computes, and
why what reads its results is not computed in it, too. On a GPU a kernel can be several launches: attention whose positions are spread over
workgroups is two, and so is a kernel with an indexer if the context has more positions than it chooses, or three in long contexts.
Decisions that depend on cost are those for a CPU with two threads whose speeds have not been measured. `weft explain MODEL --why` shows the
same for a model of yours, on your device; [explain.md](explain.md) says how to read it.

This page is generated: `UPDATE_EXPECT=1 cargo test -p weft families`.
";

const READING: &str = "
A line with a number is a kernel of a step that computes one token of a reply. `a → b` is a product `b` whose workers each compute `a`
before it; parts between bars run side by side in one kernel. The line below says which kernels read its results, and why they are
not computed in it, too.
";

/// The models whose shapes are shown.
const SHOWN: [&str; 45] = [
    "llama-3.2-1b",
    "mixtral-8x7b",
    "ministral-3-8b",
    "glm-4.7-flash",
    "deepseek-v3",
    "mistral-small-4",
    "qwen2.5-0.5b",
    "qwen1.5-moe-a2.7b",
    "qwen3-8b",
    "qwen3-30b-a3b",
    "qwen3.6-27b",
    "qwen3.6-35b-a3b",
    "qwen3-next-80b-a3b",
    "kimi-linear-48b-a3b",
    "ling-3.0-tiny",
    "glm-4.5-air",
    "phi-4",
    "gpt-oss-20b",
    "gemma-3-1b",
    "gemma-4-26b-a4b",
    "kimi-k2",
    "deepseek-v3.2",
    "glm-5",
    "glm-5.3-flash",
    "seed-oss-36b",
    "ernie-4.5-0.3b",
    "ernie-4.5-21b-a3b",
    "minimax-m2",
    "hunyuan-7b",
    "hunyuan-a13b",
    "smollm3-3b",
    "olmo-3-7b",
    "exaone-4.0-1.2b",
    "granite-3.3-8b",
    "granite-3.1-3b-a800m",
    "glm-4-9b-0414",
    "command-r-35b",
    "command-r7b",
    "north-mini-code",
    "muse-glimmer-30b",
    "lfm2-1.2b",
    "lfm2-8b-a1b",
    "granite-4.0-h-small",
    "nemotron-nano-9b-v2",
    "nemotron-3-nano-30b-a3b",
];

#[test]
fn the_page_is_up_to_date() {
    expect_file!["../../../../../docs/families.md"].assert_eq(&page());
}

/// A layer of a model, as it is compiled.
struct Layer {
    /// Such as `mla_moe_layer`.
    name: String,
    /// How many layers of the model are like it.
    count: usize,
    /// The number of kernels, for a token of a reply and for a prompt.
    kernels: [usize; 2],
    /// The kernels and reasons.
    text: String,
}

fn page() -> String {
    let folder = TestFolder::new("families");
    let mut table = String::from(
        "\n| family | shape | layer | how many | kernels for a token of a reply | for 512 tokens of a prompt |\n|---|---|---|---|---|---|\n",
    );
    let (mut sections, mut families) = (String::new(), BTreeSet::new());
    for name in SHOWN {
        let preset = Preset::named(name).unwrap();
        families.insert(preset.architecture);
        let path = folder.join("model.gguf");
        let options = SynthOptions {
            preset: *preset,
            layers: None,
            mtp: false,
            mix: QuantMix::named("q4_0").unwrap(),
            seed: 1,
            threads: NonZeroUsize::MIN,
        };
        synth_header(&options, &path).unwrap();
        let model = build(&Gguf::open(&path).unwrap(), &BuildOptions::default()).unwrap();
        let _ = write!(sections, "\n## {name} (`{}`)\n", preset.architecture);
        for Layer { name: layer, count, kernels: [reply, prompt], text } in layers(&model) {
            let all = model.config.layers();
            let _ = writeln!(
                table,
                "| `{}` | {name} | {layer} | {count} of {all} | {reply} | {prompt} |",
                preset.architecture
            );
            let _ = write!(sections, "\n### {layer}\n\n{text}");
        }
    }
    // Unsloth's name of `glm5-next`.
    families.insert("glm5next");
    assert!(architectures().all(|name| families.contains(name)), "a family is not on the page");
    format!("{PREFACE}{table}{READING}{sections}")
}

/// The distinct layers of a model, in order.
fn layers(model: &ModelGraph) -> Vec<Layer> {
    let mut layers: BTreeMap<usize, Layer> = BTreeMap::new();
    for (at, step) in Step::ALL.into_iter().enumerate() {
        let wanted = ExplainOptions {
            switches: Switches::default(),
            tokens: step.tokens,
            depth: 0,
            costs: CostModel::default(),
            kernels: Vec::new(),
        };
        let plans = explain(model, &wanted).unwrap();
        let facts = Facts::new(String::new(), model, &plans, step, &wanted, None);
        for plan in &facts.plans {
            let first = &plan.explained.segments[0];
            let Some(index) = model.segments.iter().find(|s| s.name == *first).and_then(|s| s.layer) else {
                continue;
            };
            let layer = layers.entry(index).or_insert_with(|| Layer {
                name: plan.name().to_string(),
                count: plan.explained.segments.len(),
                kernels: [0; 2],
                text: described(plan),
            });
            layer.kernels[at] = plan.kernels.len();
        }
    }
    layers.into_values().collect()
}

/// The kernels of a layer with the reasons for each, and the decisions by cost.
fn described(plan: &Plan<'_>) -> String {
    let mut text = String::new();
    for (at, kernel) in plan.kernels.iter().enumerate() {
        let _ = writeln!(text, "{}. `{}`", at + 1, kernel.label());
        for (readers, why) in reasons(kernel) {
            let _ = writeln!(text, "   - {readers}: {why}");
        }
    }
    let decided: Vec<String> = (plan.explained.choices.iter())
        .filter(|choice| choice.differs())
        .map(|choice| {
            format!("`{}` {}", choice.decision.name, if choice.pays() { "pays" } else { "does not pay" })
        })
        .collect();
    if !decided.is_empty() {
        let _ = writeln!(text, "\nBy cost: {}.", decided.join(", "));
    }
    text
}

/// Who reads the values of a kernel, by the reasons why they are not computed in it.
fn reasons(kernel: &Kernel<'_>) -> Vec<(String, String)> {
    let mut readers: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for reader in kernel.written.iter().flat_map(|written| &written.readers) {
        readers.entry(&reader.why).or_default().insert(reader.kernel);
    }
    let named = |kernels: &BTreeSet<usize>| {
        let numbers: Vec<String> = kernels.iter().map(ToString::to_string).collect();
        match &numbers[..] {
            [one] => format!("kernel {one}"),
            [rest @ .., last] => format!("kernels {} and {last}", rest.join(", ")),
            [] => String::new(),
        }
    };
    let mut readers: Vec<(&str, BTreeSet<usize>)> = readers.into_iter().collect();
    readers.sort_by_key(|(_, kernels)| kernels.first().copied());
    readers.iter().map(|(why, kernels)| (named(kernels), (*why).to_string())).collect()
}
