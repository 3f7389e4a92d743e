//! The limits that templates run under.
//!
//! A template is an untrusted program. It sees nothing but its arguments; this file limits its time, output and depth.
//! minijinja limits the nesting that it parses, but recurses along chains (`a+a+a+…`) as long as the source, and into
//! values as deep as the program builds them, one level per instruction. Both therefore run on a stack large enough for
//! everything that the other limits allow. Memory is limited by counting the text and the lists that a template makes.

use std::io;
use std::panic::resume_unwind;
use std::thread;

use crate::error::TemplateError;

/// The longest template source, in bytes: three times the longest of any known model. minijinja compiles chains in
/// quadratic time; one of this length takes seconds.
pub(super) const MAX_SOURCE: usize = 1 << 16;
/// The most instructions that a template may execute: 200 for each of 5,000 messages, or a tenth of a second.
pub(super) const FUEL: u64 = 1_000_000;
/// The same for one of the small conversations that show what a template can do.
pub(super) const PROBE_FUEL: u64 = 100_000;
/// The longest prompt, in bytes: millions of tokens.
pub(super) const MAX_OUTPUT: usize = 1 << 26;
/// The most text that a template may make on its way to the prompt, in bytes, with the lists that it makes.
pub(super) const MAX_TEXT: usize = 1 << 30;
/// The deepest nesting of macro calls. minijinja counts each as several.
pub(super) const MAX_DEPTH: usize = 200;
/// The address space of the stack: 1 KiB per instruction, 16 KiB per byte of source. Only pages that are used take memory.
const STACK: usize = 1 << 30;

/// Runs `work` on a thread with a stack of [`STACK`] bytes.
pub(super) fn on_large_stack<T: Send>(
    work: impl FnOnce() -> Result<T, TemplateError> + Send,
) -> Result<T, TemplateError> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("chat template".to_owned()).stack_size(STACK);
        match builder.spawn_scoped(scope, work) {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(error) => Err(TemplateError::Failed(format!(
                "cannot start its thread, which reserves {} MiB of address space: {error}; raise the limit (`ulimit -v`) if \
                 there is one",
                STACK >> 20
            ))),
        }
    })
}

/// A buffer of at most [`MAX_OUTPUT`] bytes.
#[derive(Default)]
pub(super) struct LimitedOutput(Vec<u8>);

impl LimitedOutput {
    pub(super) fn into_string(self) -> Result<String, TemplateError> {
        String::from_utf8(self.0).map_err(|error| TemplateError::Failed(error.to_string()))
    }
}

impl io::Write for LimitedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > MAX_OUTPUT - self.0.len() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
