//! Rotary position embedding: the angles by which pairs of values rotate, and how they are scaled for longer contexts.
//!
//! The formulas are the same as in llama.cpp (`llama_context`'s constructor and `ggml_rope_ext`), which follows "YaRN:
//! Efficient Context Window Extension of Large Language Models" (Peng et al., 2023,
//! <https://arxiv.org/abs/2309.00071>). Angles are linear in the position, so all scaling of frequencies is folded into
//! constants here; a step only multiplies.

use std::f64::consts::TAU;

use weft_ir::{Dim, NodeId, RopeStyle};

use crate::error::Error;
use crate::file::ModelFile;
use crate::keys::{Keys, MAX_CONTEXT};
use crate::segment::SegmentBuilder;

/// The tensor of factors that the frequencies are divided by (llama 3).
const FACTORS: &str = "rope_freqs.weight";
/// The tensors of factors for contexts within the original one, and beyond (LongRoPE).
const SHORT_FACTORS: &str = "rope_factors_short.weight";
const LONG_FACTORS: &str = "rope_factors_long.weight";

/// The rotary embedding of a model.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Rope {
    /// Which values of a head form a pair: neighbours, or (GPT-NeoX) values `dims/2` apart.
    pub(crate) style: RopeStyle,
    /// The number of values of a head that are rotated, an even number. The rest are left unchanged.
    pub(crate) dims: usize,
    /// θ: pair `i` rotates by `base^(-2i/dims)` radians per position, before scaling.
    pub(crate) base: f32,
    /// How frequencies are scaled.
    pub(crate) scaling: RopeScaling,
    /// Factors that the frequencies are divided by before scaling.
    pub(crate) factors: Option<Factors>,
    /// Factor applied to cosine and sine.
    pub(crate) magnitude: f32,
}

/// Factors of rotary frequencies.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Factors {
    /// One for each of the `dims/2` pairs.
    values: Vec<f32>,
    /// The tensors that they come from, and those that hold the values for other contexts.
    tensors: &'static [&'static str],
}

/// How rotary frequencies are scaled for contexts longer than in the original training.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum RopeScaling {
    /// All frequencies are divided by one factor, which is 1 if unscaled.
    Linear {
        /// The factor.
        factor: f32,
    },
    /// YaRN: slow pairs are divided by the factor, fast pairs are left unchanged, with a ramp in between.
    Yarn {
        /// The factor, at least 1.
        factor: f32,
        /// Context length before scaling, in tokens.
        original_context: usize,
        /// Pairs with more rotations than this in the original context are left unchanged.
        beta_fast: f32,
        /// Pairs with fewer rotations than this are divided by the whole factor.
        beta_slow: f32,
        /// DeepSeek's `mscale_all_dim`, or 0 if the file has none.
        mscale_all_dim: f32,
    },
}

/// YaRN's factor on attention scores: `0.1·m·ln(factor) + 1` (section 3.4 of the paper, with DeepSeek's multiplier m).
fn yarn_mscale(factor: f32, multiplier: f32) -> f64 {
    0.1 * f64::from(multiplier) * f64::from(factor).ln() + 1.0
}

impl Rope {
    /// Reads the keys of the rotary embedding. `dims` is the number of values of a head that are rotated, and `context` the
    /// length that the model was trained for.
    pub(crate) fn read(
        keys: &Keys<'_>,
        style: RopeStyle,
        dims: usize,
        context: usize,
    ) -> Result<Rope, Error> {
        Rope::read_with_mscale(keys, style, dims, context, None)
    }

    /// Like [`read`](Rope::read), for families with DeepSeek's `mscale_all_dim`.
    pub(crate) fn read_with_mscale(
        keys: &Keys<'_>,
        style: RopeStyle,
        dims: usize,
        context: usize,
        mscale_all_dim: Option<f32>,
    ) -> Result<Rope, Error> {
        let base = keys.positive_opt("rope.freq_base")?.unwrap_or(10_000.0);
        if base <= 1.0 {
            return Err(keys.wrong("rope.freq_base", base, "it must be above 1"));
        }
        let scaling = scaling(keys, context, mscale_all_dim)?;
        // With `mscale_all_dim`, the factor is on the attention's scale (see `score_factor`), not on the tables.
        let own = match scaling {
            RopeScaling::Yarn { factor, mscale_all_dim: 0.0, .. } => yarn_mscale(factor, 1.0),
            _ => 1.0,
        };
        let magnitude = (given_magnitude(keys)? * own) as f32;
        Ok(Rope { style, dims, base, scaling, factors: None, magnitude })
    }

    /// Like [`read`](Rope::read), for families that divide YaRN's factor on the tables by that with another multiplier.
    pub(crate) fn read_over_mscale(
        keys: &Keys<'_>,
        style: RopeStyle,
        dims: usize,
        context: usize,
        multiplier: f32,
    ) -> Result<Rope, Error> {
        let rope = Rope::read(keys, style, dims, context)?;
        let RopeScaling::Yarn { factor, .. } = rope.scaling else { return Ok(rope) };
        let own = yarn_mscale(factor, 1.0) / yarn_mscale(factor, multiplier);
        Ok(Rope { magnitude: (given_magnitude(keys)? * own) as f32, ..rope })
    }

