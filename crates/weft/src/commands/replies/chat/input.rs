//! Reads messages from a line editor with a history, or from plain lines.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use anyhow::Context as _;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;

use super::complete::Commands;
use crate::terminal::mode;
use crate::terminal::streams::note;

const PROMPT: &str = "> ";
/// The prompt of a message's further lines.
const MORE: &str = "… ";
/// Begins and ends a message of several lines.
const QUOTES: &str = "\"\"\"";

/// A source of messages.
pub(super) enum Input {
    Terminal(Box<Editor>),
    Plain,
}

/// The line editor, and the file of its history.
pub(super) struct Editor {
    lines: rustyline::Editor<Commands, FileHistory>,
    history: Option<PathBuf>,
}

/// One line of input, or what came instead.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Line {
    Text(String),
    /// Ctrl-C.
    Abandoned,
    /// Ctrl-D, or the end of the input.
    End,
}

impl Input {
    /// Uses the terminal if both standard input and standard output are one.
    pub(super) fn new() -> anyhow::Result<Input> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Ok(Input::Plain);
        }
        let mut lines = rustyline::Editor::new().context("cannot use this terminal")?;
        lines.set_helper(Some(Commands));
        let history = weft_file::data_folder().map(|folder| folder.join("history"));
        if let Some(history) = &history {
            // It does not exist the first time.
            let _ = lines.load_history(history);
        }
        Ok(Input::Terminal(Box::new(Editor { lines, history })))
    }

    /// Whether messages are typed in a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Input::Terminal(_))
    }

    /// The next message; `None` after the last.
    pub(super) fn message(&mut self) -> anyhow::Result<Option<String>> {
        let terminal = self.is_terminal();
        let message = assemble(terminal, |prompt| self.line(prompt))?;
        if let (Input::Terminal(editor), Some(message)) = (self, &message) {
            editor.remember(message);
        }
        Ok(message)
    }

    /// Lets the user change a text; `None` if it was abandoned or emptied. Without a terminal, nothing can be changed.
    pub(super) fn edit(&mut self, text: &str) -> anyhow::Result<Option<String>> {
        let Input::Terminal(editor) = self else { return Ok(None) };
        let Line::Text(first) = editor.read(PROMPT, text)? else { return Ok(None) };
        let message = rest(true, first, &mut |prompt| self.line(prompt))?;
        let message = message.filter(|message| !message.trim().is_empty());
        if let (Input::Terminal(editor), Some(message)) = (self, &message) {
            editor.remember(message);
        }
        Ok(message)
    }

    /// Asks a question whose answer is yes unless it begins with n.
    pub(super) fn confirm(&mut self, question: &str) -> anyhow::Result<bool> {
        Ok(match self.line(question)? {
            Line::Text(answer) => !answer.trim_start().to_lowercase().starts_with('n'),
            Line::Abandoned | Line::End => false,
        })
    }

    /// Asks a question whose answer is no unless it begins with y.
    pub(super) fn agrees(&mut self, question: &str) -> anyhow::Result<bool> {
        Ok(match self.line(question)? {
            Line::Text(answer) => answer.trim_start().to_lowercase().starts_with('y'),
            Line::Abandoned | Line::End => false,
        })
    }

    fn line(&mut self, prompt: &str) -> anyhow::Result<Line> {
        match self {
            Input::Terminal(editor) => {
                if mode::is_dumb() {
                    // The editor then leaves the echo to the terminal.
                    mode::restore();
                }
                editor.read(prompt, "")
            }
            Input::Plain => {
                let mut line = String::new();
                let read =
                    io::stdin().read_line(&mut line).context("cannot read standard input as UTF-8 text")?;
                let line = line
                    .strip_suffix('\n')
                    .map_or(line.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
                Ok(if read == 0 { Line::End } else { Line::Text(line.to_string()) })
            }
        }
    }
}

impl Editor {
    /// Reads a line that begins with this text.
    fn read(&mut self, prompt: &str, text: &str) -> anyhow::Result<Line> {
        match self.lines.readline_with_initial(prompt, (text, "")) {
            Ok(line) => Ok(Line::Text(line)),
            Err(ReadlineError::Interrupted) => Ok(Line::Abandoned),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(error) => Err(error).context("cannot read from the terminal"),
        }
    }

