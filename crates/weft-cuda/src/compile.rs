//! From a program to a graph: renders kernels, compiles texts, binds launches.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_device::{BufferId, DeviceError, Program};
use weft_gpu::{Binds, Render, ScratchBytes, slots};
use weft_kern::Sizes;
use weft_render::{Grid, Shader};

use crate::buffers::Buffers;
use crate::clock::Clock;
use crate::cubins::Cubins;
use crate::driver::{Context, DeviceMemory, Failure, Graph, Node};
use crate::error::error;

/// The argument of every kernel that holds the step's sizes.
const SIZES: usize = 1;

/// A program, ready to run.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) max: Sizes,
    /// The launches of the graph, in order.
    nodes: Vec<Node>,
    /// The parameters of each node that depend on a step's sizes.
    sized: Vec<Sized>,
    /// The number of nodes of each launch of the program.
    per_launch: Vec<usize>,
    graph: Graph,
    /// The sizes that the graph was updated for.
    sizes: Sizes,
    /// Whether an update failed, so that the graph is for no sizes.
    stale: bool,
    /// Made when timings are first asked for.
    clock: Option<Clock>,
    /// The scratch memories that the nodes of a launch share.
    _scratch: Vec<DeviceMemory>,
}

/// The parameters of a node that depend on a step's sizes.
#[derive(Debug)]
struct Sized {
    grid: Grid,
    /// The sizes that its text reads.
    reads: [bool; 4],
}

/// Verifies a program, renders its kernels, compiles them on `threads` threads, and builds its graph.
pub(crate) fn compile(
    context: &Arc<Context>,
    device: &str,
    program: &Program,
    buffers: &Buffers,
    (binds, render): (Binds, Render<'_>),
    cubins: &mut Cubins,
    threads: usize,
) -> Result<Compiled, DeviceError> {
    program.verify(|id| buffers.get(id).map(|buffer| buffer.bytes))?;
    let layout = |id: BufferId| buffers[id].weight;
    let shaders = weft_gpu::render(device, program, layout, binds, render)?;
    cubins.make(context, device, shaders.iter().flat_map(|shaders| &**shaders), threads)?;

    let mut scratch_bytes = ScratchBytes::default();
    for (launch, shaders) in program.launches.iter().zip(&shaders) {
        shaders.iter().for_each(|shader| scratch_bytes.add(launch.kernel, shader));
    }
    let mut scratch = BTreeMap::new();
    for (of, bytes) in scratch_bytes.iter() {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let allocated = DeviceMemory::zeroed(context, bytes);
        scratch.insert(of, allocated.map_err(|failure| error(device, "scratch memory", bytes, &failure))?);
    }
    let (mut nodes, mut sized, mut per_launch) = (Vec::new(), Vec::new(), Vec::new());
    for (index, (launch, shaders)) in program.launches.iter().zip(&shaders).enumerate() {
        per_launch.push(shaders.len());
        for shader in &**shaders {
            let fail = |why: &str| DeviceError::Program {
                launch: index,
                kernel: shader.name.clone(),
                why: why.into(),
            };
            let function = cubins.get(shader).ok_or_else(|| fail("is not compiled"))?.clone();
            let regions = launch.args.iter().map(|region| (region.offset, region.values));
            let args = Shader::args(regions).ok_or_else(|| fail("lies beyond what 32 bits can count"))?;
            let (_, bound) = slots(program, index, |id| Some(layout(id)?.pieces), binds);
            let bound = bound.iter().map(|id| &buffers[*id].memory);
            let scratch = scratch.get(&ScratchBytes::of(launch.kernel, shader));
            let bound = bound.chain(scratch.filter(|_| shader.scratch_bytes > 0));
            let mut node_args = vec![words(&args), words(&Shader::sizes(&program.max))];
            node_args.extend(bound.map(|memory| vec![memory.address()]));
            nodes.push(Node {
                function,
                args: node_args,
                grid: shader.grid.groups(&program.max),
                lanes: shader.lanes,
                dynamic_bytes: shader.dynamic_bytes(),
                early: shader.dependent,
            });
            sized.push(Sized { grid: shader.grid.clone(), reads: shader.sizes_read });
        }
    }
    let graph = Graph::new(context, &nodes, &[]);
    let graph = graph.map_err(|failure| error(device, "a program", 0, &failure))?;
    Ok(Compiled {
        max: program.max,
        nodes,
        sized,
        per_launch,
        graph,
        sizes: program.max,
        stale: false,
        clock: None,
        _scratch: scratch.into_values().collect(),
    })
}

/// 32-bit words, two in each number, as they lie in memory.
fn words(words: &[u32]) -> Vec<u64> {
    let two = |pair: &[u32]| {
        let [low, high] = [0, 1].map(|i| u64::from(pair.get(i).copied().unwrap_or(0)));
        low | high << 32
    };
    words.chunks(2).map(two).collect()
}

impl Compiled {
    /// Prepares the graph for a step of these sizes. Only launches that changed since the last step are updated.
    fn resize(&mut self, sizes: &Sizes) -> Result<(), Failure> {
        if *sizes == self.sizes && !self.stale {
            return Ok(());
        }
        let all = std::mem::replace(&mut self.stale, true);
        let (now, before) = (Shader::sizes(sizes), Shader::sizes(&self.sizes));
        for (at, (node, sized)) in self.nodes.iter_mut().zip(&self.sized).enumerate() {
            let grid = sized.grid.groups(sizes);
            let mut changed = now.iter().zip(&before).map(|(now, before)| now != before);
            if all
                || grid != node.grid
                || sized.reads.iter().any(|reads| changed.next() == Some(true) && *reads)
            {
                node.grid = grid;
                for (to, pair) in node.args[SIZES].iter_mut().zip(now.as_chunks::<2>().0) {
                    *to = u64::from(pair[0]) | u64::from(pair[1]) << 32;
                }
                self.graph.update(at, node)?;
            }
        }
        (self.sizes, self.stale) = (*sizes, false);
        Ok(())
    }

    /// The number of launches of the program.
    pub(crate) fn launches(&self) -> usize {
        self.per_launch.len()
    }

    /// Launches a step of these sizes.
    pub(crate) fn launch(&mut self, sizes: &Sizes) -> Result<(), Failure> {
        self.resize(sizes)?;
        self.graph.launch()
    }

    /// Launches a step of these sizes with a clock, and waits for it. `record` receives each launch that ran, with the
    /// nanoseconds from the beginning of the step to its own beginning and end.
    pub(crate) fn launch_timed(
        &mut self,
        context: &Arc<Context>,
        sizes: &Sizes,
        record: &mut dyn FnMut(usize, u64, u64),
    ) -> Result<(), Failure> {
        self.resize(sizes)?;
        let clock = match self.clock.take().filter(|clock| clock.sizes == *sizes) {
            Some(clock) => clock,
            None => Clock::new(context, &self.nodes, *sizes)?,
        };
        let marks = self.clock.insert(clock).run(context)?;
        let mut first = 0;
        for (launch, count) in self.per_launch.iter().enumerate() {
            let nodes = first..first + count;
            if self.nodes[nodes.clone()].iter().any(|node| node.grid[0] > 0) {
                record(launch, marks[nodes.start], marks[nodes.end]);
            }
            first = nodes.end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn words_lie_in_memory_as_they_were() {
        assert_eq!(words(&[1, 2, 3]), [1 | 2 << 32, 3]);
        assert_eq!(words(&[]), [0u64; 0]);
    }
}
