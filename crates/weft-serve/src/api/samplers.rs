//! The samplers that llama.cpp's server has in addition to OpenAI's: their fields, by its names.

use weft_engine::GenerateOptions;

use super::texts::strings;
use crate::error::ApiError;
use crate::json::Fields;

/// The most sequence breakers.
const BREAKERS: usize = 64;
/// The most bytes of one.
const BREAKER_BYTES: usize = 40;

/// Reads the fields.
///
/// # Errors
/// If one is out of range.
pub(super) fn read(fields: &mut Fields<'_>, options: &mut GenerateOptions) -> Result<(), ApiError> {
    let sampling = &mut options.sampling;
    let mut set = |name, range, target: &mut f32| -> Result<(), ApiError> {
        *target = fields.number(name, range)?.map_or(*target, |number| number as f32);
        Ok(())
    };
    set("dry_multiplier", 0.0..=100.0, &mut sampling.dry_multiplier)?;
    set("dry_base", 1.0..=100.0, &mut sampling.dry_base)?;
    set("top_n_sigma", -1.0..=100.0, &mut sampling.top_n_sigma)?;
    set("typical_p", 0.0..=1.0, &mut sampling.typical_p)?;
    set("xtc_probability", 0.0..=1.0, &mut sampling.xtc_probability)?;
    set("xtc_threshold", 0.0..=1.0, &mut sampling.xtc_threshold)?;
    set("dynatemp_range", 0.0..=2.0, &mut sampling.dynatemp_range)?;
    set("dynatemp_exponent", 0.0..=100.0, &mut sampling.dynatemp_exponent)?;
    set("mirostat_tau", 0.0..=100.0, &mut sampling.mirostat_tau)?;
    set("mirostat_eta", 0.0..=1.0, &mut sampling.mirostat_eta)?;
    let allowed = fields.count("dry_allowed_length", 0..=1 << 31)?;
    sampling.dry_allowed_length = allowed.unwrap_or(sampling.dry_allowed_length);
    if let Some(last) = fields.integer("dry_penalty_last_n", -1..=1 << 31)? {
        // -1 is all.
        sampling.dry_last_n = usize::try_from(last).unwrap_or(usize::MAX);
    }
    // The second is text-generation-webui's name.
    for name in ["mirostat", "mirostat_mode"] {
        match fields.value(name) {
            None => {}
            Some(value) if value.as_f64() == Some(0.0) || value.as_bool() == Some(false) => {
                sampling.mirostat = false
            }
            Some(value) if value.as_f64() == Some(2.0) => sampling.mirostat = true,
            Some(value) => {
                return Err(fields.expected(name, "0 (off) or 2 (mirostat 2; there is no other)", value));
            }
        }
    }
    if let Some(breakers) = fields.value("dry_sequence_breakers") {
        options.dry_breakers =
            strings(&fields.at("dry_sequence_breakers"), breakers, BREAKERS, BREAKER_BYTES)?;
    }
    Ok(())
}
