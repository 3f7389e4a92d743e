//! From a program to launches that can be encoded: renders kernels, compiles shaders, binds
//! buffers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use weft_device::{BufferId, DeviceError, KernelLaunch, Program};
use weft_gpu::{Binds, Render, ScratchBytes, slots};
use weft_kern::Sizes;
use weft_render::{Grid, Shader, args_words};

use crate::buffers::{self, Buffers};
use crate::clock::Clock;
use crate::context::Context;
use crate::pipelines::{Pipeline, Pipelines};
use crate::segments::segments;

/// A program, ready to run.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) max: Sizes,
    /// One for each launch of the program.
    pub(crate) launches: Vec<Launch>,
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

/// A launch: its kernel's shaders, dispatched one after another.
pub(crate) type Launch = Vec<Dispatch>;

/// A dispatch of a shader.
#[derive(Debug)]
pub(crate) struct Dispatch {
    pub(crate) pipeline: wgpu::ComputePipeline,
    pub(crate) bindings: wgpu::BindGroup,
    pub(crate) grid: Grid,
}

/// Verifies a program, renders and compiles its kernels, and binds its launches.
pub(crate) fn compile(
    context: &Context,
    program: &Program,
    buffers: &Buffers,
    render: Render<'_>,
    pipelines: &mut Pipelines,
    threads: usize,
) -> Result<Compiled, DeviceError> {
    program.verify(|id| buffers.get(id).map(|buffer| buffer.bytes))?;
    let layout = |id: BufferId| buffers[id].weight;
    let shaders = weft_gpu::render(&context.name, program, layout, Binds::WGSL, render)?;
    pipelines.make(context, shaders.iter().flat_map(|shaders| &**shaders), threads)?;
    prepare(context, program, &shaders, buffers, pipelines)
}

/// Binds the buffers of each launch; the pipelines must have been made.
pub(crate) fn prepare(
    context: &Context,
    program: &Program,
    shaders: &[Arc<[Shader]>],
    buffers: &Buffers,
    pipelines: &Pipelines,
) -> Result<Compiled, DeviceError> {
    let mut scratch = ScratchBytes::default();
    for (launch, shaders) in program.launches.iter().zip(shaders) {
        shaders.iter().for_each(|shader| scratch.add(launch.kernel, shader));
    }
    let binder = Binder::new(context, program, &scratch)?;
    let dispatch = |(index, launch): (usize, &KernelLaunch), shader: &Shader| {
        let fail = |why: &str| {
            let kernel = shader.name.clone();
            DeviceError::Program { launch: index, kernel, why: why.into() }
        };
        let pipeline = pipelines.get(shader).ok_or_else(|| fail("is not compiled"))?;
        let args = shader
            .args(launch.args.iter().map(|region| (region.offset, region.values)))
            .ok_or_else(|| fail("lies beyond what 32 bits can count"))?;
        let pieces = |id: BufferId| Some(buffers[id].weight?.pieces);
        let (_, bound) = slots(program, index, pieces, Binds::WGSL);
        let bound = bound.iter().flat_map(|id| buffers[*id].memory.pieces());
        let scratch = binder.scratch.get(&ScratchBytes::of(launch.kernel, shader));
        let scratch = scratch.filter(|_| shader.scratch_bytes > 0);
        let bindings = binder.bind(index, pipeline, &args, bound.chain(scratch))?;
        Ok(Dispatch { pipeline: pipeline.raw.clone(), bindings, grid: shader.grid.clone() })
    };
    let launches = program.launches.iter().enumerate().zip(shaders);
    let launches =
        launches.map(|(launch, shaders)| shaders.iter().map(|shader| dispatch(launch, shader)).collect());
    let launches = launches.collect::<Result<Vec<_>, DeviceError>>()?;
    Ok(Compiled {
        max: program.max,
        launches,
        sizes: binder.sizes,
        segments: segments(program, context.limited.as_ref()),
        clock: None,
        next: Vec::new(),
        encoded_for: None,
        sizes_written: None,
    })
}

/// Binds the launches of a program.
struct Binder<'a> {
    context: &'a Context,
    sizes: wgpu::Buffer,
    /// The `args` of all launches, one after another.
    args: wgpu::Buffer,
    /// Bytes between the `args` of two launches.
    apart: usize,
    /// The scratch memories that the shaders of a launch share, if any do. Launches run one after
    /// another.
    scratch: BTreeMap<Option<usize>, wgpu::Buffer>,
}

impl<'a> Binder<'a> {
    fn new(
        context: &'a Context,
        program: &Program,
        scratch: &ScratchBytes,
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
        let params = program.kernels.iter().map(|kernel| kernel.params.len()).max().unwrap_or(0);
        let align = context.device.limits().min_uniform_buffer_offset_alignment as usize;
        let apart = (4 * args_words(params)).next_multiple_of(align.max(4));
        Ok(Binder {
            context,
            sizes: uniform(size_of_val(&Shader::sizes(&program.max)))?,
            args: uniform(apart * program.launches.len().max(1))?,
            apart,
            scratch: scratch.iter().map(made).collect::<Result<_, DeviceError>>()?,
        })
    }

    /// Binds launch `i`.
    fn bind<'b>(
        &'b self,
        i: usize,
        pipeline: &Pipeline,
        args: &[u32],
        buffers: impl Iterator<Item = &'b wgpu::Buffer>,
    ) -> Result<wgpu::BindGroup, DeviceError> {
        let words: Vec<u8> = args.iter().flat_map(|word| word.to_le_bytes()).collect();
        let offset = (i * self.apart) as u64;
        let size = std::num::NonZeroU64::new(words.len() as u64);
        let args = wgpu::BufferBinding { buffer: &self.args, offset, size };
        let resources = [wgpu::BindingResource::Buffer(args), self.sizes.as_entire_binding()]
            .into_iter()
            .chain(buffers.map(wgpu::Buffer::as_entire_binding));
        let entries = resources.enumerate();
        let entries: Vec<wgpu::BindGroupEntry<'_>> = entries
            .map(|(binding, resource)| wgpu::BindGroupEntry { binding: binding as u32, resource })
            .collect();
        let Context { device, queue, .. } = self.context;
        self.context.checked("the arguments of a kernel", 0, || {
            queue.write_buffer(&self.args, offset, &words);
            let layout = &pipeline.layout;
            device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries })
        })
    }
}
