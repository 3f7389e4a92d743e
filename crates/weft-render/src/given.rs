//! User-supplied kernels as shaders, and the renderer's own kernels in the format in which users can supply them.
//!
//! A user's text is bound and launched like a rendered one. Its header is checked here, because a wrong number could ask for more than a
//! GPU has. The language's compiler checks the text itself, and its user answers for what it computes.

use std::iter;

use weft_kern::{GivenText, Kernel, Sizes, TextGroups, TextHead, TextLanguage, TextPlace};
use weft_shader::dialect::STATIC_SHARED_BYTES;
use weft_shader::grid::{Grid, Groups};
use weft_shader::module::Memory;

use crate::gpu::{Gpu, Language, Target};
use crate::lower::held_slots;
use crate::refused::{Refused, Why};
use crate::shader::{Shader, Slots, args_words};

/// The slots of a kernel's parameters, if a user supplied texts for it in this language, for programs up to `max`. Those texts then run.
pub fn given_slots<'k>(kernel: &'k Kernel, language: Language, max: &Sizes) -> Option<&'k [usize]> {
    Some(&of(kernel, language, max).next()?.head.slots)
}

/// A shader of a kernel in the format in which a user can supply it for programs up to `max`, or did supply it; `None` if that format
/// cannot express it.
pub fn as_given(
    kernel: &Kernel,
    slots: &Slots,
    max: &Sizes,
    language: Language,
    shader: &Shader,
) -> Option<GivenText> {
    if let Some(place) = &shader.given {
        return kernel.texts.iter().find(|text| text.place == *place).map(|text| GivenText::clone(text));
    }
    if kernel.parts.iter().any(|part| part.attention().is_some()) || shader.needs_spirv {
        return None;
    }
    let groups = |of: &Groups| {
        let Groups { axis, inner, tile, more, times, chunks } = *of;
        chunks.is_none().then_some(TextGroups { axis, inner, tile, more, times })
    };
    let language = language.in_files();
    let is_cuda = language == TextLanguage::Cuda;
    Some(GivenText {
        language,
        head: TextHead {
            tokens: max.tokens.max(1),
            entry: shader.entry.clone(),
            lanes: if is_cuda { shader.lanes } else { 0 },
            groups: shader.grid.parts.iter().map(groups).collect::<Option<_>>()?,
            slots: slots.of.clone(),
            shared_bytes: if is_cuda { shader.dynamic_bytes() } else { 0 },
            scratch_bytes: shader.scratch_bytes,
            own_architecture: shader.own_architecture,
        },
        source: shader.source.clone(),
        place: TextPlace::default(),
    })
}

/// The shaders of a kernel's own texts, if it has any for this language and programs up to `max`.
pub(crate) fn shaders(
    kernel: &Kernel,
    slots: &Slots,
    max: &Sizes,
    target: &Target,
) -> Result<Option<Vec<Shader>>, Refused> {
    let texts = of(kernel, target.language, max).map(|text| {
        let refused = |why| Refused { kernel: kernel.name.clone(), part: None, why };
        shader(kernel, text, slots, max, &target.gpu).map_err(refused)
    });
    let shaders: Vec<Shader> = texts.collect::<Result<_, _>>()?;
    Ok(if shaders.is_empty() { None } else { Some(shaders) })
}

/// The texts of a kernel for programs up to `max`, in the order in which they run: those for the fewest tokens that suffice.
fn of<'k>(kernel: &'k Kernel, language: Language, max: &Sizes) -> impl Iterator<Item = &'k GivenText> {
    let (language, needed) = (language.in_files(), max.tokens);
    let fits = move |text: &&GivenText| text.language == language && text.head.tokens >= needed;
    let all = || kernel.texts.iter().map(AsRef::as_ref).filter(fits);
    let least = all().map(|text| text.head.tokens).min();
    all().filter(move |text| Some(text.head.tokens) == least)
}

