//! Users' texts: naga reads them before wgpu does, and wgpu's checks are compiled into them.

use weft_device::DeviceError;
use weft_kern::TextPlace;
use weft_render::Shader;
use wgpu::naga::front::wgsl;
use wgpu::naga::proc::Layouter;
use wgpu::naga::{AddressSpace, Span};

use crate::context::Context;

/// A user's text, as a module.
///
/// # Errors
/// [`DeviceError::Kernel`] with the line of its file, if it is not valid, or needs more workgroup memory than there is.
pub(crate) fn module(
    context: &Context,
    shader: &Shader,
    place: &TextPlace,
) -> Result<wgpu::ShaderModule, DeviceError> {
    let most = context.device.limits().max_compute_workgroup_storage_size;
    fits(&shader.source, most).map_err(|(line, why)| error(context, shader, place, line, &why))?;
    let described = wgpu::ShaderModuleDescriptor {
        label: Some(&shader.name),
        source: wgpu::ShaderSource::Wgsl(shader.source.as_str().into()),
    };
    let mut module = None;
    let made = context
        .checked("a text", 0, || module.insert(context.device.create_shader_module(described)).clone());
    let refused = match made {
        Err(refused @ DeviceError::Refused { .. }) => refused,
        other => return other,
    };
    let Some(module) = module else { return Err(refused) };
    // The first message has the place; those that follow are notes on it.
    let info = pollster::block_on(module.get_compilation_info());
    let message = info.messages.into_iter().next();
    let line = message.as_ref().and_then(|message| message.location).map_or(0, |at| at.line_number as usize);
    let why = message.map_or_else(|| refused.to_string(), |message| message.message);
    Err(error(context, shader, place, line, &why))
}

/// An error in one line of a user's text. Line 0 is its head.
pub(crate) fn error(
    context: &Context,
    shader: &Shader,
    place: &TextPlace,
    line: usize,
    why: &str,
) -> DeviceError {
    DeviceError::Kernel {
        device: context.name.clone(),
        kernel: shader.name.clone(),
        why: format!("its text in WGSL, {}: {why}", place.of_line(line)),
    }
}

/// Checks that a text can be read and that its workgroup memory is at most `most` bytes, which wgpu leaves to the driver. Fails with a
/// line.
fn fits(source: &str, most: u32) -> Result<(), (usize, String)> {
    let module = wgsl::parse_str(source).map_err(|error| {
        let line = error.location(source).map_or(0, |at| at.line_number as usize);
        (line, error.message().to_string())
    })?;
    let line = |span: Span| span.location(source).line_number as usize;
    let mut layouter = Layouter::default();
    layouter.update(module.to_ctx()).map_err(|error| (0, error.to_string()))?;
    let mut all = 0u64;
    for (handle, variable) in module.global_variables.iter() {
        if variable.space != AddressSpace::WorkGroup {
            continue;
        }
        // Metal rounds each up to 16.
        all += u64::from(layouter[variable.ty].size).next_multiple_of(16);
        if all > u64::from(most) {
            let why = format!("it needs {all} bytes of workgroup memory; the GPU has {most}");
            return Err((line(module.global_variables.get_span(handle)), why));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn workgroup_memory_is_counted() {
        let text = "// Two arrays.\nvar<workgroup> a: array<u32, 3>;\nvar<private> c: u32;\nvar<workgroup> b: array<u32, 4>;\n";
        assert_eq!(fits(text, 32), Ok(()));
        let expected = "it needs 32 bytes of workgroup memory; the GPU has 31";
        assert_eq!(fits(text, 31), Err((4, expected.into())));
        let wrong = fits("// A text.\n\nfn f( {}\n", 64).unwrap_err();
        assert!(wrong.0 == 3 && wrong.1.contains("expected"), "{wrong:?}");
    }
}
