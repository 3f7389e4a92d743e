//! Shared by the commands that measure a model: checks its options, and shows progress.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use anyhow::{bail, ensure};
use weft_engine::{Engine, EngineOptions, open_adapted};
use weft_gguf::Gguf;
use weft_lab::{Asked, Error, MeasuringLock, Meter, OnProgress, Others, measure_machine};
use weft_models::{BuildOptions, ModelGraph};

use crate::cli::args::Args;
use crate::commands::Outcome;
use crate::commands::measure::machine_speed;
use crate::model::model_ref;
use crate::terminal::interrupt::Listener;
use crate::terminal::progress::{Progress, Unit};
use crate::terminal::streams::note;

/// How often to ask again while another process measures.
const PATIENCE: Duration = Duration::from_millis(200);

/// Waits until no other process of this machine measures, and keeps others from it until the result is dropped. Where the lock's
/// file cannot be used, it says so and measures all the same: `None`.
///
/// # Errors
/// With --no-wait, if another process measures.
pub(crate) fn alone(args: Args<'_>, command: &str) -> anyhow::Result<Option<MeasuringLock>> {
    let what = format!("weft {command} (process {})", std::process::id());
    let path = MeasuringLock::path();
    let mut told = false;
    loop {
        match MeasuringLock::ask(&path, &what) {
            Ok(Asked::Granted(lock)) => return Ok(Some(lock)),
            Ok(Asked::Held(who)) if args.flag("no-wait") => {
                bail!("{who} is measuring on this machine, and two measurements at once disturb each other")
            }
            Ok(Asked::Held(who)) => {
                if !std::mem::replace(&mut told, true) {
                    note!("waiting for {who}, which is measuring on this machine; --no-wait fails instead");
                }
                thread::sleep(PATIENCE);
            }
            Err(error) => {
                note!("cannot keep other measurements away: {}: {error}", path.display());
                return Ok(None);
            }
        }
    }
}

/// A model's file, and the options to load it with.
pub(crate) struct Prepared {
    pub(crate) path: PathBuf,
    pub(crate) gguf: Gguf,
    pub(crate) options: EngineOptions,
}

/// Opens the model of argument `name`, to measure steps of `tokens` tokens after `depth` others. Without --context, it gets
/// as much context as [`context_for`] says.
///
/// # Errors
/// If there is no such model, or the step does not fit into the model's limit, the context or a batch.
pub(crate) fn prepare(args: Args<'_>, name: &str, depth: usize, tokens: usize) -> anyhow::Result<Prepared> {
    let path = model_ref::find(args, args.path(name))?;
    let gguf = open_adapted(&path, &args.adapters())?;
    let own = args.engine();
    let model = weft_models::build(&gguf, &BuildOptions { kv: args.kv(), ..BuildOptions::default() })?;
    check_step(depth, tokens, &own, &model)?;
    // A long step is measured as a whole, also where steps are shorter by default.
    let batch = own.batch.or((tokens > 1).then_some(MEASURED_BATCH));
    let context = context_for(depth.saturating_add(tokens), tokens, &own, &model);
    Ok(Prepared { path, gguf, options: own.context(context).batch(batch) })
}

/// The context for a measurement that needs `needed` tokens, with prompts of `tokens` tokens each, if it has several. Without --context,
/// it is as large as needed, and with prompts at least a batch, so that they run the same programs as in other commands.
pub(crate) fn context_for(
    needed: usize,
    tokens: usize,
    options: &EngineOptions,
    model: &ModelGraph,
) -> Option<usize> {
    let batch =
        if tokens > 1 { options.batch.unwrap_or(MEASURED_BATCH).min(model.config.context) } else { 0 };
    options.context.or(Some(needed.max(batch)))
}

/// Says that a measurement was interrupted before there was a result, so that nothing was `done` with it.
pub(crate) fn interrupted(done: &str) -> Outcome {
    note!("interrupted before there was a result: nothing is {done}");
    Outcome::Interrupted
}

/// Runs `work` on a loaded model with a meter of its device, and shows the progress; `None` after Ctrl-C.
/// Says if other programs were busy meanwhile. If the speed of the
/// device is not known to the cost model yet, it is measured and stored afterwards.
///
/// # Errors
/// Those of `work`, and if the device's roofs cannot be measured.
pub(crate) fn measure<T>(
    args: Args<'_>,
    engine: &mut Engine,
    unit: Unit,
    work: impl FnOnce(&mut Engine, &mut Meter, &AtomicBool, OnProgress<'_>) -> Result<T, Error>,
) -> anyhow::Result<Option<T>> {
    let mut meter = Meter::new(engine.inspect_mut().device_mut())?;
    let listener = Listener::new();
    let mut progress = None;
    let others = Others::watch();
    let measured = work(engine, &mut meter, listener.pressed(), &mut |done, total| {
        let begin = || Progress::new("measuring", total, unit).at_once(true);
        progress.get_or_insert_with(begin).set(done);
    });
    drop(progress);
    let measured = match measured {
        Err(Error::Interrupted) => return Ok(None),
        measured => measured?,
    };
    if let Some(words) = others.disturb(engine.device().threads) {
        note!("{words}");
    }
    // Errors are ignored: the measurement itself is complete.
    let runner = engine.inspect_mut();
    if !runner.costs().is_measured() && args.packed().is_some() {
        let device = runner.device_mut();
        if let Ok(Some(found)) = measure_machine(device, &mut meter, listener.pressed()) {
            machine_speed::keep(args, &device.caps().hardware, &found);
        }
    }
    Ok(Some(measured))
}

/// The most tokens of a measured step without --batch, on any device.
const MEASURED_BATCH: usize = 512;

/// Checks that a step fits into the model's limit, the context and a batch.
fn check_step(
    depth: usize,
    tokens: usize,
    options: &EngineOptions,
    model: &ModelGraph,
) -> anyhow::Result<()> {
    let (context, batch) = (options.context, options.batch);
    let (needed, trained) = (depth.saturating_add(tokens), model.config.context);
    let batch = batch.unwrap_or(MEASURED_BATCH);
    ensure!(
        tokens <= batch,
        "a step of {tokens} tokens exceeds --batch {batch}; use a smaller --prefill or a larger --batch"
    );
    ensure!(
        needed <= trained,
        "{tokens} tokens at depth {depth} need a context of {needed} tokens, but the model's limit is {trained}; use a smaller --depth"
    );
    if let Some(context) = context {
        ensure!(
            needed <= context,
            "{tokens} tokens at depth {depth} need a context of {needed} tokens, but --context is {context}"
        );
    }
    Ok(())
}
