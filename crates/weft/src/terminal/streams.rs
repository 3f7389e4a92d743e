//! Standard output and standard error.
//!
//! Results go to standard output through [`Out`]. A reader that closes it early (`| head`) is not an error. Everything
//! else goes to standard error through [`note!`].

use std::fmt;
use std::io::{self, IsTerminal as _, Write};

use crate::terminal::mode;
use crate::terminal::typeset::{Style, Typesetter};

/// Standard output.
pub(crate) struct Out {
    stdout: io::Stdout,
    terminal: bool,
    reply: Reply,
}

/// A reply being shown.
#[derive(Default)]
struct Reply {
    /// Sets it, on a terminal.
    typesetter: Option<Typesetter>,
    aside: bool,
    /// Whether the last line is unfinished.
    open: bool,
}

impl Out {
    pub(crate) fn new() -> Out {
        let stdout = io::stdout();
        Out { terminal: stdout.is_terminal(), stdout, reply: Reply::default() }
    }

    /// Whether it is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Writes and flushes text from a model or a file. On a terminal, control characters are left out, since the
    /// terminal would act on them: move the cursor, set its title, and so on.
    pub(crate) fn foreign(&mut self, text: &str) -> io::Result<()> {
        if self.terminal {
            self.write_all(text.replace(is_unsafe, "").as_bytes())?;
        } else {
            self.write_all(text.as_bytes())?;
        }
        self.flush()
    }

    /// Writes and flushes more of a model's reply. On a terminal, lines break between words, and Markdown is styled.
    pub(crate) fn reply(&mut self, text: &str) -> io::Result<()> {
        if self.reply.aside {
            self.end_reply()?;
            self.write_all(b"\n")?;
        }
        self.set(text, Style::Plain)
    }

    /// Writes and flushes text that matters less than the reply which follows, dimmed. Without a terminal it is left out.
    pub(crate) fn aside(&mut self, text: &str) -> io::Result<()> {
        if !self.terminal {
            return Ok(());
        }
        self.reply.aside = true;
        self.set(text, Style::Dim)
    }

    /// Ends a reply: its last line, unless it has ended.
    pub(crate) fn end_reply(&mut self) -> io::Result<()> {
        let reply = std::mem::take(&mut self.reply);
        if let Some(mut typesetter) = reply.typesetter {
            let text = typesetter.finish(mode::columns());
            self.write_all(text.as_bytes())?;
        } else if reply.open {
            self.write_all(b"\n")?;
        }
        self.flush()
    }

    fn set(&mut self, text: &str, style: Style) -> io::Result<()> {
        if self.terminal {
            let text = text.replace(is_unsafe, "");
            let typesetter =
                self.reply.typesetter.get_or_insert_with(|| Typesetter::new(has_styles(), style));
            let text = typesetter.push(&text, mode::columns());
            self.write_all(text.as_bytes())?;
        } else if !text.is_empty() {
            self.reply.open = !text.ends_with('\n');
            self.write_all(text.as_bytes())?;
        }
        self.flush()
    }

    /// Writes an indented JSON value and a line end.
    pub(crate) fn json(&mut self, value: &serde_json::Value) -> io::Result<()> {
        writeln!(self, "{value:#}")
    }
}

/// A text without control characters, which a terminal would obey. What else a name has is shown as it is, such as the `\` of Windows.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { plain.extend(c.escape_debug()) } else { plain.push(c) }
    }
    plain
}

/// Whether a terminal acts on this character instead of showing it.
fn is_unsafe(c: char) -> bool {
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

/// The marker of a closed standard output.
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
        // Marked, to distinguish it from other broken pipes.
        io::ErrorKind::BrokenPipe => io::Error::new(io::ErrorKind::BrokenPipe, Closed),
        _ => error,
    }
}

/// Whether an error means that the reader of standard output has gone.
pub(crate) fn is_closed(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| cause.get_ref().is_some_and(|marker| marker.is::<Closed>()))
}

/// Whether the user wants colours, and the terminal knows them.
fn has_styles() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && !mode::is_dumb()
}

