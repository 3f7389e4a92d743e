//! The rules of `weft_ir::rules` as equations, applied in both directions wherever they hold.
//!
//! They differ in two ways from the compiler's rules. A rule asks who else reads a value, so that nothing is computed twice; here
//! both forms are kept, and the graph that is chosen is priced as a whole. And a rule has one direction; here terms of either
//! form add the other. (Where the other direction would invent terms out of nothing, as `x` to `x·1`, there is nothing to add:
//! being in one class is enough.)

mod columns;
mod constants;
mod experts;
mod folds;
mod heads;
mod identity;
mod movement;

use crate::law::Law;

/// Every law, in the order of the rules.
pub(crate) static LAWS: [Law; 8] = [
    identity::LAW,
    movement::LAW,
    constants::LAW,
    heads::LAW,
    columns::LAW,
    experts::LAW,
    folds::QUERY,
    folds::OUTPUT,
];
