//! `weft report`: creates an HTML report of journal runs.

use weft_lab::report;

use super::journal::records;
use crate::cli::args::Args;
use crate::commands::measure::recording;
use crate::commands::{Command, Outcome, Positional};
use crate::terminal::result_file::Output;

const RUNS: Positional =
    Positional { name: "RUN...", help: "Numbers of the runs, from `weft journal`", required: true };

pub(in crate::commands) const COMMAND: Command = Command {
    name: "report",
    about: "Create an HTML report of measurements",
    notes: "\
The report is a single file without external resources. A profile is shown with its roofline, the time by role, the \
kernels by lost time and the timeline of a step; a benchmark (of a model or of blocks) with every sample and its limit; an \
ablation with the gain of each change and its confidence interval; perplexity window by window. Two runs are also compared, \
and benchmarks are drawn together.

Examples:
  weft report 12 -o report.html
  weft report 12 14 15 -o report.html",
    positionals: &[RUNS],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let records = records(&recording::path(args)?, &args.texts(RUNS.name))?;
    let mut file = Output::create(args.path("out").unwrap_or("report.html".as_ref()))?;
    file.write(report(&records).as_bytes())?;
    file.commit()?;
    Ok(Outcome::Done)
}
