//! Models some of whose layers have a sliding window of attention.

use super::{Grouped, Rope};
use crate::common::Common;
use crate::error::Error;
use crate::keys::{Keys, MAX_CONTEXT, MAX_LAYERS};

/// The attention of layers with and without a window.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Windows {
    full: Grouped,
    windowed: Grouped,
    /// Whether each layer has a window.
    has: Vec<bool>,
}

/// Which layers have a window, if the file does not say: all but one of so many, or all if that is 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pattern {
    /// All but the last of so many.
    AllButLastOf(usize),
    /// All but the first of so many.
    AllButFirstOf(usize),
}

const BASE: &str = "rope.freq_base_swa";

impl Windows {
    /// Reads the keys of windows. `full` is the attention without one, and `windowed` that with one, for whose rotary embedding the
    /// file may have another base.
    pub(crate) fn read(
        keys: &Keys<'_>,
        common: &Common,
        full: Grouped,
        windowed: Grouped,
        usual: Pattern,
    ) -> Result<Windows, Error> {
        let own_base = |rope: Rope| Ok::<_, Error>(Rope { base: base(keys, rope.base)?, ..rope });
        let rope = windowed.rope.map(own_base).transpose()?;
        let windowed = Grouped { window: window(keys, common.context)?, rope, ..windowed };
        Ok(Windows { full, windowed, has: usual.read(keys, common.blocks)? })
    }

    /// Like [`read`](Windows::read), for families that have one base for all layers.
    ///
    /// # Errors
    ///
    /// If the file has another one for layers with a window.
    pub(crate) fn read_with_one_base(
        keys: &Keys<'_>,
        common: &Common,
        full: Grouped,
        windowed: Grouped,
        usual: Pattern,
    ) -> Result<Windows, Error> {
        if let Some(Rope { base: only, .. }) = windowed.rope {
            let other = base(keys, only)?;
            if other != only {
                return Err(keys.unsupported(BASE, other, format!("it must equal rope.freq_base, {only}")));
            }
        }
        Windows::read(keys, common, full, windowed, usual)
    }

    /// Whether a layer has a window.
    pub(crate) fn has(&self, layer: usize) -> bool {
        self.has[layer]
    }

    /// The attention of a layer.
    pub(crate) fn of(&self, layer: usize) -> &Grouped {
        if self.has[layer] { &self.windowed } else { &self.full }
    }
}

const PATTERN: &str = "attention.sliding_window_pattern";

impl Pattern {
    /// Whether each layer has a window, by a list in the file, by its number for this pattern, or by this one.
    fn read(self, keys: &Keys<'_>, layers: usize) -> Result<Vec<bool>, Error> {
        let name = keys.name(PATTERN);
        if keys.metadata.bools(&name).is_ok_and(|list| list.is_some()) {
            return listed(keys, layers);
        }
        let period = keys.metadata.u32(&name)?;
        let period = period.map(|period| keys.within(PATTERN, period, 0..=MAX_LAYERS)).transpose()?;
        let has = |layer: usize| match self {
            Pattern::AllButLastOf(usual) => match period.unwrap_or(usual) {
                0 => true,
                period => layer % period != period - 1,
            },
            Pattern::AllButFirstOf(usual) => match period.unwrap_or(usual) {
                0 => true,
                period => !layer.is_multiple_of(period),
            },
        };
        Ok((0..layers).map(has).collect())
    }
}

/// Whether each layer has a window, by the list that the file must have.
pub(crate) fn listed(keys: &Keys<'_>, layers: usize) -> Result<Vec<bool>, Error> {
    let list = keys.metadata.require_bools(&keys.name(PATTERN))?;
    if list.len() != layers {
        let rule = format!("it must have a value for each of the {layers} layers");
        return Err(keys.wrong(PATTERN, format!("an array of {}", list.len()), rule));
    }
    Ok(list.to_vec())
}

/// How many positions a token sees in layers with a window. `None` if it sees all, because the window has the whole context.
pub(crate) fn window(keys: &Keys<'_>, context: usize) -> Result<Option<usize>, Error> {
    let window = keys.number("attention.sliding_window", 1..=MAX_CONTEXT)?;
    Ok((window < context).then_some(window))
}

/// The base of the rotary embedding in layers with a window.
pub(crate) fn base(keys: &Keys<'_>, usual: f32) -> Result<f32, Error> {
    match keys.positive_opt(BASE)?.unwrap_or(usual) {
        base if base <= 1.0 => Err(keys.wrong(BASE, base, "it must be above 1")),
        base => Ok(base),
    }
}
