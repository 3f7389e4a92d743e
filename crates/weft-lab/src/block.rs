//! Benchmarks of single blocks of a model: the attention of a layer, its feed-forward network, and the whole layer.
//!
//! A block's launches are replayed as a separate program on the data that a step left behind, so that it computes what it computes in
//! the model. In a step its weights come from memory, because those of all other blocks are read in between. So before each sample,
//! more memory is read than the caches hold, which measures the read bandwidth as well.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use weft_device::Roof;
use weft_engine::inspect::{Amounts, Batch, Launch, PartId, Role, Runner, SeqId, StepShape};
use weft_random::Random;

use crate::OnProgress;
use crate::error::Error;
use crate::host::Host;
use crate::meter::Meter;
use crate::profile::at_least;
use crate::roofs::Roofs;
use crate::samples::Samples;

/// Options of a benchmark of blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockOptions {
    /// Samples of each block, after one to warm up.
    pub repeat: usize,
    /// Tokens in the cache before the step.
    pub depth: usize,
    /// Tokens of the step: 1 for decode, more for prefill.
    pub tokens: usize,
    /// Measure the kernels of one role, in place of whole blocks.
    pub role: Option<Role>,
}

impl BlockOptions {
    /// The context that the runner must have room for, in tokens.
    pub fn context(&self) -> usize {
        self.depth.saturating_add(self.tokens)
    }
}

/// The results of a benchmark of blocks.
#[derive(Clone, PartialEq, Debug)]
pub struct Blocks {
    /// The machine.
    pub host: Host,
    /// The device's limits, measured in the same rounds.
    pub roofs: Roofs,
    /// The step that the blocks belong to.
    pub shape: StepShape,
    /// The blocks of each kind of layer.
    pub blocks: Vec<Block>,
}

/// A block of one kind of layer.
#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    /// `attention`, `feed-forward`, `layer`, or the name of a role.
    pub name: &'static str,
    /// The layer that was measured, such as `layer 1`.
    pub segment: String,
    /// The number of layers of this kind.
    pub layers: usize,
    /// The number of kernels it launches.
    pub kernels: usize,
    /// The bytes and multiplications it needs.
    pub amounts: Amounts,
    /// Seconds it took.
    pub times: Samples,
}

impl Blocks {
    /// The fraction of the roofline that a block reaches; NaN if it is not known.
    pub fn of_roof(&self, block: &Block) -> f64 {
        at_least(&block.amounts, &self.roofs) / block.times.median()
    }

    /// Everything as JSON.
    pub fn json(&self) -> Value {
        let block = |block: &Block| {
            let Block { name, segment, layers, kernels, amounts, times } = block;
            let [low, high] = [0.25, 0.75].map(|q| times.quantile(q));
            json!({
                "block": name,
                "segment": segment,
                "layers": layers,
                "kernels": kernels,
                "weight_bytes": amounts.weight_bytes,
                "state_bytes": amounts.state_bytes,
                "multiplications": amounts.multiplications(),
                "seconds": times.json(),
                "quartiles": [low, high],
                "of_roof": self.of_roof(block),
            })
        };
        json!({
            "machine": self.host.json(),
            "roofs": self.roofs.json(),
            "step": { "tokens": self.shape.tokens, "depth": self.shape.depth },
            "blocks": self.blocks.iter().map(block).collect::<Value>(),
        })
    }
}

/// Measures the blocks of each kind of layer of a loaded model, in turns, and the device's limits with `meter`. `on` is called with the
/// number of samples taken; `cancel` is checked before every sample.
///
/// # Errors
/// If the runner has no room or a step fails; [`Error::Interrupted`] if it was cancelled.
pub fn bench_blocks(
    runner: &mut Runner,
    meter: &mut Meter,
    options: &BlockOptions,
    cancel: &AtomicBool,
    on: OnProgress<'_>,
) -> Result<Blocks, Error> {
    let seq = runner.new_sequence();
    let measured = measure(runner, seq, meter, options, cancel, on);
    runner.drop_parts();
    runner.free(seq);
    measured
}

