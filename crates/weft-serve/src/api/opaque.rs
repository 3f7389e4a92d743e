//! Reasoning in the form that clients keep and return unread.
//!
//! Clients of OpenAI and Anthropic return reasoning as it was encrypted by the vendor's servers, and some return nothing
//! else. A model needs its reasoning back within a turn, or its prompt changes and the prefix cache does not match. This
//! server keeps no secrets from its clients, so the form is the text itself behind a mark.

/// The mark of this server's form, which vendors' forms do not have.
const MARK: &str = "weft:";

/// The form of a reasoning.
pub(crate) fn conceal(reasoning: &str) -> String {
    format!("{MARK}{reasoning}")
}

/// The reasoning of a form. `None` if another server made it.
pub(crate) fn reveal(opaque: &str) -> Option<&str> {
    opaque.strip_prefix(MARK)
}
