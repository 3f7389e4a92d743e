//! Commands that reply.

pub(super) mod chat;
pub(super) mod embed;
pub(super) mod run;
pub(super) mod serve;
