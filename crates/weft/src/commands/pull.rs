//! `weft pull`: fetches a model into the cache.

use std::io::Write as _;

use anyhow::bail;

use super::{Command, Outcome, Positional};
use crate::args::Args;
use crate::catalog::{KNOWN, known};
use crate::fetch::Fetcher;
use crate::names::HubName;
use crate::out::Out;

const NAME: Positional =
    Positional { name: "NAME", help: "smollm2, or hf:ORG/REPO:QUANT for a model on the hub", required: true };

pub(super) const COMMAND: Command = Command {
    name: "pull",
    about: "Fetch a model into the cache",
    notes: "\
It prints where the model is. A download that broke off goes on where it stopped, and a file gets its \
name only when its checksum is right.

Examples:
  weft pull smollm2
  weft pull hf:bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M",
    positionals: &[NAME],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let name = args.text("NAME").unwrap_or_default();
    let fetcher = Fetcher::new(args)?;
    let path = match (known(name), HubName::read(name)) {
        (Some(known), _) => fetcher.known(known)?,
        (None, Some(hub)) => fetcher.hub(&hub?)?,
        (None, None) => {
            let names: Vec<&str> = KNOWN.iter().map(|known| known.name).collect();
            bail!(
                "`{name}` is nothing that can be fetched: expected {} or hf:ORG/REPO:QUANT",
                names.join(", ")
            );
        }
    };
    writeln!(Out::new(), "{}", path.display())?;
    Ok(Outcome::Done)
}
