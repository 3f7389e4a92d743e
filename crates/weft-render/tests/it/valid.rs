//! Checks shaders with naga, which wgpu uses to translate them.

use naga::back::msl;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy, Layouter};
use naga::valid::{Capabilities, ValidationFlags, Validator};
use naga::{AddressSpace, Module, ShaderStage, StorageAccess};
use weft_render::{Gpu, Language, Shader, Target};

/// Adapters of five kinds: a large card, the same with the schedules of a large GPU, the least that WebGPU promises, Apple's, and a large
/// card with cooperative matrices.
pub(super) fn adapters() -> [Target; 5] {
    let card = Gpu {
        invocations: 1024,
        shared_bytes: 48 << 10,
        storage_buffers: 64,
        binding_bytes: 4 << 30,
        piece_bytes: 4 << 30,
        subgroup: Some(32),
        f16: true,
        dot4: true,
        word_stores: true,
        ..Gpu::webgpu()
    };
    let cooperative = card.clone().with_tiles().with(|features| {
        (features.cooperative, features.cooperative_values) = (true, true);
    });
    let all = [card.clone(), card.with_tiles(), Gpu::webgpu(), Gpu::apple(), cooperative];
    all.map(|gpu| Target { language: Language::Wgsl, gpu })
}

/// The large card, with workgroups that can wait for each other.
pub(super) fn with_chains() -> Target {
    let [_, large, ..] = adapters();
    Target { gpu: large.gpu.with(|features| features.chains = true), ..large }
}

/// Parses, validates and translates a shader, as wgpu does for Metal.
pub(super) fn validate(shader: &Shader, target: &Target) {
    let fail = |what: &str, why: String| panic!("{}: {what}: {why}\n{}", shader.name, shader.source);
    let module = match naga::front::wgsl::parse_str(&shader.source) {
        Ok(module) => module,
        Err(error) => return fail("parsing", error.emit_to_string(&shader.source)),
    };
    // Halves are unpacked with it. Every adapter of Vulkan and Metal has it.
    let mut capabilities = Capabilities::SHADER_FLOAT16_IN_FLOAT32;
    capabilities.set(Capabilities::SUBGROUP, target.gpu.subgroup.is_some());
    let cooperates = Capabilities::COOPERATIVE_MATRIX
        .union(Capabilities::SHADER_FLOAT16)
        .union(Capabilities::SUBGROUP_BARRIER);
    capabilities.set(cooperates, target.gpu.features.cooperative);
    capabilities.set(Capabilities::MEMORY_DECORATION_COHERENT, target.gpu.features.chains);
    let info = match Validator::new(ValidationFlags::all(), capabilities).validate(&module) {
        Ok(info) => info,
        Err(error) => return fail("validation", error.emit_to_string(&shader.source)),
    };
    let shared = metal_shared_bytes(&module);
    assert!(shared <= target.gpu.shared_bytes, "{}: {shared} bytes of memory in Metal", shader.name);
    // Metal's matrices are smaller, and it has no chains.
    if shader.source.contains("coopLoad") || target.gpu.features.chains {
        return;
    }
    // The language versions of macOS 12 and 26.
    for lang_version in [(2, 4), (4, 0)] {
        let options = metal_options(&module, lang_version);
        let pipeline = msl::PipelineOptions {
            entry_point: Some((ShaderStage::Compute, shader.entry.clone())),
            vertex_pulling_transform: true,
            ..Default::default()
        };
        let (text, info) = match msl::write_string(&module, &info, &options, &pipeline) {
            Ok(done) => done,
            Err(error) => return fail("translation", error.to_string()),
        };
        if let Some(Err(error)) = info.entry_point_names.first() {
            fail("binding", error.to_string());
        }
        assert!(text.contains("kernel void"), "{}: no kernel in\n{text}", shader.name);
        let slots = text.matches("[[buffer(").count();
        assert!(slots <= METAL_SLOTS, "{}: {slots} buffers in\n{text}", shader.name);
    }
}

/// Metal's slots for the buffers of a kernel.
const METAL_SLOTS: usize = 31;

/// The options with which wgpu-hal 30 translates for Metal, without its own checks: each buffer of group 0 in the next slot, and one more
/// for the sizes of buffers.
fn metal_options(module: &Module, lang_version: (u8, u8)) -> msl::Options {
    let mut resources = msl::EntryPointResources::default();
    let mut slot = 0;
    let bindings =
        module.global_variables.iter().filter_map(|(_, variable)| Some((variable, variable.binding?)));
    for (variable, binding) in bindings {
        let mutable = matches!(variable.space, AddressSpace::Storage { access } if access.contains(StorageAccess::STORE));
        let target = msl::BindTarget { buffer: Some(slot), mutable, ..Default::default() };
        resources.resources.insert(binding, target);
        slot += 1;
    }
    resources.sizes_buffer = Some(slot);
    msl::Options {
        lang_version,
        per_entry_point_map: [("main".to_string(), resources)].into_iter().collect(),
        spirv_cross_compatibility: false,
        fake_missing_bindings: false,
        bounds_check_policies: BoundsCheckPolicies {
            index: BoundsCheckPolicy::Unchecked,
            buffer: BoundsCheckPolicy::Unchecked,
            image_load: BoundsCheckPolicy::Unchecked,
            binding_array: BoundsCheckPolicy::Unchecked,
        },
        zero_initialize_workgroup_memory: false,
        force_loop_bounding: false,
        emit_int_div_checks: false,
        ..Default::default()
    }
}

/// Bytes of workgroup memory of a shader in Metal.
pub(super) fn metal_bytes(shader: &Shader) -> u32 {
    metal_shared_bytes(&naga::front::wgsl::parse_str(&shader.source).unwrap())
}

/// Bytes of workgroup memory of a parsed shader: wgpu-hal rounds each variable up to 16.
fn metal_shared_bytes(module: &Module) -> u32 {
    let mut layouter = Layouter::default();
    layouter.update(module.to_ctx()).unwrap();
    let variables = module.global_variables.iter().map(|(_, variable)| variable);
    // Aliases of the pool take no memory.
    let is_pool = |name: &Option<String>| name.as_ref().is_some_and(|name| name.starts_with("pool_of_"));
    let shared =
        variables.filter(|variable| variable.space == AddressSpace::WorkGroup && !is_pool(&variable.name));
    shared.map(|variable| layouter[variable.ty].size.next_multiple_of(16)).sum()
}
