//! Predictions made before a model is loaded hold: the texts that `explain` shows are those that a GPU device compiles, and
//! the memory that a model is said to need is the memory that it allocates.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use weft_device::{
    BufferId, Caps, Device, DeviceError, Forward, NullDevice, Program, ProgramId, RowsOf16, SourceText,
    Target, Weight,
};
use weft_engine::inspect::{ExplainOptions, Runner, cost_model, explain, memory_need};
use weft_engine::{EngineOptions, Error, Model, Switches};
use weft_gpu::{Scheduler, WeightLayout};
use weft_render::{Gpu, Language, Slots};

use crate::support::Fixture;

/// The programs and memory that a device was given.
#[derive(Default)]
struct Given {
    /// The texts of each program, a text for each launch.
    texts: Vec<Vec<String>>,
    weights: u64,
    buffers: u64,
    scratch: u64,
}

/// Renders programs and counts bytes as GPU devices do, and runs nothing.
struct Renderer {
    inner: NullDevice,
    caps: Caps,
    scheduler: Scheduler,
    layouts: BTreeMap<BufferId, WeightLayout>,
    free: Option<u64>,
    given: Arc<Mutex<Given>>,
}

impl Renderer {
    fn new(free: Option<u64>) -> Renderer {
        let inner = NullDevice::default();
        Renderer {
            caps: Caps { packing: Some(&RowsOf16), ..inner.caps().clone() },
            inner,
            scheduler: scheduler(),
            layouts: BTreeMap::new(),
            free,
            given: Arc::default(),
        }
    }
}

impl Forward for Renderer {
    fn inner(&self) -> &dyn Device {
        &self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        &mut self.inner
    }

    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn alloc(&mut self, bytes: usize) -> Result<BufferId, DeviceError> {
        self.given.lock().unwrap().buffers += bytes as u64;
        self.inner.alloc(bytes)
    }

    fn pack(&mut self, weight: Weight) -> Result<BufferId, DeviceError> {
        let layout = WeightLayout::of(&weight);
        self.given.lock().unwrap().weights += layout.bytes(&weight)? as u64;
        let id = self.inner.pack(weight)?;
        self.layouts.insert(id, layout);
        Ok(id)
    }

    fn compile(&mut self, program: &Program) -> Result<ProgramId, DeviceError> {
        let Renderer { scheduler, layouts, given, .. } = self;
        let shaders =
            |kernel: usize, slots: &Slots| scheduler.shaders(&program.kernels[kernel], slots, &program.max);
        let rendered = weft_gpu::render(
            "renderer",
            program,
            |id| layouts.get(&id).copied(),
            scheduler.binds(),
            &shaders,
        )?;
        let text = |shaders: &Arc<[weft_render::Shader]>| {
            shaders.iter().map(|shader| shader.source.as_str()).collect::<String>()
        };
        let mut given = given.lock().unwrap();
        given.texts.push(rendered.iter().map(text).collect());
        let shaders = rendered.iter().flat_map(|shaders| shaders.iter());
        given.scratch += shaders.map(|shader| shader.scratch_bytes).max().unwrap_or(0);
        self.inner.compile(program)
    }

    fn text(&self) -> Option<&dyn SourceText> {
        Some(&self.scheduler)
    }

    fn free_memory(&self) -> Option<u64> {
        self.free
    }
}

fn load(fixture: &Fixture, device: Renderer, options: &EngineOptions) -> Result<Runner, Error> {
    let model = Model::open(&fixture.path, options.kv).unwrap();
    Runner::new(model, Box::new(device), options, &mut |_| ControlFlow::Continue(()))
}

fn scheduler() -> Scheduler {
    let target = weft_render::Target { language: Language::Cuda, gpu: Gpu::of_cuda((9, 0), 132) };
    Scheduler::open("a card", target, None)
}

/// The text shown for a kernel, without the lines between which a user can give each text.
fn without_heads(shown: &str) -> String {
    let is_text = |line: &&str| !line.starts_with("cuda tokens=") && *line != "end\n";
    shown.split_inclusive('\n').filter(is_text).collect()
}

#[test]
fn explained_texts_are_those_that_run() {
    for name in ["glm-tiny-q4_0", "llama-tiny-q6_k"] {
        let fixture = Fixture::load(name);
        let device = Renderer::new(None);
        let (hardware, given) = (device.caps.hardware.clone(), Arc::clone(&device.given));
        let runner = load(&fixture, device, &EngineOptions::default()).unwrap();
        let graph = runner.model().graph();
        let texts = &given.lock().unwrap().texts;
        // Body and head for one token, for a few, for some and for many.
        let [one @ .., _, _, _, _, _, _] = &texts[..] else { panic!("{} programs", texts.len()) };
        let [.., many_body, many_head] = &texts[..] else { panic!("{} programs", texts.len()) };
        let many = [many_body.clone(), many_head.clone()];
        let target = Target { hardware, text: Some(Box::new(scheduler())) };
        for (tokens, ran) in [(1, one), (runner.batch(), &many[..])] {
            let options = ExplainOptions {
                switches: Switches::default(),
                tokens,
                depth: 0,
                costs: cost_model(&target.hardware, None),
                kernels: Vec::new(),
            };
            let plans = explain(graph, &options).unwrap();
            let shown = plans.iter().flat_map(|plan| plan.sources(&target).unwrap());
            let shown: BTreeSet<String> =
                shown.flat_map(Result::unwrap).map(|text| without_heads(&text)).collect();
            let ran: BTreeSet<String> = ran.iter().flatten().cloned().collect();
            assert!(shown.len() > 5, "{} texts", shown.len());
            assert!(
                shown == ran,
                "{name}, {tokens} tokens: {} texts are shown, {} run",
                shown.len(),
                ran.len()
            );
            assert!(shown.iter().any(|text| text.contains("load_early")), "texts know weights");
        }
    }
}

#[test]
fn the_memory_that_a_model_needs_is_what_it_allocates() {
    for (name, options) in [
        ("glm-tiny-q4_0", EngineOptions::default()),
        ("glm-tiny-q4_k_m", EngineOptions::default().context(200).sequences(3).batch(40)),
        ("llama-tiny-q6_k", EngineOptions::default().kv(weft_quant::GgmlType::Q8_0)),
    ] {
        let fixture = Fixture::load(name);
        let model = Model::open(&fixture.path, options.kv).unwrap();
        let need = memory_need(model.graph(), &Renderer::new(None), &options).unwrap();
        let total = need.total();
        let device = Renderer::new(Some(total));
        let given = Arc::clone(&device.given);
        load(&fixture, device, &options).unwrap();
        let Given { weights, buffers, scratch, .. } = *given.lock().unwrap();
        assert_eq!((need.weights, need.cache + need.values), (weights, buffers + scratch), "{name}");
        assert!(need.cache > 0 && need.values > scratch, "{need:?}");

        // One byte less is refused before anything is loaded.
        let device = Renderer::new(Some(total - 1));
        let given = Arc::clone(&device.given);
        let error = load(&fixture, device, &options).err().unwrap();
        assert!(error.is_out_of_memory() && error.to_string().contains("is missing"), "{error}");
        assert_eq!(given.lock().unwrap().weights, 0);
    }
}
