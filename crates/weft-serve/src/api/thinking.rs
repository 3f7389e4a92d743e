//! Whether the model reasons before it answers.

use super::dialogue::Dialogue;

/// The efforts that clients may ask for. All but `none` mean the same: models reason with their own effort or not at all.
pub(crate) const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// Asks the chat template for reasoning, or for none.
pub(crate) fn set(dialogue: &mut Dialogue, on: bool) {
    dialogue.variables.insert("enable_thinking".into(), on.into());
}
