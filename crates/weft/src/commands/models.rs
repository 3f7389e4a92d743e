//! Commands about models that are there: their files, their contents, and who holds them.

pub(super) mod cache;
pub(super) mod inspect;
pub(super) mod list;
pub(super) mod ps;
pub(super) mod pull;
pub(super) mod rm;
pub(super) mod tokenize;