    /// Adds a message to the history. Errors are ignored: the conversation matters more.
    fn remember(&mut self, message: &str) {
        let _ = self.lines.add_history_entry(message);
        if let Some(history) = &self.history {
            let _ = history.parent().map(std::fs::create_dir_all);
            let _ = self.lines.save_history(history);
        }
    }
}

/// Assembles the next message from lines, skipping empty messages; `None` at the end.
fn assemble(
    terminal: bool,
    mut line: impl FnMut(&str) -> anyhow::Result<Line>,
) -> anyhow::Result<Option<String>> {
    let mut abandoned = false;
    loop {
        let first = match line(PROMPT)? {
            Line::End => return Ok(None),
            Line::Abandoned if abandoned => return Ok(None),
            Line::Abandoned => {
                abandoned = true;
                note!("press Ctrl-C again, or Ctrl-D, to end the conversation");
                continue;
            }
            Line::Text(text) => text,
        };
        abandoned = false;
        match rest(terminal, first, &mut line)? {
            Some(message) if message.trim().is_empty() => {}
            Some(message) => return Ok(Some(message)),
            None => {}
        }
    }
}

/// Reads the rest of the message that begins with this line; `None` if it was abandoned.
fn rest(
    terminal: bool,
    first: String,
    line: &mut impl FnMut(&str) -> anyhow::Result<Line>,
) -> anyhow::Result<Option<String>> {
    let (mut message, quoted) = match first.trim_start().strip_prefix(QUOTES) {
        Some(rest) => (rest.to_string(), true),
        None => (first, false),
    };
    loop {
        match (quoted, message.trim_end().strip_suffix(QUOTES), message.strip_suffix('\\')) {
            (true, Some(whole), _) => return Ok(Some(whole.trim_matches('\n').to_string())),
            (true, None, _) => {}
            (false, _, Some(whole)) => message.truncate(whole.len()),
            (false, _, None) => return Ok(Some(message)),
        }
        match line(MORE)? {
            Line::Text(next) => message.extend(["\n", &next]),
            Line::Abandoned => return Ok(None),
            // Ctrl-D is no way to send a message that has been begun.
            Line::End if terminal => {
                note!(
                    "this message was not sent; it ends with {}",
                    if quoted { QUOTES } else { "a line without \\" }
                );
                return Ok(None);
            }
            // The end of the input ends an unfinished message.
            Line::End => return Ok(Some(message)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All messages in these lines, where `^C` stands for Ctrl-C.
    fn messages(lines: &str) -> Vec<String> {
        messages_of(false, lines)
    }

    fn messages_of(terminal: bool, lines: &str) -> Vec<String> {
        let mut lines = lines.lines();
        let mut line = |_: &str| {
            Ok(match lines.next() {
                Some("^C") => Line::Abandoned,
                Some("^D") => Line::End,
                Some(text) => Line::Text(text.into()),
                None => Line::End,
            })
        };
        std::iter::from_fn(|| assemble(terminal, &mut line).unwrap()).collect()
    }

    #[test]
    fn a_line_is_a_message_unless_it_is_empty() {
        assert_eq!(messages("one\n\n  \ntwo"), ["one", "two"]);
    }

    #[test]
    fn a_backslash_continues_a_line() {
        assert_eq!(messages("one\\\ntwo\\\nthree\nfour"), ["one\ntwo\nthree", "four"]);
        assert_eq!(messages("one\\"), ["one\n"].map(str::trim_end), "the end of the input ends it");
    }

    #[test]
    fn everything_between_quotes_is_one_message() {
        assert_eq!(messages("\"\"\"one\n\ntwo\\\n\"\"\"\nthree"), ["one\n\ntwo\\", "three"]);
        assert_eq!(messages("\"\"\"one\"\"\"\ntwo"), ["one", "two"]);
        assert_eq!(messages("\"\"\"one\ntwo"), ["one\ntwo"], "the end of the input ends it");
    }

    #[test]
    fn ctrl_c_abandons_a_message_and_ends_when_pressed_twice() {
        assert_eq!(messages("one\\\n^C\ntwo\n^C\nthree\n^C\n^C\nfour"), ["two", "three"]);
    }

    #[test]
    fn ctrl_d_within_a_message_does_not_send_it() {
        assert_eq!(messages_of(true, "\"\"\"one\ntwo\n^D\nthree"), ["three"]);
        assert_eq!(messages_of(true, "one\\\n^D\ntwo"), ["two"]);
    }
}
