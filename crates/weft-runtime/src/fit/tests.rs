//! Models on two devices, and what fits there.

mod divided;

use std::ops::ControlFlow;
use std::path::Path;

use weft_check::Emulator;
use weft_device::{BufferId, Device, DeviceError, Forward, RowsCopied, Streaming, Weight};
use weft_kern::Machine;
use weft_pack::{PackCache, Report};
use weft_quant::GgmlType;

use super::experts::{self, ExpertsOnCpu};
use super::layers::{Opened, beside_cpu, fitting};
use super::open::open;
use super::search::Search;
use crate::devices::choice::DeviceChoice;
use crate::devices::machines::{cost_model, keep_machine};
use crate::error::Error;
use crate::layout::PAGE;
use crate::model::Model;
use crate::options::RuntimeOptions;
use crate::plans::offload::Experts;
use crate::runtime::{Runtime, SlotUse};
use crate::sizes::{OffloadedExperts, Room};

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
        windows: false,
        ..RuntimeOptions::default()
    }
}

/// Computes tokens of one of several sequences, which has `len` tokens so far. Returns the bits of their logits. Each sequence has a
/// context of pages for itself, and two slots of states.
fn step(runtime: &mut Runtime, seq: usize, len: usize, tokens: &[u32]) -> Vec<u32> {
    try_step(runtime, seq, len, tokens).unwrap()
}

fn try_step(runtime: &mut Runtime, seq: usize, len: usize, tokens: &[u32]) -> Result<Vec<u32>, Error> {
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
    runtime.compute(None)?;
    Ok(runtime.all_logits()?.iter().map(|logit| logit.to_bits()).collect())
}

/// The logits of two sequences, computed in steps of `chunk` tokens.
fn logits(name: &str, opened: Opened, chunk: usize) -> Vec<u32> {
    logits_streamed(name, opened, chunk, None).0
}

/// The same, with offloaded experts streamed in steps of this many tokens and more; and how often experts were in slots.
fn logits_streamed(
    name: &str,
    opened: Opened,
    chunk: usize,
    streamed: Option<usize>,
) -> (Vec<u32>, Option<SlotUse>) {
    let go_on = &mut |_| ControlFlow::Continue(());
    let mut runtime = Runtime::with(model(name), opened, &options(), go_on).unwrap();
    runtime.stream_from(streamed);
    let mut all = Vec::new();
    let mut len = 0;
    for tokens in (1..40u32).map(|token| token * 3).collect::<Vec<_>>().chunks(chunk) {
        (0..2).for_each(|seq| all.extend(step(&mut runtime, seq, len, tokens)));
        len += tokens.len();
    }
    (all, runtime.slot_use())
}

/// Two devices of one kind compute the same bits, however they share the experts of layers.
#[test]
fn how_experts_are_divided_changes_no_bit() {
    let names = [
        "glm-tiny-q4_0.gguf",
        "qwen3moe-tiny-q4_k_m.gguf",
        "gpt-oss-tiny-mxfp4.gguf",
        "qwen35moe-odd-q4_k_m.gguf",
        "gemma4-tiny-q4_0.gguf",
    ];
    for name in names {
        let experts = Experts::of(&model(name).graph().segments, cpu().caps().packing).unwrap();
        let Experts { layers: all, count, step } = experts;
        for (chunk, layers) in [(1, all), (13, all), (13, 1)] {
            let mut first = None;
            for resident in (0..count).step_by(step) {
                let offloaded = OffloadedExperts { layers, resident, streamed: false, in_slots: false };
                let costs = cost_model(&cpu().caps().hardware, None);
                let opened =
                    experts::join(cpu(), ExpertsOnCpu { cpu: cpu(), experts, offloaded, costs, batch: None });
                let found = logits(name, opened, chunk);
                let first = first.get_or_insert_with(|| found.clone());
                assert!(*first == found, "{name}: {offloaded:?}, {chunk} tokens");
            }
        }
    }
}

/// A GPU and the CPU that share the experts of each layer compute what the GPU does alone, bit for bit; also if the GPU reads the others'
/// weights in turn in long steps, here in those of four tokens and more.
#[test]
fn where_an_expert_is_changes_no_bit() {
    shared_with_cuda("qwen3moe-tiny-q4_k_m.gguf", &[3, 13], &[1]);
}

