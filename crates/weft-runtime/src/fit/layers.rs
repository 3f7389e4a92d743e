//! Layers on two devices: how many of a model run on the device that was asked for, and how many on the CPU.

use std::ops::ControlFlow;

use weft_device::{Device, SplitDevice};
use weft_fuse::Options;
use weft_models::Mtp;
use weft_pack::{OnReport, Report};

use crate::compile::Planned;
use crate::devices::choice::DeviceChoice;
use crate::devices::machines::cost_model;
use crate::error::Error;
use crate::fit;
use crate::model::Model;
use crate::options::RuntimeOptions;
use crate::sizes::{Beside, Room};

/// The device that runs a model, opened.
pub(crate) struct Opened {
    /// The device, or two as one.
    pub(crate) device: Box<dyn Device>,
    /// The layers that the second of two devices computes.
    pub(crate) beside: Option<Beside>,
    /// The plans of the model for one device, if they were made to see that it has room for them.
    pub(crate) planned: Option<Planned>,
}

/// Opens the device of `options`, and the CPU beside it if the device does not run all layers of the model.
///
/// # Errors
/// If a device cannot be opened, the CPU was asked to be both, or not even the head fits.
pub(crate) fn open(
    model: &Model,
    mtp: Option<&Mtp>,
    options: &RuntimeOptions,
    report: OnReport<'_>,
) -> Result<Opened, Error> {
    if options.gpu_layers.is_some() && options.device.is_cpu() {
        let why = format!(
            "layers on a GPU: expected a device such as `gpu` or `cuda`, found `{}`; choose another device, or leave the \
             number of layers out",
            options.device
        );
        return Err(Error::Option(why));
    }
    let device = options.open_device()?;
    let (layers, planned) = fitting(model, mtp, &*device, options, report)?;
    let (device, beside) = beside_cpu(model, device, layers, options)?;
    let planned = planned.filter(|_| beside.is_none());
    Ok(Opened { device, beside, planned })
}

/// The number of layers that run on a device: as many as were asked for, or have room. With the plans for all of them, if
/// those had to be made.
fn fitting(
    model: &Model,
    mtp: Option<&Mtp>,
    device: &dyn Device,
    options: &RuntimeOptions,
    report: OnReport<'_>,
) -> Result<(usize, Option<Planned>), Error> {
    let layers = model.graph().config.layers();
    let most = options.gpu_layers.map_or(layers, |most| most.min(layers));
    if device.free_memory().is_none() {
        return Ok((most, None));
    }
    let hardware = &device.caps().hardware;
    let room = Room::of(options, model.graph(), hardware)?;
    let costs = cost_model(hardware, options.device_folder());
    let switches = options.decisions(hardware, model.gguf());
    let replacements = options.kernels.clone();
    let compile = Options { max: room.max, switches, costs, replacements, ..Options::default() };
    let planned = Planned::of_all_steps(model.graph(), mtp, &compile, &room)?;
    let needs = fit::of_last_layers(&planned, &room.max, layers, device)?;
    let fit = needs.iter().skip(layers - most).position(|need| need.missing() == 0);
    match (fit.map(|less| most - less), needs.into_iter().nth(layers - most)) {
        (Some(fit), _) if fit == most => Ok((fit, Some(planned))),
        (Some(fit), Some(need)) if options.gpu_layers.is_none() => {
            let others = layers - fit;
            let note = format!("{need}; {fit} of {layers} layers run there, and {others} on the CPU");
            match report(Report::Note(note)) {
                ControlFlow::Continue(()) => Ok((fit, None)),
                ControlFlow::Break(()) => Err(Error::Interrupted),
            }
        }
        // So many layers were asked for, or none fits.
        (_, Some(need)) => Err(Error::Memory(Box::new(need))),
        (_, None) => Ok((most, None)),
    }
}

