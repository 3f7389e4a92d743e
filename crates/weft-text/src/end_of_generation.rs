//! Which tokens end a model's reply.
//!
//! A file names at most three such tokens (`eos`, `eot`, `eom`), and many name fewer than their model uses. So, as in
//! llama.cpp, tokens with a well-known name end the reply too.

use crate::vocab::{TokenKind, TokenizerSpec, Vocab};

/// Whether a token of this name ends the reply in the models that have one.
pub(crate) fn is_known(name: &[u8]) -> bool {
    const NAMES: &[&str] = &[
        "<|eot_id|>",            // Llama 3
        "<|eom_id|>",            // Llama 3, before a tool's answer
        "<|im_end|>",            // ChatML: Qwen, SmolLM, Kimi
        "<|end|>",               // Phi 3
        "<|endoftext|>",         // GPT-2 and many after it
        "<|end_of_text|>",       // Llama 3, Granite
        "<end_of_turn>",         // Gemma
        "<｜end▁of▁sentence｜>", // DeepSeek
        "<|EOT|>",               // DeepSeek Coder
        "[EOT]",                 // Kimi
        "[EOS]",                 // Kimi
        "<|fim_pad|>",           // Qwen Coder; what follows these three belongs to another file
        "<|repo_name|>",
        "<|file_sep|>",
        "</s>",
    ];
    NAMES.iter().any(|known| known.as_bytes() == name)
}

/// The tokens that end a reply, ascending: those in the roles of `eos`, `eot` and `eom`, the well-known ones, and the
/// turn markers of the model's family. A token that is ordinary text by its type ends nothing, whatever its name.
pub(crate) fn tokens(spec: &TokenizerSpec<'_>, vocab: &Vocab, turn_markers: &[&str]) -> Vec<u32> {
    let mut ends: Vec<u32> = [spec.eos, spec.eot, spec.eom].into_iter().flatten().collect();
    let markers: Vec<&[u8]> = turn_markers.iter().map(|name| name.as_bytes()).collect();
    ends.extend(
        (0..)
            .zip(&spec.tokens)
            .filter(|(id, token)| {
                vocab.kind(*id) != TokenKind::Normal && (is_known(token) || markers.contains(token))
            })
            .map(|(id, _)| id),
    );
    ends.sort_unstable();
    ends.dedup();
    ends
}
