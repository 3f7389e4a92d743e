//! Stores and shows the measured speed of a device.

use serde_json::{Value, json};
use weft_engine::inspect::{CostModel, Hardware, Machine, keep_machine};
use weft_lab::machine_json;

use crate::cli::args::Args;
use crate::terminal::streams::note;

/// Stores a device's measured speed in the cache, if there is one. A failure is only reported: the results have been printed
/// already.
pub(crate) fn keep(args: Args<'_>, hardware: &Hardware, machine: &Machine) {
    let Some(folder) = args.packed() else { return };
    match keep_machine(hardware, &folder, machine) {
        Ok(path) => {
            note!("saved the measured speed for decisions by cost: {}", path.display())
        }
        Err(error) => note!("cannot save the measured speed for decisions by cost: {error}"),
    }
}

/// The speed that decisions by cost use, as JSON.
pub(crate) fn json(costs: &CostModel) -> Value {
    let mut json = machine_json(&costs.machine);
    json["measured"] = json!(costs.is_measured());
    json
}

/// The speed in words: `2 workers, 0.91 µs per launch, 11.5 GB/s (9.8 per worker), …`
pub(crate) fn words(machine: &Machine) -> String {
    let Machine {
        workers,
        launch_ns,
        worker_bytes,
        bytes,
        worker_multiplications,
        worker_float_multiplications,
        worker_values,
        row_workers: _,
        columns: _,
    } = *machine;
    let giga = |rate: u64| rate as f64 / 1e9;
    format!(
        "{workers} worker{}, {:.2} µs per launch, {:.1} GB/s ({:.1} per worker), and per worker {:.1} GMAC/s in 8 bits, \
         {:.1} in f32 and {:.1} G values/s",
        if workers == 1 { "" } else { "s" },
        launch_ns as f64 / 1e3,
        giga(bytes),
        giga(worker_bytes),
        giga(worker_multiplications),
        giga(worker_float_multiplications),
        giga(worker_values),
    )
}
