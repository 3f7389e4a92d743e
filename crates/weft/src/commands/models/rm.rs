//! `weft rm`: removes downloaded models.

use anyhow::{Context as _, bail};
use weft_engine::PackCache;

use crate::cli::args::Args;
use crate::commands::{Command, Outcome, Positional};
use crate::model::packing::is_built_in;
use crate::terminal::streams::note;
use crate::terminal::units;

const MODELS: Positional = Positional {
    name: "MODEL...",
    help: "Names from `weft list`, hf:ORG/REPO:QUANT, or paths within the cache",
    required: true,
};

pub(in crate::commands) const COMMAND: Command = Command {
    name: "rm",
    about: "Remove downloaded models and their packed weights",
    notes: "\
Removes only what Weft downloaded or what is in its cache. Other files are yours to remove.

Examples:
  weft rm smollm2
  weft rm hf:bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M",
    positionals: &[MODELS],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let cache = args.cache()?;
    let names = args.names(MODELS.name);
    // All are found before any is removed.
    let mut found = Vec::new();
    for name in &names {
        match cache.find_any(name)? {
            Some(model) => found.push(model),
            None => {
                let path = std::path::Path::new(name);
                let name = path.display();
                let hint = match path.to_str() {
                    _ if path.is_file() => "; it is a file of yours, which `rm` does not touch",
                    Some(text) if is_built_in(text) => "; it is in the program",
                    _ => "",
                };
                bail!(
                    "there is no model {name} in {}{hint}; `weft list` shows what there is",
                    cache.models().display()
                )
            }
        }
    }
    let packs = PackCache::new(cache.packed());
    let mut freed = 0;
    for model in found {
        let path = weft_file::canonical(&model.path).unwrap_or_else(|_| model.path.clone());
        cache.remove(&model)?;
        freed += model.bytes;
        let packed = packs.list().with_context(|| format!("cannot read {}", packs.folder.display()))?;
        for packed in packed.iter().filter(|packed| packed.of.as_ref().is_some_and(|of| of.model == path)) {
            freed +=
                packs.remove(packed).with_context(|| format!("cannot remove {}", packed.path.display()))?;
        }
        note!("removed {}", model.name);
    }
    note!("freed {}", units::bytes(freed));
    Ok(Outcome::Done)
}