#[test]
#[ignore = "slow"]
fn where_an_expert_is_changes_no_bit_of_other_models() {
    for name in [
        "glm-tiny-q4_k_m.gguf",
        "gpt-oss-tiny-mxfp4.gguf",
        "gemma4-tiny-q4_0.gguf",
        "qwen35moe-odd-q4_k_m.gguf",
    ] {
        shared_with_cuda(name, &[1, 7, 20], &[0, 1, 2]);
    }
}

/// Computes a model's logits on an emulated GPU, and again with some thirds of each layer's experts there.
fn shared_with_cuda(name: &str, chunks: &[usize], thirds: &[usize]) {
    let folder = std::env::temp_dir().join(format!("weft-{}-shared-{name}", std::process::id()));
    let open = || Some(Box::new(Emulator::for_test("experts on two devices", &folder)?) as Box<dyn Device>);
    for chunk in chunks {
        let Some(device) = open() else { return };
        let experts = Experts::of(&model(name).graph().segments, device.caps().packing).unwrap();
        let expected = logits(name, Opened { device, beside: None, planned: None, batch: None }, *chunk);
        let Experts { layers, count, step } = experts;
        for (third, from) in thirds.iter().flat_map(|third| [(third, None), (third, Some(4))]) {
            let resident = count * third / 3 / step * step;
            let costs = cost_model(&cpu().caps().hardware, None);
            let in_slots = resident > 0 && step == 1;
            let offloaded = OffloadedExperts { layers, resident, streamed: true, in_slots };
            let with = ExpertsOnCpu { cpu: cpu(), experts, offloaded, costs, batch: None };
            let Some(device) = open() else { return };
            let (found, used) = logits_streamed(name, experts::join(device, with), *chunk, from);
            let what = format!("{resident} of {count} on the GPU, {chunk} tokens, streamed from {from:?}");
            assert!(found == expected, "{name}: {what}");
            // Experts change places as the steps go on.
            let moved = used.is_some_and(|used| used.copied > 0 && used.found > 0);
            let counted = in_slots && from.is_none_or(|from| *chunk < from);
            assert_eq!(moved, counted, "{name}: {what}: {used:?}");
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
}

/// A run begins with the experts in slots that the last one used most.
#[test]
fn the_next_run_finds_more_experts_in_slots() {
    let name = "glm4moe-tiny-q4_0.gguf";
    let folder = std::env::temp_dir().join(format!("weft-{}-next-run", std::process::id()));
    let options = RuntimeOptions { cache: Some(PackCache::new(folder.join("cache"))), ..options() };
    let run = || {
        let device = Emulator::for_test("experts of the last run", &folder)?;
        let experts = Experts::of(&model(name).graph().segments, device.caps().packing).unwrap();
        let (layers, costs) = (experts.layers, cost_model(&cpu().caps().hardware, None));
        let offloaded =
            OffloadedExperts { layers, resident: experts.count / 4, streamed: true, in_slots: true };
        let with = ExpertsOnCpu { cpu: cpu(), experts, offloaded, costs, batch: None };
        let opened = experts::join(Box::new(device), with);
        let go_on = &mut |_| ControlFlow::Continue(());
        let mut runtime = Runtime::with(model(name), opened, &options, go_on).unwrap();
        // Two tokens again and again, which choose few experts.
        let bits: Vec<u32> =
            (0..6).flat_map(|len| step(&mut runtime, 0, len, &[5 + len as u32 % 2])).collect();
        Some((bits, runtime.slot_use().unwrap()))
    };
    let Some((bits, first)) = run() else { return };
    let (again, second) = run().unwrap();
    assert!(bits == again);
    assert_eq!(first.chosen, second.chosen);
    assert!(second.found > first.found, "{first:?}, then {second:?}");
    let _ = std::fs::remove_dir_all(&folder);
}

/// A device whose copies of experts fail, every thirteenth of them.
struct Failing(Emulator, usize);

impl Forward for Failing {
    fn inner(&self) -> &dyn Device {
        &self.0
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        &mut self.0
    }

    fn streaming(&mut self) -> Option<&mut dyn Streaming> {
        Some(self)
    }
}

impl Streaming for Failing {
    fn prepare(&mut self, buffer: BufferId, with: &Weight) -> Result<(), DeviceError> {
        self.0.prepare(buffer, with)
    }

    fn replace(&mut self, buffer: BufferId, with: &Weight, rows: &[RowsCopied]) -> Result<(), DeviceError> {
        self.1 += 1;
        // The first ones measure their speed.
        match self.1 > 9 && self.1.is_multiple_of(13) {
            true => Err(DeviceError::Usage("the copy failed".into())),
            false => self.0.replace(buffer, with, rows),
        }
    }

    fn is_replaced(&mut self, buffer: BufferId) -> Result<bool, DeviceError> {
        self.0.is_replaced(buffer)
    }

    fn wait_for(&mut self, buffer: BufferId) -> Result<(), DeviceError> {
        self.0.wait_for(buffer)
    }
}

/// Computes tokens of two sequences in short and long steps in turn, the latter with streamed experts. Repeats steps that fail. Returns the
/// bits of all logits, and the number of failures.
fn with_failures(name: &str, opened: Opened) -> (Vec<u32>, usize, Option<SlotUse>) {
    let go_on = &mut |_| ControlFlow::Continue(());
    let mut runtime = Runtime::with(model(name), opened, &options(), go_on).unwrap();
    runtime.stream_from(Some(4));
    let (mut all, mut failures, mut len) = (Vec::new(), 0, 0);
    for step in 0..10 {
        let tokens: Vec<u32> = (0..3 + 2 * (step % 2)).map(|i| 3 * (len as u32 + i + 1)).collect();
        for seq in 0..2 {
            let logits = (0..20).find_map(|_| match try_step(&mut runtime, seq, len, &tokens) {
                Ok(logits) => Some(logits),
                Err(failure) => {
                    assert!(failure.to_string().contains("the copy failed"), "{failure}");
                    failures += 1;
                    None
                }
            });
            all.extend(logits.expect("copies that succeed"));
        }
        len += tokens.len();
    }
    (all, failures, runtime.slot_use())
}

/// A step whose copies fail is an error, and steps after it have the right bits.
#[test]
fn an_expert_that_does_not_arrive_changes_no_bit() {
    let name = "glm4moe-tiny-q4_0.gguf";
    let folder = std::env::temp_dir().join(format!("weft-{}-failing", std::process::id()));
    let open = || Emulator::for_test("copies that fail", &folder);
    let Some(device) = open() else { return };
    let experts = Experts::of(&model(name).graph().segments, device.caps().packing).unwrap();
    let alone = Opened { device: Box::new(device), beside: None, planned: None, batch: None };
    let (expected, none, _) = with_failures(name, alone);
    assert_eq!(none, 0);
    let (layers, costs) = (experts.layers, cost_model(&cpu().caps().hardware, None));
    let offloaded = OffloadedExperts { layers, resident: 2, streamed: true, in_slots: true };
    let with = ExpertsOnCpu { cpu: cpu(), experts, offloaded, costs, batch: None };
    let Some(device) = open() else { return };
    let (found, failures, used) = with_failures(name, experts::join(Box::new(Failing(device, 0)), with));
    let used = used.unwrap();
    assert!(failures > 0 && used.found > 0 && used.copied > 0, "{failures} failures, {used:?}");
    assert!(found == expected);
    let _ = std::fs::remove_dir_all(&folder);
}

/// Chooses the experts that run on a device with so much free memory. Returns the notes, too.
fn fit_experts(
    model: &Model,
    free: u64,
    options: &RuntimeOptions,
) -> (Result<Option<OffloadedExperts>, Error>, Vec<String>) {
    let mut notes = Vec::new();
    let note = &mut |report| {
        if let Report::Note(note) = report {
            notes.push(note);
        }
        ControlFlow::Continue(())
    };
    let device = Small(cpu(), free);
    let search = Search::new((model, None), &device, options).unwrap();
    let planned = search.plan(None).unwrap();
    let needs = search.of_last_layers(&planned).unwrap();
    let chosen = experts::choose(&search, None, needs.first(), note);
    (chosen.map(|with| with.map(|with| with.offloaded)), notes)
}

/// Machines that were measured tell a speed, and with the experts of fewer layers elsewhere a higher one.
#[test]
fn the_expected_speed_is_said() {
    let model = model("glm-tiny-q4_0.gguf");
    let folder = std::env::temp_dir().join(format!("weft-{}-expected", std::process::id()));
    let options = RuntimeOptions { cache: Some(PackCache::new(folder.clone())), ..options() };
    let hardware = cpu().caps().hardware.clone();
    let machine = Machine { bytes: hardware.machine.bytes / 2 + 1, ..hardware.machine };
    keep_machine(&hardware, options.device_folder().unwrap(), &machine).unwrap();
    let Err(Error::Memory(none)) =
        fit_experts(&model, 0, &RuntimeOptions { gpu_experts: Some(0), ..options.clone() }).0
    else {
        panic!("it fits in nothing")
    };
    // With more and more memory, until all experts fit.
    let speeds: Vec<f64> = (0..)
        .map_while(|more| {
            let (offloaded, notes) = fit_experts(&model, none.total() + more * 50_000, &options);
            offloaded.unwrap()?;
            let note =
                notes[0].strip_suffix(" tokens/s are expected)").unwrap_or_else(|| panic!("{notes:?}"));
            Some(note.rsplit_once(" on the CPU (about ").unwrap().1.parse().unwrap())
        })
        .collect();
    // The experts of the last layer need no crossing.
    assert!(speeds.iter().all(|speed| *speed > 0.0) && speeds.last() > speeds.first(), "{speeds:?}");
    let _ = std::fs::remove_dir_all(&folder);
}

/// With a byte less than a model needs, the experts of one layer are offloaded; and so on, until the experts of all layers are.
#[test]
fn as_many_experts_are_on_a_device_as_fit() {
    let model = model("glm-tiny-q4_0.gguf");
    let Experts { layers, count, .. } = Experts::of(&model.graph().segments, cpu().caps().packing).unwrap();
    let fit = |free: u64, asked: Option<usize>| {
        fit_experts(&model, free, &RuntimeOptions { gpu_experts: asked, ..options() })
    };
    assert_eq!(fit(u64::MAX, None).0.unwrap(), None);
    assert_eq!(fit(u64::MAX, Some(count)).0.unwrap(), None);
    assert!(matches!(fit(0, Some(count)).0, Err(Error::Memory(_))), "all were asked for");
    assert_eq!(
        fit(u64::MAX, Some(2)).0.unwrap(),
        Some(OffloadedExperts { layers, resident: 2, streamed: false, in_slots: false })
    );
    let Err(Error::Memory(none)) = fit(0, Some(0)).0 else { panic!("it fits in nothing") };
    assert_eq!(fit(none.total() - 1, None).0.unwrap(), None, "then layers are on the CPU");
    assert_eq!(
        fit(none.total(), None).0.unwrap(),
        Some(OffloadedExperts { layers, resident: 0, streamed: false, in_slots: false })
    );
    // More memory never has fewer experts, and a note says how many.
    let on_device = |own: OffloadedExperts| (layers - own.layers) * count + own.layers * own.resident;
    let (mut free, mut before) = (none.total(), 0);
    while let (Ok(Some(offloaded)), notes) = fit(free, None) {
        assert!(notes.len() == 1 && notes[0].ends_with("and the others on the CPU"), "{notes:?}");
        assert!(on_device(offloaded) >= before, "{offloaded:?} after {before}");
        (before, free) = (on_device(offloaded), free + 20_000);
    }
    assert!(before > 0 && before < layers * count);
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
            let opened = Opened { device, beside, planned: None, batch: None };
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
                assert!(logits(on_device, chunk) == expected, "{name}: {on_device} layers, {chunk} tokens");
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
        let options = RuntimeOptions { gpu_layers: asked, ..options() };
        let search = Search::new((&model, None), &device, &options).unwrap();
        let planned = search.plan(None).unwrap();
        let needs = search.of_last_layers(&planned).unwrap();
        (fitting(&search, needs, note), notes)
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
        let options = RuntimeOptions { gpu_layers: Some(1), device: device.parse().unwrap(), ..options() };
        let opened = open(&model, None, &options, &mut |_| ControlFlow::Continue(()));
        let Err(Error::Option(why)) = opened.map(|_| ()) else { panic!("it opens") };
        assert!(why.contains(&format!("such as `gpu` or `cuda`, found `{device}`;")), "{why}");
    }
}
