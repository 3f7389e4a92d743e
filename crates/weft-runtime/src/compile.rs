//! Compiling a model's graphs to programs on a device.

pub(crate) mod launches;

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_device::{BufferId, Device, DeviceError, Instance, Program, ProgramId, Region, link};
use weft_fuse::Options;
use weft_gguf::Gguf;
use weft_ir::{Dim, Op, SCAN_LISTS, Sizes, StateKind};
use weft_kern::{Format, Machine, Plan};
use weft_models::{ModelGraph, Mtp, Segment};
use weft_pack::{OnReport, PackCache};

use crate::compile::launches::SegmentNames;
use crate::error::Error;
use crate::layout::{Optional, STEP_INPUTS, Window};
use crate::planned::Planned;
use crate::plans::offload::is_offloaded;
use crate::plans::slots::SlotBuffers;
use crate::plans::{Sections, streamed};
use crate::replacements::Checked;
use crate::sizes::Room;
use crate::weights::{InSlots, Tensors, products, sides};
use crate::{replacements, weights};

/// The buffers that all compilations of a model share on a device: inputs, weights and states.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    /// The index inputs of a step, all in one buffer.
    pub(crate) inputs: BTreeMap<String, Region>,
    /// The model's tensors.
    tensors: Tensors,
    /// States, by their names in the model.
    pub(crate) states: BTreeMap<String, State>,
    /// The kernels of users that were found to be right.
    pub(crate) checked: Vec<Checked>,
    /// Experts in slots.
    pub(crate) slots: Option<SlotBuffers>,
}

impl Shared {
    /// For each layer whose experts are in slots, their stacks.
    pub(crate) fn in_slots(&self, segments: &[Segment]) -> Vec<Vec<InSlots>> {
        self.tensors.in_slots(segments)
    }
}

/// The buffer of a state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    pub(crate) buffer: BufferId,
    /// The size of a row.
    pub(crate) row_bytes: usize,
    /// The first bytes of a row that are all a snapshot needs: a state of whole sequences without kept rows.
    pub(crate) snapshot_bytes: usize,
    /// The meaning of its rows. Windows have pages of their own.
    pub(crate) kind: StateKind,
}

/// A compiled model.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    /// The programs for each class of steps, the smallest first.
    pub(crate) classes: Vec<Class>,
    /// The fewest tokens of a step for which the last class is used, if offloaded experts are streamed in it.
    pub(crate) streamed_from: Option<usize>,
    /// The names of the segments. The plans of each class are in the same order.
    pub(crate) segments: Vec<SegmentNames>,
    /// The programs for steps in which no token has an adapter, if requests choose adapters.
    pub(crate) plain: Option<Box<Compiled>>,
}

impl Compiled {
    /// Whether offloaded experts are streamed in a step of `tokens` tokens.
    pub(crate) fn streams(&self, tokens: usize) -> bool {
        self.streamed_from.is_some_and(|least| tokens >= least)
    }

    /// The programs for a step of `tokens` tokens. The largest class takes all larger steps.
    pub(crate) fn class(&self, tokens: usize) -> Option<&Class> {
        if self.streams(tokens) {
            return self.classes.last();
        }
        self.classes.iter().find(|class| class.tokens >= tokens).or(self.classes.last())
    }
}

/// The programs for steps of up to some number of tokens. All classes compute the same bits.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    /// The most tokens of a step.
    pub(crate) tokens: usize,
    /// The embedding and all layers.
    pub(crate) body: ProgramId,
    /// From the hidden state to the logits of selected rows, and to their candidates if the device chooses them.
    pub(crate) head: ProgramId,
    /// The region of the logits, or of the results that the model's head computes in their place.
    pub(crate) logits: Region,
    /// The region of the candidates.
    pub(crate) candidates: Option<Region>,
    /// The number of last plans that are the head's.
    pub(crate) heads: usize,
    /// The number of launches of body and head.
    pub(crate) kernels: usize,
    /// The plans that they were linked from, one for each segment.
    pub(crate) plans: Vec<Arc<Plan>>,
    /// The programs of body and head, to compile parts of them.
    pub(crate) programs: [Program; 2],
    /// The variants of the body for short contexts: for the shortest first.
    pub(crate) variants: Vec<Variant>,
    /// The layer that predicts one token more.
    pub(crate) predictor: Option<Predictor>,
}

