//! The `general.*` keys: what the model is called, how large it is, and how its makers sample.

use weft_gguf::Metadata;

use crate::config::Config;
use crate::error::Result;
use crate::model::Tensor;

/// The keys of generation_config.json that are numbers, and theirs in GGUF.
const SAMPLING: &[(&str, &str)] = &[
    ("top_p", "top_p"),
    ("min_p", "min_p"),
    ("temperature", "temp"),
    ("repetition_penalty", "penalty_repeat"),
];

/// The key of tokens that are never sampled.
const SUPPRESSED: &str = "suppress_tokens";

/// Writes the keys. `folder` is the name of the model's folder.
pub(crate) fn write(
    metadata: &mut Metadata,
    folder: &str,
    generation: &Config,
    tensors: &[Tensor],
) -> Result<()> {
    metadata.insert("general.type", "model");
    if let Some(top_k) = generation.u32("top_k")? {
        metadata.insert("general.sampling.top_k", top_k as i32);
    }
    for (key, to) in SAMPLING {
        if let Some(value) = generation.f64(key)? {
            metadata.insert(&format!("general.sampling.{to}"), value as f32);
        }
    }
    if let Some(list) = generation.list(SUPPRESSED)? {
        let ids = list.iter().map(|id| id.as_i64().and_then(|id| i32::try_from(id).ok()));
        let Some(ids) = ids.collect::<Option<Vec<i32>>>() else {
            return Err(generation.mismatch(SUPPRESSED, "a list of ids of tokens", &list.to_vec().into()));
        };
        metadata.insert("tokenizer.ggml.suppress_tokens", ids);
    }
    metadata.insert("general.name", title(folder));
    metadata.insert("general.size_label", size_label(tensors));
    Ok(())
}

/// A folder's name as a title: words that are written small begin with a capital, unless they are a version or a number.
fn title(name: &str) -> String {
    let words = name.split(['-', ' ']).filter(|word| !word.is_empty());
    let title = |word: &str| {
        let mut chars = word.chars();
        let first = chars.next().unwrap_or(' ');
        let is_version =
            first == 'v' && chars.clone().all(|c| c.is_ascii_digit() || c == '.') && word.len() > 1;
        let is_small = word.chars().any(char::is_lowercase) && !word.chars().any(char::is_uppercase);
        if is_version || first.is_ascii_digit() || !is_small {
            return word.to_owned();
        }
        // As Python does it: each run of letters is a word.
        let mut after_letter = false;
        let capital = |c: char| {
            let out = if after_letter { c } else { c.to_ascii_uppercase() };
            after_letter = c.is_alphabetic();
            out
        };
        word.chars().map(capital).collect()
    };
    words.map(title).collect::<Vec<_>>().join(" ")
}

/// The number of parameters, rounded; for a mixture, the number of experts and the parameters of a model with one of them.
fn size_label(tensors: &[Tensor]) -> String {
    let (mut shared, mut expert, mut counts) = (0, 0, Vec::new());
    for tensor in tensors {
        let values: u64 = tensor.shape.iter().product();
        match tensor.shape[..] {
            [.., experts] if tensor.name.contains("_exps.") && tensor.shape.len() > 2 => {
                expert += values / experts;
                counts.push(experts);
            }
            _ => shared += values,
        }
    }
    let size = rounded((shared + expert) as f64);
    match counts.len() as u64 {
        0 => size,
        of => format!("{}x{size}", counts.iter().sum::<u64>() / of),
    }
}

fn rounded(count: f64) -> String {
    let units = [(1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K")];
    let (unit, letter) = units.into_iter().find(|(unit, _)| count > *unit).unwrap_or((1e3, "K"));
    let scaled = count / unit;
    // Two digits at least.
    let digits = match scaled.round() {
        0.0 => 2,
        n if n < 10.0 => 1,
        _ => 0,
    };
    format!("{scaled:.digits$}{letter}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_titles() {
        let titles = [
            ("llama-tied-f16", "Llama Tied F16"),
            ("SmolLM2-135M-Instruct", "SmolLM2 135M Instruct"),
            ("deepseek-v2-lite", "Deepseek v2 Lite"),
            ("qwen2.5-7b--chat", "Qwen2.5 7b Chat"),
        ];
        for (name, expected) in titles {
            assert_eq!(title(name), expected);
        }
    }

    #[test]
    fn sizes_have_two_digits() {
        let sizes = [
            (134_515_008.0, "135M"),
            (7_615_616_512.0, "7.6B"),
            (38_940.0, "39K"),
            (1_235_814_432.0, "1.2B"),
            (49.0, "0.05K"),
        ];
        for (count, expected) in sizes {
            assert_eq!(rounded(count), expected);
        }
    }
}