fn shader(kernel: &Kernel, text: &GivenText, slots: &Slots, max: &Sizes, gpu: &Gpu) -> Result<Shader, Why> {
    let TextHead { entry, lanes, groups, slots: own, shared_bytes, scratch_bytes, own_architecture, .. } =
        &text.head;
    let fail = |why: String| Why::Given { language: text.language.name(), place: text.place.of_line(0), why };
    if *own != slots.of {
        let list = |slots: &[usize]| slots.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        return Err(fail(format!(
            "slots={} cannot be bound: parameters in one slot have to be in one buffer, and in WGSL a buffer that is written in one \
             slot only; slots={} can be",
            list(own),
            list(&slots.of)
        )));
    }
    let held = held_slots(kernel, slots, false)?;
    let scratch = (*scratch_bytes > 0).then_some(true);
    let bound: Vec<bool> =
        held.iter().flat_map(|slot| iter::repeat_n(slot.written, slot.pieces as usize)).collect();
    let buffers: Vec<bool> = bound.into_iter().chain(scratch).collect();
    if buffers.len() > gpu.storage_buffers as usize {
        return Err(Why::Buffers { needed: buffers.len(), limit: gpu.storage_buffers });
    }
    if *lanes > gpu.invocations {
        return Err(fail(format!(
            "lanes={lanes}, and the GPU has at most {} in a workgroup",
            gpu.invocations
        )));
    }
    let most = gpu.most_shared_bytes;
    if *shared_bytes > most {
        return Err(fail(format!("shared={shared_bytes}, and the GPU has {most} bytes of workgroup memory")));
    }
    if (1..=STATIC_SHARED_BYTES).contains(shared_bytes) {
        return Err(fail(format!(
            "shared={shared_bytes}, but the text declares up to {STATIC_SHARED_BYTES} bytes itself, and the launch gives only more"
        )));
    }
    if *scratch_bytes > gpu.binding_bytes || scratch_bytes % 4 != 0 {
        return Err(fail(format!(
            "scratch={scratch_bytes}, which needs to be whole words and at most {} bytes",
            gpu.binding_bytes
        )));
    }
    let part = |of: &TextGroups| {
        let TextGroups { axis, inner, tile, more, times } = *of;
        Groups { axis, inner, tile, more, times, chunks: None }
    };
    let grid = Grid { wide: Grid::wide(gpu.groups), parts: groups.iter().map(part).collect() };
    let needed = grid.all(max);
    if needed > u64::from(grid.wide) * u64::from(grid.wide) {
        return Err(Why::Groups { needed, limit: gpu.groups });
    }
    Ok(Shader {
        name: kernel.name.clone(),
        source: match text.language {
            TextLanguage::Wgsl => text.source.clone(),
            TextLanguage::Cuda => with_signature(text, args_words(kernel.params.len()), &buffers),
        },
        entry: entry.clone(),
        slots: buffers,
        lanes: (*lanes).max(1),
        shared_bytes: *shared_bytes,
        scratch_bytes: *scratch_bytes,
        grid,
        // The text may not wait where it has to, so the launch does not begin early.
        dependent: false,
        releases_early: false,
        needs_spirv: false,
        own_architecture: *own_architecture,
        sizes_read: [true; 4],
        memory: Memory::default(),
        given: Some(text.place.clone()),
    })
}

/// Adds a declaration with which a CUDA text compiles only if its entry point has the parameters that a launch passes: the driver would
/// read others from beyond them. On the emulator, whose texts are not CUDA, they have other types.
fn with_signature(text: &GivenText, args_words: usize, buffers: &[bool]) -> String {
    let GivenText { head, source, .. } = text;
    let pointer = |written: &bool| if *written { ", unsigned int*" } else { ", const unsigned int*" };
    let pointers: String = buffers.iter().map(pointer).collect();
    let signature = format!("void (*)(Args, Sizes{pointers})");
    let (entry, end) = (&head.entry, source.lines().count() + 1);
    format!(
        "{}
#ifdef __CUDACC_RTC__
#undef static_assert
template <class A, class B> struct weft_same {{ static constexpr bool value = false; }};
template <class A> struct weft_same<A, A> {{ static constexpr bool value = true; }};
#line {end}
static_assert(weft_same<decltype(&{entry}), {signature}>::value, \"the type of {entry} has to be {signature}\");
#line {end}
static_assert(sizeof(Args) == {bytes} && sizeof(Sizes) == 16, \"Args has to be {bytes} bytes, and Sizes 16\");
#endif
",
        source.trim_end_matches('\n'),
        bytes = 4 * args_words,
    )
}