impl Class {
    /// The body for a step that reads `pages` pages, and its program.
    pub(crate) fn body(&self, pages: usize) -> (ProgramId, &Program) {
        match self.variants.iter().find(|variant| pages <= variant.program.max.pages) {
            Some(variant) => (variant.id, &variant.program),
            None => (self.body, &self.programs[0]),
        }
    }

    /// All programs of body and head.
    pub(crate) fn all_programs(&self) -> impl Iterator<Item = &Program> {
        self.programs.iter().chain(self.variants.iter().map(|variant| &variant.program))
    }

    /// Compiles its programs again.
    pub(crate) fn compile_again(&mut self, device: &mut dyn Device) -> Result<(), DeviceError> {
        let [body, head] = &self.programs;
        (self.body, self.head) = (device.compile(body)?, device.compile(head)?);
        for variant in &mut self.variants {
            variant.id = device.compile(&variant.program)?;
        }
        Ok(())
    }
}

/// A body for steps of one token that read at most some number of pages. Its launches match the other body's one to one.
#[derive(Clone, Debug)]
pub(crate) struct Variant {
    pub(crate) id: ProgramId,
    pub(crate) program: Program,
}

impl Variant {
    /// The bodies of a class that take one token and read more pages, for the fewest pages first.
    fn all(
        device: &mut dyn Device,
        body: &Program,
        pages: [Option<usize>; 2],
    ) -> Result<Vec<Variant>, DeviceError> {
        let mut pages: Vec<usize> = pages.into_iter().flatten().collect();
        pages.retain(|pages| body.max.tokens == 1 && (1..body.max.pages).contains(pages));
        pages.sort_unstable();
        pages.dedup();
        let compile = |pages| {
            let program = Program { max: Sizes { pages, ..body.max }, ..body.clone() };
            Ok(Variant { id: device.compile(&program)?, program })
        };
        pages.into_iter().map(compile).collect()
    }
}

/// The program that predicts one token more.
#[derive(Clone, Debug)]
pub(crate) struct Predictor {
    pub(crate) id: ProgramId,
    /// The region of the candidates if the device chooses them, otherwise of the logits.
    pub(crate) results: Region,
    /// Whether the device chooses candidates.
    pub(crate) chooses: bool,
    /// The plans that it was linked from.
    pub(crate) plans: Vec<Arc<Plan>>,
    /// The program.
    pub(crate) program: Program,
}

/// The alignment of inputs in their common buffer, in bytes.
const INPUT_ALIGN: usize = 64;

/// The `i32` inputs of a step and their lengths. The longest is last, so that the unused part of it is not written.
fn step_inputs(
    max: &Sizes,
    window: Option<&Window>,
    Optional { predicts, adapters }: Optional,
) -> impl Iterator<Item = (&'static str, usize)> {
    let [tokens, pos, slots, first, pages, out_rows, window_slots, window_pages, next_slots, ids, scales] =
        STEP_INPUTS;
    let per_token = [tokens, pos, slots, first].map(|name| (name, max.tokens));
    let windowed = window.map(|_| [(window_slots, max.tokens), (window_pages, max.pages)]);
    let sequences = (max.sequences > 0).then(|| SCAN_LISTS.map(|name| (name, max.sequences)));
    per_token
        .into_iter()
        .chain([(out_rows, max.rows)])
        .chain(predicts.then_some((next_slots, max.rows)))
        .chain(sequences.into_iter().flatten())
        .chain(adapters.then_some([(ids, max.tokens), (scales, max.tokens)]).into_iter().flatten())
        .chain(windowed.into_iter().flatten())
        .chain([(pages, max.pages)])
}

