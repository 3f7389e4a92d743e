//! What comes before the first layer and after the last.

use weft_gguf::Gguf;
use weft_ir::Dim;
use weft_quant::GgmlType;

use crate::config::Config;
use crate::error::Error;
use crate::norm::rms_norm;
use crate::segment::{Segment, SegmentBuilder};

const EMBEDDING: &str = "token_embd.weight";

/// The segment that turns `tokens` into `x`.
pub(crate) fn embed(gguf: &Gguf, config: &Config) -> Result<Segment, Error> {
    let mut s = SegmentBuilder::new(gguf, "embed", None);
    let table = s.matrix(EMBEDDING, &[config.vocab, config.hidden])?;
    let tokens = s.per_token("tokens");
    let x = s.g.rows(table, tokens);
    s.g.output("x", x);
    s.finish("embed")
}

/// The segment that turns the rows of `x` named by `out_rows` into `logits`, `f32[R, vocab]`.
pub(crate) fn head(gguf: &Gguf, config: &Config) -> Result<Segment, Error> {
    let mut s = SegmentBuilder::new(gguf, "head", None);
    let x = s.hidden(config.hidden);
    let wanted = s.g.input("out_rows", GgmlType::I32, [Dim::R]);
    let x = s.g.rows(x, wanted);
    let x = rms_norm(&mut s, x, "output_norm.weight", config.hidden, config.rms_eps)?;
    // Models with tied embeddings have one matrix for both ends.
    let output = if s.has("output.weight") { "output.weight" } else { EMBEDDING };
    let output = s.matrix(output, &[config.vocab, config.hidden])?;
    let logits = s.g.dot(x, output);
    s.g.output("logits", logits);
    s.finish("head")
}
