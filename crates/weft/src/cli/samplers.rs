//! The options of samplers that are numbers, and the parameters that they set.

use weft_engine::Sampling;

/// An option that is a number, and its parameter.
type Real = (&'static str, fn(&mut Sampling) -> &mut f32);

/// An option that is a count, its parameter, and what no limit is there.
type Count = (&'static str, fn(&mut Sampling) -> &mut usize, usize);

/// The options that are numbers.
pub(crate) const REALS: &[Real] = &[
    ("temperature", |sampling| &mut sampling.temperature),
    ("top-p", |sampling| &mut sampling.top_p),
    ("min-p", |sampling| &mut sampling.min_p),
    ("repeat-penalty", |sampling| &mut sampling.repeat_penalty),
    ("presence-penalty", |sampling| &mut sampling.presence_penalty),
    ("frequency-penalty", |sampling| &mut sampling.frequency_penalty),
    ("dry-multiplier", |sampling| &mut sampling.dry_multiplier),
    ("dry-base", |sampling| &mut sampling.dry_base),
    ("top-n-sigma", |sampling| &mut sampling.top_n_sigma),
    ("typical-p", |sampling| &mut sampling.typical_p),
    ("xtc-probability", |sampling| &mut sampling.xtc_probability),
    ("xtc-threshold", |sampling| &mut sampling.xtc_threshold),
    ("dynatemp-range", |sampling| &mut sampling.dynatemp_range),
    ("dynatemp-exponent", |sampling| &mut sampling.dynatemp_exponent),
    ("mirostat-tau", |sampling| &mut sampling.mirostat_tau),
    ("mirostat-eta", |sampling| &mut sampling.mirostat_eta),
];

/// The options that are counts.
pub(crate) const COUNTS: &[Count] = &[
    ("top-k", |sampling| &mut sampling.top_k, 0),
    ("repeat-last-n", |sampling| &mut sampling.repeat_last_n, usize::MAX),
    ("dry-allowed-length", |sampling| &mut sampling.dry_allowed_length, usize::MAX),
    ("dry-penalty-last-n", |sampling| &mut sampling.dry_last_n, usize::MAX),
];

/// The names of all of them, in the order in which they are shown.
pub(crate) const NAMES: &[&str] = &[
    "temperature",
    "top-k",
    "top-p",
    "min-p",
    "repeat-penalty",
    "repeat-last-n",
    "presence-penalty",
    "frequency-penalty",
    "dry-multiplier",
    "dry-base",
    "dry-allowed-length",
    "dry-penalty-last-n",
    "top-n-sigma",
    "typical-p",
    "xtc-probability",
    "xtc-threshold",
    "dynatemp-range",
    "dynatemp-exponent",
    "mirostat-tau",
    "mirostat-eta",
];

/// The parameter of an option that is a number.
pub(crate) fn real<'a>(sampling: &'a mut Sampling, name: &str) -> Option<&'a mut f32> {
    REALS.iter().find(|(known, _)| *known == name).map(|(_, of)| of(sampling))
}

/// The parameter of an option that is a count.
pub(crate) fn count<'a>(sampling: &'a mut Sampling, name: &str) -> Option<&'a mut usize> {
    COUNTS.iter().find(|(known, ..)| *known == name).map(|(_, of, _)| of(sampling))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_has_its_name_among_all() {
        let parameters = REALS.iter().map(|(name, _)| *name).chain(COUNTS.iter().map(|(name, ..)| *name));
        let (mut parameters, mut names) = (parameters.collect::<Vec<_>>(), NAMES.to_vec());
        parameters.sort_unstable();
        names.sort_unstable();
        assert_eq!(parameters, names);
    }
}