    /// Adds the frequency factors, if the file has them.
    pub(crate) fn with_factors(self, file: &ModelFile<'_>) -> Result<Rope, Error> {
        let values = file.constants(FACTORS, self.dims / 2)?;
        Ok(Rope { factors: values.map(|values| Factors { values, tensors: &[FACTORS] }), ..self })
    }

    /// Adds the frequency factors, which the file must have.
    pub(crate) fn with_required_factors(self, file: &ModelFile<'_>) -> Result<Rope, Error> {
        let rope = self.with_factors(file)?;
        if rope.factors.is_none() {
            let expected = vec![rope.dims as u64 / 2];
            return Err(Error::MissingTensor { file: file.path(), tensor: FACTORS.into(), expected });
        }
        Ok(rope)
    }

    /// Adds the frequency factors of LongRoPE for a context of `context` tokens, if the file has them.
    pub(crate) fn with_long_factors(self, file: &ModelFile<'_>, context: usize) -> Result<Rope, Error> {
        let original = file.keys.number_opt("rope.scaling.original_context_length", 1..=MAX_CONTEXT)?;
        let is_long = original.is_some_and(|original| context > original);
        let short = file.constants(SHORT_FACTORS, self.dims / 2)?;
        let long = file.constants(LONG_FACTORS, self.dims / 2)?;
        if short.is_none() && long.is_none() {
            return Ok(self);
        }
        let (tensor, values) = if is_long { (LONG_FACTORS, long) } else { (SHORT_FACTORS, short) };
        let Some(values) = values else {
            let expected = vec![self.dims as u64 / 2];
            return Err(Error::MissingTensor { file: file.path(), tensor: tensor.into(), expected });
        };
        Ok(Rope { factors: Some(Factors { values, tensors: &[SHORT_FACTORS, LONG_FACTORS] }), ..self })
    }

    /// The factor by which DeepSeek multiplies attention scores besides 1/√d: `mscale²`. It applies to the whole score, not
    /// only to its rotated part. (As in llama.cpp, it includes the magnitude of the tables.)
    pub(crate) fn score_factor(&self) -> f64 {
        let own = match self.scaling {
            RopeScaling::Yarn { factor, mscale_all_dim, .. } => yarn_mscale(factor, mscale_all_dim),
            RopeScaling::Linear { .. } => 1.0,
        };
        (f64::from(self.magnitude) * own).powi(2)
    }

    /// The frequency of each of the `dims/2` pairs, in radians per position.
    pub(crate) fn frequencies(&self) -> Vec<f32> {
        let (dims, base) = (self.dims as f64, f64::from(self.base));
        let (factor, ramp) = match self.scaling {
            RopeScaling::Linear { factor } => (factor, None),
            RopeScaling::Yarn { factor, original_context, beta_fast, beta_slow, .. } => {
                // The pair that rotates `beta` times in the original context.
                let pair = |beta: f32| {
                    dims * (original_context as f64 / (f64::from(beta) * TAU)).ln() / (2.0 * base.ln())
                };
                (factor, Some((pair(beta_fast).floor().max(0.0), pair(beta_slow).ceil().min(dims - 1.0))))
            }
        };
        let frequency = |i: usize| {
            let given = self.factors.as_ref().map_or(1.0, |factors| f64::from(factors.values[i]));
            let divided = ramp.map_or(1.0, |(low, high): (f64, f64)| {
                ((i as f64 - low) / (high - low).max(0.001)).clamp(0.0, 1.0)
            });
            let own = base.powf(-2.0 * i as f64 / dims) / given;
            own * (1.0 - divided) + own / f64::from(factor) * divided
        };
        (0..self.dims / 2).map(|i| frequency(i) as f32).collect()
    }

    /// The cosines and sines of every token's angles, `f32[T, dims/2]` each, computed from `pos`.
    fn tables(&self, s: &mut SegmentBuilder<'_>) -> (NodeId, NodeId) {
        let pos = s.per_token("pos");
        let g = &mut s.g;
        let pos = g.cast(pos);
        let pos = g.reshape(pos, [Dim::T, 1.into()]);
        let frequencies = g.vector(&self.frequencies());
        let angles = g.mul(pos, frequencies);
        let (cos, sin) = (g.cos(angles), g.sin(angles));
        if self.magnitude == 1.0 {
            return (cos, sin);
        }
        let magnitude = g.scalar(self.magnitude);
        (g.mul(cos, magnitude), g.mul(sin, magnitude))
    }

    /// Rotates the first `dims` values of `x`, `[T, width]` or `[T, H, width]`.
    pub(crate) fn apply(&self, s: &mut SegmentBuilder<'_>, x: NodeId, rank: usize, width: usize) -> NodeId {
        if let Some(factors) = &self.factors {
            s.constants.extend(factors.tensors);
        }
        let (cos, sin) = self.tables(s);
        if self.dims == width {
            return s.g.rope(x, cos, sin, self.style);
        }
        let rotated = s.g.slice(x, rank - 1, 0, self.dims);
        let rotated = s.g.rope(rotated, cos, sin, self.style);
        let rest = s.g.slice(x, rank - 1, self.dims, width - self.dims);
        s.g.concat(&[rotated, rest], rank - 1)
    }
}

