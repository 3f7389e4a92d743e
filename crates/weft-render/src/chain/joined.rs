//! Decides which kernels can follow each other in a chain.

use weft_kern::Sizes;
use weft_shader::chain::MOST_STAGES;
use weft_shader::module::{Content, Memory};

use crate::gpu::Gpu;
use crate::shader::{Shader, Slots, args_words};

/// The most workgroups of a stage for each multiprocessor. The head of 154,880 columns has eight. With that head and the search for
/// candidates in one chain, a step of 8 layers of GLM-4.7-Flash took 6 % less through Vulkan on an H100
/// (`bench/runs/2026-11-26-vulkan-chains.md`). More than eight was not measured.
const MOST_WAVES: u64 = 16;

/// The most argument words of the kernels of a chain. Together with the chain's own they stay below the smallest limit of a uniform buffer
/// in WebGPU.
const MOST_ARGS: usize = 4000;

/// Consecutive kernels that can become a chain.
#[derive(Clone, Debug)]
pub struct Joined<B> {
    /// The buffer of each slot.
    buffers: Vec<B>,
    /// The content of each slot, and its number of pieces.
    slots: Vec<(Content, u32)>,
    /// The slot of each argument of each kernel.
    of: Vec<Vec<usize>>,
    stages: usize,
    lanes: Option<u32>,
    memory: Memory,
    /// Whether a stage has scratch memory.
    scratch: bool,
}

impl<B> Default for Joined<B> {
    fn default() -> Joined<B> {
        Joined {
            buffers: Vec::new(),
            slots: Vec::new(),
            of: Vec::new(),
            stages: 0,
            lanes: None,
            memory: Memory::default(),
            scratch: false,
        }
    }
}

impl<B: PartialEq + Clone> Joined<B> {
    /// Adds a kernel that becomes these `shaders`, or whose last ones these are. Returns `false` if a chain has to end before it. The first
    /// argument has the kernel's own slots and the buffer of each.
    pub fn add(
        &mut self,
        (slots, bound): (&Slots, &[B]),
        shaders: &[Shader],
        max: &Sizes,
        gpu: &Gpu,
    ) -> bool {
        let most = u64::from(gpu.processors) * MOST_WAVES;
        let suits = |shader: &Shader| {
            shader.given.is_none()
                && !shader.memory.cooperates
                && shader.grid.all(max) <= most
                && self.lanes.or(shaders.first().map(|first| first.lanes)) == Some(shader.lanes)
        };
        let args = self.of.iter().map(Vec::len).chain([slots.of.len()]);
        let args = args.fold(0, |all: usize, params| all.saturating_add(args_words(params)));
        let stages = self.stages + shaders.len();
        if shaders.is_empty() || !shaders.iter().all(suits) || stages > MOST_STAGES || args > MOST_ARGS {
            return false;
        }
        let mut grown = self.clone();
        let contents = slots.contents.iter().zip(&slots.pieces);
        let places: Vec<usize> = bound
            .iter()
            .zip(contents)
            .map(|(buffer, (content, pieces))| grown.place(buffer, *content, *pieces))
            .collect();
        grown.of.push(slots.of.iter().map(|slot| places[*slot]).collect());
        for shader in shaders {
            // Slots after the kernel's own are scratch memory.
            let place = |slot: &usize| places.get(*slot).copied();
            grown.memory.halves.extend(shader.memory.halves.iter().filter_map(place));
            grown.memory.fours.extend(shader.memory.fours.iter().filter_map(place));
            grown.scratch |= shader.scratch_bytes > 0;
            grown.lanes = Some(shader.lanes);
        }
        grown.stages = stages;
        let bindings: usize = grown.slots.iter().map(|(_, pieces)| *pieces as usize).sum();
        // One more binding has the chain's counters.
        let fits = bindings + usize::from(grown.scratch) < gpu.storage_buffers as usize;
        let possible = fits && grown.memory.halves.is_disjoint(&grown.memory.fours);
        if possible {
            *self = grown;
        }
        possible
    }

    /// The slot of a buffer; adds a slot if the buffer has none.
    fn place(&mut self, buffer: &B, content: Content, pieces: u32) -> usize {
        // Only weights are read before a wait.
        let content = if content == Content::Weight { content } else { Content::Open };
        let known = self.buffers.iter().position(|known| known == buffer);
        let slot = known.unwrap_or_else(|| {
            self.buffers.push(buffer.clone());
            self.slots.push((content, pieces));
            self.buffers.len() - 1
        });
        self.slots[slot].0 = self.slots[slot].0.max(content);
        slot
    }

    /// The number of kernels.
    pub fn kernels(&self) -> usize {
        self.of.len()
    }

    /// The buffer of each slot.
    pub fn into_buffers(self) -> Vec<B> {
        self.buffers
    }

    /// The slots of each kernel in the chain.
    pub fn slots(&self) -> Vec<Slots> {
        let of = |of: &Vec<usize>| Slots {
            of: of.clone(),
            contents: self.slots.iter().map(|(content, _)| *content).collect(),
            pieces: self.slots.iter().map(|(_, pieces)| *pieces).collect(),
            releases_early: false,
        };
        self.of.iter().map(of).collect()
    }
}
