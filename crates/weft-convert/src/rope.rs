//! Rotary embedding as a configuration describes it: `rope_theta` and `rope_scaling`, or both in `rope_parameters`.

use std::f32::consts::PI;

use serde_json::Value as Json;

use crate::config::Config;
use crate::error::Result;
use crate::model::Model;

/// The keys of rotary embedding, wherever they are.
#[derive(Debug)]
pub(crate) struct Rope {
    /// `rope_parameters` or `rope_scaling`.
    keys: Config,
    /// The base of the frequencies.
    pub(crate) theta: Option<f64>,
    /// The base in layers with a sliding window, where they have their own.
    local: Option<f64>,
    /// The share of a head that is rotated.
    pub(crate) partial: Option<f64>,
    /// The way in which long contexts are reached: one that the family's files can express, or `default` for none.
    pub(crate) kind: String,
    /// The length of context that the model was first trained with.
    pub(crate) original_context: Option<u32>,
    /// The longest context.
    context: Option<u32>,
}

impl Rope {
    /// Reads the keys of a configuration.
    ///
    /// # Errors
    ///
    /// If positions are scaled in a way that files of the family cannot express: the model would be another one.
    pub(crate) fn read(model: &Model<'_>) -> Result<Rope> {
        let config = model.config;
        let name = if config.value("rope_parameters").is_some() { "rope_parameters" } else { "rope_scaling" };
        let mut keys = config.object(name)?;
        let mut local = config.f64("rope_local_base_freq")?;
        for kind in ["full_attention", "sliding_attention"] {
            if let Some(found) = keys.value(kind).filter(|_| !model.has_local_rope) {
                return Err(keys.mismatch(kind, "one set of parameters for all layers", found));
            }
        }
        if keys.value("full_attention").is_some() {
            let sliding = keys.object("sliding_attention")?;
            if let Some(found) = sliding.value("rope_type").filter(|kind| *kind != "default") {
                return Err(sliding.mismatch("rope_type", "default: it is not scaled", found));
            }
            local = sliding.f64("rope_theta")?.or(local);
            keys = keys.object("full_attention")?;
        }
        let either = |key: &str| Ok::<_, crate::Error>(keys.f64(key)?.or(config.f64(key)?));
        let name = if keys.value("rope_type").is_some() { "rope_type" } else { "type" };
        let kind = keys.str(name)?.unwrap_or("default").to_lowercase();
        if kind != "default" && !model.scalings.contains(&&*kind) {
            let known = [&["default"], model.scalings].concat().join(", ");
            let expected = format!(
                "one of {known}: a GGUF file of the family `{}` can say no other",
                model.architecture
            );
            return Err(keys.mismatch(name, &expected, &kind.into()));
        }
        let original = keys.u32("original_max_position_embeddings")?;
        Ok(Rope {
            theta: either("rope_theta")?,
            local: local.filter(|_| model.has_local_rope),
            partial: either("partial_rotary_factor")?,
            kind,
            context: config.u32("max_position_embeddings")?,
            original_context: original.or(config.u32("original_max_position_embeddings")?),
            keys,
        })
    }

    /// Writes what all families write.
    pub(crate) fn write(&self, model: &mut Model<'_>) -> Result<()> {
        match &*self.kind {
            "linear" => {
                model.arch("rope.scaling.type", "linear");
                model.arch("rope.scaling.factor", self.keys.require_f64("factor")? as f32);
            }
            "yarn" => self.write_yarn(model)?,
            // The other ways are tensors of factors. Families whose files can express them write these.
            _ => {}
        }
        if let Some(theta) = self.theta {
            model.arch("rope.freq_base", theta as f32);
        }
        if let Some(theta) = self.local {
            model.arch("rope.freq_base_swa", theta as f32);
        }
        Ok(())
    }

    fn write_yarn(&self, model: &mut Model<'_>) -> Result<()> {
        let factor = self.keys.require_f64("factor")?;
        self.check_magnitude(factor, model.architecture)?;
        model.arch("rope.scaling.type", "yarn");
        model.arch("rope.scaling.factor", factor as f32);
        let original =
            self.original_context.ok_or_else(|| self.keys.missing("original_max_position_embeddings"))?;
        model.arch("rope.scaling.original_context_length", original);
        let names = [
            ("extrapolation_factor", "yarn_ext_factor"),
            ("beta_fast", "yarn_beta_fast"),
            ("beta_slow", "yarn_beta_slow"),
        ];
        for (name, key) in names {
            if let Some(value) = self.keys.f64(name)? {
                model.arch(&format!("rope.scaling.{key}"), value as f32);
            }
        }
        Ok(())
    }

