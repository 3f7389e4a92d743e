//! The table of model families, each of which is a file.

mod cohere;
mod deepseek2;
mod deepseek32;
mod ernie4_5;
mod exaone4;
mod family;
mod gemma3;
mod gemma4;
mod glm4;
mod glm4moe;
mod glm5_next;
mod gpt_oss;
mod granite;
mod granite_hybrid;
mod hunyuan;
mod kimi_linear;
mod lfm2;
mod llama;
mod minimax_m2;
mod mistral3;
mod muse_glimmer;
mod nearest;
mod nemotron_h;
mod olmo2;
mod other;
mod phi3;
mod qwen2;
mod qwen2moe;
mod qwen3;
mod qwen35;
mod qwen3moe;
mod seed_oss;
mod smollm3;

use std::sync::Arc;

use weft_gguf::Gguf;

use self::family::Family;
pub use self::qwen3::{Reranker, reranker};
use crate::error::Error;
use crate::file::ModelFile;
use crate::head::Head;
use crate::keys::Keys;
use crate::model::ModelGraph;
use crate::mtp::Mtp;
use crate::options::BuildOptions;

/// All families, in the order in which error messages list them.
static FAMILIES: &[Family] = &[
    llama::FAMILY,
    mistral3::FAMILY,
    deepseek2::DEEPSEEK,
    deepseek2::MISTRAL,
    deepseek32::DEEPSEEK,
    deepseek32::GLM,
    glm5_next::UPSTREAM,
    glm5_next::UNSLOTH,
    qwen2::FAMILY,
    qwen2moe::FAMILY,
    qwen3::FAMILY,
    qwen3moe::FAMILY,
    qwen35::NEXT,
    qwen35::DENSE,
    qwen35::EXPERTS,
    kimi_linear::KIMI,
    kimi_linear::LING,
    glm4moe::FAMILY,
    phi3::FAMILY,
    gpt_oss::FAMILY,
    gemma3::FAMILY,
    gemma4::FAMILY,
    seed_oss::FAMILY,
    ernie4_5::DENSE,
    ernie4_5::EXPERTS,
    minimax_m2::FAMILY,
    hunyuan::DENSE,
    hunyuan::EXPERTS,
    smollm3::FAMILY,
    olmo2::FAMILY,
    exaone4::FAMILY,
    granite::DENSE,
    granite::EXPERTS,
    glm4::FAMILY,
    muse_glimmer::FAMILY,
    cohere::COMMAND_R,
    cohere::COHERE2,
    cohere::EXPERTS,
    lfm2::DENSE,
    lfm2::EXPERTS,
    granite_hybrid::FAMILY,
    nemotron_h::DENSE,
    nemotron_h::EXPERTS,
];

/// The supported architectures: values of `general.architecture`.
///
/// ```
/// assert!(weft_models::architectures().any(|name| name == "llama"));
/// ```
pub fn architectures() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|family| family.architecture)
}

/// Builds the graphs of the model in a file.
///
/// Every tensor that the graphs name is in the file, with the type and shape that they declare, and every tensor of the
/// file is used: a model that left one out would not compute what it was trained to. Only the blocks of a multi-token
/// prediction head are ignored.
///
/// # Errors
///
/// [`Error`] names the architecture, key or tensor that is missing, contradictory or not supported.
pub fn build(gguf: &Gguf, options: &BuildOptions) -> Result<ModelGraph, Error> {
    if !options.are_valid() {
        return Err(Error::Options(*options));
    }
    let metadata = gguf.metadata();
    let found = metadata.require_str("general.architecture")?;
    match FAMILIES.iter().find(|family| family.architecture == found) {
        Some(Family { architecture, build, .. }) => {
            build(&ModelFile { gguf, keys: Keys { metadata, architecture }, options })
        }
        None => Err(Error::Architecture {
            file: metadata.file().into(),
            found: found.into(),
            supported: architectures().collect::<Vec<_>>().join(", "),
            nearest: other::other(found)
                .map(str::to_string)
                .or_else(|| nearest::nearest(gguf, found, FAMILIES)),
        }),
    }
}

/// Builds the layer of a model that predicts one token more. `model` was built from the same file with the same options, and
/// shares equal graphs.
///
/// Returns `None` if the file has none, Weft knows none of its family, or the model writes no text.
///
/// # Errors
/// [`Error`] names the tensor that is missing or has another shape.
pub fn mtp(model: &ModelGraph, gguf: &Gguf, options: &BuildOptions) -> Result<Option<Mtp>, Error> {
    if model.config.head != Head::Logits {
        return Ok(None);
    }
    let found = model.config.architecture;
    let family = FAMILIES.iter().find(|family| family.architecture == found);
    let Some(Family { architecture, mtp: Some(build), .. }) = family else { return Ok(None) };
    let keys = Keys { metadata: gguf.metadata(), architecture };
    let Some(mut mtp) = build(&ModelFile { gguf, keys, options })? else { return Ok(None) };
    for segment in &mut mtp.segments {
        if let Some(equal) = model.segments.iter().find(|known| known.graph == segment.graph) {
            segment.graph = Arc::clone(&equal.graph);
        }
    }
    Ok(Some(mtp))
}
