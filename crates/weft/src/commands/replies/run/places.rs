//! Where the prompt of `weft run` is: an argument, a file and standard input, which follow one another.

use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use anyhow::ensure;

use crate::cli::text_file;
use crate::terminal::streams::note;

/// How long standard input may stay open before the user is told what is waited for.
const PATIENCE: Duration = Duration::from_secs(3);

/// The places of a prompt.
pub(super) struct Places<'a> {
    text: Option<&'a str>,
    file: Option<&'a Path>,
    /// Whether standard input is read, because it is named, or there is no other place, or it is no terminal.
    input: bool,
}

impl<'a> Places<'a> {
    /// The places that the arguments name: a text and a file, each of which may be `-`. `terminal` is whether standard input
    /// is one.
    pub(super) fn new(text: Option<&'a str>, file: Option<&'a Path>, terminal: bool) -> Places<'a> {
        let named = text == Some("-") || file == Some(Path::new("-"));
        let text = text.filter(|text| *text != "-");
        let file = file.filter(|file| *file != Path::new("-"));
        Places { text, file, input: named || !terminal || text.is_none() && file.is_none() }
    }

    /// Reads the prompt.
    ///
    /// # Errors
    /// If a file cannot be read, is no text, or there is no text anywhere.
    pub(super) fn read(&self) -> anyhow::Result<String> {
        let Places { text, file, input } = *self;
        let mut parts: Vec<String> = text.map(str::to_string).into_iter().collect();
        if let Some(file) = file {
            let text = text_file::text(file, "the prompt")?;
            ensure!(!text.trim().is_empty(), "the prompt is empty: {} has no text", file.display());
            parts.push(text);
        }
        if input {
            parts.push(standard_input()?);
        }
        let prompt = joined(&parts);
        let nothing = match text {
            Some(_) => "PROMPT has no text",
            None => "standard input has no text; give a prompt there, as PROMPT or with --prompt-file",
        };
        ensure!(!prompt.is_empty(), "the prompt is empty: {nothing}");
        Ok(prompt)
    }
}

/// The parts with an empty line between them. A part without text is left out.
fn joined(parts: &[String]) -> String {
    // The last line end belongs to the shell or the editor, not to the prompt.
    let parts = parts.iter().map(|part| part.trim_end_matches(['\r', '\n']));
    let parts: Vec<&str> = parts.filter(|part| !part.trim().is_empty()).collect();
    parts.join("\n\n")
}

/// All of standard input. If it stays open for long, says what is waited for: it may be a pipe that nobody writes to.
fn standard_input() -> anyhow::Result<String> {
    let (send, read) = channel();
    thread::spawn(move || send.send(text_file::input()));
    match read.recv_timeout(PATIENCE) {
        Ok(text) => text,
        Err(_) => {
            note!(
                "waiting for the end of standard input, which is part of the prompt; `< /dev/null` leaves it out"
            );
            read.recv()?
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_input_is_read_where_it_is_named_or_may_have_text() {
        let input =
            |text, file: Option<&str>, terminal| Places::new(text, file.map(Path::new), terminal).input;
        assert!(!input(Some("hi"), None, true) && !input(None, Some("f"), true));
        assert!(input(Some("hi"), None, false) && input(None, Some("f"), false));
        assert!(input(Some("-"), None, true) && input(None, Some("-"), true) && input(None, None, true));
        assert!(input(Some("hi"), Some("-"), true) && input(Some("-"), Some("f"), true));
    }

    #[test]
    fn parts_have_an_empty_line_between_them() {
        let joined = |parts: &[&str]| joined(&parts.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(joined(&["Summarise:", "a\nb\n", " \n"]), "Summarise:\n\na\nb");
        assert_eq!(joined(&["", "a\r\n"]), "a");
        assert_eq!(joined(&["\n"]), "");
    }
}
