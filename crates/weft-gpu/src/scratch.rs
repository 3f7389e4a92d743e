//! Scratch memory of a program: one piece for all rendered kernels, whose launches run one after another, and one for each kernel with
//! a user's text, which could leave anything in it.

use std::collections::BTreeMap;

use weft_render::Shader;

/// Bytes of the scratch memories of a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ScratchBytes(BTreeMap<Option<usize>, u64>);

impl ScratchBytes {
    /// Which scratch memory the shaders of a kernel have, by the kernel's number in the program.
    pub const fn of(kernel: usize, shader: &Shader) -> Option<usize> {
        if shader.given.is_some() { Some(kernel) } else { None }
    }

    /// Makes room for a shader of a kernel.
    pub fn add(&mut self, kernel: usize, shader: &Shader) {
        if shader.scratch_bytes > 0 {
            let bytes = self.0.entry(ScratchBytes::of(kernel, shader)).or_default();
            *bytes = shader.scratch_bytes.max(*bytes);
        }
    }

    /// The memories, and the bytes of each.
    pub fn iter(&self) -> impl Iterator<Item = (Option<usize>, u64)> {
        self.0.iter().map(|(of, bytes)| (*of, *bytes))
    }

    /// Bytes of all of them; saturates.
    pub fn total(&self) -> u64 {
        self.0.values().fold(0, |all: u64, bytes| all.saturating_add(*bytes))
    }
}
