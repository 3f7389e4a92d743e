//! Compiles shaders. Each text is compiled once, several of them in parallel.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use weft_device::DeviceError;
use weft_gpu::CompiledTexts;
use weft_render::Shader;
use wgpu::{BindGroupLayout, BindGroupLayoutEntry, BindingType, BufferBindingType, ComputePipeline};

use crate::adapter::Adapter;
use crate::context::Context;
use crate::given;
use crate::pipeline_cache::CacheFile;
use crate::spirv;

/// A compiled shader.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline {
    pub(crate) raw: ComputePipeline,
    pub(crate) layout: BindGroupLayout,
    /// For a chain, the number of workgroups that run at once, after they have been counted.
    at_once: Arc<OnceLock<u32>>,
}

impl Pipeline {
    /// The workgroups of a chain that run at once, counted by `census` when they are first asked for.
    pub(crate) fn at_once(
        &self,
        census: impl FnOnce() -> Result<u32, DeviceError>,
    ) -> Result<u32, DeviceError> {
        match self.at_once.get() {
            Some(known) => Ok(*known),
            None => {
                let counted = census()?;
                Ok(*self.at_once.get_or_init(|| counted))
            }
        }
    }
}

/// All shaders compiled so far.
#[derive(Debug)]
pub(crate) struct Pipelines {
    texts: CompiledTexts<Pipeline>,
    file: Option<CacheFile>,
    /// Whether new pipelines are kept in the file.
    keeps: bool,
}

impl Pipelines {
    /// None yet. New pipelines are kept in a file of `folder`, if there is a folder and the adapter
    /// has a pipeline cache.
    pub(crate) fn new(context: &Context, adapter: &Adapter, folder: Option<&Path>) -> Pipelines {
        let file = folder.and_then(|folder| CacheFile::open(context, adapter, folder));
        Pipelines { texts: CompiledTexts::default(), file, keeps: true }
    }

    /// Sets whether new pipelines are kept in the file: those that are only tried need not be.
    pub(crate) fn keep(&mut self, keeps: bool) {
        self.keeps = keeps;
    }

    /// The pipeline of a shader that has been [made](Pipelines::make).
    pub(crate) fn get(&self, shader: &Shader) -> Option<&Pipeline> {
        self.texts.get(shader)
    }

    /// Compiles the shaders that are new, on up to `threads` threads.
    pub(crate) fn make<'s>(
        &mut self,
        context: &Context,
        shaders: impl Iterator<Item = &'s Shader>,
        threads: usize,
    ) -> Result<(), DeviceError> {
        let cache = self.file.as_ref().filter(|_| self.keeps).map(CacheFile::cache);
        if !self.texts.make(shaders, threads, |shader| build(context, shader, cache))? {
            return Ok(());
        }
        if let Some(file) = self.file.as_mut().filter(|_| self.keeps) {
            file.write();
        }
        Ok(())
    }
}

fn build(
    context: &Context,
    shader: &Shader,
    cache: Option<&wgpu::PipelineCache>,
) -> Result<Pipeline, DeviceError> {
    let Shader { name, source, entry, slots, given, needs_spirv, .. } = shader;
    let device = &context.device;
    let described =
        wgpu::ShaderModuleDescriptor { label: Some(name), source: wgpu::ShaderSource::Wgsl(source.into()) };
    let options = wgpu::PipelineCompilationOptions {
        // Workgroup memory that rendered shaders read before they write it affects no result: it only fills up cooperative matrices.
        zero_initialize_workgroup_memory: given.is_some(),
        ..Default::default()
    };
    let module = match given {
        Some(place) => given::module(context, shader, place)?,
        None if *needs_spirv => module_by_spirv(context, name, source, (entry, shader.lanes))?,
        None => context.checked(&format!("the kernel `{name}`"), 0, || {
            // SAFETY: this leaves out wgpu's checks of indices, loops and divisions. All shaders that nobody gave come
            // from the renderer. It never divides by 0; its loops are bounded by the kernel's constants
            // and the step's sizes; its indices are within their buffers for every program that
            // `Program::verify` accepts and sizes up to the program's, which `compile` and `replay`
            // check; and it clamps indices that come from the step's data.
            unsafe { device.create_shader_module_trusted(described, wgpu::ShaderRuntimeChecks::unchecked()) }
        })?,
    };
    let built = context.checked(&format!("the kernel `{name}`"), 0, || {
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: None,
            entries: &entries(slots),
        });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let raw = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(name),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some(entry),
            compilation_options: options,
            cache,
        });
        Pipeline { raw, layout, at_once: Arc::default() }
    });
    match (built, given) {
        // A user's text that wgpu refuses is not a bug in Weft.
        (Err(DeviceError::Refused { why, .. }), Some(place)) => {
            Err(given::error(context, shader, place, 0, &why))
        }
        (built, _) => built,
    }
}

/// The module of a text that says of cooperative matrices what WGSL has no words for, with the name of its entry point and its lanes.
pub(crate) fn module_by_spirv(
    context: &Context,
    name: &str,
    source: &str,
    (entry, lanes): (&str, u32),
) -> Result<wgpu::ShaderModule, DeviceError> {
    let what = format!("the kernel `{name}`");
    let words = spirv::compile(source, entry).map_err(|why| context.refused(&what, &why))?;
    let described = wgpu::ShaderModuleDescriptorPassthrough {
        label: Some(name),
        entry_points: vec![wgpu::PassthroughShaderEntryPoint {
            name: entry.into(),
            workgroup_size: (lanes, 1, 1),
        }]
        .into(),
        spirv: Some(words.into()),
        ..Default::default()
    };
    context.checked(&what, 0, || {
        // SAFETY: the words are naga's, of a text of the renderer's or the probe's, compiled without checks as other texts of the renderer
        // are, for the same reasons. What was put in names the same places of the pool as the text does, within its words, at multiples of
        // 16 bytes from its beginning, and all lanes of a subgroup get there. Its bindings are those that the layout has.
        unsafe { context.device.create_shader_module_passthrough(described) }
    })
}

/// The layout of the bindings: `args`, `sizes`, and then the slots.
fn entries(slots: &[bool]) -> Vec<BindGroupLayoutEntry> {
    let uniform = [BufferBindingType::Uniform; 2];
    let storage = slots.iter().map(|written| BufferBindingType::Storage { read_only: !written });
    let all = uniform.into_iter().chain(storage).enumerate();
    all.map(|(binding, ty)| BindGroupLayoutEntry {
        binding: binding as u32,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
        count: None,
    })
    .collect()
}