/// The factor on cosine and sine that the file has, besides YaRN's own.
fn given_magnitude(keys: &Keys<'_>) -> Result<f64, Error> {
    Ok(keys.positive_opt("rope.scaling.attn_factor")?.map_or(1.0, f64::from))
}

fn scaling(keys: &Keys<'_>, context: usize, mscale_all_dim: Option<f32>) -> Result<RopeScaling, Error> {
    let factor = match keys.positive_opt("rope.scaling.factor")? {
        // The key's name until 2023.
        None => keys.positive_opt("rope.scale_linear")?,
        factor => factor,
    };
    let factor = factor.unwrap_or(1.0);
    const TYPE: &str = "rope.scaling.type";
    // A factor without a type is linear.
    match keys.metadata.str(&keys.name(TYPE))?.unwrap_or("linear") {
        "none" => Ok(RopeScaling::Linear { factor: 1.0 }),
        "linear" => Ok(RopeScaling::Linear { factor }),
        "yarn" if factor < 1.0 => {
            Err(keys.wrong("rope.scaling.factor", factor, "for YaRN, it must be at least 1"))
        }
        "yarn" => {
            let original = keys.number_opt("rope.scaling.original_context_length", 1..=MAX_CONTEXT)?;
            // llama.cpp writes -1 for an extrapolation factor that is not set.
            refuse_unless(keys, "rope.scaling.yarn_ext_factor", |factor| factor == 1.0 || factor < 0.0)?;
            refuse_unless(keys, "rope.scaling.yarn_attn_factor", |factor| factor == 1.0)?;
            Ok(RopeScaling::Yarn {
                factor,
                original_context: original.unwrap_or(context),
                beta_fast: keys.positive_opt("rope.scaling.yarn_beta_fast")?.unwrap_or(32.0),
                beta_slow: keys.positive_opt("rope.scaling.yarn_beta_slow")?.unwrap_or(1.0),
                mscale_all_dim: mscale_all_dim.unwrap_or(0.0),
            })
        }
        other => Err(keys.unsupported(
            TYPE,
            format!("`{}`", other.escape_debug()),
            "it can be `none`, `linear` or `yarn`",
        )),
    }
}

/// Returns an error if the file has a factor of YaRN that is not built.
fn refuse_unless(keys: &Keys<'_>, key: &str, is_built: fn(f32) -> bool) -> Result<(), Error> {
    match keys.f32(key)? {
        Some(factor) if !is_built(factor) => Err(keys.unsupported(key, factor, "it can only be 1")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rope(dims: usize, scaling: RopeScaling) -> Rope {
        Rope { style: RopeStyle::Pairs, dims, base: 10_000.0, scaling, factors: None, magnitude: 1.0 }
    }

    #[test]
    fn frequencies_fall_geometrically() {
        let plain = rope(8, RopeScaling::Linear { factor: 1.0 });
        assert_eq!(plain.frequencies(), [1.0, 0.1, 0.01, 0.001]);
        let halved = rope(8, RopeScaling::Linear { factor: 2.0 });
        assert_eq!(halved.frequencies(), [0.5, 0.05, 0.005, 0.0005]);
        let divided =
            Rope { factors: Some(Factors { values: vec![1.0, 2.0, 4.0, 8.0], tensors: &[] }), ..plain };
        assert_eq!(divided.frequencies(), [1.0, 0.05, 0.0025, 0.000125]);
    }

    /// DeepSeek-V2-Lite: YaRN with factor 40 from 4096 tokens, `mscale_all_dim` 0.707, queries of 128 + 64.
    #[test]
    fn yarn_as_deepseek_uses_it() {
        let scaling = RopeScaling::Yarn {
            factor: 40.0,
            original_context: 4096,
            beta_fast: 32.0,
            beta_slow: 1.0,
            mscale_all_dim: 0.707,
        };
        let scaled = rope(64, scaling);
        // The softmax scale that DeepSeek's own code computes.
        let scale = scaled.score_factor() / 192.0f64.sqrt();
        assert!((scale - 0.114_721_386_792_926_1).abs() < 1e-8, "{scale}");

        // DeepSeek's `yarn_find_correction_range(32, 1, 64, 10000, 4096)` is (10, 23).
        let plain = rope(64, RopeScaling::Linear { factor: 1.0 }).frequencies();
        for (i, (own, plain)) in scaled.frequencies().iter().zip(plain).enumerate() {
            let divided = ((i as f32 - 10.0) / 13.0).clamp(0.0, 1.0);
            let expected = plain * (1.0 - divided) + plain / 40.0 * divided;
            assert!((own / expected - 1.0).abs() < 1e-6, "pair {i}: {own}, expected {expected}");
        }
    }
}
