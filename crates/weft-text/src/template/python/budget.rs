//! The text that a template may make, and its errors.

use std::cell::Cell;

use minijinja::{Error, ErrorKind, Value};

use crate::template::sandbox::{MAX_OUTPUT, MAX_TEXT};

/// An error of a template.
pub(super) fn failed(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// The limit on text that a template makes, passed through minijinja as the source of its error.
#[derive(Debug, thiserror::Error)]
#[error("more than {} MiB of text made", MAX_TEXT >> 20)]
pub(in crate::template) struct TooMuchText;

thread_local! {
    /// How many bytes the template that this thread runs has made.
    static MADE: Cell<usize> = const { Cell::new(0) };
}

/// Begins to count for a new run of a template, on this thread.
pub(in crate::template) fn begin() {
    MADE.set(0);
}

/// Counts text before it is made.
///
/// # Errors
/// If the template makes too much, at once or in all.
pub(in crate::template) fn charge(bytes: usize) -> Result<(), Error> {
    let made = MADE.get().saturating_add(bytes);
    MADE.set(made);
    if bytes > MAX_OUTPUT || made > MAX_TEXT {
        return Err(failed("the template makes too much text").with_source(TooMuchText));
    }
    Ok(())
}

/// Counts the items of a list before it is made.
pub(super) fn charge_items(items: usize) -> Result<(), Error> {
    charge(items.saturating_mul(size_of::<Value>()))
}

/// A string that a template has made.
pub(super) fn made(text: String) -> Result<Value, Error> {
    charge(text.len())?;
    Ok(Value::from(text))
}
