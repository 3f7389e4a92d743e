//! `weft pull`: downloads a model into the cache.

use std::io::Write as _;

use weft_hub::Event;

use crate::cli::args::Args;
use crate::commands::{Command, Outcome, Positional};
use crate::model::download::with_events;
use crate::model::model_ref;
use crate::model::packing;
use crate::terminal::streams::Out;

const NAME: Positional = Positional {
    name: "NAME",
    help: "A name of the catalogue, or hf:ORG/REPO:QUANT for any model on the Hugging Face hub",
    required: true,
};

pub(in crate::commands) const COMMAND: Command = Command {
    name: "pull",
    about: "Download a model into the cache",
    notes: "\
Prints the path of the model. An interrupted download resumes where it stopped, and every file's checksum is verified: of smollm2 \
against one in the program, of all others against what the hub states. `weft list --all` shows the catalogue. NAME:QUANT is \
another quantisation of a model in it.

When a model is first run, its weights are packed into a second file about as large as the model. With --packed they are packed \
now, into the only file: it takes the place of the downloaded ones, and `weft cache unpack` restores them byte for byte. \
Packing needs room for both for as long as it takes. When the hub has other files than such a model was packed from, they are \
downloaded and packed in its place.

Examples:
  weft pull smollm2
  weft pull --packed smollm2
  weft pull glm-4.7-flash
  weft pull qwen3-8b:Q8_0
  weft pull hf:bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M",
    positionals: &[NAME],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let hub = model_ref::hub(args)?;
    let name = args.text(NAME.name).unwrap_or_default();
    if args.flag("packed") {
        packing::refuse_built_in(name)?;
    }
    // A model that was kept packed only stays so.
    let mut packed = args.flag("packed");
    let mut path = with_events(|on| {
        hub.pull(name, &mut |event| {
            packed |= matches!(event, Event::Outdated { .. });
            on(event)
        })
    })?;
    if packed {
        let model = packing::cached(hub.cache(), &path)?;
        packing::pack(hub.cache(), &model)?;
        path = model.packed_path();
    }
    writeln!(Out::new(), "{}", path.display())?;
    Ok(Outcome::Done)
}
