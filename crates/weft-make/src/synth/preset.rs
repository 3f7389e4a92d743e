//! The shapes of synthetic models: those of published models, and tiny ones.

mod gemma4;
mod hybrid;
mod kimi;
mod mixed;
mod next;
mod odd;
mod plain;
mod real;
mod shape;
mod sparse;
mod tiny;

use crate::error::{Error, Result};
use gemma4::{GEMMA4_ODD, GEMMA4_REAL, GEMMA4_TINY};
use hybrid::{HYBRID_ODD, HYBRID_REAL, HYBRID_TINY};
use kimi::{KIMI_ODD, KIMI_REAL, KIMI_TINY};
use mixed::{MIXED_ODD, MIXED_REAL, MIXED_TINY};
use next::{NEXT_ODD, NEXT_REAL, NEXT_TINY};
use odd::ODD;
use plain::{PLAIN_ODD, PLAIN_REAL, PLAIN_TINY};
use real::REAL;
pub use shape::Preset;
pub(crate) use shape::{
    Attention, Delta, Experts, Gating, Gemma4, Indexer, Latent, Ling, Mamba, Mixed, Next,
};
use sparse::{SPARSE_ODD, SPARSE_REAL, SPARSE_TINY};
use tiny::TINY;

impl Preset {
    /// The preset called `name`.
    ///
    /// # Errors
    /// If there is none of this name; the error lists all.
    pub fn named(name: &str) -> Result<&'static Preset> {
        let found = PRESETS.iter().find(|preset| preset.name == name);
        found.ok_or_else(|| {
            Error::new(format!("there is no preset `{name}`; the presets are {}", PRESET_NAMES.join(", ")))
        })
    }
}

/// The names of all presets.
pub const PRESET_NAMES: &[&str] = &{
    let mut names = [""; PRESETS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = PRESETS[i].name;
        i += 1;
    }
    names
};

/// All presets: real models, then tiny ones, and last those with odd sizes.
pub(crate) const PRESETS: &[Preset] = &{
    const PARTS: [&[Preset]; 24] = [
        REAL,
        HYBRID_REAL,
        KIMI_REAL,
        GEMMA4_REAL,
        PLAIN_REAL,
        SPARSE_REAL,
        NEXT_REAL,
        MIXED_REAL,
        TINY,
        HYBRID_TINY,
        KIMI_TINY,
        GEMMA4_TINY,
        PLAIN_TINY,
        SPARSE_TINY,
        NEXT_TINY,
        MIXED_TINY,
        ODD,
        HYBRID_ODD,
        KIMI_ODD,
        GEMMA4_ODD,
        PLAIN_ODD,
        SPARSE_ODD,
        NEXT_ODD,
        MIXED_ODD,
    ];
    const COUNT: usize = {
        let (mut count, mut part) = (0, 0);
        while part < PARTS.len() {
            count += PARTS[part].len();
            part += 1;
        }
        count
    };
    let mut all = [REAL[0]; COUNT];
    let (mut part, mut first, mut i) = (0, 0, 0);
    while i < all.len() {
        if i == first + PARTS[part].len() {
            first = i;
            part += 1;
        }
        all[i] = PARTS[part][i - first];
        i += 1;
    }
    all
};
