//! A user's text with a kernel, which a device runs in the place of the one that it would render.
//!
//! Nothing here reads the text. Its head says how it is launched, as the renderer says it of its own texts.

use std::fmt;

use weft_ir::{Dim, Sizes};

/// The language of a text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TextLanguage {
    /// WGSL, for GPUs through Vulkan and Metal.
    Wgsl,
    /// CUDA C++, for NVIDIA GPUs.
    Cuda,
}

impl TextLanguage {
    /// All languages.
    pub const ALL: [TextLanguage; 2] = [TextLanguage::Wgsl, TextLanguage::Cuda];

    /// The word that begins a text in a file.
    pub const fn word(self) -> &'static str {
        match self {
            TextLanguage::Wgsl => "wgsl",
            TextLanguage::Cuda => "cuda",
        }
    }

    /// Its name, for people.
    pub const fn name(self) -> &'static str {
        match self {
            TextLanguage::Wgsl => "WGSL",
            TextLanguage::Cuda => "CUDA C++",
        }
    }
}

/// A text that comes with a kernel.
///
/// Several texts of one language with the same [`tokens`](GivenText::tokens) are launched one after another.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct GivenText {
    /// Its language.
    pub language: TextLanguage,
    /// How it is launched.
    pub head: TextHead,
    /// The text.
    pub source: String,
    /// Where it was read.
    pub place: TextPlace,
}

/// How a text is launched.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TextHead {
    /// The most tokens of a step that it is for. A program for steps of up to T tokens has the text with the smallest such number of T or
    /// more.
    pub tokens: usize,
    /// The name of its entry point.
    pub entry: String,
    /// Lanes of a workgroup; 0 if the text itself says it, as in WGSL.
    pub lanes: u32,
    /// The workgroups of a launch, one range after another.
    pub groups: Vec<TextGroups>,
    /// The slot of each of the kernel's parameters: parameters in one slot are in one buffer. Slots are numbered from 0 without a gap.
    pub slots: Vec<usize>,
    /// Bytes of workgroup memory that the launch gives; 0 if the text declares it.
    pub shared_bytes: u32,
    /// Bytes of scratch memory, in the slot after all others; 0 if there is none.
    pub scratch_bytes: u64,
    /// Whether it uses instructions that only one architecture has.
    pub own_architecture: bool,
}

/// A number of workgroups: `(⌈axis · inner / tile⌉ + more) · times`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TextGroups {
    /// A size of the step, or a number.
    pub axis: Dim,
    /// Its factor.
    pub inner: u32,
    /// The share of these that a workgroup, or several, has.
    pub tile: u32,
    /// The addend.
    pub more: u32,
    /// The factor of all.
    pub times: u32,
}

/// Where a text was read.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct TextPlace {
    /// The name of the file, if it is known.
    pub file: String,
    /// The line of its head, from 1.
    pub line: usize,
}

impl TextPlace {
    /// The place of one of the text's own lines, numbered from 1, for errors: `line 31 of down.kernel`.
    pub fn of_line(&self, line: usize) -> String {
        let file = if self.file.is_empty() { "its file" } else { &self.file };
        format!("line {} of {file}", self.line.saturating_add(line))
    }
}

impl TextGroups {
    /// A fixed number of workgroups, for steps of any size.
    pub const fn plain(times: u32) -> TextGroups {
        TextGroups { axis: Dim::Const(1), inner: 1, tile: 1, more: 0, times }
    }

    /// The number of workgroups; saturates.
    pub fn count(&self, sizes: &Sizes) -> u64 {
        let rows = (self.axis.eval(sizes) as u64).saturating_mul(u64::from(self.inner));
        let tiles = rows.div_ceil(u64::from(self.tile.max(1))).saturating_add(u64::from(self.more));
        tiles.saturating_mul(u64::from(self.times))
    }
}

impl fmt::Display for TextGroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TextGroups { axis, inner, tile, more, times } = *self;
        if axis.known().is_some() {
            return write!(f, "{}", self.count(&Sizes::default()));
        }
        match (inner, tile, more) {
            (1, 1, 0) => write!(f, "{axis}")?,
            (1, _, 0) => write!(f, "ceil({axis}/{tile})")?,
            (_, _, 0) => write!(f, "ceil({axis}*{inner}/{tile})")?,
            _ => write!(f, "(ceil({axis}*{inner}/{tile})+{more})")?,
        }
        if times == 1 { Ok(()) } else { write!(f, "*{times}") }
    }
}

/// The head as a line, and the text up to the line `end`.
impl fmt::Display for GivenText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TextHead { tokens, entry, lanes, groups, slots, shared_bytes, scratch_bytes, own_architecture } =
            &self.head;
        write!(f, "{} tokens={tokens}", self.language.word())?;
        if self.language == TextLanguage::Cuda {
            write!(f, " entry={entry} lanes={lanes}")?;
        }
        f.write_str(" groups=")?;
        joined(f, groups, "+")?;
        f.write_str(" slots=")?;
        joined(f, slots, ",")?;
        if *shared_bytes > 0 {
            write!(f, " shared={shared_bytes}")?;
        }
        if *scratch_bytes > 0 {
            write!(f, " scratch={scratch_bytes}")?;
        }
        if *own_architecture {
            f.write_str(" own_architecture")?;
        }
        let source = self.source.strip_suffix('\n').unwrap_or(&self.source);
        write!(f, "\n{source}\nend\n")
    }
}

fn joined<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: &[T], by: &str) -> fmt::Result {
    for (i, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if i > 0 { by } else { "" })?;
    }
    Ok(())
}
