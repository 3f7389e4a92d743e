//! The float oracle on a whole model.

use std::ops::ControlFlow;

use weft_gguf::Gguf;
use weft_ir::{Sizes, Tensor};
use weft_models::{ADAPTER_SCALES, ADAPTERS, BuildOptions};
use weft_quant::GgmlType;

use crate::error::Error;
use crate::inputs::NO_ADAPTER;
use crate::layout::PAGE;
use crate::model::files::check_file;

/// Computes the logits of every token of one sequence in plain `f32`: `[tokens, vocab]`, row-major. A model with another
/// [head](weft_models::Head) has embeddings, `[tokens, hidden]`, or scores, `[tokens, labels]`, in their place.
///
/// # Errors
/// If the model is not supported, or a token is not in its vocabulary.
pub fn oracle_logits(gguf: &Gguf, tokens: &[u32]) -> Result<Vec<f32>, Error> {
    oracle_logits_with(gguf, tokens, None)
}

/// The same for a sequence that has chosen one of the model's [selectable](Gguf::selectable) adapters, by its index, with a factor.
///
/// # Errors
/// Those of [`oracle_logits`].
pub fn oracle_logits_with(
    gguf: &Gguf,
    tokens: &[u32],
    adapter: Option<(usize, f32)>,
) -> Result<Vec<f32>, Error> {
    // Its weights do not go through a device, which would have checked them.
    check_file(gguf, &mut |_, _| ControlFlow::Continue(()))?;
    let model = weft_models::build(gguf, &BuildOptions { kv: GgmlType::F32, page: PAGE, pooling: None })?;
    let vocab = model.config.vocab;
    if let Some(token) = tokens.iter().find(|t| **t as usize >= vocab) {
        return Err(Error::Batch(format!("token {token} is not in the vocabulary of {vocab} tokens")));
    }
    let (context, len) = (model.config.context, tokens.len());
    if len > context {
        return Err(Error::Context { len: 0, more: len, context });
    }
    if tokens.is_empty() {
        return Ok(Vec::new());
    }
    let pages = len.div_ceil(PAGE);
    let mut values = model.oracle_states(pages * PAGE);
    let all = || (0..len as i32).collect::<Vec<_>>();
    for (name, data) in [
        ("tokens", tokens.iter().map(|t| *t as i32).collect()),
        ("pos", all()),
        ("slots", all()),
        ("first", vec![0; len]),
        ("pages", (0..pages as i32).collect()),
        ("out_rows", all()),
        ("ends", vec![len as i32]),
        ("from", vec![-1]),
        ("to", vec![0]),
        ("certain", vec![len as i32]),
        ("kept", vec![0]),
    ] {
        values.insert(name.into(), Tensor::i32([data.len()], data));
    }
    if !gguf.selectable().is_empty() {
        let (id, scale) = adapter.map_or((0, NO_ADAPTER), |(index, scale)| (index as i32 + 1, scale));
        values.insert(ADAPTERS.into(), Tensor::i32([len, 1], vec![id; len]));
        values.insert(ADAPTER_SCALES.into(), Tensor::f32([len, 1, 1], vec![scale; len]));
    }
    let sizes = Sizes::of(len).rows(len).slots(pages * PAGE).pages(pages).sequences(1);
    model.eval(gguf, &sizes, &mut values)?;
    let logits = values.remove(model.config.head.result()).and_then(|t| t.as_f32().map(<[f32]>::to_vec));
    logits.ok_or_else(|| Error::Option("the model computes no logits".into()))
}
