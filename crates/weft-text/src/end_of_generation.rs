//! Well-known names of tokens that end a model's reply.
//!
//! A file names at most three such tokens (`eos`, `eot`, `eom`), and many files name fewer than their model uses.
//! Therefore, as in llama.cpp, tokens with a well-known name end the reply too. So do tokens that begin another speaker's
//! turn, if the chat template writes them: a model that goes on after them makes up what the user or a tool says. GLM ends
//! its replies with `<|user|>` and its tool calls with `<|observation|>`, of which most files say nothing.

/// Returns whether models that have a token of this name end their replies with it.
pub(crate) fn is_known(name: &[u8]) -> bool {
    const NAMES: &[&str] = &[
        "<|eot_id|>",            // Llama 3
        "<|eom_id|>",            // Llama 3, before a tool call's result
        "<|im_end|>",            // ChatML: Qwen, SmolLM, Kimi
        "<|end|>",               // Phi 3; not gpt-oss, see `ends_messages_only`
        "<|return|>",            // gpt-oss
        "<|call|>",              // gpt-oss, before a tool's result
        "<|endoftext|>",         // GPT-2 and many after it
        "<|end_of_text|>",       // Llama 3, Granite
        "<end_of_turn>",         // Gemma
        "<eos>",                 // Gemma
        "<turn|>",               // Gemma 4
        "<|tool_response>",      // Gemma 4, before a tool's result
        "<seed:eos>",            // Seed-OSS
        "[e~[",                  // MiniMax
        "<|eos|>",               // Hunyuan
        "<|eot|>",               // Muse Glimmer, Llama 4
        "[|endofturn|]",         // EXAONE
        "<|END_OF_TURN_TOKEN|>", // Command R
        "<|end_of_sentence|>",   // ERNIE
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

/// Returns whether a token of this name ends a message and not the reply, in a vocabulary that has these ends of replies: the
/// reasoning of gpt-oss is a message of its own.
pub(crate) fn ends_messages_only(name: &[u8], ends: &[&[u8]]) -> bool {
    name == b"<|end|>" && ends.contains(&b"<|return|>".as_slice())
}

/// Returns whether a token of this name begins another speaker's turn in this chat template.
///
/// A marker that models also write within their replies, such as the `<|start|>` of gpt-oss, is not one of them.
pub(crate) fn begins_turn(name: &[u8], template: &str) -> bool {
    const NAMES: &[&str] = &[
        "<|user|>",            // GLM, Phi 3
        "<|observation|>",     // GLM, before a tool's result
        "<|system|>",          // GLM, Phi 3
        "<|tool|>",            // Phi 4
        "<|im_start|>",        // ChatML
        "<|im_user|>",         // Kimi
        "<|im_system|>",       // Kimi, also before a tool's result
        "<|start_header_id|>", // Llama 3
        "<|header_start|>",    // Llama 4
        "<|start_of_role|>",   // Granite
        "<start_of_turn>",     // Gemma
        "<|turn>",             // Gemma 4
        "<｜User｜>",          // DeepSeek
        "[INST]",              // Mistral
    ];
    NAMES.iter().any(|known| known.as_bytes() == name && template.contains(known))
}
