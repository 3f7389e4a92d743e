//! Rotary embedding as a configuration describes it: `rope_theta` and `rope_scaling`, or both in `rope_parameters`.

use std::f32::consts::PI;

use crate::config::Config;
use crate::error::{Result, refuse};
use crate::model::Model;

/// The keys of rotary embedding, wherever they are.
#[derive(Debug)]
pub(crate) struct Rope {
    /// `rope_parameters` or `rope_scaling`.
    keys: Config,
    /// The base of the frequencies.
    pub(crate) theta: Option<f64>,
    /// The share of a head that is rotated.
    pub(crate) partial: Option<f64>,
    /// How long contexts are reached; `default` for no way at all.
    pub(crate) kind: String,
    /// The length of context that the model was first trained with.
    pub(crate) original_context: Option<u32>,
}

impl Rope {
    /// Reads the keys of a configuration.
    pub(crate) fn read(config: &Config) -> Result<Rope> {
        let name = if config.value("rope_parameters").is_some() { "rope_parameters" } else { "rope_scaling" };
        let keys = config.object(name)?;
        for kind in ["full_attention", "sliding_attention"] {
            if let Some(found) = keys.value(kind) {
                return Err(keys.mismatch(kind, "one set of parameters for all layers", found));
            }
        }
        let either = |key: &str| Ok::<_, crate::Error>(keys.f64(key)?.or(config.f64(key)?));
        let kind = keys.str("rope_type")?.or(keys.str("type")?).unwrap_or("default").to_lowercase();
        let original = keys.u32("original_max_position_embeddings")?;
        Ok(Rope {
            theta: either("rope_theta")?,
            partial: either("partial_rotary_factor")?,
            kind,
            original_context: original.or(config.u32("original_max_position_embeddings")?),
            keys,
        })
    }

    /// Writes what all families write.
    pub(crate) fn write(&self, model: &mut Model<'_>) -> Result<()> {
        match &*self.kind {
            // `llama3` and `longrope` are tensors of factors, which families write.
            "default" | "llama3" | "longrope" | "su" => {}
            "linear" => {
                model.arch("rope.scaling.type", "linear");
                model.arch("rope.scaling.factor", self.keys.require_f64("factor")? as f32);
            }
            "yarn" => self.write_yarn(model)?,
            other => {
                let problem = format!(
                    "rotary scaling `{other}` is not supported; expected default, linear, llama3 or yarn"
                );
                return Err(refuse(self.keys.path(), problem));
            }
        }
        if let Some(theta) = self.theta {
            model.arch("rope.freq_base", theta as f32);
        }
        Ok(())
    }

    fn write_yarn(&self, model: &mut Model<'_>) -> Result<()> {
        model.arch("rope.scaling.type", "yarn");
        model.arch("rope.scaling.factor", self.keys.require_f64("factor")? as f32);
        let original =
            self.original_context.ok_or_else(|| self.keys.missing("original_max_position_embeddings"))?;
        model.arch("rope.scaling.original_context_length", original);
        let names = [
            (["extrapolation_factor", ""], "yarn_ext_factor"),
            (["attention_factor", "attn_factor"], "yarn_attn_factor"),
            (["beta_fast", ""], "yarn_beta_fast"),
            (["beta_slow", ""], "yarn_beta_slow"),
        ];
        for ([name, other], key) in names {
            if let Some(value) = self.keys.f64(name)?.or(self.keys.f64(other)?) {
                model.arch(&format!("rope.scaling.{key}"), value as f32);
            }
        }
        Ok(())
    }

    /// The factors under a key, of which there must be `count`; empty without the key.
    pub(crate) fn factors(&self, key: &str, count: u64) -> Result<Vec<f32>> {
        let Some(list) = self.keys.list(key)? else { return Ok(Vec::new()) };
        let factors: Vec<f32> = list.iter().filter_map(|factor| Some(factor.as_f64()? as f32)).collect();
        if factors.len() as u64 != count || factors.len() != list.len() {
            return Err(self.keys.mismatch(
                key,
                &format!("a list of {count} numbers"),
                &list.to_vec().into(),
            ));
        }
        Ok(factors)
    }

    /// YaRN's scale of attention, as DeepSeek counts it.
    pub(crate) fn mscale_all_dim(&self) -> Result<Option<f64>> {
        self.keys.f64("mscale_all_dim")
    }

    /// Llama 3's factors: short wavelengths stay, long ones are divided, those between are mixed. Other kinds have none.
    ///
    /// Each step is rounded as llama.cpp's converter rounds it, so that the factors are the same bits.
    pub(crate) fn llama3_factors(&self, width: u32) -> Result<Option<Vec<f32>>> {
        if self.kind != "llama3" {
            return Ok(None);
        }
        let number = |key: &str, default: f64| Ok::<_, crate::Error>(self.keys.f64(key)?.unwrap_or(default));
        let factor = number("factor", 8.0)?;
        let (low, high) = (number("low_freq_factor", 1.0)?, number("high_freq_factor", 4.0)?);
        let original = f64::from(self.original_context.unwrap_or(8192));
        let base = self.theta.unwrap_or(10000.0) as f32;
        let (longest, shortest) = ((original / low) as f32, (original / high) as f32);
        let factor_of = |pair: u32| {
            let frequency = 1.0 / base.powf((2 * pair) as f32 / width as f32);
            let wavelength = 2.0 * PI / frequency;
            if wavelength < shortest {
                return 1.0;
            }
            if wavelength > longest {
                return factor as f32;
            }
            let smooth = (original as f32 / wavelength - low as f32) / (high - low) as f32;
            1.0 / ((1.0 - smooth) / factor as f32 + smooth)
        };
        Ok(Some((0..width / 2).map(factor_of).collect()))
    }
}
