//! Probes whether a driver rounds element-wise products of cooperative matrices as scalar code does.
//!
//! Vulkan leaves it to drivers whether a product and a sum are one operation with one rounding. Texts rely on it: with two roundings a
//! token would have other bits in a prompt than in a reply. So a text of the same form computes some of each kind both ways, when a GPU is
//! opened. That is evidence, not proof: a driver could choose otherwise in a longer text. Bits of whole models were compared on an H100.

use weft_device::DeviceError;
use wgpu::{BindGroupEntry, BindGroupLayoutEntry, BindingType, BufferBindingType, BufferUsages};

use crate::context::Context;
use crate::pipelines;

/// Sixteen rows of 32 bytes by as many columns, with factors of random bits: `found` is one more than the number of values that differ.
pub(crate) const TEXT: &str = "enable f16;
enable wgpu_cooperative_matrix;
@group(0) @binding(0) var<storage, read_write> found: array<u32>;
var<workgroup> pool: array<u32, 768>;
var<workgroup> pool_of_bytes: array<vec4<f16>, 768>;
var<workgroup> pool_of_floats: array<f32, 768>;

fn weft_mul_values(a: coop_mat16x16<f32, C>, b: coop_mat16x16<f32, C>) -> coop_mat16x16<f32, C> { return a; }
fn weft_mul_rounded(a: coop_mat16x16<f32, C>, b: coop_mat16x16<f32, C>) -> coop_mat16x16<f32, C> { return a; }
fn weft_mul_bytes(a: coop_mat16x16<f16, A>, b: coop_mat16x16<f16, B>) -> coop_mat16x16<f32, C> { return coop_mat16x16<f32, C>(); }

fn hash(n: u32) -> u32 {
  let a = (n + 1u) * 0x9e3779b1u;
  let b = (a ^ (a >> 15u)) * 0x85ebca77u;
  return b ^ (b >> 13u);
}

@compute @workgroup_size(32)
fn main(@builtin(subgroup_id) subgroup: u32, @builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) member: u32) {
  let lane = subgroup * size + member;
  for (var i = lane; i < 384u; i += 32u) {
    pool[i] = hash(i);
  }
  for (var i = 384u + lane; i < 480u; i += 32u) {
    pool[i] = bitcast<u32>(bitcast<f32>((hash(i) >> 9u) | 0x3f800000u) - 1.5f);
  }
  workgroupBarrier();
  let rows = coopLoadT<coop_mat16x16<f16, A>>(&pool_of_bytes[0u], 12u);
  let columns = coopLoad<coop_mat16x16<f16, B>>(&pool_of_bytes[192u], 12u);
  let first = coopLoad<coop_mat16x16<f32, C>>(&pool_of_floats[384u], 0u);
  let d = coopLoad<coop_mat16x16<f32, C>>(&pool_of_floats[400u], 0u);
  let by = coopLoad<coop_mat16x16<f32, C>>(&pool_of_floats[416u], 0u);
  let factor = coopLoad<coop_mat16x16<f32, C>>(&pool_of_floats[432u], 0u);
  let scale = coopLoadT<coop_mat16x16<f32, C>>(&pool_of_floats[448u], 0u);
  let least = coopLoadT<coop_mat16x16<f32, C>>(&pool_of_floats[464u], 0u);
  let dots = weft_mul_bytes(rows, columns);
  var sums = first;
  sums = sums + weft_mul_values(dots, weft_mul_values(scale, d));
  sums = sums + weft_mul_values(least, d);
  sums = weft_mul_rounded(sums, by) + weft_mul_values(dots, factor);
  coopStoreT(sums, &pool_of_floats[512u], 16u);
  workgroupBarrier();
  var wrong = 0u;
  for (var i = lane; i < 256u; i += 32u) {
    let row = i / 16u;
    let column = i % 16u;
    var exact = 0i;
    for (var j = 0u; j < 8u; j += 1u) {
      exact += dot4I8Packed(pool[row * 12u + j], pool[192u + column * 12u + j]);
    }
    let dot = f32(exact);
    let d_of_row = bitcast<f32>(pool[400u + row]);
    var sum = fma(dot, bitcast<f32>(pool[448u + column]) * d_of_row, bitcast<f32>(pool[384u + row]));
    sum = fma(bitcast<f32>(pool[464u + column]), d_of_row, sum);
    sum = fma(dot, bitcast<f32>(pool[432u + row]), sum * bitcast<f32>(pool[416u + row]));
    wrong += select(0u, 1u, bitcast<u32>(sum) != pool[512u + i]);
  }
  workgroupBarrier();
  pool[lane] = wrong;
  workgroupBarrier();
  if (lane == 0u) {
    var all = 1u;
    for (var i = 0u; i < 32u; i += 1u) {
      all += pool[i];
    }
    found[0u] = all;
  }
}
";

/// Lanes of the text.
const LANES: u32 = 32;

/// Whether all values are those of lanes; not if the driver does not take the text.
///
/// # Errors
/// That the GPU was lost or has no memory.
pub(crate) fn multiplies_by_value(context: &Context) -> Result<bool, DeviceError> {
    match differing(context) {
        // A text that did not run leaves 0.
        Ok(found) => Ok(found == 1),
        Err(DeviceError::Refused { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// One more than the number of values that differ.
fn differing(context: &Context) -> Result<u32, DeviceError> {
    const NAME: &str = "a probe";
    let module = pipelines::module_by_spirv(context, NAME, TEXT, ("main", LANES))?;
    let device = &context.device;
    let found = context.checked(NAME, 4, || {
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: None,
            entries: &[BindGroupLayoutEntry {
                binding: 0,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: BindingType::Buffer {
                    ty: BufferBindingType::Storage { read_only: false },
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            }],
        });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(NAME),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let found = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 4,
            usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        let bindings = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &layout,
            entries: &[BindGroupEntry { binding: 0, resource: found.as_entire_binding() }],
        });
        let mut encoder = device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &bindings, &[]);
        pass.dispatch_workgroups(1, 1, 1);
        drop(pass);
        context.queue.submit([encoder.finish()]);
        found
    })?;
    context.word(&found, 0)
}
