//! The kernels of a program, rendered for its launches.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use weft_device::{BufferId, DeviceError, KernelLaunch, Program, Region};
use weft_kern::{Format, Instr, Kernel, Param, ParamId, Part};
use weft_render::{Bound, Content, Language, Refused, Shader, Slots, given_slots};

use crate::weights::WeightLayout;

/// Renders a kernel of the program, by its number, for arguments in these slots.
pub type Render<'a> = &'a dyn Fn(usize, &Slots) -> Result<Vec<Shader>, Refused>;

/// The shaders of each launch of a program, which are launched one after another. Launches of one kernel with the
/// same slots share them.
pub type Rendered = Vec<Arc<[Shader]>>;

/// When a device begins a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begins {
    /// When the launch before it has ended.
    After,
    /// When it likes, if all before the launch before it have ended.
    Early,
}

/// How a device binds the arguments of launches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Binds {
    /// The language of its texts.
    pub language: Language,
    /// When it begins launches.
    pub begins: Begins,
}

impl Binds {
    /// The binding of WGSL, whose launches begin when the one before them has ended.
    pub const WGSL: Binds = Binds { language: Language::Wgsl, begins: Begins::After };
    /// The binding of CUDA texts on a card whose launches can begin early.
    pub const EARLY_CUDA: Binds = Binds { language: Language::Cuda, begins: Begins::Early };
}

/// The slot of each argument of a launch of a program, and the buffer of each slot: arguments in one buffer share a slot,
/// but those that are stable have another. A kernel that comes with a text has that text's slots, if they can be bound.
/// `pieces` says which buffers are weights, and in how many pieces.
pub fn slots(
    program: &Program,
    launch: usize,
    pieces: impl Fn(BufferId) -> Option<u32>,
    binds: Binds,
) -> (Slots, Vec<BufferId>) {
    let KernelLaunch { kernel, args } = &program.launches[launch];
    let kernel = &program.kernels[*kernel];
    let given = given_slots(kernel, binds.language, &program.max);
    if let Some(slots) = given.and_then(|own| as_in_text(kernel, args, own, &pieces, binds.language)) {
        return slots;
    }
    let kernel_and_args = |at| bound(program, at);
    let (stable, releases_early) = match binds.begins {
        // Nobody knows what a text reads before it waits.
        _ if given.is_some() => (vec![false; args.len()], false),
        Begins::After => (vec![false; args.len()], false),
        Begins::Early => (
            weft_render::stable(kernel_and_args, launch),
            weft_render::releases_early(kernel_and_args, launch, program.launches.len()),
        ),
    };
    let (mut slots, bound) = Slots::new(args.iter().zip(stable).map(|(region, stable)| {
        let content = match stable {
            _ if pieces(region.buffer).is_some() => Content::Weight,
            true => Content::Stable,
            false => Content::Open,
        };
        (region.buffer, content)
    }));
    slots.pieces = bound.iter().map(|id| pieces(*id).unwrap_or(1)).collect();
    slots.releases_early = releases_early;
    (slots, bound)
}

/// The slots of a text, with their buffers. `None` if the arguments of a slot are in several buffers, or a buffer that is written is
/// in several slots, which graphics APIs do not allow.
fn as_in_text(
    kernel: &Kernel,
    args: &[Region],
    own: &[usize],
    pieces: &impl Fn(BufferId) -> Option<u32>,
    language: Language,
) -> Option<(Slots, Vec<BufferId>)> {
    let mut bound: Vec<BufferId> = Vec::new();
    for (region, slot) in args.iter().zip(own) {
        match bound.get(*slot) {
            None if *slot == bound.len() => bound.push(region.buffer),
            Some(known) if *known == region.buffer => {}
            _ => return None,
        }
    }
    let written = |buffer: BufferId| {
        let mut all = args.iter().zip(&kernel.params);
        all.any(|(region, param)| region.buffer == buffer && param.access.writes())
    };
    let is_again = |(slot, buffer): (usize, &BufferId)| bound[..slot].contains(buffer) && written(*buffer);
    if language == Language::Wgsl && bound.iter().enumerate().any(is_again) || own.len() != args.len() {
        return None;
    }
    let content = |id: &BufferId| if pieces(*id).is_some() { Content::Weight } else { Content::Open };
    let slots = Slots {
        of: own.to_vec(),
        contents: bound.iter().map(content).collect(),
        pieces: bound.iter().map(|id| pieces(*id).unwrap_or(1)).collect(),
        releases_early: false,
    };
    Some((slots, bound))
}

