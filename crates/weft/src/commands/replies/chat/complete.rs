//! Completes commands within a conversation, and their arguments.

use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::commands::{self, Does, SLASH_COMMANDS};
use super::{session, settings};

/// The helper of the line editor.
pub(super) struct Commands;

impl Completer for Commands {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (from, found) = complete(&line[..at]);
        let pair = |text: String| Pair { display: text.trim_end().to_string(), replacement: text };
        Ok((from, found.into_iter().map(pair).collect()))
    }
}

/// Where the word that is completed begins, and what it may become.
fn complete(line: &str) -> (usize, Vec<String>) {
    let Some(command) = line.strip_prefix('/') else { return (line.len(), Vec::new()) };
    let Some((name, argument)) = command.split_once(' ') else {
        let matching = SLASH_COMMANDS.iter().filter(|known| known.name.starts_with(command));
        let whole = |known: &commands::SlashCommand| {
            format!("/{}{}", known.name, if known.takes.is_empty() { "" } else { " " })
        };
        return (0, matching.map(whole).collect());
    };
    let choices: Vec<String> = match commands::find(name) {
        Some(Does::Set) => settings::names().map(|name| format!("{name} ")).collect(),
        Some(Does::Load) => session::list().into_iter().map(|saved| saved.name).collect(),
        _ => Vec::new(),
    };
    (line.len() - argument.len(), choices.into_iter().filter(|choice| choice.starts_with(argument)).collect())
}

impl Hinter for Commands {
    type Hint = String;
}

impl Highlighter for Commands {}

impl Validator for Commands {}

impl Helper for Commands {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_settings_are_completed() {
        assert_eq!(complete("/sy"), (0, vec!["/system ".to_string()]));
        assert_eq!(complete("/u"), (0, vec!["/undo".to_string()]));
        assert_eq!(complete("/set te"), (5, vec!["temperature ".to_string()]));
        assert_eq!(complete("hello /s").1, Vec::<String>::new());
        assert_eq!(complete("/").1.len(), SLASH_COMMANDS.len());
    }
}
