//! Words of other programs' command lines, and what they are called here.

use weft_hub::suggest;

use crate::cli::knobs::KNOBS;

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
    (&["--cpu-moe", "-cmoe"], "--experts cpu"),
    (
        &["--n-cpu-moe", "-ncmoe", "-ot", "--override-tensor"],
        "--experts N, with N experts of each layer on the GPU; by default as many as it has memory for",
    ),
    (&["-sys", "--system-prompt"], "--system"),
    (&["--top_k"], "--top-k"),
    (&["--top_p"], "--top-p"),
    (&["--min_p"], "--min-p"),
    (&["--repeat_penalty"], "--repeat-penalty"),
    (&["--typical"], "--typical-p"),
    (&["--top-nsigma"], "--top-n-sigma"),
    (&["--dynatemp-exp"], "--dynatemp-exponent"),
    (&["--mirostat-ent"], "--mirostat-tau"),
    (&["--mirostat-lr"], "--mirostat-eta"),
    (&["--models-preset"], "--models"),
    (&["--sleep-idle-seconds", "--ttl"], "--keep-alive"),
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

/// A command as others call it, and what to do instead.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["show", "info"], "`weft inspect MODEL` shows what is in a model"),
    (
        &["stop", "unload", "kill"],
        "`weft ps` lists what runs, with the number of each process, which `kill NUMBER` ends",
    ),
    (&["models", "ls", "aliases", "catalog"], "`weft list` shows the models that are here"),
    (&["version", "-v", "-version"], "`weft --version` shows the version"),
    (
        &["create", "preset", "modelfile"],
        "`weft config set NAME VALUE` keeps options for later calls, and `weft quantize` makes a smaller model",
    ),
    (&["cp", "copy", "mv", "rename"], "models are files: copy or rename them, and name them by their path"),
    (&["remove", "delete", "uninstall"], "`weft rm MODEL` removes a downloaded model"),
    (&["download", "get", "fetch", "install"], "`weft pull NAME` downloads a model"),
    (&["search"], "search on huggingface.co, and then name the model as hf:ORG/REPO:QUANT"),
    (&["import"], "`weft convert DIR OUT` makes a GGUF file of safetensors; GGUF files need no import"),
    (&["generate", "ask", "prompt", "complete", "completion"], "`weft run MODEL PROMPT` answers a prompt"),
    (&["server", "start"], "`weft serve MODEL` serves a model over HTTP"),
    (&["status", "running"], "`weft ps` lists what runs"),
    (
        &["settings", "set"],
        "`weft config` shows the options that are kept, and `weft config set NAME VALUE` keeps one",
    ),
    (&["benchmark"], "`weft bench MODEL` measures a model"),
];

/// Advice for a command that another program has and this one does not.
pub(crate) fn command(word: &str) -> Option<&'static str> {
    COMMANDS.iter().find(|(known, _)| known.contains(&word)).map(|(_, instead)| *instead)
}

/// Advice for an argument that differs by a letter or two from one that another program knows.
pub(crate) fn near(command: &str, word: &str) -> Option<String> {
    let word = word.split('=').next().unwrap_or_default();
    let known =
        HINTS.iter().flat_map(|(known, _)| known.iter().copied()).filter(|known| known.starts_with("--"));
    let meant = suggest(word, &known.collect::<Vec<_>>()).first().copied()?;
    let tip = hint(command, std::iter::once(meant.to_string()))?;
    Some(tip.replace(&format!("'{meant}'"), &format!("'{word}'")))
}

/// Advice for the first of these arguments that another program knows and this command does not.
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
        // Not all commands have what another program's option is called here.
        let option = instead.split([' ', ',']).next().filter(|first| first.starts_with("--"));
        (!knows(&word) && option.is_none_or(&knows)).then(|| match instead.strip_prefix("nothing: ") {
            Some(why) => format!("'{word}' can be left out: {why}"),
            None if instead.starts_with("the ") => format!("leave out '{word}': {instead}"),
            None => format!("instead of '{word}', use {instead}"),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands;

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
        // The command has no such option under any name.
        assert_eq!((hint("tune", "-r 2"), hint("inspect", "--temp 1")), (None, None));
        assert_eq!(hint("run", "hi -- --temp"), None);
    }

    #[test]
    fn misspelled_words_are_told_as_well() {
        let said = near("run", "--modle").unwrap();
        assert!(said.starts_with("leave out '--modle': the model is the first argument"), "{said}");
        assert_eq!(near("run", "--tmep=1").unwrap(), "instead of '--tmep', use --temperature");
        // Where the word means something, the parser knows it.
        assert_eq!(near("chat", "--modle"), None);
        assert_eq!(near("run", "--something-else"), None);
    }

    #[test]
    fn commands_of_other_programs_lead_to_ours() {
        for (words, instead) in COMMANDS {
            for word in *words {
                assert!(!commands::COMMANDS.iter().any(|command| command.name == *word), "{word}");
                assert_eq!(command(word), Some(*instead));
            }
            for told in instead.split("`weft ").skip(1) {
                let name = told.split([' ', '`']).next().unwrap();
                let known = commands::COMMANDS.iter().any(|command| command.name == name);
                assert!(known || name == "--version", "{instead}");
            }
        }
        assert_eq!(command("inspct"), None);
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
