//! How tokens are sampled.

/// Sampling parameters. They are applied in the order of the fields, which is that of llama.cpp.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Sampling {
    /// Divides positive logits, and multiplies negative ones, of tokens that occur among the last
    /// [`repeat_last_n`](Self::repeat_last_n). 1 disables it.
    pub repeat_penalty: f32,
    /// Subtracted from the logits of tokens that occur there.
    pub presence_penalty: f32,
    /// Subtracted from the logits of tokens that occur there, once for each occurrence.
    pub frequency_penalty: f32,
    /// The number of last tokens that penalties consider. [`usize::MAX`] means all.
    pub repeat_last_n: usize,
    /// Whether penalties consider the prompt too, and not only the reply.
    pub penalize_prompt: bool,
    /// DRY: lowers the logit of a token that would continue a repetition by this times [`dry_base`](Self::dry_base) to the
    /// power of how many tokens the repetition is longer than [`dry_allowed_length`](Self::dry_allowed_length). 0 disables it.
    pub dry_multiplier: f32,
    /// The factor by which the penalty grows with each token. Below 1 there is no penalty.
    pub dry_base: f32,
    /// The length of repetitions from which on they are lowered, in tokens.
    pub dry_allowed_length: usize,
    /// The number of last tokens, those of the prompt included, in which repetitions are looked for. [`usize::MAX`] means all.
    pub dry_last_n: usize,
    /// Keeps tokens whose logit is at most so many standard deviations of all logits below the highest. 0 and less keep all.
    pub top_n_sigma: f32,
    /// Keeps this many of the likeliest tokens. 0 keeps all.
    pub top_k: usize,
    /// Keeps the tokens whose surprise is closest to the entropy, until their probabilities add up to more than this. 1 keeps all.
    pub typical_p: f32,
    /// Keeps the likeliest tokens until their probabilities add up to this. 1 keeps all.
    pub top_p: f32,
    /// Keeps tokens whose probability is at least `min_p` times the likeliest token's. 0 keeps all.
    pub min_p: f32,
    /// XTC: with this probability, removes all but the least likely of the tokens whose probability is at least
    /// [`xtc_threshold`](Self::xtc_threshold). 0 disables it.
    pub xtc_probability: f32,
    /// From which probability on a token is a top choice. Above 0.5 there are no two of them, and XTC does nothing.
    pub xtc_threshold: f32,
    /// Divides the logits. 0 chooses the likeliest token.
    pub temperature: f32,
    /// By how much the temperature is lower where the model is certain, and higher where it is not: the entropy of the tokens that
    /// are left says where between the two it is. 0 disables it.
    pub dynatemp_range: f32,
    /// The power of the entropy, relative to the highest possible, with which the temperature rises.
    pub dynatemp_exponent: f32,
    /// Mirostat 2 instead of all that keeps some tokens: after penalties and temperature, tokens of more surprise than a bound are
    /// removed, and the bound follows the surprise of the tokens that are chosen.
    pub mirostat: bool,
    /// The surprise that mirostat aims at, in bits.
    pub mirostat_tau: f32,
    /// How fast mirostat's bound follows.
    pub mirostat_eta: f32,
    /// The seed of the random numbers. The same seed, position in the sequence and logits give the same token.
    pub seed: u64,
}

impl Default for Sampling {
    /// A moderate temperature, without penalties.
    fn default() -> Sampling {
        Sampling {
            repeat_penalty: 1.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            repeat_last_n: 64,
            penalize_prompt: true,
            dry_multiplier: 0.0,
            dry_base: 1.75,
            dry_allowed_length: 2,
            dry_last_n: 64,
            top_n_sigma: 0.0,
            top_k: 40,
            typical_p: 1.0,
            top_p: 0.95,
            min_p: 0.05,
            xtc_probability: 0.0,
            xtc_threshold: 0.1,
            temperature: 0.6,
            dynatemp_range: 0.0,
            dynatemp_exponent: 1.0,
            mirostat: false,
            mirostat_tau: 5.0,
            mirostat_eta: 0.1,
            seed: 0,
        }
    }
}

impl Sampling {
    /// Always chooses the likeliest token, without penalties.
    pub fn greedy() -> Sampling {
        Sampling { temperature: 0.0, ..Sampling::default() }
    }

    /// The name and value of a parameter that is not finite.
    pub(crate) fn not_finite(&self) -> Option<(&'static str, f32)> {
        let parameters = [
            ("repeat_penalty", self.repeat_penalty),
            ("presence_penalty", self.presence_penalty),
            ("frequency_penalty", self.frequency_penalty),
            ("dry_multiplier", self.dry_multiplier),
            ("dry_base", self.dry_base),
            ("top_n_sigma", self.top_n_sigma),
            ("typical_p", self.typical_p),
            ("top_p", self.top_p),
            ("min_p", self.min_p),
            ("xtc_probability", self.xtc_probability),
            ("xtc_threshold", self.xtc_threshold),
            ("temperature", self.temperature),
            ("dynatemp_range", self.dynatemp_range),
            ("dynatemp_exponent", self.dynatemp_exponent),
            ("mirostat_tau", self.mirostat_tau),
            ("mirostat_eta", self.mirostat_eta),
        ];
        parameters.into_iter().find(|(_, value)| !value.is_finite())
    }

    /// Sets the [temperature](Self::temperature).
    pub fn temperature(self, temperature: f32) -> Sampling {
        Sampling { temperature, ..self }
    }

    /// Sets the [seed](Self::seed).
    pub fn seed(self, seed: u64) -> Sampling {
        Sampling { seed, ..self }
    }
}
