//! From a program to launches that can be encoded: renders kernels, compiles shaders, binds
//! buffers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use weft_device::{BufferId, DeviceError, KernelLaunch, Program};
use weft_gpu::{Binds, Scheduler, ScratchBytes, Unit, UnitText, apart, chains, slots};
use weft_kern::Sizes;
use weft_render::{Chain, Grid, Shader, Slots};

use crate::buffers::{self, Buffers};
use crate::canary::Canary;
use crate::census::census;
use crate::clock::Clock;
use crate::context::Context;
use crate::pipelines::{Pipeline, Pipelines};
use crate::segments::segments;

/// A program, ready to run.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) max: Sizes,
    /// One for each launch of the program, or for each chain of them.
    pub(crate) launches: Vec<Launch>,
    /// If there are chains, the same with each launch separate.
    pub(crate) apart: Option<Box<Apart>>,
    /// The step's sizes, which every dispatch reads.
    pub(crate) sizes: wgpu::Buffer,
    /// Made when timings are first asked for.
    pub(crate) clock: Option<Clock>,
    /// The launches of each submission.
    pub(crate) segments: Vec<Range<usize>>,
    /// The submissions of the next step, encoded while the last one ran; they are valid for steps
    /// with the same workgroups as `encoded_for`.
    pub(crate) next: Vec<wgpu::CommandBuffer>,
    pub(crate) encoded_for: Option<Sizes>,
    /// The contents of `sizes`.
    pub(crate) sizes_written: Option<Sizes>,
}

/// A program with chains as it is without them: launches of a chain can only be timed together.
#[derive(Debug)]
pub(crate) struct Apart {
    pub(crate) program: Program,
    /// The schedules that it was compiled with.
    pub(crate) scheduler: Scheduler,
    /// Made when timings are first asked for.
    pub(crate) compiled: Option<Compiled>,
}

/// A launch: its kernel's shaders, dispatched one after another.
pub(crate) type Launch = Vec<Dispatch>;

/// A dispatch of a shader.
#[derive(Debug)]
pub(crate) struct Dispatch {
    pub(crate) pipeline: wgpu::ComputePipeline,
    pub(crate) bindings: wgpu::BindGroup,
    pub(crate) groups: Groups,
}

/// How many workgroups a dispatch has.
#[derive(Debug)]
pub(crate) enum Groups {
    Grid(Grid),
    /// The workgroups of a chain, and the number of them that run at once.
    Chain(Arc<Chain>, u32),
}

impl Groups {
    /// Workgroups along the three axes in a step of these sizes; all are 0 if there is nothing to do.
    pub(crate) fn of(&self, sizes: &Sizes) -> [u32; 3] {
        match self {
            Groups::Grid(grid) => grid.groups(sizes),
            Groups::Chain(chain, at_once) => match chain.groups(sizes, *at_once) {
                0 => [0; 3],
                groups => [groups, 1, 1],
            },
        }
    }
}

/// Verifies a program, renders and compiles its kernels with these schedules, and binds its launches. Where that is possible, several
/// become one if they may be `chained`.
pub(crate) fn compile(
    (context, canary): (&Context, &Canary),
    (program, scheduler): (&Program, &Scheduler),
    buffers: &Buffers,
    chained: bool,
    pipelines: &mut Pipelines,
    threads: usize,
) -> Result<Compiled, DeviceError> {
    pipelines.keep(!scheduler.renderer.is_trying());
    program.verify(|id| buffers.get(id).map(|buffer| buffer.bytes))?;
    let layout = |id: BufferId| buffers[id].weight;
    let one = |kernel: usize, slots: &Slots| scheduler.shaders(&program.kernels[kernel], slots, &program.max);
    let rendered = weft_gpu::render(&context.name, program, layout, Binds::WGSL, &one)?;
    let units = match chained {
        true => {
            let pieces = |id: BufferId| Some(buffers[id].weight?.pieces);
            chains(program, &rendered, |at| slots(program, at, pieces, Binds::WGSL), scheduler)
        }
        false => apart(&rendered),
    };
    pipelines.make(context, units.iter().flat_map(shaders), threads)?;
    prepare((context, canary), (program, scheduler), &units, buffers, pipelines)
}

