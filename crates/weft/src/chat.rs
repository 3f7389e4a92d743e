//! Conversations: messages, templates, replies of a local model or a server, and how they are shown.

pub(crate) mod client;
pub(crate) mod conversation;
pub(crate) mod messages;
pub(crate) mod reply_form;
pub(crate) mod show;
pub(crate) mod template;
