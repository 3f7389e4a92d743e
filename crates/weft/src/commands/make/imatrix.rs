//! `weft imatrix`: measures which columns of a model's weights matter.

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::bail;
use serde_json::{Value, json};
use weft_engine::inspect::{Collector, InputSums};
use weft_engine::open_file;
use weft_lab::Windows;
use weft_make::Imatrix;

use crate::cli::args::Args;
use crate::cli::text_file;
use crate::commands::measure::measurement::interrupted;
use crate::commands::quality::perplexity::{TEXT, windows};
use crate::commands::{Command, MODEL, Outcome};
use crate::model::load::with_report;
use crate::model::model_ref;
use crate::terminal::interrupt::Listener;
use crate::terminal::progress::{Progress, Unit};
use crate::terminal::result_file::check_output;
use crate::terminal::streams::Out;

pub(in crate::commands) const COMMAND: Command = Command {
    name: "imatrix",
    about: "Measure which columns of a model's weights matter, for `weft quantize`",
    notes: "\
Runs the text through the model in windows of --context tokens, and writes an importance matrix: for each weight, the sum \
of squares of each column of what it is multiplied by. `weft quantize --imatrix` then keeps the columns more precise that \
are multiplied by large values. The file has llama.cpp's format. Use the most precise model you can get, and a text like \
those that the model will see; some hundred windows are enough, more for many experts.

For a mixture of experts, it also prints how evenly each layer uses its experts.

Ctrl-C stops early and writes nothing.

Examples:
  weft imatrix model-f16.gguf text.txt
  weft quantize model-f16.gguf model-q4_0.gguf --quant q4_0 --imatrix imatrix.gguf",
    positionals: &[MODEL, TEXT],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let path = model_ref::find(args, args.path(MODEL.name))?;
    let text_path = args.path(TEXT.name).unwrap_or(Path::new(""));
    let text = text_file::read(text_path)?;
    let Some(out_path) = args.path("out") else { bail!("--out: expected a file to write") };
    check_output(out_path, &open_file(&path)?)?;
    let (mut collector, _) = with_report(|report| Collector::load(&path, &args.engine(), report))?;
    let windows = windows(args, collector.model().tokenizer(), &text.text)?;
    let listener = Listener::new();
    let (started, total) = (Instant::now(), (windows.count() * windows.context()) as u64);
    let mut progress = Progress::new("measuring", total, Unit::Tokens).at_once(true);
    for (index, window) in windows.iter().enumerate() {
        progress.set((index * windows.context()) as u64);
        collector.add(&window)?;
        if listener.pressed().load(Ordering::SeqCst) {
            drop(progress);
            return Ok(interrupted("written"));
        }
    }
    drop(progress);
    let rate = total as f64 / started.elapsed().as_secs_f64();
    let name = text_path.file_name().map_or_else(|| "-".into(), |name| name.to_string_lossy().into_owned());
    let imatrix = Imatrix::new(name, (windows.count(), windows.context()), collector.sums())?;
    imatrix.write(out_path)?;
    let used: Vec<ExpertUse> = collector.sums().iter().filter_map(ExpertUse::of).collect();
    let mut out = Out::new();
    if args.flag("json") {
        let used = used.iter().map(|layer| json!({ "tensor": layer.tensor, "tokens": layer.counts }));
        out.json(&json!({
            "path": out_path.display().to_string(),
            "model": path.display().to_string(),
            "text": text.json(),
            "tensors": imatrix.entries.len(),
            "windows": { "of": windows.count(), "context": windows.context() },
            "tokens_per_second": rate,
            "experts": used.collect::<Value>(),
        }))?;
    } else {
        show(&imatrix, &windows, &used, &mut out)?;
        writeln!(out, "{rate:.1} tokens/s; written to {}", out_path.display())?;
    }
    Ok(Outcome::Done)
}

/// How often the router of a layer chose each expert.
#[derive(Clone, Debug, PartialEq)]
struct ExpertUse {
    tensor: String,
    counts: Vec<u64>,
}

impl ExpertUse {
    /// The use of a layer's experts, from the sums of its down projection; `None` for other tensors.
    fn of((name, sums): (&String, &InputSums)) -> Option<ExpertUse> {
        let is_one = name.ends_with("ffn_down_exps.weight") && sums.counts.len() > 1;
        is_one.then(|| ExpertUse { tensor: name.clone(), counts: sums.counts.clone() })
    }

    /// The layer, as a number if the tensor has one.
    fn layer(&self) -> &str {
        self.tensor.strip_prefix("blk.").and_then(|rest| rest.split('.').next()).unwrap_or(&self.tensor)
    }
}

fn show(imatrix: &Imatrix, windows: &Windows, used: &[ExpertUse], out: &mut impl Write) -> io::Result<()> {
    let mut used: Vec<&ExpertUse> = used.iter().collect();
    used.sort_by_key(|layer| layer.layer().parse().unwrap_or(u64::MAX));
    if !used.is_empty() {
        writeln!(out, "LAYER  EXPERTS  UNUSED  LEAST USED  MOST USED (1 is an even share)")?;
    }
    for layer in used {
        let (count, all) = (layer.counts.len(), layer.counts.iter().sum::<u64>());
        let share =
            |uses: Option<&u64>| uses.map_or(0.0, |uses| *uses as f64 * count as f64 / all.max(1) as f64);
        let unused = layer.counts.iter().filter(|uses| **uses == 0).count();
        let [least, most] = [share(layer.counts.iter().min()), share(layer.counts.iter().max())];
        writeln!(out, "{:>5}  {count:>7}  {unused:>6}  {least:>10.2}  {most:>9.2}", layer.layer())?;
    }
    let (tensors, count, context) = (imatrix.entries.len(), windows.count(), windows.context());
    writeln!(out, "{tensors} weights measured on {count} windows of {context} tokens")
}
