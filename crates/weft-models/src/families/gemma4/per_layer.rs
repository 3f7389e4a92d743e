//! Embeddings of a token for each layer.
//!
//! With `x₀` the scaled embedding of a token, `H` values wide, and `p` values for each layer, layer `l` gets row `l` of
//!
//! ```text
//! (n(per_layer_model_proj · x₀ / √H) + √p · per_layer_token_embd[token]) / √2
//! ```
//!
//! The rows of a token follow each other in the value `per_layer`, `f32[T, layers·p]`. A layer reads its own columns of it
//! ([`SegmentBuilder::columns`]), so that all layers of a shape have one graph.

use weft_ir::{Dim, NodeId};

use crate::blocks::{Activation, Gated, ends, linear};
use crate::common::Common;
use crate::error::Error;
use crate::file::ModelFile;
use crate::keys::{Keys, MAX_WIDTH};
use crate::segment::SegmentBuilder;

/// The value with the rows of all layers.
const VALUE: &str = "per_layer";

/// Embeddings for each layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PerLayer {
    /// How many values a layer gets.
    width: usize,
    /// The width of all of them: `layers · width`.
    all: usize,
}

impl PerLayer {
    /// Reads `embedding_length_per_layer_input`: 0 if the model has no such embeddings.
    pub(super) fn read(keys: &Keys<'_>, common: &Common) -> Result<Option<PerLayer>, Error> {
        const WIDTH: &str = "embedding_length_per_layer_input";
        let width = keys.number(WIDTH, 0..=MAX_WIDTH)?;
        if width == 0 {
            return Ok(None);
        }
        let all = width * common.blocks;
        if all > MAX_WIDTH {
            let rule =
                format!("with {} layers, it can be {} at most", common.blocks, MAX_WIDTH / common.blocks);
            return Err(keys.wrong(WIDTH, width, rule));
        }
        Ok(Some(PerLayer { width, all }))
    }

    /// The segment that looks up the embedding `x` of `tokens`, and those for each layer.
    pub(super) fn embed<'a>(
        self,
        file: &ModelFile<'a>,
        common: &Common,
    ) -> Result<SegmentBuilder<'a>, Error> {
        let Common { hidden, vocab, norm, .. } = *common;
        let PerLayer { width, all } = self;
        let layers = all / width;
        let (mut s, x) = ends::embedded(file, common)?;
        let project = s.matrix("per_layer_model_proj.weight", &[all, hidden])?;
        let projected = s.g.dot(x, project);
        let small = s.g.scalar((1.0 / (hidden as f64).sqrt()) as f32);
        let projected = s.g.mul(projected, small);
        let shape = [Dim::T, layers.into(), width.into()];
        let projected = s.g.reshape(projected, shape);
        let projected = norm.build(&mut s, projected, "per_layer_proj_norm.weight", 2, width)?;
        let table = s.matrix("per_layer_token_embd.weight", &[vocab, all])?;
        let tokens = s.per_token("tokens");
        let own = s.g.rows(table, tokens);
        let scale = s.g.scalar((width as f32).sqrt());
        let own = s.g.mul(own, scale);
        let own = s.g.reshape(own, shape);
        let sum = s.g.add(projected, own);
        let half = s.g.scalar(std::f32::consts::FRAC_1_SQRT_2);
        let sum = s.g.mul(sum, half);
        let rows = s.g.reshape(sum, [Dim::T, all.into()]);
        s.g.output("x", x);
        s.g.output(VALUE, rows);
        Ok(s)
    }

    /// The addend of the embedding of layer `index` to `x`.
    pub(super) fn of_layer(
        self,
        s: &mut SegmentBuilder<'_>,
        x: NodeId,
        index: usize,
        common: &Common,
    ) -> Result<NodeId, Error> {
        let Common { hidden, norm, .. } = *common;
        let PerLayer { width, all } = self;
        let own = s.columns(VALUE, all, (index * width, width));
        let gate = linear(s, x, "inp_gate", hidden, width)?;
        let inner = Gated { hidden, width, activation: Activation::Gelu }.gate(s, gate, own);
        let added = linear(s, inner, "proj", width, hidden)?;
        norm.build(s, added, "post_norm.weight", 1, hidden)
    }
}
