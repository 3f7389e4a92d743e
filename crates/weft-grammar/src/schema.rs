//! JSON schemas from requests, checked and reduced to what the compiler of grammars enforces.
//!
//! llguidance ignores keywords that it does not know, accepts some that it enforces only in part, and says little about
//! where a mistake is. So schemas are checked here first: every keyword is enforced, has no effect on what is valid
//! (`title`, `description`, …), or is refused by name. The result has only keywords that are enforced, and all schemas of
//! a request share one set of definitions, which `$ref` refers to.
//!
//! A schema that need not be followed to the letter, that of a tool without `strict`, loses the keywords that cannot be
//! enforced instead. What remains accepts more, never less.

mod additional;
mod conjunction;
mod finite;
mod format;
mod keywords;
mod pattern;
mod reference;
mod values;
mod walk;

pub(super) use pattern::{check, unanchored, whole};
pub(super) use walk::{Mode, Schemas};
