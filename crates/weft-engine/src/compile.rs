//! From a model's graphs to programs on a device.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_device::{BufferId, Device, Instance, ProgramId, Region, link};
use weft_fuse::Options;
use weft_gguf::Gguf;
use weft_ir::{Op, Sizes};
use weft_kern::Format;
use weft_models::{ModelGraph, Segment};
use weft_pack::{OnReport, PackCache};

use crate::error::Error;
use crate::{plans, products, weights};

/// The compiled model.
#[derive(Debug)]
pub(crate) struct Compiled {
    /// Programs for steps of several sizes, the smallest first.
    pub(crate) classes: Vec<Class>,
    /// The step's index inputs.
    pub(crate) inputs: BTreeMap<String, Region>,
}

/// The programs for steps up to a size. Which of them runs a token changes no bit of what comes out.
#[derive(Debug)]
pub(crate) struct Class {
    /// Most tokens.
    pub(crate) tokens: usize,
    /// Everything up to the last layer.
    pub(crate) body: ProgramId,
    /// From the hidden state to the logits of picked rows.
    pub(crate) head: ProgramId,
    /// Where the logits will be.
    pub(crate) logits: Region,
}

/// `i32` inputs of a step, and how many values each has.
fn step_inputs(max: &Sizes) -> [(&'static str, usize); 6] {
    let [tokens, pos, slots, first, pages, out_rows] = plans::STEP_INPUTS;
    let per_token = [tokens, pos, slots, first].map(|name| (name, max.tokens));
    let [tokens, pos, slots, first] = per_token;
    [tokens, pos, slots, first, (pages, max.pages), (out_rows, max.rows)]
}

/// Plans every distinct graph for each class of steps, has the device take in the weights, makes room for the states and links the programs.
pub(crate) fn compile(
    device: &mut dyn Device,
    gguf: &Gguf,
    model: &ModelGraph,
    options: &Options,
    cache: Option<&PackCache>,
    report: OnReport<'_>,
) -> Result<Compiled, Error> {
    let max = &options.max;
    let mut inputs = BTreeMap::new();
    for (name, values) in step_inputs(max) {
        let buffer = device.alloc(values * 4)?;
        inputs.insert(name.to_string(), Region { buffer, offset: 0, values });
    }
    let segments = plans::segments(model, &options.switches);
    let steps = plans::step_classes(max.tokens);
    let mut fusions = Vec::with_capacity(steps.len());
    for &tokens in &steps {
        let options = Options { max: Sizes { tokens, ..*max }, ..options.clone() };
        let like = fusions.first().map(Vec::as_slice);
        let planned = plans::plan(&segments, &options, like)?;
        fusions.push(planned);
    }
    let tensors = weights::take_in(device, gguf, &segments, &fusions, cache, report)?;
    let mut model_states = BTreeMap::new();
    let mut bound = Vec::with_capacity(segments.len());
    for (i, (segment, fusion)) in segments.iter().zip(&fusions[0]).enumerate() {
        let named = segment.weights.iter().map(|(own, tensor)| (own.clone(), tensors[tensor]));
        let mut bytes: BTreeMap<String, BufferId> = named.collect();
        let multiplied = weights::multiplied(&fusions, i);
        bytes.extend(products::pack(device, gguf, segment, fusion, &multiplied)?);
        bound.push((bytes, bind_states(device, segment, max, &mut model_states)?));
    }
    let mut classes = Vec::with_capacity(steps.len());
    for (tokens, fusions) in steps.into_iter().zip(&fusions) {
        let instances = fusions.iter().zip(&bound).map(|(fusion, (weights, states))| Instance {
            plan: Arc::clone(&fusion.plan),
            weights: weights.clone(),
            states: states.clone(),
        });
        classes.push(class(device, tokens, &instances.collect::<Vec<_>>(), &inputs)?);
    }
    Ok(Compiled { classes, inputs })
}

/// Links a model's plans into its two programs.
fn class(
    device: &mut dyn Device,
    tokens: usize,
    instances: &[Instance],
    inputs: &BTreeMap<String, Region>,
) -> Result<Class, Error> {
    let (head, body) =
        instances.split_last().ok_or_else(|| Error::Option("the model has no graphs".into()))?;
    let body = link(device, body, inputs, &["x"])?;
    let mut head_inputs = inputs.clone();
    head_inputs.extend(body.results);
    let head = link(device, std::slice::from_ref(head), &head_inputs, &["logits"])?;
    Ok(Class {
        tokens,
        body: device.compile(&body.program)?,
        head: device.compile(&head.program)?,
        logits: head.results["logits"],
    })
}

/// Room for a segment's states. `model_states` holds those made so far, by their names in the model.
fn bind_states(
    device: &mut dyn Device,
    segment: &Segment,
    max: &Sizes,
    model_states: &mut BTreeMap<String, BufferId>,
) -> Result<BTreeMap<String, BufferId>, Error> {
    let mut bound = BTreeMap::new();
    for node in segment.graph.nodes() {
        let Op::State { name } = &node.op else { continue };
        let Some((_, in_model)) = segment.states.iter().find(|(own, _)| own == name) else { continue };
        let buffer = match model_states.get(in_model) {
            Some(known) => *known,
            None => {
                let bytes = node.ty.shape.count(max).and_then(|n| Format::Ggml(node.ty.dtype).bytes(n));
                let bytes =
                    bytes.ok_or_else(|| Error::Option("the KV cache would not fit any memory".into()))?;
                let buffer = device.alloc(bytes)?;
                model_states.insert(in_model.clone(), buffer);
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

    use weft_device::NullDevice;
    use weft_models::BuildOptions;

    use super::*;

    #[test]
    fn layers_of_one_shape_share_one_plan() {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/ds2-tiny-q4_0.gguf");
        let gguf = Gguf::open(&fixture).unwrap();
        let model = weft_models::build(&gguf, &BuildOptions::default()).unwrap();
        let max = Sizes { tokens: 8, rows: 2, slots: 64, pages: 2 };
        let options = Options { max, ..Options::default() };
        let segments = plans::segments(&model, &options.switches);
        let mut fusions = plans::plan(&segments, &options, None).unwrap();
        // Embedding, rotary tables, the dense layer, the 26 others, head.
        assert_eq!(fusions.len(), 30);
        fusions.dedup_by(|a, b| Arc::ptr_eq(a, b));
        assert_eq!(fusions.len(), 5);

        let mut device = NullDevice::default();
        compile(&mut device, &gguf, &model, &options, None, &mut |_| ControlFlow::Continue(())).unwrap();
        let [_, _, body, head] = device.programs() else {
            panic!("bodies and heads for one token and for eight")
        };
        let distinct: usize = fusions.iter().map(|fusion| fusion.plan.kernels.len()).sum();
        assert!(body.kernels.len() + head.kernels.len() <= distinct);
        // 27 layers run, from the kernels of two.
        assert!(body.steps.len() > 5 * body.kernels.len(), "{} of {}", body.steps.len(), body.kernels.len());
    }
}
