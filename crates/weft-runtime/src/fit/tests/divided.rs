//! The memory that is planned for two devices, beside what they are asked for.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_device::{BufferId, Device, DeviceError, Forward, SplitDevice, Weight};

use super::{cpu, model, options};
use crate::devices::machines::cost_model;
use crate::error::Error;
use crate::fit::before::{memory_of, of_opened};
use crate::fit::layers::Opened;
use crate::fit::need::MemoryNeed;
use crate::options::RuntimeOptions;
use crate::plans::offload::Experts;
use crate::runtime::Runtime;
use crate::sizes::{Beside, OffloadedExperts, SecondPart};

/// A device that counts the bytes of its buffers.
struct Counting(Box<dyn Device>, Arc<AtomicU64>);

impl Forward for Counting {
    fn inner(&self) -> &dyn Device {
        &*self.0
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        &mut *self.0
    }

    fn alloc(&mut self, bytes: usize) -> Result<BufferId, DeviceError> {
        self.1.fetch_add(bytes as u64, Ordering::Relaxed);
        self.0.alloc(bytes)
    }

    fn pack(&mut self, weight: Weight) -> Result<BufferId, DeviceError> {
        let bytes = weight.tiles.as_ref().unwrap_or(&weight.bytes);
        self.1.fetch_add((**bytes).as_ref().len() as u64, Ordering::Relaxed);
        self.0.pack(weight)
    }
}

/// What is planned for a model on two devices, and the bytes of their buffers once it is loaded.
fn planned_and_found(name: &str, part: SecondPart) -> ([MemoryNeed; 2], [u64; 2]) {
    let counts = [Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0))];
    let opened = || {
        let [first, second] =
            counts.each_ref().map(|count| Box::new(Counting(cpu(), Arc::clone(count))) as Box<dyn Device>);
        let both = SplitDevice::new(first, second, "both".into(), "halves");
        let beside = Beside { part, costs: cost_model(&cpu().caps().hardware, None) };
        Opened { device: Box::new(both), beside: Some(beside), planned: None, batch: None }
    };
    let needs = of_opened((&model(name), None), opened(), &options()).unwrap();
    counts.iter().for_each(|count| assert_eq!(count.load(Ordering::Relaxed), 0, "nothing is loaded"));
    let go_on = &mut |_| ControlFlow::Continue(());
    let runtime = Runtime::with(model(name), opened(), &options(), go_on).unwrap();
    assert_eq!(runtime.divided(), needs);
    (needs.try_into().unwrap(), counts.map(|count| count.load(Ordering::Relaxed)))
}

#[test]
fn each_device_counts_its_own_part() {
    for name in ["glm-tiny-q4_0.gguf", "qwen3moe-tiny-q4_k_m.gguf", "qwen35moe-odd-q4_k_m.gguf"] {
        let (graph, packing) = (model(name), cpu().caps().packing);
        let experts = Experts::of(&graph.graph().segments, packing).unwrap();
        let layers = (0..=graph.graph().config.layers()).map(SecondPart::Layers);
        let resident = (0..experts.count).step_by(experts.step.max(experts.count / 2)).map(|resident| {
            let layers = experts.layers;
            SecondPart::Experts(OffloadedExperts { layers, resident, in_slots: false, streamed: false })
        });
        let mut before = None;
        for part in layers.chain(resident) {
            let (needs, found) = planned_and_found(name, part);
            // Never less than is taken. A weight whose rows are only looked up counts as if it were packed, which is somewhat more.
            for (need, found) in needs.iter().map(MemoryNeed::total).zip(found) {
                assert!(
                    (found..=found + found / 50).contains(&need),
                    "{name}: {part:?}: {need} planned, {found} found"
                );
            }
            // With each further layer on the second device, the first one needs less.
            if matches!(part, SecondPart::Layers(_)) {
                assert!(before.is_none_or(|before| needs[0].total() < before), "{name}: {part:?}");
                before = Some(needs[0].total());
            }
        }
    }
}

#[test]
fn a_model_on_one_device_is_one_need() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/glm-tiny-q4_0.gguf");
    let needs = memory_of(&path, &options()).unwrap();
    let [need] = &needs[..] else { panic!("{needs:?}") };
    assert_eq!(need.device, cpu().caps().name);
    // An option that cannot be used is refused as when the model is loaded.
    let asked = RuntimeOptions { gpu_layers: Some(1), ..options() };
    assert!(matches!(memory_of(&path, &asked), Err(Error::Option(_))));
}
