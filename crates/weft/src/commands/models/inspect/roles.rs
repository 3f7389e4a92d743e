//! The roles of tensors, by their names in GGUF files.

/// The role of a tensor. `layers` is the number of layers that the model computes, if known: blocks beyond them belong to
/// a multi-token prediction head.
pub(super) fn role(name: &str, layers: Option<usize>) -> &'static str {
    let Some((block, part)) = name.strip_prefix("blk.").and_then(|rest| rest.split_once('.')) else {
        return match name {
            _ if name.starts_with("token_embd.") => "embedding",
            _ if name.starts_with("output.") => "head",
            _ if name.contains("norm") => "norms",
            _ => "other",
        };
    };
    if layers.zip(block.parse().ok()).is_some_and(|(layers, block): (usize, usize)| block >= layers) {
        return "prediction head (not used)";
    }
    match part {
        _ if part.contains("_norm.") => "norms",
        _ if part.starts_with("attn_") => "attention",
        _ if part.starts_with("ssm_") => "linear attention",
        _ if part.contains("_exps.") => "experts",
        _ if part.contains("_shexp.") => "shared experts",
        _ if part.starts_with("ffn_gate_inp.") || part.starts_with("exp_probs_b.") => "router",
        _ if part.starts_with("ffn_") => "dense feed-forward",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::role;

    #[test]
    fn the_names_of_the_families_have_roles() {
        for (name, expected) in [
            ("token_embd.weight", "embedding"),
            ("output.weight", "head"),
            ("output_norm.weight", "norms"),
            ("rope_freqs.weight", "other"),
            ("blk.0.attn_q_a_norm.weight", "norms"),
            ("blk.0.attn_kv_a_mqa.weight", "attention"),
            ("blk.0.ffn_norm.weight", "norms"),
            ("blk.0.ffn_gate.weight", "dense feed-forward"),
            ("blk.1.ffn_gate_exps.weight", "experts"),
            ("blk.1.ffn_gate_up_exps.weight", "experts"),
            ("blk.1.ffn_down_shexp.weight", "shared experts"),
            ("blk.1.ffn_gate_inp.weight", "router"),
            ("blk.1.exp_probs_b.bias", "router"),
            ("blk.1.ffn_gate_inp_shexp.weight", "shared experts"),
            ("blk.1.post_attention_norm.weight", "norms"),
            ("blk.1.attn_qkv.weight", "attention"),
            ("blk.1.ssm_a", "linear attention"),
            ("blk.1.ssm_norm.weight", "norms"),
            ("rope_factors_long.weight", "other"),
            ("blk.2.attn_q.weight", "prediction head (not used)"),
        ] {
            assert_eq!(role(name, Some(2)), expected, "{name}");
        }
        assert_eq!(role("blk.2.attn_q.weight", None), "attention");
    }
}
