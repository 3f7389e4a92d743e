//! Looks at a model: what was compiled and why, what its layers multiply, what the oracle computes.

pub(crate) mod collect;
pub(crate) mod explain;
pub(crate) mod oracle;
