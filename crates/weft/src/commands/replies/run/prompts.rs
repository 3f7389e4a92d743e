//! `weft run --prompts`: answers several prompts together.

use std::path::Path;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::chat::conversation::{Conversation, cut_off, finish_name};
use crate::chat::show::event;
use crate::cli::args::Args;
use crate::cli::text_file;
use crate::commands::Outcome;
use crate::model::load::load;
use crate::model::model_ref;
use crate::terminal::streams::{Out, note};

/// The most replies that are computed together.
const TOGETHER: usize = 16;

/// Answers every line of a file: text, a JSON string, or an object with a `prompt`.
///
/// # Errors
/// If the file cannot be read, or a prompt cannot be answered.
pub(super) fn run(args: Args<'_>, model: Option<&Path>, file: &Path) -> anyhow::Result<Outcome> {
    let text = text_file::text_or_input(file, "the prompts")?;
    let mut prompts = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        prompts.push(prompt(line).with_context(|| format!("line {} of {}", at + 1, file.display()))?);
    }
    ensure!(!prompts.is_empty(), "there are no prompts in {}", file.display());
    let path = model_ref::find(args, model)?;
    let args = model_ref::configured(args, None, model, &path);
    let together = prompts.len().min(TOGETHER);
    let (engine, _) = load(&path, &model_ref::answering(args)?.sequences(together))?;
    let own = model_ref::settings(model, &path);
    let options = args.generate(own);
    let mut conversation = Conversation::new(engine, args, own, options)?;
    let mut out = Out::new();
    let mut lacking = None;
    let whole = conversation.answer_all(&prompts, together, |at, reply| {
        let line = json!({
            "index": at,
            "prompt": prompts[at],
            "text": reply.text,
            "reasoning": reply.reasoning,
            "finish": finish_name(&reply.finish),
            "prompt_tokens": reply.usage.prompt_tokens,
            "tokens": reply.usage.tokens,
        });
        if let Some(option) = reply.lacks {
            lacking.get_or_insert_with(|| format!("line {}: {}", at + 1, cut_off(&reply.finish, option)));
        }
        Ok(event(&mut out, &line)?)
    })?;
    if let Some(lacking) = &lacking {
        note!("{lacking}");
    }
    Ok(match (whole, lacking) {
        (false, _) => Outcome::Interrupted,
        (true, Some(_)) => Outcome::CutOff,
        (true, None) => Outcome::Done,
    })
}

/// The prompt that a line has.
fn prompt(line: &str) -> anyhow::Result<String> {
    let begins = line.trim_start();
    if !begins.starts_with('{') && !begins.starts_with('"') {
        return Ok(line.to_string());
    }
    let Ok(json) = serde_json::from_str::<Value>(line) else { return Ok(line.to_string()) };
    let text = json.as_str().or(json["prompt"].as_str());
    Ok(text.context("expected text, a JSON string, or an object with a `prompt`")?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_text_or_json() {
        assert_eq!(prompt("Say \"hi\".").unwrap(), "Say \"hi\".");
        assert_eq!(prompt("\"two\\nlines\"").unwrap(), "two\nlines");
        assert_eq!(prompt("{\"prompt\": \"x\", \"id\": 1}").unwrap(), "x");
        assert_eq!(prompt("{not json").unwrap(), "{not json");
        assert!(prompt("{\"text\": \"x\"}").is_err());
    }
}