/// Allocates the inputs of a step, all in one buffer, so that a single write is enough: with those of layers with a sliding
/// window, if these have pages of their own, and those of what else the model has.
pub(crate) fn inputs(
    device: &mut dyn Device,
    max: &Sizes,
    window: Option<&Window>,
    optional: Optional,
) -> Result<BTreeMap<String, Region>, Error> {
    let mut end = 0;
    let places = step_inputs(max, window, optional).map(|(name, values)| {
        let offset = end;
        end = (offset + 4 * values).next_multiple_of(INPUT_ALIGN);
        (name, values, offset)
    });
    let places: Vec<(&str, usize, usize)> = places.collect();
    let buffer = device.alloc(end)?;
    let region =
        |(name, values, offset): (&str, usize, usize)| (name.to_string(), Region { buffer, offset, values });
    Ok(places.into_iter().map(region).collect())
}

/// Loads the weights of planned segments, allocates the states and links the programs.
pub(crate) fn compile(
    device: &mut dyn Device,
    gguf: &Gguf,
    planned: &Planned,
    options: &Options,
    cache: Option<&PackCache>,
    report: OnReport<'_>,
) -> Result<(Shared, Compiled), Error> {
    let mut checked = Vec::new();
    for plans in std::iter::once(planned).chain(planned.plain.as_deref()) {
        replacements::check(device, plans.plans(), &mut checked)?;
    }
    replacements::tell(device, planned.plans(), options, &checked, report)?;
    let mut inputs = inputs(device, &options.max, planned.window.as_ref(), planned.optional())?;
    let slots = planned.slots.map(|layout| SlotBuffers::new(device, layout, &options.max)).transpose()?;
    inputs.extend(slots.iter().flat_map(SlotBuffers::inputs));
    let tensors = weights::load(device, gguf, planned, cache, report)?;
    let mut shared = Shared { inputs, tensors, states: BTreeMap::new(), checked, slots };
    let plain = planned.plain.as_ref().map(|plain| bind(device, options, plain, &mut shared)).transpose()?;
    let compiled = bind(device, options, planned, &mut shared)?;
    Ok((shared, Compiled { plain: plain.map(Box::new), ..compiled }))
}

/// Compiles a model with other options, for the weights and states that are on the device already.
pub(crate) fn compile_again(
    device: &mut dyn Device,
    (model, mtp): (&ModelGraph, Option<&Mtp>),
    (options, room): (&Options, &Room),
    shared: &Shared,
) -> Result<Compiled, Error> {
    let planned = Planned::of_all_steps(model, mtp, options, room)?;
    let mut shared = shared.clone();
    replacements::check(device, planned.plans(), &mut shared.checked)?;
    bind(device, options, &planned, &mut shared)
}

/// Binds plans to weights and states, and links the programs of every class.
fn bind(
    device: &mut dyn Device,
    options: &Options,
    planned: &Planned,
    shared: &mut Shared,
) -> Result<Compiled, Error> {
    let Planned { segments, sections, sides, steps, fusions, streamed, .. } = planned;
    let mut bound = Vec::with_capacity(segments.len());
    for (i, (segment, fusion)) in segments.iter().zip(&fusions[0]).enumerate() {
        let mut bytes = shared.tensors.of(segment);
        let multiplied = weights::multiplied(fusions, i);
        sides::place(device, if streamed.is_some() { None } else { Some(sides[i]) });
        let products = products::pack(device, fusion, &multiplied);
        sides::place(device, Some(sides[i]));
        let states = bind_states(device, segment, &options.max, &mut shared.states);
        sides::place(device, None);
        bytes.extend(products?);
        bound.push((bytes, states?));
    }
    let kept = SlotBuffers::kept(shared.slots.as_ref(), segments);
    let mut classes = Vec::with_capacity(steps.len());
    for (i, (&tokens, fusions)) in steps.iter().zip(fusions).enumerate() {
        let parts = fusions.iter().zip(&bound).zip(segments.iter().zip(&kept));
        let instances = parts.map(|((fusion, (weights, states)), (segment, kept))| {
            let mut weights = weights.clone();
            if planned.streams(i) {
                weights.extend(shared.tensors.streamed(segment));
            }
            Instance {
                plan: Arc::clone(&fusion.plan),
                weights,
                states: states.clone(),
                columns: segment.columns.iter().cloned().collect(),
                kept: kept.clone(),
                beside: is_offloaded(&segment.graph),
            }
        });
        let instances: Vec<Instance> = instances.collect();
        // Steps of one token are in the first class.
        let short_contexts = if planned.streams(i) { [None; 2] } else { planned.short_contexts };
        classes.push(class(device, (tokens, short_contexts), &instances, *sections, &shared.inputs)?);
    }
    let streamed_from = match streamed {
        Some(machine) => streamed_from(device, segments, machine)?,
        None => None,
    };
    let named = segments.iter().zip(&fusions[0]).take(sections.of_model());
    let segments = named.map(|(segment, fusion)| SegmentNames::new(segment, fusion)).collect();
    Ok(Compiled { classes, streamed_from, segments, plain: None })
}

