//! Compiles shaders. Each text is compiled once, several of them in parallel.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::thread;

use weft_device::DeviceError;
use weft_render::Shader;
use wgpu::{BindGroupLayout, BindGroupLayoutEntry, BindingType, BufferBindingType, ComputePipeline};

use crate::adapter::Adapter;
use crate::context::Context;
use crate::pipeline_cache::CacheFile;

/// Stack of a compiling thread: the parser recurses into expressions.
const STACK: usize = 8 << 20;

/// A compiled shader.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline {
    pub(crate) raw: ComputePipeline,
    pub(crate) layout: BindGroupLayout,
}

/// All shaders compiled so far.
#[derive(Debug)]
pub(crate) struct Pipelines {
    by_text: BTreeMap<String, Pipeline>,
    file: Option<CacheFile>,
    /// Whether new pipelines are kept in the file.
    keeps: bool,
}

impl Pipelines {
    /// None yet. New pipelines are kept in a file of `folder`, if there is a folder and the adapter
    /// has a pipeline cache.
    pub(crate) fn new(context: &Context, adapter: &Adapter, folder: Option<&Path>) -> Pipelines {
        let file = folder.and_then(|folder| CacheFile::open(context, adapter, folder));
        Pipelines { by_text: BTreeMap::new(), file, keeps: true }
    }

    /// Sets whether new pipelines are kept in the file: those that are only tried need not be.
    pub(crate) fn keep(&mut self, keeps: bool) {
        self.keeps = keeps;
    }

    /// The pipeline of a shader that has been [made](Pipelines::make).
    pub(crate) fn get(&self, shader: &Shader) -> Option<&Pipeline> {
        self.by_text.get(&shader.source)
    }

    /// Compiles the shaders that are new, on up to `threads` threads.
    pub(crate) fn make<'s>(
        &mut self,
        context: &Context,
        shaders: impl Iterator<Item = &'s Shader>,
        threads: usize,
    ) -> Result<(), DeviceError> {
        let new: BTreeMap<&str, &Shader> = shaders
            .filter(|shader| !self.by_text.contains_key(&shader.source))
            .map(|shader| (shader.source.as_str(), shader))
            .collect();
        if new.is_empty() {
            return Ok(());
        }
        let cache = self.file.as_ref().filter(|_| self.keeps).map(CacheFile::cache);
        let todo = Mutex::new(new.into_values());
        let made = Mutex::new(Vec::new());
        let work = || {
            // Nothing panics while it holds a lock.
            while let Some(shader) = todo.lock().unwrap_or_else(|e| e.into_inner()).next() {
                let pipeline = build(context, shader, cache);
                made.lock().unwrap_or_else(|e| e.into_inner()).push((shader, pipeline));
            }
        };
        thread::scope(|scope| {
            for _ in 0..threads.max(1) {
                // If threads run out, those there are and this one do the work.
                if thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work).is_err() {
                    break;
                }
            }
        });
        work();
        for (shader, pipeline) in made.into_inner().unwrap_or_else(|e| e.into_inner()) {
            self.by_text.insert(shader.source.clone(), pipeline?);
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
    let Shader { name, source, entry, slots, .. } = shader;
    let device = &context.device;
    let described =
        wgpu::ShaderModuleDescriptor { label: Some(name), source: wgpu::ShaderSource::Wgsl(source.into()) };
    let options = wgpu::PipelineCompilationOptions {
        // Shaders write workgroup memory before they read it.
        zero_initialize_workgroup_memory: false,
        ..Default::default()
    };
    context.checked(&format!("the kernel `{name}`"), 0, || {
        // SAFETY: this leaves out wgpu's checks of indices, loops and divisions. All shaders come
        // from the renderer. It never divides by 0; its loops are bounded by the kernel's constants
        // and the step's sizes; its indices are within their buffers for every program that
        // `Program::verify` accepts and sizes up to the program's, which `compile` and `replay`
        // check; and it clamps indices that come from the step's data.
        let module =
            unsafe { device.create_shader_module_trusted(described, wgpu::ShaderRuntimeChecks::unchecked()) };
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
        Pipeline { raw, layout }
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
