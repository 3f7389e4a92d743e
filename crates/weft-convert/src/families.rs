//! The families that can be converted: by what `architectures` in config.json says, how keys and tensors are named in GGUF.
//!
//! Each is a file that reads as a table. Names, shapes and keys are those that llama.cpp's converter writes.

mod deepseek;
mod gemma3;
mod gemma4;
mod glm4moe;
mod glm5_next;
mod gpt_oss;
mod indexed;
mod kimi;
mod llama;
mod mistral3;
mod phi3;
mod qwen;
mod qwen35;

use crate::config::Config;
use crate::error::{Result, refuse};
use crate::family::Family;

const FAMILIES: &[&Family] = &[
    &llama::LLAMA,
    &llama::MISTRAL,
    &llama::MIXTRAL,
    &mistral3::MISTRAL3,
    &qwen::QWEN2,
    &qwen::QWEN2_MOE,
    &qwen::QWEN3,
    &qwen::QWEN3_MOE,
    &qwen35::QWEN3_NEXT,
    &qwen35::QWEN35,
    &qwen35::QWEN35_MOE,
    &deepseek::DEEPSEEK_V2,
    &deepseek::DEEPSEEK_V3,
    &deepseek::GLM_LITE,
    &deepseek::MISTRAL4,
    &glm4moe::GLM4_MOE,
    &indexed::DEEPSEEK_V32,
    &indexed::GLM_DSA,
    &glm5_next::GLM5_NEXT,
    &kimi::KIMI_LINEAR,
    &kimi::LING3,
    &phi3::PHI3,
    &gpt_oss::GPT_OSS,
    &gemma3::GEMMA3,
    &gemma4::GEMMA4,
];

/// The family of a model, and its configuration with the defaults that it leaves out.
pub(crate) fn family(mut config: Config) -> Result<(&'static Family, Config)> {
    let known = || FAMILIES.iter().flat_map(|family| family.names).copied().collect::<Vec<_>>().join(", ");
    let Some(found) =
        config.list("architectures")?.and_then(|names| names.first()).and_then(|name| name.as_str())
    else {
        let problem =
            format!("`architectures` is missing: expected the name of a family, one of {}", known());
        return Err(refuse(config.path(), problem));
    };
    let Some(family) = FAMILIES.iter().find(|family| family.names.contains(&found)) else {
        if found.ends_with("AssistantForCausalLM") {
            let problem = format!(
                "the model is a `{}`: the part of another that guesses several tokens ahead, and Weft runs no such part; convert the \
                 model that it belongs to",
                found.escape_debug()
            );
            return Err(refuse(config.path(), problem));
        }
        let problem = format!(
            "the model is a `{}`, which cannot be converted; what can is {}",
            found.escape_debug(),
            known()
        );
        return Err(refuse(config.path(), problem));
    };
    // Models that also see have the text's part under a key.
    config.flatten("text_config");
    // Two families that see have one name.
    let is_mistral4 = config.str("model_type")? == Some("mistral4");
    let family = if is_mistral4 && family.architecture == mistral3::MISTRAL3.architecture {
        &&deepseek::MISTRAL4
    } else {
        family
    };
    config.set_defaults(family.defaults);
    Ok((family, config))
}