fn measure(
    runner: &mut Runner,
    seq: SeqId,
    meter: &mut Meter,
    options: &BlockOptions,
    cancel: &AtomicBool,
    on: OnProgress<'_>,
) -> Result<Blocks, Error> {
    let BlockOptions { repeat, depth, tokens, role } = *options;
    let stop = || if cancel.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) };
    let shape = StepShape { tokens, depth, logits: 0 };
    let threads = NonZeroUsize::new(runner.device().threads).unwrap_or(NonZeroUsize::MIN);
    let mut roofs = Roofs::new(threads);
    let mut blocks = find(&runner.launches(&shape), role);
    let total = (blocks.len() * (repeat + 1)) as u64;
    on(0, total);
    let (mut random, mut batch, mut begin) = (Random::new(0), Batch::new(), 0);
    let vocab = runner.model().graph().config.vocab;
    while begin < depth + tokens {
        stop()?;
        // The blocks are those of the last step.
        let end = if begin < depth { depth.min(begin + runner.batch()) } else { depth + tokens };
        batch.clear();
        (begin..end).for_each(|_| batch.push(seq, random.below(vocab) as u32, false));
        runner.step(&batch)?;
        begin = end;
    }
    // No sample has what is still running.
    runner.device_mut().wait()?;
    let empty = runner.empty_part(tokens, 1)?;
    let parts = blocks.iter().map(|(_, launches)| runner.part(&shape, launches.clone()));
    let parts = parts.collect::<Result<Vec<PartId>, _>>()?;
    let mut done = 0;
    for round in 0..=repeat {
        for ((block, _), part) in blocks.iter_mut().zip(&parts) {
            stop()?;
            meter.sample(runner.device_mut(), &mut roofs, &[Roof::Read])?;
            // Wakes threads that fell asleep.
            runner.replay_part(empty)?;
            let seconds = runner.replay_part(*part)?.as_secs_f64();
            if round > 0 {
                block.times.push(seconds);
            }
            done += 1;
            on(done, total);
        }
        meter.sample(runner.device_mut(), &mut roofs, &[Roof::Dot, Roof::MulAdd])?;
    }
    let blocks = blocks.into_iter().map(|(block, _)| block).collect();
    Ok(Blocks { host: Host::this(), roofs, shape, blocks })
}

