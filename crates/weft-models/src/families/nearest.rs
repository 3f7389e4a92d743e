//! Finds the family nearest to an unsupported architecture, and the differences.

use std::collections::BTreeSet;

use weft_gguf::Gguf;

use super::family::Family;

/// Keys that ask for something that most families do not compute, each with its name.
const KEYS: [(&str, &str); 9] = [
    ("attention.sliding_window", "a sliding window of attention"),
    ("attn_logit_softcapping", "a cap on attention scores"),
    ("final_logit_softcapping", "a cap on logits"),
    ("attention.layer_norm_epsilon", "LayerNorm instead of RMSNorm"),
    ("attention.temperature_scale", "attention scores scaled by position"),
    ("rope.dimension_sections", "positions in several dimensions"),
    ("ssm.state_size", "layers with a recurrent state"),
    ("logit_scale", "scaled logits"),
    ("attention.indexer.top_k", "attention to chosen tokens only"),
];

/// The most tensors that are named.
const NAMED: usize = 5;

/// Names the family that shares most tensors with the file, and the parts of the file that the family lacks. Returns `None` if no family
/// shares more than half of them.
pub(super) fn nearest(gguf: &Gguf, architecture: &str, families: &[Family]) -> Option<String> {
    let own: BTreeSet<&str> = gguf.tensors().iter().filter_map(|tensor| in_block(&tensor.name)).collect();
    let weights: BTreeSet<&str> = own.iter().filter_map(|name| name.strip_suffix(".weight")).collect();
    let distance = |family: &&Family| {
        let extra = weights.iter().filter(|name| !family.tensors.contains(name)).count();
        let missing = family.tensors.iter().filter(|name| !weights.contains(*name)).count();
        2 * extra + missing
    };
    let family = families.iter().min_by_key(distance)?;
    let unknown: Vec<&str> = own.iter().copied().filter(|name| !is_known(family, name)).collect();
    if 2 * unknown.len() > own.len() || own.is_empty() {
        return None;
    }
    let mut differences: Vec<String> =
        unknown.iter().take(NAMED).map(|name| format!("`{}`", name.escape_debug())).collect();
    if unknown.len() > NAMED {
        differences.push(format!("{} more kinds of tensors", unknown.len() - NAMED));
    }
    let metadata = gguf.metadata();
    let is_set = |key: &str| {
        let name = format!("{architecture}.{key}");
        metadata.get(&name).is_some()
            && !matches!(metadata.f32(&name), Ok(Some(0.0)))
            && !matches!(metadata.u32(&name), Ok(Some(0)))
    };
    let is_other = |key: &str| is_set(key) && !family.unusual.contains(&key);
    differences.extend(KEYS.iter().filter(|(key, _)| is_other(key)).map(|(_, what)| (*what).to_string()));
    let nearest = format!("the nearest is `{}`", family.architecture);
    Some(match differences.split_last() {
        None => format!(
            "{nearest}, whose tensors have the same names, but this file may compute something else with them"
        ),
        Some((last, [])) => format!("{nearest}, but this file also has {last}"),
        Some((last, rest)) => format!("{nearest}, but this file also has {} and {last}", rest.join(", ")),
    })
}

/// The name of a tensor within its block.
fn in_block(name: &str) -> Option<&str> {
    name.strip_prefix("blk.")?.split_once('.').map(|(_, name)| name)
}

/// Whether a family builds this tensor of a block: a weight that it lists, or the bias of one.
fn is_known(family: &Family, name: &str) -> bool {
    let listed = |name: &str| family.tensors.contains(&name);
    match name.strip_suffix(".bias") {
        Some(name) => listed(name),
        None => name.strip_suffix(".weight").is_some_and(listed),
    }
}
