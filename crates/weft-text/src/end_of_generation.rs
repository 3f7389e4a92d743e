//! Well-known names of tokens that end a model's reply.
//!
//! A file names at most three such tokens (`eos`, `eot`, `eom`), and many files name fewer than their model uses.
//! Therefore, as in llama.cpp, tokens with a well-known name end the reply too.

/// Returns whether models that have a token of this name end their replies with it.
pub(crate) fn is_known(name: &[u8]) -> bool {
    const NAMES: &[&str] = &[
        "<|eot_id|>",            // Llama 3
        "<|eom_id|>",            // Llama 3, before a tool call's result
        "<|im_end|>",            // ChatML: Qwen, SmolLM, Kimi
        "<|end|>",               // Phi 3
        "<|endoftext|>",         // GPT-2 and many after it
        "<|end_of_text|>",       // Llama 3, Granite
        "<end_of_turn>",         // Gemma
        "<｜end▁of▁sentence｜>", // DeepSeek
        "<|EOT|>",               // DeepSeek Coder
        "[EOT]",                 // Kimi
        "[EOS]",                 // Kimi
        "<|fim_pad|>",           // Qwen Coder; text after these three belongs to another file
        "<|repo_name|>",
        "<|file_sep|>",
        "</s>",
    ];
    NAMES.iter().any(|known| known.as_bytes() == name)
}
