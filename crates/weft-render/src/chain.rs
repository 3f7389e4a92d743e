//! Renders consecutive kernels as one launch, a chain.
//!
//! [`weft_shader::chain`] defines the protocol. A chain ends between a kernel that stores halves of words, for which the buffer's words are
//! atomic, and a kernel that loads four words of that buffer at once.

mod joined;

use std::collections::BTreeSet;

use weft_kern::{Kernel, Sizes};
use weft_shader::chain::{MOST_STAGES, VARIABLES, bound, chained, group_of};
use weft_shader::grid::Grid;
use weft_shader::module::Module;

use crate::gpu::{Gpu, Language, Target};
use crate::lower::{Job, Link};
use crate::refused::{Refused, Why};
use crate::render::{dialect, shader};
use crate::schedule::Schedule;
use crate::shader::{Shader, Slots, args_words};

pub use joined::Joined;

/// A rendered chain.
///
/// A launch whose first [`args`](Chain::args) word is 1 is a census: it only counts how many workgroups run at once. No other launch may
/// have more workgroups than that, because its workgroups wait for each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chain {
    /// Its text. It binds [`CHAIN_WORDS`] after all slots; its own grid is empty.
    pub shader: Shader,
    /// The grid of each stage, as if it were launched alone.
    pub stages: Vec<Grid>,
}

impl Chain {
    /// The number of workgroups to launch where `at_once` can run at the same time: at most as many as the largest stage has; 0 if there is
    /// no work.
    pub fn groups(&self, sizes: &Sizes, at_once: u32) -> u32 {
        let most = self.stages.iter().map(|stage| stage.all(sizes)).max().unwrap_or(0);
        most.min(u64::from(at_once.max(1))) as u32
    }

    /// The words of `args` for a launch whose kernels have these regions, each a byte offset within its slot and a number of values. `None`
    /// if a region is beyond the range of 32 bits.
    pub fn args<R: IntoIterator<Item = (usize, usize)>>(
        kernels: impl IntoIterator<Item = R>,
    ) -> Option<Vec<u32>> {
        let mut words = vec![0; FIRST_ARGS];
        for regions in kernels {
            words.extend(Shader::args(regions)?);
        }
        Some(words)
    }
}

/// The words of `args` before those of the first kernel: the census flag, and three more that complete a vector of four.
const FIRST_ARGS: usize = 4;

/// A kernel of a chain.
#[derive(Clone, Copy, Debug)]
pub struct Chained<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Its slots in the chain, from [`Joined::slots`].
    pub slots: &'a Slots,
    /// The first of its shaders in the chain. The shaders before it are launched separately.
    pub first_shader: usize,
}

/// Renders verified kernels with their schedules as a chain.
pub(crate) fn render_chain(
    kernels: &[(Chained<'_>, Schedule)],
    max: &Sizes,
    target: &Target,
) -> Result<Chain, Refused> {
    if !target.gpu.features.chains || target.language != Language::Wgsl {
        let why = Why::Form("cannot be in a chain: its workgroups can't wait for each other".into());
        let kernel = kernels.first().map(|(of, _)| of.kernel.name.clone()).unwrap_or_default();
        return Err(Refused { kernel, part: None, why });
    }
    let (mut stages, mut scratch_bytes, mut args) = (Vec::new(), 0, FIRST_ARGS);
    for (Chained { kernel, slots, first_shader }, schedule) in kernels {
        let refused = |(part, why)| Refused { kernel: kernel.name.clone(), part, why };
        let mut job = Job::new(kernel, slots, schedule, max, &target.gpu).map_err(refused)?;
        for step in job.steps().into_iter().skip(*first_shader) {
            job.link = Some(Link { group: group_of(stages.len()), args, taken: VARIABLES });
            let (module, grid, scratch) = job.module(step).map_err(refused)?;
            stages.push((module, grid));
            scratch_bytes = scratch.max(scratch_bytes);
        }
        args += args_words(kernel.params.len());
    }
    let name = || kernels.iter().map(|(of, _)| &*of.kernel.name).collect::<Vec<_>>().join(", ");
    let module = chain_of(&stages, args, &target.gpu);
    let module = module.map_err(|why| Refused { kernel: name(), part: None, why })?;
    let grid = Grid { wide: Grid::wide(target.gpu.groups), parts: Vec::new() };
    let shader = shader(dialect(target), &module, grid, scratch_bytes);
    Ok(Chain { shader, stages: stages.into_iter().map(|(_, grid)| grid).collect() })
}

/// Puts these stages into one module.
fn chain_of(stages: &[(Module, Grid)], args_words: usize, gpu: &Gpu) -> Result<Module, Why> {
    let lanes: BTreeSet<u32> = stages.iter().map(|(module, _)| module.lanes).collect();
    let (1, 1..=MOST_STAGES) = (lanes.len(), stages.len()) else {
        let count = stages.len();
        return Err(Why::Form(format!("cannot be a chain of {count} stages with {lanes:?} lanes")));
    };
    let needed = bound(stages).iter().map(|slot| slot.pieces as usize).sum::<usize>() + 1;
    if needed > gpu.storage_buffers as usize {
        return Err(Why::Buffers { needed, limit: gpu.storage_buffers });
    }
    Ok(chained(stages, args_words))
}
