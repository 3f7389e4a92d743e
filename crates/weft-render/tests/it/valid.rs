//! Shaders held against naga.

use naga::back::msl;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use weft_render::{Language, Limits, Shader, Target};

/// Adapters of two kinds: a large card, and the least that WebGPU promises.
pub(super) fn adapters() -> [Target; 2] {
    let large = Limits {
        invocations: 1024,
        shared_bytes: 48 << 10,
        groups: 65_535,
        storage_buffers: 64,
        binding_bytes: 4 << 30,
        subgroup: Some(32),
        f16: true,
        dot4: true,
        matrix: false,
        matrix_halves: false,
        most_shared_bytes: 0,
        quads: false,
        early_words: 0,
        processors: 0,
        dependent_launch: false,
    };
    let least = Limits {
        invocations: 256,
        shared_bytes: 16 << 10,
        storage_buffers: 10,
        binding_bytes: 128 << 20,
        subgroup: None,
        f16: false,
        dot4: false,
        matrix: false,
        ..large
    };
    [large, least].map(|limits| Target { language: Language::Wgsl, limits })
}

/// Parses, validates and translates a shader.
pub(super) fn validate(shader: &Shader) {
    let fail = |what: &str, why: String| panic!("{}: {what}: {why}\n{}", shader.name, shader.source);
    let module = match naga::front::wgsl::parse_str(&shader.source) {
        Ok(module) => module,
        Err(error) => return fail("parsing", error.emit_to_string(&shader.source)),
    };
    // What halves are unpacked with; every adapter of Vulkan and Metal has it.
    let capabilities = Capabilities::SHADER_FLOAT16_IN_FLOAT32 | Capabilities::SUBGROUP;
    let info = match Validator::new(ValidationFlags::all(), capabilities).validate(&module) {
        Ok(info) => info,
        Err(error) => return fail("validation", error.emit_to_string(&shader.source)),
    };
    let options = msl::Options { lang_version: (2, 4), fake_missing_bindings: true, ..Default::default() };
    match msl::write_string(&module, &info, &options, &msl::PipelineOptions::default()) {
        Ok((text, _)) => assert!(text.contains("kernel void"), "{}: no kernel in\n{text}", shader.name),
        Err(error) => fail("translation", error.to_string()),
    }
}