/// Joins a device that runs `on_device` layers with the CPU for the others, if there are any.
fn beside_cpu(
    model: &Model,
    device: Box<dyn Device>,
    on_device: usize,
    options: &RuntimeOptions,
) -> Result<(Box<dyn Device>, Option<Beside>), Error> {
    let layers = model.graph().config.layers();
    if on_device >= layers {
        return Ok((device, None));
    }
    let cpu = DeviceChoice::default().open(options.threads, options.device_folder())?;
    let costs = cost_model(&cpu.caps().hardware, options.device_folder());
    let name = format!(
        "{} with {on_device} of {layers} layers, {} with the others",
        device.caps().name,
        cpu.caps().name
    );
    let both = SplitDevice::new(device, cpu, name, &format!("{on_device} of {layers} layers"));
    Ok((Box::new(both), Some(Beside { layers: layers - on_device, costs })))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use weft_device::Forward;
    use weft_quant::GgmlType;

    use super::*;
    use crate::layout::PAGE;
    use crate::runtime::Runtime;

    /// A device with so much free memory.
    struct Small(Box<dyn Device>, u64);

    impl Forward for Small {
        fn inner(&self) -> &dyn Device {
            &*self.0
        }

        fn inner_mut(&mut self) -> &mut dyn Device {
            &mut *self.0
        }

        fn free_memory(&self) -> Option<u64> {
            Some(self.1)
        }
    }

    fn cpu() -> Box<dyn Device> {
        DeviceChoice::default().open(Some(1), None).unwrap()
    }

    fn model(name: &str) -> Model {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name);
        Model::open(&path, GgmlType::F16).unwrap()
    }

    fn options() -> RuntimeOptions {
        RuntimeOptions {
            context: Some(64),
            batch: Some(20),
            sequences: 2,
            threads: Some(1),
            ..RuntimeOptions::default()
        }
    }

    /// Computes tokens of one of several sequences, which has `len` tokens so far. Returns the bits of their logits. Each sequence has a
    /// context of pages for itself, and two slots of states.
    fn step(runtime: &mut Runtime, seq: usize, len: usize, tokens: &[u32]) -> Vec<u32> {
        let Room { context, states, window: None, .. } = *runtime.room() else { panic!("it has windows") };
        let (end, pages) = (len + tokens.len(), context.div_ceil(PAGE));
        let inputs = runtime.next_step();
        inputs.clear();
        for (pos, token) in (len..end).zip(tokens) {
            inputs.tokens.push(*token as i32);
            inputs.pos.push(pos as i32);
            inputs.slots.push((seq * pages * PAGE + pos) as i32);
            inputs.first.push(0);
        }
        inputs.pages.extend((seq * pages..).take(end.div_ceil(PAGE)).map(|page| page as i32));
        if states.is_some() {
            let slot = |step: usize| (2 * seq + step % 2) as i32;
            inputs.ends.push(tokens.len() as i32);
            inputs.from.push(if len == 0 { -1 } else { slot(len) });
            inputs.to.push(slot(len + 1));
            inputs.certain.push(tokens.len() as i32);
            inputs.kept.push(0);
        }
        inputs.wanted.extend(0..tokens.len() as i32);
        runtime.compute(None).unwrap();
        runtime.all_logits().unwrap().iter().map(|logit| logit.to_bits()).collect()
    }

    /// Two devices of one kind compute what one does, bit for bit.
    #[test]
    fn two_devices_compute_what_one_does() {
        for name in ["glm-tiny-q4_0.gguf", "qwen3-tiny-q4_0.gguf", "qwen35-tiny-q4_k_m.gguf"] {
            let layers = model(name).graph().config.layers();
            let logits = |on_device: usize, chunk: usize| {
                let go_on = &mut |_| ControlFlow::Continue(());
                let (device, beside) = beside_cpu(&model(name), cpu(), on_device, &options()).unwrap();
                assert_eq!(beside.is_some(), on_device < layers);
                let opened = Opened { device, beside, planned: None };
                let mut runtime = Runtime::with(model(name), opened, &options(), go_on).unwrap();
                assert_eq!(runtime.has_sequence_states(), name.starts_with("qwen35"));
                let mut all = Vec::new();
                let mut len = 0;
                for tokens in (1..40u32).map(|token| token * 3).collect::<Vec<_>>().chunks(chunk) {
                    (0..2).for_each(|seq| all.extend(step(&mut runtime, seq, len, tokens)));
                    len += tokens.len();
                }
                all
            };
            for chunk in [1, 13] {
                let expected = logits(layers, chunk);
                for on_device in 0..layers {
                    assert!(
                        logits(on_device, chunk) == expected,
                        "{name}: {on_device} layers, {chunk} tokens"
                    );
                }
            }
        }
    }

    #[test]
    fn as_many_layers_run_on_a_device_as_fit() {
        let model = model("glm-tiny-q4_0.gguf");
        let layers = model.graph().config.layers();
        let fit = |free: u64, asked: Option<usize>| {
            let mut notes = Vec::new();
            let note = &mut |report| {
                if let Report::Note(note) = report {
                    notes.push(note);
                }
                ControlFlow::Continue(())
            };
            let device = Small(cpu(), free);
            let fit =
                fitting(&model, None, &device, &RuntimeOptions { gpu_layers: asked, ..options() }, note);
            (fit.map(|(layers, _)| layers), notes)
        };
        assert_eq!(fit(u64::MAX, None).0.unwrap(), layers);
        assert_eq!(fit(u64::MAX, Some(1)).0.unwrap(), 1);
        assert_eq!(fit(u64::MAX, Some(1000)).0.unwrap(), layers);
        let Err(Error::Memory(all)) = fit(0, None).0 else { panic!("it fits in nothing") };
        // With a byte less than all of it needs, one layer fewer; and so on, down to none.
        let mut free = all.total();
        for expected in (0..layers).rev() {
            assert_eq!(fit(free, None).0.unwrap(), expected + 1);
            let (found, notes) = fit(free - 1, None);
            assert_eq!(found.unwrap(), expected);
            assert!(notes.len() == 1 && notes[0].contains("is missing; "), "{notes:?}");
            assert!(notes[0].ends_with(&format!("{} on the CPU", layers - expected)), "{notes:?}");
            // Layers that were asked for are not left out.
            assert!(matches!(fit(free - 1, Some(expected + 1)).0, Err(Error::Memory(_))));
            let Err(Error::Memory(need)) = fit(0, Some(expected)).0 else { panic!("it fits in nothing") };
            assert!(need.total() < free);
            free = need.total();
        }
        assert!(fit(free, None).0.is_ok_and(|fit| fit == 0));
        assert!(matches!(fit(free - 1, None).0, Err(Error::Memory(_))));
    }

    #[test]
    fn the_cpu_is_not_beside_itself() {
        let model = model("glm-tiny-q4_0.gguf");
        for device in ["cpu", "cpu:portable"] {
            let options =
                RuntimeOptions { gpu_layers: Some(1), device: device.parse().unwrap(), ..options() };
            let opened = open(&model, None, &options, &mut |_| ControlFlow::Continue(()));
            let Err(Error::Option(why)) = opened.map(|_| ()) else { panic!("it opens") };
            assert!(why.contains(&format!("such as `gpu` or `cuda`, found `{device}`;")), "{why}");
        }
    }
}
