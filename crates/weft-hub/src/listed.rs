//! The catalogue's models on the hub: short names, each with a repository and a quantisation.
//!
//! Their files are not pinned, because repositories replace files to correct them: a download is checked
//! against the size and the SHA-256 that the hub states at that time.

use crate::catalog::CATALOG;
use crate::suggest::suggest;

/// A model on the hub with a short name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ListedModel {
    /// The short name.
    pub name: &'static str,
    /// A description in a few words.
    pub about: &'static str,
    /// The repository: `org/repo`.
    pub repo: &'static str,
    /// The quantisation that is downloaded if none is named.
    pub quant: &'static str,
}

const fn listed(
    name: &'static str,
    about: &'static str,
    repo: &'static str,
    quant: &'static str,
) -> ListedModel {
    ListedModel { name, about, repo, quant }
}

/// The models on the hub with a short name, those that people ask for most first within each family.
#[rustfmt::skip] // A line for each model.
pub const LISTED: &[ListedModel] = &[
    listed("glm-4.7-flash", "30B, 3B active, reasoning", "unsloth/GLM-4.7-Flash-GGUF", "Q4_K_M"),
    listed("glm-4.5-air", "106B, 12B active, reasoning", "unsloth/GLM-4.5-Air-GGUF", "Q4_K_M"),
    listed("qwen3-30b-a3b", "30B, 3B active, reasoning", "Qwen/Qwen3-30B-A3B-GGUF", "Q4_K_M"),
    listed("qwen3-30b-a3b-2507", "30B, 3B active, answers at once", "unsloth/Qwen3-30B-A3B-Instruct-2507-GGUF", "Q4_K_M"),
    listed("qwen3-coder-30b-a3b", "30B, 3B active, for code", "unsloth/Qwen3-Coder-30B-A3B-Instruct-GGUF", "Q4_K_M"),
    listed("qwen3-8b", "8B, reasoning", "Qwen/Qwen3-8B-GGUF", "Q4_K_M"),
    listed("qwen3-4b", "4B, reasoning", "Qwen/Qwen3-4B-GGUF", "Q4_K_M"),
    listed("qwen3-1.7b", "1.7B, reasoning", "unsloth/Qwen3-1.7B-GGUF", "Q4_K_M"),
    listed("qwen3-0.6b", "0.6B, reasoning", "unsloth/Qwen3-0.6B-GGUF", "Q8_0"),
    listed("gpt-oss-20b", "21B, 4B active, reasoning", "ggml-org/gpt-oss-20b-GGUF", "MXFP4"),
    listed("gpt-oss-120b", "117B, 5B active, reasoning", "ggml-org/gpt-oss-120b-GGUF", "MXFP4"),
    listed("llama-3.2-3b", "3B", "bartowski/Llama-3.2-3B-Instruct-GGUF", "Q4_K_M"),
    listed("llama-3.2-1b", "1B", "bartowski/Llama-3.2-1B-Instruct-GGUF", "Q4_K_M"),
    listed("llama-3.1-8b", "8B", "bartowski/Meta-Llama-3.1-8B-Instruct-GGUF", "Q4_K_M"),
    listed("ministral-3-8b", "8B, text only", "mistralai/Ministral-3-8B-Instruct-2512-GGUF", "Q4_K_M"),
    listed("mistral-small-3.2", "24B, text only", "unsloth/Mistral-Small-3.2-24B-Instruct-2506-GGUF", "Q4_K_M"),
    listed("gemma-3-4b", "4B, text only", "ggml-org/gemma-3-4b-it-GGUF", "Q4_K_M"),
    listed("gemma-3-1b", "1B", "ggml-org/gemma-3-1b-it-GGUF", "Q4_K_M"),
    listed("gemma-3-12b", "12B, text only", "ggml-org/gemma-3-12b-it-GGUF", "Q4_K_M"),
    listed("gemma-3-27b", "27B, text only", "ggml-org/gemma-3-27b-it-GGUF", "Q4_K_M"),
    listed("phi-4", "14B", "bartowski/phi-4-GGUF", "Q4_K_M"),
    listed("phi-4-mini", "4B", "unsloth/Phi-4-mini-instruct-GGUF", "Q4_K_M"),
    listed("deepseek-v2-lite", "16B, 2B active", "mradermacher/DeepSeek-V2-Lite-Chat-GGUF", "Q4_K_M"),
    listed("deepseek-coder-v2-lite", "16B, 2B active, for code", "bartowski/DeepSeek-Coder-V2-Lite-Instruct-GGUF", "Q4_K_M"),
    listed("qwen2.5-7b", "7B", "bartowski/Qwen2.5-7B-Instruct-GGUF", "Q4_K_M"),
    listed("qwen2.5-3b", "3B", "bartowski/Qwen2.5-3B-Instruct-GGUF", "Q4_K_M"),
    listed("qwen2.5-1.5b", "1.5B", "bartowski/Qwen2.5-1.5B-Instruct-GGUF", "Q4_K_M"),
    listed("qwen2.5-0.5b", "0.5B", "bartowski/Qwen2.5-0.5B-Instruct-GGUF", "Q8_0"),
    listed("qwen2.5-coder-7b", "7B, for code", "bartowski/Qwen2.5-Coder-7B-Instruct-GGUF", "Q4_K_M"),
    listed("smollm2-1.7b", "1.7B", "bartowski/SmolLM2-1.7B-Instruct-GGUF", "Q4_K_M"),
    listed("smollm2-360m", "0.4B", "bartowski/SmolLM2-360M-Instruct-GGUF", "Q8_0"),
];

