//! The LoRA adapter of a sequence: which of those that requests choose is added to the model for its tokens.

use weft_runtime::{Error, NO_ADAPTER, Selectable};

use crate::memory::key::Key;
use crate::request::{Adapted, AdapterId};

/// The adapter of a sequence, as a step's inputs say it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct SequenceAdapter {
    /// Its number among the model's selectable adapters, from 1 on; 0 for none.
    pub(crate) number: i32,
    /// Its factor.
    pub(crate) scale: f32,
    /// A number that identifies its contents.
    identity: u64,
}

impl Adapted {
    /// Finds the adapter among those of a model. Returns its index and its factor.
    ///
    /// # Errors
    /// [`Error::Batch`] if the model has no such adapter, or the factor is not finite.
    pub fn find(&self, all: &[Selectable]) -> Result<(usize, f32), Error> {
        let Adapted { adapter, scale } = self;
        let at = match adapter {
            AdapterId::Name(name) => all.iter().position(|one| one.name == *name),
            AdapterId::Index(index) => Some(*index).filter(|index| *index < all.len()),
        };
        let Some(at) = at else {
            let list = |(at, one): (usize, &Selectable)| format!("`{}` (number {at})", one.name);
            let names: Vec<String> = all.iter().enumerate().map(list).collect();
            let has = if names.is_empty() { "none".into() } else { names.join(", ") };
            return Err(Error::Batch(format!(
                "the model has no LoRA adapter {adapter} to choose: it has {has}"
            )));
        };
        let scale = scale.unwrap_or(all[at].scale);
        if !scale.is_finite() {
            let why = format!("the scale of LoRA adapter {adapter} is {scale}: expected a finite number");
            return Err(Error::Batch(why));
        }
        Ok((at, scale))
    }
}

impl Default for SequenceAdapter {
    /// None.
    fn default() -> SequenceAdapter {
        SequenceAdapter { number: 0, scale: NO_ADAPTER, identity: 0 }
    }
}

impl SequenceAdapter {
    /// Finds what a request has chosen among a model's adapters. With a factor of 0 that is none.
    ///
    /// # Errors
    /// [`Error::Batch`] if the model has no such adapter, or the factor is not finite.
    pub(crate) fn of(chosen: Option<&Adapted>, all: &[Selectable]) -> Result<SequenceAdapter, Error> {
        let Some(chosen) = chosen else { return Ok(SequenceAdapter::default()) };
        let (at, scale) = chosen.find(all)?;
        if scale == 0.0 {
            return Ok(SequenceAdapter::default());
        }
        Ok(SequenceAdapter { number: at as i32 + 1, scale, identity: all[at].identity })
    }

    /// The root key of pages that were computed with the adapter. Without one it is `root`.
    pub(crate) fn root(&self, root: Key) -> Key {
        if self.number == 0 {
            return root;
        }
        let [identity, scale] = [self.identity.to_le_bytes().to_vec(), self.scale.to_le_bytes().to_vec()];
        Key::root([root.bytes().as_slice(), b"adapter", &identity, &scale])
    }
}
