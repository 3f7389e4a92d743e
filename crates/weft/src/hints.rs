//! Words of other programs' command lines, and what they are called here.

use crate::knobs::KNOBS;

/// An argument as others write it, and what to write instead.
const HINTS: &[(&[&str], &str)] = &[
    (&["--temp"], "--temperature"),
    (&["-m", "--model"], "the model is the first argument: `weft run MODEL PROMPT`, `weft chat MODEL`"),
    (&["-p", "--prompt"], "the prompt is an argument: `weft run MODEL PROMPT`"),
    (&["--file"], "--prompt-file"),
    (&["-hf", "--hf-repo", "-hfr"], "the model is an argument, such as hf:ORG/REPO:QUANT"),
    (&["--n-predict", "--predict", "--num-predict"], "--max-tokens"),
    (&["--ctx-size", "--num-ctx", "--ctx_size"], "--context"),
    (&["-ngl", "--n-gpu-layers", "--gpu-layers"], "--device gpu, which computes all layers there"),
    (&["-sys", "--system-prompt"], "--system"),
    (&["--top_k"], "--top-k"),
    (&["--top_p"], "--top-p"),
    (&["--min_p"], "--min-p"),
    (&["--repeat_penalty"], "--repeat-penalty"),
    (&["-i", "-cnv", "--interactive", "--conversation"], "`weft chat`"),
    (&["-fa", "--flash-attn"], "nothing: attention always works like this"),
    (&["--batch-size", "--batch_size", "-ub", "--ubatch-size"], "--batch"),
    (&["-ctk", "-ctv", "--cache-type-k", "--cache-type-v"], "--kv"),
    (&["--json-schema", "-j", "--format"], "--schema"),
    (&["--jinja"], "nothing: chat templates are always used"),
    (&["--no-mmap", "--mlock"], "nothing: models are always mapped"),
    (&["--no-display-prompt", "-no-cnv", "-st", "--simple-io"], "nothing: `weft run` prints only the reply"),
    (&["-r", "--reverse-prompt"], "--stop"),
];

/// What to write instead of the first of these arguments that another program knows and this command does not.
pub(crate) fn hint(command: &str, arguments: impl Iterator<Item = String>) -> Option<String> {
    let knows = |word: &str| {
        KNOBS.iter().filter(|knob| knob.commands.contains(&command)).any(|knob| {
            word.strip_prefix("--") == Some(knob.name)
                || word.len() == 2
                    && word.strip_prefix('-').and_then(|short| short.chars().next()) == knob.short
                    && knob.short.is_some()
        })
    };
    let words = arguments.take_while(|word| word != "--");
    let mut words = words.map(|word| word.split('=').next().unwrap_or_default().to_string());
    words.find_map(|word| {
        let (_, instead) = HINTS.iter().find(|(known, _)| known.contains(&word.as_str()))?;
        (!knows(&word)).then(|| match instead.strip_prefix("nothing: ") {
            Some(why) => format!("'{word}' can be left out: {why}"),
            None if instead.starts_with("the ") => format!("leave out '{word}': {instead}"),
            None => format!("instead of '{word}', use {instead}"),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_to_use_is_told() {
        let hint = |command, line: &str| hint(command, line.split(' ').map(str::to_string));
        assert_eq!(hint("run", "--temp 1").as_deref(), Some("instead of '--temp', use --temperature"));
        assert_eq!(
            hint("run", "-ngl 99").unwrap(),
            "instead of '-ngl', use --device gpu, which computes all layers there"
        );
        assert!(hint("run", "--jinja x").unwrap().starts_with("'--jinja' can be left out: chat templates"));
        assert_eq!(
            hint("run", "--model=x hi").unwrap(),
            "leave out '--model': the model is the first argument: `weft run MODEL PROMPT`, `weft chat MODEL`"
        );
        // Where the word means something, it is left alone.
        assert_eq!(hint("chat", "--model x"), None);
        assert_eq!(hint("bench", "-p 1 -r 2"), None);
        assert_eq!(hint("run", "hi -- --temp"), None);
    }

    #[test]
    fn what_is_told_exists() {
        for (_, instead) in HINTS {
            if let Some(name) = instead.strip_prefix("--") {
                let name = name.split([' ', ',']).next().unwrap();
                assert!(KNOBS.iter().any(|knob| knob.name == name), "{name}");
            }
        }
    }
}
