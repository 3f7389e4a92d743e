//! `weft ablate`: measures what each compiler decision is worth, one change at a time.

mod table;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use clap::error::ErrorKind;
use serde_json::Value;
use weft_engine::{DeviceChoice, Engine, Mode, Switches, decision, open_adapted};
use weft_hub::suggest;
use weft_lab::{AblateOptions, Ablation, Change, Golden, Here, Host, Rule, Where, ablate};
use weft_models::{BuildOptions, ModelGraph};

use crate::cli::args::Args;
use crate::cli::text_file;
use crate::commands::measure::kept_decisions;
use crate::commands::measure::measurement::{alone, context_for, interrupted};
use crate::commands::measure::recording;
use crate::commands::tables::Form;
use crate::commands::{Command, MODEL, Outcome};
use crate::model::load::load;
use crate::model::model_ref;
use crate::terminal::interrupt::Listener;
use crate::terminal::progress::{Progress, Unit};
use crate::terminal::streams::{Out, note};
use table::Tested;
pub(crate) use table::{gains, write_changes};

pub(in crate::commands) const COMMAND: Command = Command {
    name: "ablate",
    about: "Measure what each compiler decision is worth",
    notes: "\
Each change is compiled beside the base, on the same weights and threads. First its logits are compared with those of \
the base, or with golden ones. Then base and change compute the same tokens in turns, up to --repeat pairs of samples for \
each phase. The gain is the median over the pairs, with a bootstrap confidence interval. A change is kept if the whole \
interval is above 2 %, dropped if it is below -2 % or the logits differ too much, and undecided otherwise. A decision \
that is on by default is tried off: `drop` then means that the decision pays.

`aa` changes nothing, and shows the noise of this machine. `schedules` tries, on a GPU, every way in which schedules can \
differ from the heuristic's, in all kernels at once where that is legal.

With --keep, the winners that still win together are kept in the cache, for this model on this hardware. Every later run \
uses them, `weft explain` shows them, --no-tuned ignores them, and `weft cache clear` removes them.

A golden file is JSON with `tokens`, `vocab`, and `logits`: the name of a file beside it, with little-endian f32 values, \
one row per token.

Examples:
  weft ablate model.gguf
  weft ablate model.gguf --knobs fuse.beside,fuse.router --combine
  weft ablate model.gguf --keep
  weft ablate model.gguf --knobs aa,fuse.tail=off -d 4096 -p 0 --markdown
  weft ablate model.gguf --device gpu --knobs aa,schedules --markdown",
    positionals: &[MODEL],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let count = |knob| args.count(knob).unwrap_or(0);
    let switches = args.switches();
    // Before anything is loaded.
    let changes = named_changes(args, &switches)?;
    let keep = args.flag("keep");
    if keep {
        kept_decisions::folder(args)?;
    }
    let mut wanted = AblateOptions {
        prefill: count("prefill"),
        decode: count("decode"),
        depth: count("depth"),
        pairs: count("repeat"),
        switches,
        golden: None,
        most_kl: args.number("max-kl"),
        combine: args.flag("combine") || keep,
    };
    if wanted.prefill == 0 && wanted.decode == 0 {
        let problem = "with --prefill 0 and --decode 0, there is nothing to measure";
        return Err(clap::Error::raw(ErrorKind::ArgumentConflict, problem).into());
    }
    let form = Form::of(args)?;
    let path = model_ref::find(args, args.path(MODEL.name))?;
    let gguf = open_adapted(&path, &args.adapters())?;
    let build = BuildOptions { kv: args.kv(), ..BuildOptions::default() };
    let model = weft_models::build(&gguf, &build)?;
    if let Some(file) = args.path("golden") {
        let golden = golden(file, model.config.vocab);
        wanted.golden =
            Some(golden.with_context(|| format!("cannot use the golden logits {}", file.display()))?);
    }
    let own = args.engine();
    check_room(&wanted, own.context.unwrap_or(model.config.context), &model)?;
    let options =
        own.clone().context(context_for(wanted.context(), wanted.prefill, &own, &model)).sequences(2);
    tell_too_few(&wanted);
    let _alone = alone(args, COMMAND.name)?;
    let (mut engine, _) = load(&path, &options)?;
    tell_tried(args, &changes, &engine.device().name);
    // Decisions that were kept are part of the base.
    wanted.switches = engine.inspect().switches().clone();
    let changes = named_changes(args, &wanted.switches)?;
    let ablation = measure(&mut engine, &changes, &wanted)?;
    if ablation.interrupted && ablation.rows.is_empty() {
        return Ok(interrupted("recorded"));
    }
    let tested = Tested { path: &path, engine: &engine, wanted: &wanted, ablation: &ablation };
    let results = tested.json();
    let mut out = Out::new();
    tested.write(form, &results, &mut out)?;
    recording::append(args, COMMAND.name, Some(&gguf), results);
    if keep {
        kept_decisions::keep(args, &engine.device().hardware, &gguf, &ablation.winners())?;
    }
    Ok(if ablation.interrupted { Outcome::Interrupted } else { Outcome::Done })
}

