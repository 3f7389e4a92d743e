//! Blocks of a model alone: the attention of a layer, its feed-forward network, the whole layer.
//!
//! A block's launches are replayed as a program of their own, on what a step left behind, so that it computes what it computes in the model. In a
//! step its weights come from memory, since all the others were read in between; so before each sample more memory is read than caches
//! hold, which measures the device as well.

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

/// What is measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockOptions {
    /// Samples of every block, after one that does not count.
    pub repeat: usize,
    /// How many tokens are in the cache before the step.
    pub depth: usize,
    /// Tokens computed at once: 1 for decoding, more for a prompt.
    pub tokens: usize,
}

impl BlockOptions {
    /// Tokens of a sequence that the engine must have room for.
    pub fn context(&self) -> usize {
        self.depth.saturating_add(self.tokens)
    }
}

/// What was measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Blocks {
    /// The machine.
    pub host: Host,
    /// What the device could do meanwhile.
    pub roofs: Roofs,
    /// The step that the blocks are of.
    pub shape: StepShape,
    /// Every block of every kind of layer.
    pub blocks: Vec<Block>,
}

/// A block of one kind of layer.
#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    /// `attention`, `feed-forward` or `layer`.
    pub name: &'static str,
    /// The layer it was measured in: `layer 1`.
    pub segment: String,
    /// How many layers are like it.
    pub layers: usize,
    /// How many kernels it launches.
    pub kernels: usize,
    /// What it takes at least.
    pub amounts: Amounts,
    /// How long it took, in seconds.
    pub times: Samples,
}

impl Blocks {
    /// How much of what the machine can do a block reaches, 1 being all; NaN where that is not known.
    pub fn of_roof(&self, block: &Block) -> f64 {
        at_least(&block.amounts, &self.roofs) / block.times.median()
    }

    /// All of it, for programs.
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

/// Measures every block of every kind of layer of a loaded model, in turns, and its device with `meter`. `on` is told how many samples are
/// taken; `cancel` is looked at before every one.
///
/// # Errors
/// If the engine has no room or a step fails; [`Error::Interrupted`] if it was cancelled.
pub fn bench_blocks(
    engine: &mut Runner,
    meter: &mut Meter,
    options: &BlockOptions,
    cancel: &AtomicBool,
    on: OnProgress<'_>,
) -> Result<Blocks, Error> {
    let seq = engine.new_sequence();
    let measured = measure(engine, seq, meter, options, cancel, on);
    engine.drop_parts();
    engine.free(seq);
    measured
}

fn measure(
    engine: &mut Runner,
    seq: SeqId,
    meter: &mut Meter,
    options: &BlockOptions,
    cancel: &AtomicBool,
    on: OnProgress<'_>,
) -> Result<Blocks, Error> {
    let BlockOptions { repeat, depth, tokens } = *options;
    let stop = || if cancel.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) };
    let shape = StepShape { tokens, depth, logits: 0 };
    let threads = NonZeroUsize::new(engine.device().threads).unwrap_or(NonZeroUsize::MIN);
    let mut roofs = Roofs::new(threads);
    let mut blocks = find(&engine.launches(&shape));
    let total = (blocks.len() * (repeat + 1)) as u64;
    on(0, total);
    let (mut random, mut batch, mut begin) = (Random::new(0), Batch::new(), 0);
    let vocab = engine.model().graph().config.vocab;
    while begin < depth + tokens {
        stop()?;
        // The last step is the one that blocks are of.
        let end = if begin < depth { depth.min(begin + engine.batch()) } else { depth + tokens };
        batch.clear();
        (begin..end).for_each(|_| batch.push(seq, random.below(vocab) as u32, false));
        engine.step(&batch)?;
        begin = end;
    }
    let empty = engine.empty_part(tokens, 1)?;
    let parts = blocks.iter().map(|(_, launches)| engine.part(tokens, launches.clone()));
    let parts = parts.collect::<Result<Vec<PartId>, _>>()?;
    let mut done = 0;
    for round in 0..=repeat {
        for ((block, _), part) in blocks.iter_mut().zip(&parts) {
            stop()?;
            meter.sample(engine.device_mut(), &mut roofs, &[Roof::Read])?;
            // Threads that have slept meanwhile wake up for this.
            engine.replay_part(empty)?;
            let seconds = engine.replay_part(*part)?.as_secs_f64();
            if round > 0 {
                block.times.push(seconds);
            }
            done += 1;
            on(done, total);
        }
        meter.sample(engine.device_mut(), &mut roofs, &[Roof::Dot, Roof::MulAdd])?;
    }
    let blocks = blocks.into_iter().map(|(block, _)| block).collect();
    Ok(Blocks { host: Host::this(), roofs, shape, blocks })
}

/// The blocks of the first layer of each kind, with their launches. What comes up to the last launch for attention is the attention block.
fn find(launches: &[Launch]) -> Vec<(Block, std::ops::Range<usize>)> {
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
        let named = [("attention", layer.start..cut), ("feed-forward", cut..layer.end), ("layer", layer)];
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
    use crate::bench::tests::engine;

    fn options() -> BlockOptions {
        BlockOptions { repeat: 2, depth: 6, tokens: 1 }
    }

    fn meter() -> Meter {
        Meter::from(Box::new(CpuProbe::new(Isa::best(), 1 << 20).unwrap()) as Box<dyn Probe>)
    }

    #[test]
    fn every_kind_of_layer_is_measured_block_by_block() {
        let options = options();
        let mut engine = engine(options.context(), 1);
        let mut told = Vec::new();
        let cancel = AtomicBool::new(false);
        let blocks =
            bench_blocks(&mut engine, &mut meter(), &options, &cancel, &mut |done, of| told.push((done, of)));
        let blocks = blocks.unwrap();
        let found: Vec<_> =
            blocks.blocks.iter().map(|b| (b.name, b.segment.as_str(), b.layers, b.kernels)).collect();
        let layers = engine.model().graph().config.layers();
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
            // A norm's weights that both blocks read are counted where they are read first.
            assert_eq!(attention.amounts + rest.amounts, whole.amounts);
            assert!(attention.amounts.state_bytes > 0 && rest.amounts.state_bytes == 0);
        }
        assert_eq!(told.first(), Some(&(0, 18)));
        assert_eq!(told.last(), Some(&(18, 18)));
        assert_eq!(blocks.json()["blocks"][5]["seconds"]["samples"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn whoever_cancels_gets_the_engine_back() {
        let options = BlockOptions { repeat: 1_000_000, ..options() };
        let mut engine = engine(options.context(), 1);
        // If a sequence were left behind, the second would find no room.
        for _ in 0..2 {
            let cancel = AtomicBool::new(false);
            let ended = bench_blocks(&mut engine, &mut meter(), &options, &cancel, &mut |done, _| {
                cancel.store(done > 2, Ordering::Relaxed);
            });
            assert!(matches!(ended, Err(Error::Interrupted)));
        }
    }
}
