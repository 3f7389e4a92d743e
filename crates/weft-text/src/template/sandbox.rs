//! The limits within which a template runs.
//!
//! A template is a program from a stranger. It sees nothing but its arguments; here its time, output and depth are
//! bounded. minijinja bounds the nesting it parses, but recurses along chains (`a+a+a+…`) as long as the source and into
//! values as deep as a program can build one level an instruction, so both happen on a stack that is large enough for
//! all that the other limits allow. One limit is missing, because minijinja offers none: the memory of a string that a
//! template doubles forty times over.

use std::io;
use std::panic::resume_unwind;
use std::thread;

use super::TemplateError;

/// The longest template source in bytes: three times the longest of a known model. minijinja takes time in the square of
/// the length of a chain; of this length some seconds.
pub(super) const MAX_SOURCE: usize = 1 << 16;
/// Instructions a template may take: two hundred for each of five thousand messages, or a tenth of a second.
pub(super) const FUEL: u64 = 1_000_000;
/// The longest prompt in bytes: millions of tokens.
pub(super) const MAX_OUTPUT: usize = 1 << 26;
/// Nested macro calls; minijinja counts each as several.
pub(super) const MAX_DEPTH: usize = 200;
/// Address space for the stack: a kilobyte for each instruction, sixteen for each byte of source. Memory is taken only
/// for what is used.
const STACK: usize = 1 << 30;

/// Runs `work` on a thread with a stack of [`STACK`] bytes.
pub(super) fn on_large_stack<T: Send>(
    work: impl FnOnce() -> Result<T, TemplateError> + Send,
) -> Result<T, TemplateError> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("chat template".to_owned()).stack_size(STACK);
        match builder.spawn_scoped(scope, work) {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(error) => Err(TemplateError::Failed(format!("no thread to run it on: {error}"))),
        }
    })
}

/// A buffer that refuses more than [`MAX_OUTPUT`] bytes.
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