/// The most changes for which earlier results are shown one by one.
const NAMED: usize = 6;

/// Says that there are too few samples for any verdict, if so, before the time is spent.
pub(in crate::commands) fn tell_too_few(wanted: &AblateOptions) {
    let phases = [wanted.prefill, wanted.decode].iter().filter(|tokens| **tokens > 0).count();
    let (pairs, fewest) = (wanted.pairs, Rule::fewest(phases));
    if pairs < fewest {
        let confidence = 100.0 * Rule::new(phases, pairs).confidence();
        note!(
            "-r {pairs} can decide nothing, because {confidence:.1} % confidence takes at least {fewest} pairs of samples: use -r {fewest} or more"
        );
    }
}

/// Says what earlier runs, on this device and others and while Weft was written, found about these changes.
fn tell_tried(args: Args<'_>, changes: &[Change], device: &str) {
    let names: Vec<String> =
        changes.iter().filter(|change| **change != Change::Nothing).map(Change::to_string).collect();
    let here = Here { cpu: Host::this().cpu, device: device.into() };
    let found = recording::tried(args, &names, &here);
    if names.len() <= NAMED {
        found.iter().for_each(|one| note!("{}", one.words()));
    } else if !found.is_empty() {
        note!(
            "{} of {} changes were tried before, {} of them on this device; `weft journal search NAME` shows what was found",
            found.len(),
            names.len(),
            found.iter().filter(|one| one.place == Where::Here).count()
        );
    }
}

/// The changes to try, to a model with the decisions `base`.
fn named_changes(args: Args<'_>, base: &Switches) -> Result<Vec<Change>, clap::Error> {
    changes(args.text("knobs").unwrap_or("all"), base, &args.device())
        .map_err(|problem| clap::Error::raw(ErrorKind::InvalidValue, problem))
}

/// Parses a comma-separated list of changes: `all`, `aa`, `schedules`, `schedule.rows=1`, `fuse.tail` or `fuse.tail=off`.
/// Duplicates are dropped.
fn changes(text: &str, base: &Switches, device: &DeviceChoice) -> Result<Vec<Change>, String> {
    let all = Change::all(base, device);
    let mut found: Vec<Change> = Vec::new();
    for item in text.split(',').map(str::trim) {
        let is_schedule = |change: &Change| matches!(change, Change::Schedule(_));
        // The names of schedules' changes contain their values.
        let whole = item.starts_with("schedule.") || all.iter().any(|change| change.knob() == item);
        let (name, mode) = match item.split_once('=') {
            Some((name, mode)) if !whole => (name, Some(mode)),
            _ => (item, None),
        };
        let named: Vec<Change> = match (name, mode) {
            ("all", None) => all.clone(),
            ("schedules", None) => all.iter().copied().filter(is_schedule).collect(),
            (_, None) => all.iter().copied().filter(|change| change.knob() == name).collect(),
            (_, Some(mode)) => {
                let modes = || Mode::ALL.map(Mode::name).join(", ");
                let mode = Mode::from_name(mode)
                    .ok_or_else(|| format!("there is no mode `{mode}`; expected one of {}", modes()))?;
                let known = decision(name).filter(|known| base.mode(known) != mode);
                if known.is_none() && decision(name).is_some() {
                    return Err(format!("{item} is already set; use another mode"));
                }
                known.map(|known| Change::Decision(known, mode)).into_iter().collect()
            }
        };
        if named.is_empty() {
            if name.starts_with("schedule") && device.departures().is_empty() {
                return Err(format!(
                    "cannot try `{name}`: {device} has no schedules to vary; use --device gpu"
                ));
            }
            return Err(unknown(name, &all));
        }
        found.extend(named.into_iter().filter(|change| !found.contains(change)).collect::<Vec<_>>());
    }
    Ok(found)
}

fn unknown(name: &str, all: &[Change]) -> String {
    let mut names: Vec<&str> = all.iter().map(Change::knob).chain(["all"]).collect();
    names.dedup();
    match suggest(name, &names)[..] {
        [] => format!("there is no change `{name}`; the changes are {}", names.join(", ")),
        ref near => format!("there is no change `{name}`; did you mean {}?", near.join(" or ")),
    }
}

