//! Opens the devices that run a model: the one that was asked for, and also the CPU if the device does not run all of the model.

use weft_models::Mtp;
use weft_pack::OnReport;

use crate::error::Error;
use crate::fit::experts;
use crate::fit::layers::{Opened, beside_cpu, fitting};
use crate::fit::search::Search;
use crate::model::Model;
use crate::options::RuntimeOptions;

/// The most tokens of a step in which offloaded experts are streamed: each step copies all of them.
const BATCH: usize = 2048;

/// Opens the device of `options`, and also the CPU if the device does not run all of the model.
///
/// # Errors
/// If a device cannot be opened, the CPU was asked to be both, or not even the head fits.
pub(crate) fn open(
    model: &Model,
    mtp: Option<&Mtp>,
    options: &RuntimeOptions,
    report: OnReport<'_>,
) -> Result<Opened, Error> {
    let asked = [
        ("layers on a GPU", "the number of layers", options.gpu_layers.is_some()),
        ("experts on a GPU", "the number of experts", options.gpu_experts.is_some()),
        ("the memory of a GPU", "the limit", options.gpu_memory.is_some()),
    ];
    if let Some((what, option, _)) = asked.iter().find(|(.., asked)| *asked && options.device.is_cpu()) {
        let why = format!(
            "{what}: expected a device such as `gpu` or `cuda`, found `{}`; choose another device, or leave {option} out",
            options.device
        );
        return Err(Error::Option(why));
    }
    if options.gpu_layers.is_some() && options.gpu_experts.is_some() {
        let why = "numbers of layers and of experts on a GPU: expected one of them, since experts are divided only where all layers are there";
        return Err(Error::Option(why.into()));
    }
    let device = options.open_device()?;
    let search = Search::new((model, mtp), &*device, options)?;
    // Only a device that says how much memory it has can have too little.
    let planned = device.free_memory().map(|_| search.plan(None)).transpose()?;
    let needs =
        planned.as_ref().map(|planned| search.of_last_layers(planned)).transpose()?.unwrap_or_default();
    let steps = RuntimeOptions { batch: Some(BATCH), ..options.clone() };
    let longer = (options.batch.is_none() && device.caps().streams)
        .then(|| Search::new((model, mtp), &*device, &steps))
        .transpose()?;
    if let Some(cpu) = experts::choose(&search, longer.as_ref(), needs.first(), report)? {
        return Ok(experts::join(device, cpu));
    }
    let layers = fitting(&search, needs, report)?;
    let (device, beside) = beside_cpu(model, device, layers, options)?;
    let planned = planned.filter(|_| beside.is_none());
    Ok(Opened { device, beside, planned, batch: None })
}