/// Prints an error and its causes; the prefix is red on a terminal.
pub(crate) fn error(error: &anyhow::Error) {
    let colour = io::stderr().is_terminal() && has_styles();
    let (red, plain) = if colour { ("\x1b[1;31m", "\x1b[0m") } else { ("", "") };
    let text = in_one_line(error).replace(is_unsafe, "\u{FFFD}");
    let _ = writeln!(io::stderr(), "{red}weft:{plain} {text}");
}

/// An error and its causes on one line, without causes that are quoted already.
pub(crate) fn in_one_line(error: &anyhow::Error) -> String {
    let line = error.chain().map(ToString::to_string).fold(String::new(), |text, cause| match text {
        text if text.is_empty() => cause,
        text if text.contains(&cause) => text,
        text => format!("{text}: {cause}"),
    });
    without_numbers(&line)
}

/// A text without the numbers of the operating system's errors, whose words then continue a sentence.
fn without_numbers(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let mut plain = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let from = plain.rfind(": ").map_or(0, |at| at + 2);
        if let Some(first) = plain[from..].chars().next() {
            plain.replace_range(from..from + first.len_utf8(), &first.to_lowercase().to_string());
        }
        // Windows's words are a sentence.
        plain.truncate(plain.trim_end_matches('.').len());
        plain += part.split_once(')').map_or(part, |(_, rest)| rest);
    }
    plain
}

/// Prints a line to standard error, ignoring errors. On a terminal it breaks between words.
macro_rules! note {
    () => { $crate::terminal::streams::say("") };
    ($($text:tt)*) => { $crate::terminal::streams::say(&format!($($text)*)) };
}
pub(crate) use note;

/// Writes the text of [`note!`].
pub(crate) fn say(text: &str) {
    let columns = if io::stderr().is_terminal() { mode::columns() } else { None };
    let _ = writeln!(io::stderr(), "{}", in_columns(&without_numbers(text), columns));
}

/// A text whose lines break between words where they are too long.
fn in_columns(text: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns else { return text.to_string() };
    let mut wrapped = String::new();
    let mut used = 0;
    for (at, word) in text.split_inclusive([' ', '\n']).enumerate() {
        let width = word.trim_end().chars().count();
        if at > 0 && used > 0 && used + width >= columns {
            wrapped.truncate(wrapped.trim_end_matches(' ').len());
            wrapped.push('\n');
            used = 0;
        }
        wrapped += word;
        used = if word.ends_with('\n') { 0 } else { used + word.chars().count() };
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn only_a_closed_standard_output_is_not_an_error() {
        let broken = || io::Error::from(io::ErrorKind::BrokenPipe);
        let ours = Err::<(), _>(closed(broken())).context("cannot list").unwrap_err();
        let other = Err::<(), _>(broken()).context("cannot fetch").unwrap_err();
        assert!(is_closed(&ours));
        assert!(!is_closed(&other));
        assert!(!is_closed(&anyhow::anyhow!("standard output is closed")));
    }

    #[test]
    fn a_cause_is_printed_once() {
        let error =
            anyhow::anyhow!("no such file").context("cannot open a: no such file").context("cannot run it");
        assert_eq!(in_one_line(&error), "cannot run it: cannot open a: no such file");
    }

    #[test]
    fn the_systems_words_continue_a_sentence() {
        for (text, expected) in [
            ("cannot open a: Permission denied (os error 13)", "cannot open a: permission denied"),
            ("Is a directory (os error 21); use b", "is a directory; use b"),
            ("a: B (os error 1): c: D (os error 2)", "a: b: c: d"),
            ("No such thing: A", "No such thing: A"),
        ] {
            assert_eq!(without_numbers(text), expected);
        }
    }

    #[test]
    fn notes_break_between_words() {
        for (text, expected) in [
            ("one two three", "one two\nthree"),
            ("one two  three four", "one two\nthree\nfour"),
            ("one\ntwo three", "one\ntwo\nthree"),
            ("a-word-that-is-too-long b", "a-word-that-is-too-long\nb"),
            ("  one", "  one"),
            ("", ""),
        ] {
            assert_eq!(in_columns(text, Some(9)), expected, "{text:?}");
            assert_eq!(in_columns(text, None), text);
        }
    }

    #[test]
    fn a_model_cannot_control_the_terminal() {
        assert_eq!("a\x1b[2J\tb\r\u{9b}1m\n".replace(is_unsafe, ""), "a[2J\tb1m\n");
    }
}
