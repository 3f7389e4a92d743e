//! `weft-explore`: searches for graphs that cost less than those that the rewrite rules lead to.
#![forbid(unsafe_code)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use weft_explore::{Limits, MACHINES, Named, PRESETS, explore};
use weft_ir::{Graph, parse};

/// The largest file that is read as a graph. A layer has five kilobytes, and the time grows faster than the size.
const MAX_BYTES: u64 = 1 << 20;

fn main() -> ExitCode {
    match run(&command().get_matches()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    let limits = Limits {
        nodes: *matches.get_one("nodes").unwrap_or(&Limits::default().nodes),
        time: matches.get_one("seconds").map_or(Limits::default().time, |s| Duration::from_secs(*s)),
    };
    let machine = matches.get_one::<String>("machine");
    let machines: Vec<&Named> =
        MACHINES.iter().filter(|m| machine.is_none_or(|name| m.name == name)).collect();
    let json = matches.get_flag("json");
    let mut reports = Vec::new();
    let mut out = std::io::stdout().lock();
    for graph in graphs(matches)? {
        for named in &machines {
            let report = explore(&graph, &named.machine, &limits)?;
            if json {
                let mut report = report.json();
                report["machine"] = named.name.into();
                reports.push(report);
            } else {
                writeln!(out, "{} on {}\n{report}", graph.name(), named.name)?;
            }
        }
    }
    if json {
        writeln!(out, "{:#}", serde_json::Value::from(reports))?;
    }
    Ok(())
}

fn command() -> Command {
    let names = |names: Vec<&'static str>| PossibleValuesParser::new(names);
    let limits = Limits::default();
    Command::new("weft-explore")
        .about("Search an e-graph for graphs that cost less than those that the rewrite rules lead to")
        .arg(
            Arg::new("graph")
                .value_name("GRAPH.graph")
                .value_parser(value_parser!(PathBuf))
                .help("A graph in its text form [default: the presets]"),
        )
        .arg(
            Arg::new("preset")
                .long("preset")
                .value_name("NAME")
                .value_parser(names(PRESETS.iter().map(|p| p.name).collect()))
                .conflicts_with("graph")
                .help("Explore only this preset"),
        )
        .arg(
            Arg::new("machine")
                .long("machine")
                .value_name("NAME")
                .value_parser(names(MACHINES.iter().map(|m| m.name).collect()))
                .help("Explore only for this machine"),
        )
        .arg(
            Arg::new("nodes")
                .long("nodes")
                .value_name("N")
                .value_parser(value_parser!(usize))
                .help(format!("Maximum number of e-nodes [default: {}]", limits.nodes)),
        )
        .arg(Arg::new("seconds").long("seconds").value_name("S").value_parser(value_parser!(u64)).help(
            format!(
                "Time limit in seconds, for saturation and for each search [default: {}]",
                limits.time.as_secs()
            ),
        ))
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print JSON"))
}

/// The graph of the file, or the presets.
fn graphs(matches: &ArgMatches) -> anyhow::Result<Vec<Graph>> {
    if let Some(path) = matches.get_one::<PathBuf>("graph") {
        return Ok(vec![read(path).with_context(|| format!("{}", path.display()))?]);
    }
    let only = matches.get_one::<String>("preset");
    let presets = PRESETS.iter().filter(|preset| only.is_none_or(|name| preset.name == name));
    presets.map(|preset| parse(preset.text).with_context(|| format!("preset {}", preset.name))).collect()
}

fn read(path: &Path) -> anyhow::Result<Graph> {
    let bytes = std::fs::metadata(path)?.len();
    if bytes > MAX_BYTES {
        bail!("expected a graph of at most {MAX_BYTES} bytes, found {bytes}");
    }
    Ok(parse(&std::fs::read_to_string(path)?)?)
}