/// Checks that the model and the context have room for the measurement, before anything is loaded.
fn check_room(wanted: &AblateOptions, context: usize, model: &ModelGraph) -> anyhow::Result<()> {
    let AblateOptions { depth, prefill, decode, .. } = *wanted;
    let (more, trained) = (prefill.max(decode), model.config.context);
    let needed = wanted.context();
    ensure!(
        needed <= trained,
        "measuring {more} tokens at depth {depth} and comparing logits needs a context of {needed} tokens, but the model's limit is {trained}; use a smaller --depth"
    );
    ensure!(
        needed <= context,
        "measuring {more} tokens at depth {depth} and comparing logits needs a context of {needed} tokens, but --context is {context}"
    );
    Ok(())
}

/// Reads golden logits.
fn golden(file: &Path, vocab: usize) -> anyhow::Result<Golden> {
    let json: Value = serde_json::from_str(&text_file::text(file, "the logits' description")?)?;
    let tokens = json["tokens"].as_array().context("`tokens` is not a list")?;
    let token = |token: &Value| token.as_u64().and_then(|id| u32::try_from(id).ok());
    let tokens: Option<Vec<u32>> = tokens.iter().map(token).collect();
    let tokens = tokens.context("`tokens` contains something other than token ids")?;
    ensure!(!tokens.is_empty(), "`tokens` is empty");
    if let Some(id) = tokens.iter().find(|&&id| id as usize >= vocab) {
        bail!("token {id} is not in the model's vocabulary of {vocab}");
    }
    let found = &json["vocab"];
    ensure!(*found == vocab, "`vocab` is {found}, but the model has {vocab} tokens");
    let name = json["logits"].as_str().context("`logits` is not a file name")?;
    let logits = file.parent().unwrap_or(Path::new(".")).join(name);
    let expected = tokens.len().saturating_mul(vocab).saturating_mul(4) as u64;
    let bytes = fs::metadata(&logits).with_context(|| logits.display().to_string())?.len();
    ensure!(
        bytes == expected,
        "{} has {bytes} bytes; expected {expected}, for {} x {vocab} values",
        logits.display(),
        tokens.len()
    );
    let bytes = fs::read(&logits).with_context(|| logits.display().to_string())?;
    let logits = bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    Ok(Golden { tokens, logits, allowed: json["llama_cpp_int8"]["mean_kl"].as_f64() })
}

/// Runs the measurement and shows its progress.
fn measure(engine: &mut Engine, changes: &[Change], wanted: &AblateOptions) -> anyhow::Result<Ablation> {
    let listener = Listener::new();
    let mut progress = None;
    let measured = ablate(engine.inspect_mut(), changes, wanted, listener.pressed(), &mut |done, total| {
        let begin = || Progress::new("measuring", total, Unit::Samples).at_once(true);
        let progress = progress.get_or_insert_with(begin);
        // The total grows once it is known which winners to combine.
        progress.expect(total);
        progress.set(done);
    });
    Ok(measured?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Result<String, String> {
        let names =
            |changes: Vec<Change>| changes.iter().map(Change::to_string).collect::<Vec<_>>().join(" ");
        changes(text, &Switches::default(), &DeviceChoice::default()).map(names)
    }

    #[test]
    fn changes_are_named_like_settings() {
        assert_eq!(named("fuse.tail").unwrap(), "fuse.tail=off");
        assert_eq!(
            named("aa, fuse.router,batch.half").unwrap(),
            "aa fuse.router=off fuse.router=on batch.half"
        );
        assert_eq!(named("fuse.router=on,fuse.router,aa,aa").unwrap(), "fuse.router=on fuse.router=off aa");
        assert_eq!(named("fuse.tail=by-cost").unwrap(), "fuse.tail=by-cost");
        assert_eq!(named("all").unwrap(), named("aa,all").unwrap());
        assert!(named("all").unwrap().contains("fuse.router=on"));
        let gpu = "gpu".parse().unwrap();
        for text in ["launch.early=off", "schedule.rows=1", "loads.quads=off"] {
            let found = changes(text, &Switches::default(), &gpu).unwrap();
            assert_eq!(found.iter().map(Change::to_string).collect::<Vec<_>>(), [text]);
        }
    }

    #[test]
    fn unknown_changes_are_refused_with_suggestions() {
        for (text, said) in [
            ("fuse.tale", "did you mean fuse.tail?"),
            ("tail", "did you mean fuse.tail?"),
            ("al", "did you mean all?"),
            ("", "the changes are aa, "),
            ("aa,", "the changes are aa, "),
            ("nonsense", "head.candidates, batch.half, all"),
            ("fuse.tail=on", "fuse.tail=on is already set"),
            ("fuse.tail=0", "no mode `0`; expected one of on, off, by-cost"),
            ("fuse.tale=off", "did you mean fuse.tail?"),
            ("aa=off", "did you mean aa?"),
        ] {
            let error = named(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