/// A launch's kernel, and where its arguments are.
fn bound(program: &Program, launch: usize) -> (&Kernel, Vec<Bound<BufferId>>) {
    let KernelLaunch { kernel, args } = &program.launches[launch];
    let kernel = &program.kernels[*kernel];
    let bytes = |(region, param): (&Region, &Param)| {
        let bytes = param.format.bytes(region.values).unwrap_or(usize::MAX);
        Bound { buffer: region.buffer, bytes: region.offset..region.offset.saturating_add(bytes) }
    };
    (kernel, args.iter().zip(&kernel.params).map(bytes).collect())
}

/// Renders the kernels of a verified program. `layout` says how the weight in a buffer is laid out, if it is one.
///
/// # Errors
/// [`DeviceError::Program`] if a weight is written, or not laid out as its kernel expects; [`DeviceError::Kernel`] if
/// a kernel cannot be rendered.
pub fn render(
    device: &str,
    program: &Program,
    layout: impl Fn(BufferId) -> Option<WeightLayout>,
    binds: Binds,
    render: Render<'_>,
) -> Result<Rendered, DeviceError> {
    let mut known: BTreeMap<(usize, Slots), Arc<[Shader]>> = BTreeMap::new();
    let mut shaders = Vec::with_capacity(program.launches.len());
    for (index, launch) in program.launches.iter().enumerate() {
        let kernel = &program.kernels[launch.kernel];
        check(kernel, launch, &layout).map_err(|why| DeviceError::Program {
            launch: index,
            kernel: kernel.name.clone(),
            why,
        })?;
        let (slots, _) = slots(program, index, |id| Some(layout(id)?.pieces), binds);
        let rendered = match known.entry((launch.kernel, slots)) {
            Entry::Occupied(known) => Arc::clone(known.get()),
            Entry::Vacant(new) => {
                let rendered = render(launch.kernel, &new.key().1);
                let shaders = rendered.map_err(|refused| DeviceError::Kernel {
                    device: device.to_string(),
                    kernel: refused.kernel,
                    why: match refused.part {
                        Some(part) => format!("part {part}: {}", refused.why),
                        None => refused.why.to_string(),
                    },
                })?;
                Arc::clone(new.insert(shaders.into()))
            }
        };
        shaders.push(rendered);
    }
    Ok(shaders)
}

/// Checks that weights are not written, and that they are laid out as kernels expect.
fn check(
    kernel: &Kernel,
    launch: &KernelLaunch,
    layout: &impl Fn(BufferId) -> Option<WeightLayout>,
) -> Result<(), String> {
    for (p, (region, param)) in launch.args.iter().zip(&kernel.params).enumerate() {
        let held = layout(region.buffer);
        let Region { buffer, offset, .. } = region;
        if param.access.writes() && held.is_some() {
            return Err(format!("p{p}: {buffer:?} is a weight and cannot be written"));
        }
        // The blocks of a state are in their own order; those of a weight are in tiles.
        let quantised = matches!(param.format, Format::Ggml(ty) if ty.is_quantised()) && !is_state(kernel, p);
        if quantised != held.is_some_and(|held| held.tiles.is_some()) {
            return Err(format!("p{p}: values of {} in {buffer:?}, which holds {held:?}", param.format));
        }
        if quantised && *offset != 0 {
            return Err(format!("p{p}: a quantised weight must be bound as a whole"));
        }
    }
    for (param, len) in kernel.parts.iter().flat_map(rows_read) {
        match layout(launch.args[param].buffer).and_then(|held| held.tiles) {
            Some(row_len) if row_len != len => {
                return Err(format!(
                    "p{param}: rows of {len} of a weight that is packed in rows of {row_len}"
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a parameter is a state: written, or read by attention alone.
fn is_state(kernel: &Kernel, param: ParamId) -> bool {
    let attended = |part: &Part| part.anchor.states().contains(&param);
    let mut rows = kernel.parts.iter().flat_map(rows_read);
    kernel.params[param].access.writes()
        || kernel.parts.iter().any(attended) && rows.all(|(other, _)| other != param)
}

/// The parameters whose rows a part reads, with the rows' length: those it multiplies by, and those
/// it loads.
fn rows_read(part: &Part) -> impl Iterator<Item = (ParamId, usize)> {
    let products = part.products().iter().map(|product| (product.w.param, product.w.k));
    let before = part.prologue.iter().flat_map(|prologue| &prologue.body);
    let loads = before.chain(&part.body).filter_map(|instr| match instr {
        Instr::Load { view, len, .. } => Some((view.param, *len)),
        _ => None,
    });
    products.chain(loads)
}
