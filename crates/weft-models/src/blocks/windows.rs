//! Models most of whose layers have a sliding window of attention.

use super::{Grouped, Rope};
use crate::error::Error;
use crate::keys::{Keys, MAX_CONTEXT, MAX_LAYERS};

/// The attention of layers with and without a window.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Windows {
    full: Grouped,
    windowed: Grouped,
    /// Of so many layers, the last has no window; 0 if all layers have one.
    period: usize,
}

impl Windows {
    /// Reads the keys of windows. `full` is the attention without one, and `rope` the rotary embedding with one, for which the file
    /// may have another base.
    pub(crate) fn read(
        keys: &Keys<'_>,
        full: Grouped,
        rope: Rope,
        context: usize,
        usual_period: usize,
    ) -> Result<Windows, Error> {
        const BASE: &str = "rope.freq_base_swa";
        let window = keys.number("attention.sliding_window", 1..=MAX_CONTEXT)?;
        let base = keys.positive_opt(BASE)?.unwrap_or(rope.base);
        if base <= 1.0 {
            return Err(keys.wrong(BASE, base, "it must be above 1"));
        }
        // A window of the whole context changes nothing.
        let window = (window < context).then_some(window);
        let windowed = Grouped { window, rope: Rope { base, ..rope }, ..full.clone() };
        const PATTERN: &str = "attention.sliding_window_pattern";
        // An array would say of each layer whether it has a window.
        let period = keys.metadata.u32(&keys.name(PATTERN))?;
        let period = period.map(|period| keys.within(PATTERN, period, 0..=MAX_LAYERS)).transpose()?;
        Ok(Windows { full, windowed, period: period.unwrap_or(usual_period) })
    }

    /// The attention of a layer.
    pub(crate) fn of(&self, layer: usize) -> &Grouped {
        let is_full = self.period > 0 && layer % self.period == self.period - 1;
        if is_full { &self.full } else { &self.windowed }
    }
}
