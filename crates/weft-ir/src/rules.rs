//! The rewrite rules: one file per rule, one line in [`RULES`].
//!
//! A rule looks at a node and its operands, and may build another form of the same value. This is the contract of rules:
//!
//! 1. **A rule has a direction.** No rule undoes another; which of two forms is better is decided once.
//! 2. **Its premise proves it legal**, for every input, NaN and infinities included. If it promises
//!    [`Keeps::Bits`](crate::Keeps::Bits), [`eval`](crate::eval()) gives the same bits before and after; otherwise the same value
//!    up to rounding, and its file says where it rounds.
//! 3. **It is never worse**: it reads no more memory and multiplies no more. A rule for which that depends has the default
//!    [`Mode::ByCost`](crate::Mode::ByCost) or [`Mode::Off`](crate::Mode::Off).
//! 4. **It is local**: it follows operands from the node and asks for their users, nothing else.
//! 5. **It terminates**: its file names a measure that each replacement makes smaller, and that no other rule makes larger for
//!    ever.
//! 6. **Nothing repairs it.** A replacement has the type of what it replaces and is correct as it is; other rules may tidy it,
//!    none has to.
//!
//! The engine enforces the types, that replacements use earlier nodes only, and the verifier's rules; `tests/it` checks the rest.

mod premise;
mod split_columns;
mod split_heads;
mod sum_in_down;
mod tidy_constants;
mod tidy_identity;
mod tidy_movement;

use crate::decision::Decision;
use crate::hoist;
use crate::rule::Rule;

/// Every rule, in the order in which they are tried.
pub static RULES: [&Rule; 6] = [
    &tidy_identity::RULE,
    &tidy_movement::RULE,
    &tidy_constants::RULE,
    &split_heads::RULE,
    &split_columns::RULE,
    &sum_in_down::RULE,
];

/// Every decision of this crate: those of the rules, then those about more than one graph.
pub fn decisions() -> impl Iterator<Item = &'static Decision> {
    RULES.into_iter().map(|rule| &rule.decision).chain([&hoist::STEPS])
}