/// The shaders of a unit.
fn shaders(unit: &Unit) -> &[Shader] {
    match &unit.text {
        UnitText::Shaders(shaders) => shaders,
        UnitText::Chain(chain, _) => std::slice::from_ref(&chain.shader),
    }
}

/// Binds the buffers of each unit; the pipelines must have been made.
pub(crate) fn prepare(
    (context, canary): (&Context, &Canary),
    (program, scheduler): (&Program, &Scheduler),
    units: &[Unit],
    buffers: &Buffers,
    pipelines: &Pipelines,
) -> Result<Compiled, DeviceError> {
    let fail = |unit: &Unit, why: &str| {
        let kernel = shaders(unit).first().map(|shader| shader.name.clone()).unwrap_or_default();
        DeviceError::Program { launch: unit.launches.start, kernel, why: why.into() }
    };
    let mut scratch = ScratchBytes::default();
    let (mut args, mut starts, mut bytes) = (Vec::new(), Vec::new(), 0);
    let align = context.device.limits().min_uniform_buffer_offset_alignment.max(4) as usize;
    for unit in units {
        let kernel = program.launches[unit.launches.start].kernel;
        shaders(unit).iter().for_each(|shader| scratch.add(kernel, shader));
        let words = args_of(program, unit).ok_or_else(|| fail(unit, "lies beyond what 32 bits can count"))?;
        starts.push(bytes);
        bytes = (bytes + 4 * words.len()).next_multiple_of(align);
        args.push(words);
    }
    let binder = Binder::new(context, program, &scratch, bytes)?;
    let launch = |(unit, (args, start)): (&Unit, (&Vec<u32>, &usize))| {
        let kernel = program.launches[unit.launches.start].kernel;
        let bound = buffers_of(program, unit, buffers);
        let dispatch = |shader: &Shader| {
            let pipeline = pipelines.get(shader).ok_or_else(|| fail(unit, "is not compiled"))?;
            let bound = bound.iter().flat_map(|id| buffers[*id].memory.pieces());
            let scratch = binder.scratch.get(&ScratchBytes::of(kernel, shader));
            let bound = bound.chain(scratch.filter(|_| shader.scratch_bytes > 0));
            let args = (*start, &args[..]);
            let (bindings, groups) = match &unit.text {
                UnitText::Shaders(_) => {
                    (binder.bind(args, pipeline, bound)?, Groups::Grid(shader.grid.clone()))
                }
                UnitText::Chain(chain, _) => {
                    let bindings = binder.bind(args, pipeline, bound.chain([canary.buffer()]))?;
                    let at_once = pipeline.at_once(|| {
                        let ask = |yes| binder.write(*start, &[u32::from(yes)]);
                        census((context, canary), &pipeline.raw, &bindings, ask)
                    })?;
                    let at_once = if context.one_group { 1 } else { at_once };
                    (bindings, Groups::Chain(Arc::clone(chain), at_once))
                }
            };
            Ok(Dispatch { pipeline: pipeline.raw.clone(), bindings, groups })
        };
        shaders(unit).iter().map(dispatch).collect()
    };
    let launches = units.iter().zip(args.iter().zip(&starts)).map(launch);
    let launches = launches.collect::<Result<Vec<_>, DeviceError>>()?;
    let is_chained = units.iter().any(|unit| matches!(unit.text, UnitText::Chain(..)));
    let apart = is_chained.then(|| {
        let (program, scheduler) = (program.clone(), scheduler.clone());
        Box::new(Apart { program, scheduler, compiled: None })
    });
    let whole = std::iter::once(0..units.len()).collect();
    Ok(Compiled {
        max: program.max,
        launches,
        apart,
        sizes: binder.sizes,
        segments: if is_chained { whole } else { segments(program, context.limited.as_ref()) },
        clock: None,
        next: Vec::new(),
        encoded_for: None,
        sizes_written: None,
    })
}

