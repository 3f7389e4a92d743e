//! `weft bench-block`: measures the attention, the feed-forward network and the whole of a layer in isolation.

use std::io::{self, Write};

use anyhow::bail;
use weft_engine::inspect::Role;
use weft_lab::{BlockOptions, Blocks, bench_blocks};

use crate::cli::args::Args;
use crate::commands::measure::measurement::{Prepared, alone, interrupted, measure, prepare};
use crate::commands::measure::recording;
use crate::commands::measure::report_head::{Measured, meanwhile, percent};
use crate::commands::{Command, MODEL, Outcome};
use crate::model::load::load;
use crate::terminal::progress::Unit;
use crate::terminal::streams::Out;

pub(in crate::commands) const COMMAND: Command = Command {
    name: "bench-block",
    about: "Measure attention, feed-forward network and whole layer in isolation",
    notes: "\
Measures the first layer of each kind, in a step of one random token after --depth others, or of --prefill prompt tokens: \
its launches for attention, the other launches, and all of them, each as its own program. Before every sample, other memory \
is read, so that weights come from memory as in a real step. Blocks are sampled in turns, --repeat times after one warm-up. \
IQR is the interquartile range of the samples. OF ROOF is the share of the machine's bandwidth or multiplication rate, \
measured in the same run as by `weft roofline`. Devices other than the CPU have no known multiplication rate; what it may \
limit has a dash. With --role, only the kernels of one role are measured, such as the router's.

Examples:
  weft bench-block model.gguf
  weft bench-block model.gguf -d 4096 -r 100 --json
  weft bench-block model.gguf --role router",
    positionals: &[MODEL],
    run,
};

/// The roles that kernels of layers have.
const ROLES: [Role; 7] = [
    Role::Attention,
    Role::Router,
    Role::RoutedExperts,
    Role::SharedExpert,
    Role::DenseFeedForward,
    Role::Norm,
    Role::Other,
];

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let count = |knob| args.count(knob).unwrap_or(0);
    let wanted = BlockOptions {
        repeat: count("repeat"),
        depth: count("depth"),
        tokens: args.count("prefill").unwrap_or(1),
        role: ROLES
            .into_iter()
            .find(|role| Some(role.name().replace(' ', "-").as_str()) == args.text("role")),
    };
    let prepared = prepare(args, MODEL.name, wanted.depth, wanted.tokens)?;
    let Prepared { path, gguf, options } = &prepared;
    let _alone = alone(args, COMMAND.name)?;
    let (mut engine, loaded) = load(path, options)?;
    let measured = measure(args, &mut engine, Unit::Samples, |engine, meter, cancel, on| {
        bench_blocks(engine.inspect_mut(), meter, &wanted, cancel, on)
    })?;
    let Some(blocks) = measured else { return Ok(interrupted("recorded")) };
    if let Some(role) = wanted.role.filter(|_| blocks.blocks.is_empty()) {
        bail!("no layer of this model has a kernel of the role `{}`; leave --role out", role.name());
    }
    let on = Measured::new(path, gguf, engine.inspect(), options, loaded);
    let json = on.json(blocks.json());
    let mut out = Out::new();
    if args.flag("json") {
        out.json(&json)?;
    } else {
        on.text(&blocks.host, &mut out)?;
        text(&blocks, &mut out)?;
    }
    recording::append(args, COMMAND.name, Some(gguf), json);
    Ok(Outcome::Done)
}

fn text(blocks: &Blocks, out: &mut impl Write) -> io::Result<()> {
    meanwhile(&blocks.roofs, out)?;
    writeln!(out)?;
    let columns = ["KERNELS", "MEDIAN, MS", "MIN", "IQR", "MB", "GB/S", "GMAC/S", "OF ROOF"];
    let [kernels, median, least, iqr, bytes, read, multiplied, of_roof] = columns;
    writeln!(
        out,
        "{:<18} {kernels:>7} {median:>10} {least:>9} {iqr:>9} {bytes:>9} {read:>7} {multiplied:>8} {of_roof:>8}",
        ""
    )?;
    let mut segment = "";
    for block in &blocks.blocks {
        if block.segment != segment {
            segment = &block.segment;
            let like = if block.layers == 1 {
                "the only one of its kind".into()
            } else {
                format!("one of {}", block.layers)
            };
            writeln!(out, "{segment}, {like}")?;
        }
        let times = &block.times;
        let iqr = times.quantile(0.75) - times.quantile(0.25);
        let [median, least, iqr] = [times.median(), times.min(), iqr].map(|seconds| seconds * 1e3);
        let bytes = (block.amounts.weight_bytes + block.amounts.state_bytes) as f64;
        let [read, multiplied] =
            [bytes, block.amounts.multiplications() as f64].map(|amount| amount / times.median() / 1e9);
        let of_roof = percent(blocks.of_roof(block));
        writeln!(
            out,
            "  {:<18} {:>5} {median:>10.4} {least:>9.4} {iqr:>9.4} {:>9.2} {read:>7.1} {multiplied:>8.1} {of_roof:>8}",
            block.name,
            block.kernels,
            bytes / 1e6
        )?;
    }
    Ok(())
}
