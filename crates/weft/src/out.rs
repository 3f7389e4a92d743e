//! Standard output and standard error, as a well-behaved command uses them.
//!
//! Answers go to standard output through [`Out`]: when whoever reads it has seen enough (`| head`), that is no error
//! worth a message. Everything else a person might want to know goes to standard error through [`note!`].

use std::fmt;
use std::io::{self, IsTerminal as _, Write};

/// Standard output.
pub(crate) struct Out {
    stdout: io::Stdout,
    terminal: bool,
}

impl Out {
    pub(crate) fn new() -> Out {
        let stdout = io::stdout();
        Out { terminal: stdout.is_terminal(), stdout }
    }

    /// Writes text that a model or a file made, at once. A terminal would obey the control characters in it (move the
    /// cursor, set its title, …), so there they are left out.
    pub(crate) fn foreign(&mut self, text: &str) -> io::Result<()> {
        if self.terminal {
            self.write_all(text.replace(obeyed, "").as_bytes())?;
        } else {
            self.write_all(text.as_bytes())?;
        }
        self.flush()
    }

    /// Writes a JSON value, readable, and a line end.
    pub(crate) fn json(&mut self, value: &serde_json::Value) -> io::Result<()> {
        writeln!(self, "{value:#}")
    }
}

/// Whether a terminal does something else with this character than show it or go on.
fn obeyed(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stdout.write(bytes).map_err(closed)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush().map_err(closed)
    }
}

/// Nobody reads standard output any more.
#[derive(Debug)]
struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("standard output is closed")
    }
}

impl std::error::Error for Closed {}

fn closed(error: io::Error) -> io::Error {
    match error.kind() {
        // Marked, since other pipes than this one can break.
        io::ErrorKind::BrokenPipe => io::Error::new(io::ErrorKind::BrokenPipe, Closed),
        _ => error,
    }
}

/// Whether an error only says that nobody reads standard output any more.
pub(crate) fn is_closed(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| cause.get_ref().is_some_and(|marker| marker.is::<Closed>()))
}

/// Prints an error and its causes, in red where that can be seen.
pub(crate) fn error(error: &anyhow::Error) {
    let colour =
        io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let (red, plain) = if colour { ("\x1b[1;31m", "\x1b[0m") } else { ("", "") };
    let text = in_one_line(error).replace(obeyed, "\u{FFFD}");
    let _ = writeln!(io::stderr(), "{red}weft:{plain} {text}");
}

/// An error and its causes, but for those that the ones before them quote already.
fn in_one_line(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| match text {
        text if text.is_empty() => cause,
        text if text.contains(&cause) => text,
        text => format!("{text}: {cause}"),
    })
}

/// Prints a line on standard error; if nobody reads it, nothing happens.
macro_rules! note {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($text)*);
    }};
}
pub(crate) use note;

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn only_a_closed_standard_output_is_no_error() {
        let broken = || io::Error::from(io::ErrorKind::BrokenPipe);
        let ours = Err::<(), _>(closed(broken())).context("cannot list").unwrap_err();
        let other = Err::<(), _>(broken()).context("cannot fetch").unwrap_err();
        assert!(is_closed(&ours));
        assert!(!is_closed(&other));
        assert!(!is_closed(&anyhow::anyhow!("standard output is closed")));
    }

    #[test]
    fn a_cause_is_told_once() {
        let error =
            anyhow::anyhow!("no such file").context("cannot open a: no such file").context("cannot run it");
        assert_eq!(in_one_line(&error), "cannot run it: cannot open a: no such file");
    }

    #[test]
    fn a_terminal_gets_no_commands_from_a_model() {
        assert_eq!("a\x1b[2J\tb\r\u{9b}1m\n".replace(obeyed, ""), "a[2J\tb1m\n");
    }
}
