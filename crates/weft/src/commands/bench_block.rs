//! `weft bench-block`: how long the attention of a layer, its feed-forward network and all of it take alone.

use std::io::{self, Write};

use weft_engine::EngineOptions;
use weft_gguf::Gguf;
use weft_lab::{BlockOptions, Blocks, Error, Roof, bench_blocks};
use weft_models::BuildOptions;

use super::roofline::giga;
use super::{Command, MODEL, Outcome};
use crate::args::Args;
use crate::interrupt::Listener;
use crate::journal;
use crate::load::load;
use crate::measured::{Measured, check_step};
use crate::model_ref;
use crate::out::Out;
use crate::progress::{Progress, Unit};

pub(super) const COMMAND: Command = Command {
    name: "bench-block",
    about: "Measure the attention, the feed-forward network and all of a layer alone",
    notes: "\
Of each kind of layer the first is measured, in a step of one random token after --depth others, or of a prompt's --prefill \
tokens: its launches for attention, the others, and all of them, each as a program of its own on what the step left behind. \
Before every sample so much other memory is read that weights come from memory, as they do in a step. Blocks are sampled in \
turns, --repeat times after a round that does not count. IQR is how far the middle half of the samples lies apart; OF ROOF \
how much of what the block reads or multiplies the machine itself did meanwhile, as `weft roofline` measures it.

Examples:
  weft bench-block model.gguf
  weft bench-block model.gguf -d 4096 -r 100 --json",
    positionals: &[MODEL],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let count = |knob| args.count(knob).unwrap_or(0);
    let wanted = BlockOptions {
        repeat: count("repeat"),
        depth: count("depth"),
        tokens: args.count("prefill").unwrap_or(1),
    };
    let path = model_ref::find(args, args.text(MODEL.name))?;
    let gguf = Gguf::open(&path)?;
    let own = args.engine();
    let model = weft_models::build(&gguf, &BuildOptions { kv: args.kv(), ..BuildOptions::default() })?;
    check_step(wanted.depth, wanted.tokens, own.context, own.batch, &model)?;
    let options = EngineOptions { context: own.context.or(Some(wanted.context())), ..own };
    let (mut engine, loaded) = load(&path, &options)?;
    let listener = Listener::new();
    let mut progress = None;
    let mut probe = weft_lab::probe()?;
    let measured = bench_blocks(&mut engine, &mut probe, &wanted, listener.pressed(), &mut |done, total| {
        let begin = || Progress::new("measuring", total, Unit::Samples).at_once(true);
        progress.get_or_insert_with(begin).set(done);
    });
    drop(progress);
    let blocks = match measured {
        Err(Error::Interrupted) => return Ok(Outcome::Interrupted),
        measured => measured?,
    };
    let on = Measured::new(&path, &gguf, &engine, &options, loaded);
    let json = on.json(blocks.json());
    let mut out = Out::new();
    if args.flag("json") {
        out.json(&json)?;
    } else {
        on.text(&blocks.host, &mut out)?;
        text(&blocks, &mut out)?;
    }
    journal::append(args, COMMAND.name, Some(&gguf), json);
    Ok(Outcome::Done)
}

fn text(blocks: &Blocks, out: &mut impl Write) -> io::Result<()> {
    let [read, dot, floats] = [Roof::Read, Roof::Dot, Roof::MulAdd].map(|roof| giga(blocks.roofs.of(roof)));
    writeln!(out, "meanwhile the machine reads {read} GB/s")?;
    writeln!(out, "and multiplies {dot} GMAC/s in 8 bits and {floats} in f32")?;
    writeln!(out)?;
    let columns = ["KERNELS", "MEDIAN, MS", "LEAST", "IQR", "MB", "GB/S", "GMAC/S", "OF ROOF"];
    let [kernels, median, least, iqr, bytes, read, multiplied, of_roof] = columns;
    writeln!(
        out,
        "{:<12} {kernels:>7} {median:>10} {least:>9} {iqr:>9} {bytes:>9} {read:>7} {multiplied:>8} {of_roof:>8}",
        ""
    )?;
    let mut segment = "";
    for block in &blocks.blocks {
        if block.segment != segment {
            segment = &block.segment;
            let like = if block.layers == 1 {
                "alone of its kind".into()
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
        let of_roof = format!("{:.1} %", 100.0 * blocks.of_roof(block));
        writeln!(
            out,
            "  {:<12} {:>5} {median:>10.4} {least:>9.4} {iqr:>9.4} {:>9.2} {read:>7.1} {multiplied:>8.1} {of_roof:>8}",
            block.name,
            block.kernels,
            bytes / 1e6
        )?;
    }
    Ok(())
}
