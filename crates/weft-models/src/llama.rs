//! The `llama` family: grouped-query attention, and one gated network a layer or (Mixtral) a mixture of them.
//!
//! Keys are listed in GGML's `docs/gguf.md`; defaults are those of llama.cpp.

use weft_gguf::Gguf;

use crate::config::{Attention, Common, Config, FeedForward, Gating, Grouped, Moe};
use crate::error::Error;
use crate::keys::{Keys, MAX_EXPERTS, MAX_HEAD_WIDTH, MAX_HEADS, MAX_WIDTH};
use crate::rope::Rope;

pub(crate) fn config(gguf: &Gguf, keys: &Keys<'_>) -> Result<Config, Error> {
    let Common { name, blocks, hidden, vocab, context, rms_eps, heads } = Common::read(keys)?;
    let kv_heads = keys.number_opt("attention.head_count_kv", 1..=MAX_HEADS)?.unwrap_or(heads);
    if !heads.is_multiple_of(kv_heads) {
        let rule = format!("it must divide the {heads} heads of attention.head_count");
        return Err(keys.wrong("attention.head_count_kv", kv_heads, rule));
    }
    let head_width = head_width(keys, hidden, heads)?;
    let dims = keys.number_opt("rope.dimension_count", 2..=head_width)?.unwrap_or(head_width);
    if !dims.is_multiple_of(2) {
        return Err(keys.wrong("rope.dimension_count", dims, "rotary embedding needs an even number"));
    }
    let scale = keys.positive_opt("attention.scale")?;
    Ok(Config {
        architecture: keys.architecture,
        name,
        hidden,
        vocab,
        context,
        rms_eps,
        heads,
        attention: Attention::Grouped(Grouped { kv_heads, head_width }),
        attention_scale: scale.unwrap_or((1.0 / (head_width as f64).sqrt()) as f32),
        rope: Rope::read(keys, dims, context, None)?.with_factors(gguf)?,
        feed_forward: feed_forward(keys, blocks)?,
        mtp_blocks: 0,
    })
}

/// The width of a head; one for queries, keys and values.
fn head_width(keys: &Keys<'_>, hidden: usize, heads: usize) -> Result<usize, Error> {
    const KEY: &str = "attention.key_length";
    const VALUE: &str = "attention.value_length";
    let key = match keys.number_opt(KEY, 2..=MAX_HEAD_WIDTH)? {
        Some(key) => key,
        None => {
            let width = hidden / heads;
            if !hidden.is_multiple_of(heads) || !(2..=MAX_HEAD_WIDTH).contains(&width) {
                let rule = format!("it must divide embedding_length, {hidden}, where there is no {KEY}");
                return Err(keys.wrong("attention.head_count", heads, rule));
            }
            width
        }
    };
    match keys.number_opt(VALUE, 1..=MAX_HEAD_WIDTH)? {
        Some(value) if value != key => {
            Err(keys.unsupported(VALUE, value, "a llama's values must be as wide as its keys"))
        }
        _ => Ok(key),
    }
}

fn feed_forward(keys: &Keys<'_>, blocks: usize) -> Result<Vec<FeedForward>, Error> {
    const WIDTH: &str = "feed_forward_length";
    let experts = keys.number_opt("expert_count", 0..=MAX_EXPERTS)?.unwrap_or(0);
    let used = if experts > 0 { keys.number("expert_used_count", 1..=experts)? } else { 0 };
    let layer = |width: u32| {
        let width = keys.within(WIDTH, width, 1..=MAX_WIDTH)?;
        Ok(match experts {
            0 => FeedForward::Dense { width },
            // Softmax over all and then normalising what is chosen is Mixtral's softmax over what is chosen.
            _ => FeedForward::Experts(Moe {
                experts,
                used,
                width,
                shared: 0,
                gating: Gating::Softmax,
                normalise: true,
                scale: 1.0,
            }),
        })
    };
    keys.per_layer(WIDTH, blocks)?.into_iter().map(layer).collect()
}