/// The most names that are suggested.
const SUGGESTED: usize = 3;

/// The fewest letters and digits of a name for models whose names begin with it to be suggested: `llama`,
/// `phi4`.
const BEGINNING: usize = 4;

/// Endings that other programs' names have and the catalogue's have not.
const ENDINGS: [&str; 6] = ["latest", "instruct", "gguf", "chat", "it", "hf"];

/// The names that a wrong one may stand for, the likeliest first: as other programs write them (`qwen3:8b`,
/// `llama3.2`), or misspelt. `others` are names besides those of the catalogue.
pub(crate) fn suggest_model(wrong: &str, others: &[&str]) -> Vec<String> {
    let catalogue = CATALOG.iter().map(|model| model.name).chain(LISTED.iter().map(|model| model.name));
    let names: Vec<&str> = catalogue.chain(others.iter().copied()).collect();
    let key = key(wrong);
    let long = key.len() >= BEGINNING;
    let by = |is_it: &dyn Fn(&str) -> bool| {
        names.iter().copied().filter(|name| is_it(&self::key(name))).collect::<Vec<_>>()
    };
    let groups = [
        by(&|own| own == key),
        suggest(wrong, &names),
        by(&|own| long && own.starts_with(&key)),
        by(&|own| own.len() >= BEGINNING && key.starts_with(own)),
    ];
    let mut found: Vec<String> = Vec::new();
    for name in groups.into_iter().find(|group| !group.is_empty()).unwrap_or_default() {
        if found.len() < SUGGESTED && !found.iter().any(|known| known == name) {
            found.push(name.to_string());
        }
    }
    found
}

/// The letters and digits of a name in lower case, without an organisation before it and the endings of other
/// programs' names.
fn key(name: &str) -> String {
    let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let parts = name.split([':', '-', '_']).filter(|part| !ENDINGS.contains(part));
    parts.flat_map(str::chars).filter(char::is_ascii_alphanumeric).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::catalog::catalog_model;
    use crate::names::{HubName, is_plain};

    #[test]
    fn every_listed_model_can_be_named_and_looked_up() {
        let mut seen = BTreeSet::new();
        for model in LISTED {
            assert!(seen.insert(model.name) && catalog_model(model.name).is_none(), "{} twice", model.name);
            assert!(is_plain(model.name) && model.name == model.name.to_ascii_lowercase(), "{}", model.name);
            let text = model.hub_name().to_string();
            assert_eq!(text.parse::<HubName>().unwrap(), model.hub_name());
            assert_eq!(HubName::of_short(model.name), Some(model.hub_name()));
            // No name is taken for another one's misspelling or other form.
            assert_eq!(suggest_model(model.name, &[])[0], model.name);
        }
    }

    #[test]
    fn names_of_other_programs_and_misspellings_lead_to_the_catalogue() {
        for (wrong, expected) in [
            ("llama3.2", &["llama-3.2-3b", "llama-3.2-1b"][..]),
            ("llama3.2:1b", &["llama-3.2-1b"]),
            ("qwen3:8b", &["qwen3-8b"]),
            ("qwen3:30b-a3b", &["qwen3-30b-a3b"]),
            ("qwen3-coder:30b", &["qwen3-coder-30b-a3b"]),
            ("qwen2.5:7b", &["qwen2.5-7b"]),
            ("gpt-oss:20b", &["gpt-oss-20b"]),
            ("glm-4.7-flash:latest", &["glm-4.7-flash"]),
            ("GLM4.7-Flash", &["glm-4.7-flash"]),
            ("gemma3:4b", &["gemma-3-4b"]),
            ("gemma-3-4b-it", &["gemma-3-4b"]),
            ("phi4", &["phi-4"]),
            ("phi4-mini", &["phi-4-mini"]),
            ("meta-llama/Llama-3.2-1B-Instruct", &["llama-3.2-1b"]),
            ("qwen3-8B", &["qwen3-8b"]),
            ("qwen3-b8", &["qwen3-4b", "qwen3-8b"]),
            ("smolm2", &["smollm2"]),
            ("smollm2:latest", &["smollm2"]),
            ("smollm2:135m", &["smollm2"]),
            ("mne", &["mine"]),
            ("yours", &[]),
            ("", &[]),
        ] {
            assert_eq!(suggest_model(wrong, &["mine"]), expected, "{wrong}");
        }
    }
}
