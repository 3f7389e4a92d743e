//! `weft report`: runs of the journal as one page for a browser.

use weft_lab::report;

use super::journal::records;
use super::{Command, Outcome, Positional};
use crate::args::Args;
use crate::journal;
use crate::output::Output;

const RUNS: Positional =
    Positional { name: "RUN...", help: "The numbers of runs, as `weft journal` shows them", required: true };

pub(super) const COMMAND: Command = Command {
    name: "report",
    about: "Make a page for a browser of what was measured",
    notes: "\
The page is one file that fetches nothing: it can be sent to somebody, or kept beside the code. Of a profile it shows the \
roofline, the time by role, the kernels by lost time and the timeline of a step; of a bench every sample beside the limit; of \
an ablation the gain of each change with its interval. Of two runs it also tells how they differ.

Examples:
  weft report 12 -o report.html
  weft report 12 14 15 -o report.html",
    positionals: &[RUNS],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let records = records(&journal::path(args)?, &args.texts(RUNS.name))?;
    let mut file = Output::create(args.path("out").unwrap_or("report.html".as_ref()))?;
    file.write(report(&records).as_bytes())?;
    file.commit()?;
    Ok(Outcome::Done)
}
