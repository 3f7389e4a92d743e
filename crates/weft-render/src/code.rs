//! The structured program that kernels become: expressions, statements, functions. A dialect spells it.

pub(crate) mod builder;
pub(crate) mod cooperative;
pub(crate) mod expr;
pub(crate) mod module;
pub(crate) mod stmt;
pub(crate) mod waits;
pub(crate) mod warpgroup;