/// The buffers that a unit binds, but for those of scratch memory and of counts.
fn buffers_of(program: &Program, unit: &Unit, buffers: &Buffers) -> Vec<BufferId> {
    match &unit.text {
        UnitText::Chain(_, bound) => bound.clone(),
        UnitText::Shaders(_) => {
            let pieces = |id: BufferId| Some(buffers[id].weight?.pieces);
            slots(program, unit.launches.start, pieces, Binds::WGSL).1
        }
    }
}

/// The words of a unit's `args`.
fn args_of(program: &Program, unit: &Unit) -> Option<Vec<u32>> {
    let regions =
        |launch: &KernelLaunch| launch.args.iter().map(|region| (region.offset, region.values)).collect();
    let mut all = program.launches[unit.launches.clone()].iter().map(regions);
    match &unit.text {
        UnitText::Shaders(_) => Shader::args(all.next().unwrap_or_else(Vec::new)),
        UnitText::Chain(..) => Chain::args(all),
    }
}

/// Binds the launches of a program.
struct Binder<'a> {
    context: &'a Context,
    sizes: wgpu::Buffer,
    /// The `args` of all launches, one after another.
    args: wgpu::Buffer,
    /// The scratch memories that the shaders of a launch share, if any do. Launches run one after
    /// another.
    scratch: BTreeMap<Option<usize>, wgpu::Buffer>,
}

impl<'a> Binder<'a> {
    /// With room for this many bytes of `args`.
    fn new(
        context: &'a Context,
        program: &Program,
        scratch: &ScratchBytes,
        args: usize,
    ) -> Result<Binder<'a>, DeviceError> {
        let uniform = |bytes: usize| {
            let described = wgpu::BufferDescriptor {
                label: None,
                size: bytes as u64,
                usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            };
            context.checked("arguments", bytes, || context.device.create_buffer(&described))
        };
        let made = |(of, bytes): (Option<usize>, u64)| {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            Ok((of, buffers::create(context, bytes, usize::MAX)?))
        };
        Ok(Binder {
            context,
            sizes: uniform(size_of_val(&Shader::sizes(&program.max)))?,
            args: uniform(args.max(16))?,
            scratch: scratch.iter().map(made).collect::<Result<_, DeviceError>>()?,
        })
    }

    /// Writes words of `args`, from byte `start` on.
    fn write(&self, start: usize, words: &[u32]) -> Result<(), DeviceError> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.context.checked("the arguments of a kernel", 0, || {
            self.context.queue.write_buffer(&self.args, start as u64, &bytes);
        })
    }

    /// Binds a launch, whose `args` begin at a byte.
    fn bind<'b>(
        &'b self,
        (start, args): (usize, &[u32]),
        pipeline: &Pipeline,
        buffers: impl Iterator<Item = &'b wgpu::Buffer>,
    ) -> Result<wgpu::BindGroup, DeviceError> {
        self.write(start, args)?;
        let size = std::num::NonZeroU64::new(4 * args.len() as u64);
        let args = wgpu::BufferBinding { buffer: &self.args, offset: start as u64, size };
        let resources = [wgpu::BindingResource::Buffer(args), self.sizes.as_entire_binding()]
            .into_iter()
            .chain(buffers.map(wgpu::Buffer::as_entire_binding));
        let entries = resources.enumerate();
        let entries: Vec<wgpu::BindGroupEntry<'_>> = entries
            .map(|(binding, resource)| wgpu::BindGroupEntry { binding: binding as u32, resource })
            .collect();
        let device = &self.context.device;
        self.context.checked("the arguments of a kernel", 0, || {
            let layout = &pipeline.layout;
            device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries })
        })
    }
}