/// The fewest tokens of a step for which streaming pays, by the speed of copies, which is measured, and of the second device.
fn streamed_from(
    device: &mut dyn Device,
    segments: &[Segment],
    second: &Machine,
) -> Result<Option<usize>, Error> {
    let packing = device.caps().packing;
    let rate = device.placement().map(|placement| placement.rate()).transpose()?.flatten();
    let multiplications = second.workers as f64 * second.worker_multiplications as f64;
    let stacks = streamed::stacks(segments);
    Ok(rate.map(|rate| streamed::least_tokens(&stacks, packing, multiplications, rate)))
}

/// Links a model's plans into body and head, and those that predict one token more. There are variants for the
/// `short_contexts`, in pages.
pub(crate) fn class(
    device: &mut dyn Device,
    (tokens, short_contexts): (usize, [Option<usize>; 2]),
    instances: &[Instance],
    sections: Sections,
    inputs: &BTreeMap<String, Region>,
) -> Result<Class, Error> {
    let no_graphs = || Error::Option("the model has no graphs".into());
    let (model, mtp) = instances.split_at_checked(sections.of_model()).ok_or_else(no_graphs)?;
    let (body, head) = model.split_at(sections.body);
    let plans = model.iter().map(|instance| Arc::clone(&instance.plan)).collect();
    let body = link(device, body, inputs, &["x"])?;
    let mut head_inputs = inputs.clone();
    head_inputs.extend(body.results);
    let results = &[sections.result, "candidates"][..sections.head];
    let head = link(device, head, &head_inputs, results)?;
    Ok(Class {
        tokens,
        body: device.compile(&body.program)?,
        head: device.compile(&head.program)?,
        logits: head.results[sections.result],
        candidates: head.results.get("candidates").copied(),
        heads: sections.head,
        kernels: body.program.launches.len() + head.program.launches.len(),
        plans,
        variants: Variant::all(device, &body.program, short_contexts)?,
        programs: [body.program, head.program],
        predictor: if mtp.is_empty() { None } else { Some(predictor(device, mtp, sections, inputs)?) },
    })
}

fn predictor(
    device: &mut dyn Device,
    instances: &[Instance],
    sections: Sections,
    inputs: &BTreeMap<String, Region>,
) -> Result<Predictor, Error> {
    // If the device chooses candidates for the model, it does so here.
    let chooses = sections.head > 1;
    let result = if chooses { "candidates" } else { sections.result };
    let linked = link(device, instances, inputs, &[result])?;
    Ok(Predictor {
        id: device.compile(&linked.program)?,
        results: linked.results[result],
        chooses,
        plans: instances.iter().map(|instance| Arc::clone(&instance.plan)).collect(),
        program: linked.program,
    })
}