/// The blocks of the first layer of each kind, with their launches. The attention block ends with the last launch for attention. With a
/// role, a block is launches of that role that follow one another.
fn find(launches: &[Launch], role: Option<Role>) -> Vec<(Block, std::ops::Range<usize>)> {
    let mut layers: Vec<std::ops::Range<usize>> = Vec::new();
    for (i, launch) in launches.iter().enumerate().filter(|(_, launch)| launch.layer.is_some()) {
        match layers.last_mut() {
            Some(layer) if launches[layer.start].layer == launch.layer => layer.end = i + 1,
            _ => layers.push(i..i + 1),
        }
    }
    let alike = |a: &std::ops::Range<usize>, b: &std::ops::Range<usize>| {
        let [a, b] = [a, b].map(|layer| &launches[layer.clone()]);
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_like(b))
    };
    let mut kinds: Vec<(std::ops::Range<usize>, usize)> = Vec::new();
    for layer in layers {
        match kinds.iter_mut().find(|(first, _)| alike(first, &layer)) {
            Some((_, times)) => *times += 1,
            None => kinds.push((layer, 1)),
        }
    }
    let mut blocks = Vec::new();
    for (layer, layers) in kinds {
        let of_attention = |i: &usize| launches[*i].roles().contains(&Role::Attention);
        let cut = layer.clone().rfind(of_attention).map_or(layer.start, |last| last + 1);
        let named = match role {
            None => vec![("attention", layer.start..cut), ("feed-forward", cut..layer.end), ("layer", layer)],
            Some(role) => {
                let has_role = |launch: &Launch| launch.roles().contains(&role);
                let runs = launches[layer.clone()].chunk_by(|a, b| has_role(a) == has_role(b));
                let mut end = layer.start;
                let places = runs.map(|run| {
                    end += run.len();
                    (has_role(&run[0]), end - run.len()..end)
                });
                places.filter(|(is_own, _)| *is_own).map(|(_, own)| (role.name(), own)).collect()
            }
        };
        for (name, own) in named.into_iter().filter(|(_, own)| !own.is_empty()) {
            let of = &launches[own.clone()];
            let block = Block {
                name,
                segment: of[0].segment.clone(),
                layers,
                kernels: of.len(),
                amounts: of.iter().fold(Amounts::default(), |sum, launch| sum + launch.amounts()),
                times: Samples::new(),
            };
            blocks.push((block, own));
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use weft_cpu::{CpuProbe, Isa};
    use weft_device::Probe;

    use super::*;
    use crate::bench::tests::runner;

    fn options() -> BlockOptions {
        BlockOptions { repeat: 2, depth: 6, tokens: 1, role: None }
    }

    fn meter() -> Meter {
        Meter::from(Box::new(CpuProbe::new(Isa::best(), 1 << 20).unwrap()) as Box<dyn Probe>)
    }

    #[test]
    fn every_kind_of_layer_is_measured_block_by_block() {
        let options = options();
        let mut runner = runner(options.context(), 1);
        let mut told = Vec::new();
        let cancel = AtomicBool::new(false);
        let blocks =
            bench_blocks(&mut runner, &mut meter(), &options, &cancel, &mut |done, of| told.push((done, of)));
        let blocks = blocks.unwrap();
        let found: Vec<_> =
            blocks.blocks.iter().map(|b| (b.name, b.segment.as_str(), b.layers, b.kernels)).collect();
        let layers = runner.model().graph().config.layers();
        let expected = [
            ("attention", "layer 0", 1, 6),
            ("feed-forward", "layer 0", 1, 2),
            ("layer", "layer 0", 1, 8),
            ("attention", "layer 1", layers - 1, 6),
            ("feed-forward", "layer 1", layers - 1, 3),
            ("layer", "layer 1", layers - 1, 9),
        ];
        assert_eq!(found, expected);
        for block in &blocks.blocks {
            assert_eq!(block.times.all().len(), 2);
            assert!(block.times.min() > 0.0 && blocks.of_roof(block) > 0.0, "{block:?}");
        }
        for [attention, rest, whole] in blocks.blocks.as_chunks().0 {
            // The weights of a norm that both blocks read are counted in the first.
            assert_eq!(attention.amounts + rest.amounts, whole.amounts);
            assert!(attention.amounts.state_bytes > 0 && rest.amounts.state_bytes == 0);
        }
        assert_eq!(told.first(), Some(&(0, 18)));
        assert_eq!(told.last(), Some(&(18, 18)));
        assert_eq!(blocks.json()["blocks"][5]["seconds"]["samples"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn one_role_can_be_measured() {
        let named = |role: Role| {
            let options = BlockOptions { role: Some(role), ..options() };
            let mut runner = runner(options.context(), 1);
            let cancel = AtomicBool::new(false);
            let blocks = bench_blocks(&mut runner, &mut meter(), &options, &cancel, &mut |_, _| {}).unwrap();
            let one = |block: &Block| (block.name, block.segment.clone(), block.kernels);
            blocks.blocks.iter().map(one).collect::<Vec<_>>()
        };
        let layer = |name, layer: usize, kernels| (name, format!("layer {layer}"), kernels);
        assert_eq!(named(Role::Router), [layer("router", 1, 1)], "the first layer has no experts");
        assert_eq!(named(Role::Attention), [layer("attention", 0, 6), layer("attention", 1, 6)]);
        assert_eq!(named(Role::Head), [], "which is in no layer");
    }

    #[test]
    fn the_runner_is_usable_after_a_cancellation() {
        let options = BlockOptions { repeat: 1_000_000, ..options() };
        let mut runner = runner(options.context(), 1);
        // If a sequence were left behind, the second would find no room.
        for _ in 0..2 {
            let cancel = AtomicBool::new(false);
            let ended = bench_blocks(&mut runner, &mut meter(), &options, &cancel, &mut |done, _| {
                cancel.store(done > 2, Ordering::Relaxed);
            });
            assert!(matches!(ended, Err(Error::Interrupted)));
        }
    }
}