    /// Checks that cosines and sines have the magnitude that readers of a file compute: YaRN's own, for DeepSeek with `mscale_all_dim`
    /// none, because it is on the scores, and for Ministral YaRN's own over that with `mscale_all_dim`.
    fn check_magnitude(&self, factor: f64, architecture: &str) -> Result<()> {
        let own = 0.1 * factor.max(1.0).ln() + 1.0;
        for key in ["attention_factor", "attn_factor"] {
            if let Some(found) = self.keys.f64(key)?.filter(|found| (found - own).abs() > 1e-4) {
                let expected = format!("none, or YaRN's own, {own:.6}: readers compute no other");
                return Err(self.keys.mismatch(key, &expected, &found.into()));
            }
        }
        let all = self.keys.f64("mscale_all_dim")?.filter(|all| *all != 0.0);
        let Some(all) = all else { return Ok(()) };
        let (read, what) = match architecture {
            "deepseek2" | "deepseek32" | "glm-dsa" | "mistral4" => (all, "the same as `mscale_all_dim`, "),
            "mistral3" => (1.0, ""),
            _ => return Err(self.keys.mismatch("mscale_all_dim", "none in this family", &all.into())),
        };
        match self.keys.f64("mscale")?.unwrap_or(1.0) {
            same if same == read => Ok(()),
            other => {
                let expected = format!("{what}{read}: readers compute no other");
                Err(self.keys.mismatch("mscale", &expected, &other.into()))
            }
        }
    }

    /// The factors under a key, of which there must be `count`.
    pub(crate) fn factors(&self, key: &str, count: u64) -> Result<Vec<f32>> {
        let list = self.keys.list(key)?.ok_or_else(|| self.keys.missing(key))?;
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

    /// `mrope_section`: how many pairs of values turn by time, height and width, with a 0 for what there is
    /// none of.
    pub(crate) fn sections(&self) -> Result<Option<Vec<i32>>> {
        const KEY: &str = "mrope_section";
        let Some(list) = self.keys.list(KEY)? else { return Ok(None) };
        let pairs = |pairs: &Json| pairs.as_u64().and_then(|pairs| i32::try_from(pairs).ok());
        let found: Option<Vec<i32>> = list.iter().map(pairs).collect();
        let Some(mut found) = found.filter(|found| (1..=4).contains(&found.len())) else {
            return Err(self.keys.mismatch(KEY, "a list of up to 4 counts", &list.to_vec().into()));
        };
        found.resize(4, 0);
        Ok(Some(found))
    }

    /// YaRN's scale of attention, as DeepSeek counts it.
    pub(crate) fn mscale_all_dim(&self) -> Result<Option<f64>> {
        self.keys.f64("mscale_all_dim")
    }

    /// Ministral's parameters in addition to YaRN's: the factor by which positions scale queries, and `mscale_all_dim`.
    ///
    /// # Errors
    ///
    /// If the scaling is not YaRN, or a parameter is missing.
    pub(crate) fn ministral(&self) -> Result<(f64, f64)> {
        if self.kind != "yarn" {
            return Err(self.keys.mismatch(
                "rope_type",
                "yarn, as Ministral 3 has it",
                &self.kind.as_str().into(),
            ));
        }
        Ok((self.keys.require_f64("llama_4_scaling_beta")?, self.keys.require_f64("mscale_all_dim")?))
    }

    /// Refuses queries that are scaled by their position in contexts that are long enough for it, because files of most families cannot
    /// express that.
    pub(crate) fn refuse_scaled_queries(&self) -> Result<()> {
        const BETA: &str = "llama_4_scaling_beta";
        let Some(beta) = self.keys.f64(BETA)?.filter(|beta| *beta != 0.0) else { return Ok(()) };
        let original =
            self.original_context.ok_or_else(|| self.keys.missing("original_max_position_embeddings"))?;
        if self.context.is_some_and(|context| context <= original) {
            return Ok(());
        }
        let expected = format!(
            "0: files of this family cannot say that queries are scaled from position {original} on. Set it to 0 to convert the \
             model without, as llama.cpp's converter does, or `max_position_embeddings` to {original}, for contexts in \
             which it changes nothing"
        );
        Err(self.keys.mismatch(BETA, &expected, &beta.into()))
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