/// Binds a segment's states, allocating those that are not in `model_states` (by their names in the model) yet.
pub(crate) fn bind_states(
    device: &mut dyn Device,
    segment: &Segment,
    max: &Sizes,
    model_states: &mut BTreeMap<String, State>,
) -> Result<BTreeMap<String, BufferId>, Error> {
    let mut bound = BTreeMap::new();
    for (id, node) in segment.graph.iter() {
        let Op::State { name, kind } = &node.op else { continue };
        if *kind == StateKind::PerSequence && node.ty.shape.known_count() == Some(0) {
            let why = format!("`{name}` is a state of whole sequences without a row: expected one at least");
            return Err(Error::Option(why));
        }
        let Some((_, in_model)) = segment.states.iter().find(|(own, _)| own == name) else { continue };
        let buffer = match model_states.get(in_model) {
            Some(known) => known.buffer,
            None => {
                let bytes = node.ty.shape.count(max).and_then(|n| Format::Ggml(node.ty.dtype).bytes(n));
                let bytes =
                    bytes.ok_or_else(|| Error::Option("the KV cache exceeds the address space".into()))?;
                let buffer = device.alloc(bytes)?;
                let rows = node.ty.shape.dims().first().copied().unwrap_or(Dim::S);
                let row_bytes = bytes / rows.eval(max).max(1);
                let proper = segment.graph.scan_state(id).and_then(|layout| layout.proper());
                let proper = proper.and_then(|n| Format::Ggml(node.ty.dtype).bytes(n));
                let snapshot_bytes = proper.unwrap_or(row_bytes).min(row_bytes);
                let state = State { buffer, row_bytes, snapshot_bytes, kind: *kind };
                model_states.insert(in_model.clone(), state);
                buffer
            }
        };
        bound.insert(name.clone(), buffer);
    }
    Ok(bound)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::path::Path;

    use weft_device::{Checkpoints, Hardware, NullDevice};
    use weft_models::BuildOptions;

    use super::*;
    use crate::plans;

    const ROOM: Room = Room {
        context: 64,
        pages: 1,
        window: None,
        states: None,
        max: Sizes::of(8).rows(2).slots(64).pages(2),
        steps: Hardware::STEPS,
        short_contexts: [None; 2],
        beside: None,
    };

    #[test]
    fn layers_of_one_shape_share_one_plan() {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/ds2-tiny-q4_0.gguf");
        let gguf = Gguf::open(&fixture).unwrap();
        let model = weft_models::build(&gguf, &BuildOptions::default()).unwrap();
        let options = Options { max: ROOM.max, ..Options::default() };
        let (segments, _) =
            plans::segments(&model, None, &options.switches, false, (None, None, None)).unwrap();
        let mut fusions = plans::plan(&segments, |_| &options, None).unwrap();
        // Embedding, rotary tables, one dense layer, 26 layers with experts, head.
        assert_eq!(fusions.len(), 30);
        fusions.dedup_by(|a, b| Arc::ptr_eq(a, b));
        assert_eq!(fusions.len(), 5);

        let mut device = NullDevice::default();
        let planned = Planned::of_all_steps(&model, None, &options, &ROOM).unwrap();
        compile(&mut device, &gguf, &planned, &options, None, &mut |_| ControlFlow::Continue(())).unwrap();
        let [_, _, body, head] = device.programs() else {
            panic!("expected bodies and heads for one token and for eight")
        };
        let distinct: usize = fusions.iter().map(|fusion| fusion.plan.kernels.len()).sum();
        assert!(body.kernels.len() + head.kernels.len() <= distinct);
        // 27 layers share the kernels of two.
        assert!(
            body.launches.len() > 5 * body.kernels.len(),
            "{} of {}",
            body.launches.len(),
            body.kernels.len()
        );
    }

    #[test]
    fn compiling_again_loads_no_weights_and_can_be_undone() {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/glm-tiny-q4_0.gguf");
        let gguf = Gguf::open(&fixture).unwrap();
        let model = weft_models::build(&gguf, &BuildOptions::default()).unwrap();
        let mut options = Options { max: ROOM.max, ..Options::default() };
        let mut device = NullDevice::default();
        let report: OnReport<'_> = &mut |_| ControlFlow::Continue(());
        let planned = Planned::of_all_steps(&model, None, &options, &ROOM).unwrap();
        let (shared, _) = compile(&mut device, &gguf, &planned, &options, None, report).unwrap();
        let (bytes, mark) = (device.bytes(), device.mark());
        options.switches.set(weft_fuse::decision("fuse.beside").unwrap(), weft_ir::Mode::Off);
        compile_again(&mut device, (&model, None), (&options, &ROOM), &shared).unwrap();
        let more = device.bytes() - bytes;
        assert!(more > 0 && more < bytes / 4, "{more} bytes beside {bytes}");
        device.rewind(mark);
        assert_eq!((device.bytes(), device.programs().len()), (bytes, mark.programs));
    }
}
