//! The features of a GPU that texts use: a field of [`Features`] each, and an entry in the table from which ablations derive.
//!
//! A runtime sets the fields from what it knows of a GPU. The table says how to switch each of them, under the name by which `weft ablate`
//! offers it.

use crate::gpu::Gpu;

/// The features of a GPU that texts use. Each can be switched off where it exists.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Features {
    /// Loads of four neighbouring words at once. Lanes then take rows in groups of four values, which is another order of sums than
    /// without.
    pub quads: bool,
    /// Whether a workgroup can see what others of its launch stored, once they have counted themselves. Then products of whole rows can
    /// be spread over workgroups, the last of which runs the row program.
    pub gathers: bool,
    /// Whether a workgroup can have many heads of attention in prompts, where matrix units do not compute it.
    pub tiles: bool,
    /// Whether products of many rows are multiplied by lanes from panels in workgroup memory, which changes no bit, where no
    /// matrix units compute them. It needs `quads`.
    pub panels: bool,
    /// Whether lanes load the next stage of panels before they multiply the current one. This takes registers.
    pub panels_ahead: bool,
    /// The most words of weights that a lane loads before it uses any of them, each into a register, and before it waits for the launch
    /// before it, where it knows which; 0 for none. [Chains](crate::Chain) load none.
    pub early_words: u32,
    /// Matrix units for signed bytes: 16 rows of 32 times 8 columns in one instruction of a subgroup.
    pub matrix: bool,
    /// Whether products on matrix units copy the weights of their first stages before they wait for the launch before.
    pub matrix_stages_ahead: bool,
    /// Whether products on matrix units hold all their operands in workgroup memory at once, in short steps and where these fit.
    pub matrix_whole: bool,
    /// Whether wide products of long steps have workgroups of 128 rows and 128 columns. This changes no bit.
    pub matrix_large: bool,
    /// Whether lanes multiply rows that pick their matrices in steps in which few rows pick the same one, and matrix units
    /// those of longer steps. This changes no bit.
    pub picked_by_lanes: bool,
    /// Matrix units for halves: 16 rows of 16 times 8 columns, added to floats, in one instruction of a subgroup.
    pub matrix_halves: bool,
    /// Whether a warp can multiply matrices of 16 × 16 halves, and add the products to floats, by instructions that do not define
    /// how matrices lie in its lanes. They compute latent attention, where there are also `quads`, `word_stores`, subgroups of 32, a
    /// known number of `processors`, and 48 KiB of workgroup memory.
    pub cooperative: bool,
    /// Whether a warp can also multiply such matrices of signed bytes, 32 values deep, and sums by factors value by value. Then they
    /// compute products from [`panels`](Features::panels) and join chunks of attention, which changes no bit of finite values. WGSL
    /// cannot express either: texts call intrinsics, for a compiler that knows them
    /// ([`Shader::needs_spirv`](crate::Shader::needs_spirv)).
    pub cooperative_values: bool,
    /// Whether four warps multiply halves together, with operands in workgroup memory (Hopper's `wgmma`). Texts that use it run on
    /// that architecture alone.
    pub warpgroups: bool,
    /// Whether a workgroup can wait for another of its launch, if no more are launched than there are multiprocessors. Then they
    /// share the tiles of warpgroups' attention evenly.
    pub shares_tiles: bool,
    /// Whether a launch may begin before the one it depends on has ended (CUDA's programmatic dependent launch). Then each shader waits
    /// for that one before it touches anything but weights, and can fetch weights earlier.
    pub dependent_launch: bool,
    /// Whether workgroups of a launch can wait for each other, if no more are launched than run at once, in a language whose
    /// launches can't begin early: then those of short steps become [chains](crate::Chain).
    pub chains: bool,
    /// Whether launches of short steps let the next one begin before they have waited themselves, where that is
    /// [possible](crate::hands_over).
    pub hands_over: bool,
}

impl Features {
    /// None of them.
    pub const NONE: Features = Features {
        quads: false,
        gathers: false,
        tiles: false,
        panels: false,
        panels_ahead: false,
        early_words: 0,
        matrix: false,
        matrix_stages_ahead: false,
        matrix_whole: false,
        matrix_large: false,
        picked_by_lanes: false,
        matrix_halves: false,
        cooperative: false,
        cooperative_values: false,
        warpgroups: false,
        shares_tiles: false,
        dependent_launch: false,
        chains: false,
        hands_over: false,
    };
}

/// A choice of the renderer that can be changed in all kernels at once.
#[derive(PartialEq, Eq, Debug)]
pub struct Departure {
    /// Its name: `schedule.rows=1`.
    pub name: &'static str,
    /// What it changes, in a sentence.
    pub about: &'static str,
}

/// A feature of a GPU, and how to switch it.
pub(crate) struct Switch {
    pub(crate) departure: Departure,
    /// Whether schedules depend on it. Otherwise the texts of the same schedules do.
    pub(crate) is_scheduled: bool,
    pub(crate) switch: fn(&mut Gpu),
}

/// A feature that only texts depend on.
const fn text(name: &'static str, about: &'static str, switch: fn(&mut Gpu)) -> Switch {
    Switch { departure: Departure { name, about }, is_scheduled: false, switch }
}

/// A feature that the heuristic knows of, so that schedules and their texts depend on it.
const fn schedule(name: &'static str, about: &'static str, switch: fn(&mut Gpu)) -> Switch {
    Switch { departure: Departure { name, about }, is_scheduled: true, switch }
}

/// Every feature.
pub(crate) static SWITCHES: [Switch; 21] = [
    text("launch.early=off", "No kernel begins before the one before it has ended.", |gpu| {
        gpu.features.dependent_launch = false
    }),
    text("launch.handed=off", "No kernel lets the next one begin before it has waited itself.", |gpu| {
        gpu.features.hands_over = false
    }),
    text("launch.chains=off", "No launches become one whose workgroups wait for each other.", |gpu| {
        gpu.features.chains = false
    }),
    text("loads.early=off", "No weights are loaded before a workgroup waits, or ahead of a norm.", |gpu| {
        gpu.features.early_words = 0
    }),
    schedule("loads.quads=off", "Lanes load one word at a time, which changes the order of sums.", |gpu| {
        (gpu.features.quads, gpu.features.gathers) = (false, false)
    }),
    schedule("products.matrix=off", "No products are computed by matrix units.", |gpu| {
        gpu.features.matrix = false
    }),
    schedule(
        "products.panels=off",
        "No products are multiplied from panels in workgroup memory, nor rows sorted by their matrix for that, which changes no bit.",
        |gpu| gpu.features.panels = false,
    ),
    text(
        "cooperative.values=off",
        "Cooperative matrices multiply no bytes, and nothing value by value: products from panels and the joins of prompts' attention are left to lanes, which changes no bit of finite values.",
        |gpu| gpu.features.cooperative_values = false,
    ),
    text(
        "products.stages=off",
        "Products on matrix units copy no weights before a workgroup waits.",
        |gpu| gpu.features.matrix_stages_ahead = false,
    ),
    text(
        "products.whole=off",
        "Products on matrix units have no more than some stages of what they multiply in workgroup memory.",
        |gpu| gpu.features.matrix_whole = false,
    ),
    schedule(
        "products.large=off",
        "Wide products of prompts have workgroups of 32 rows and no more, which changes no bit.",
        |gpu| gpu.features.matrix_large = false,
    ),
    schedule(
        "products.picked=off",
        "Where few rows pick the same matrix, matrix units multiply them as in longer steps, which changes no bit.",
        |gpu| gpu.features.picked_by_lanes = false,
    ),
    schedule("attention.matrix=off", "No attention is computed by matrix units.", |gpu| {
        gpu.features.matrix_halves = false
    }),
    schedule("attention.cooperative=off", "No attention is computed by cooperative matrices.", |gpu| {
        gpu.features.cooperative = false
    }),
    schedule(
        "attention.warpgroups=off",
        "No warps multiply matrices together, which changes no bit.",
        |gpu| gpu.features.warpgroups = false,
    ),
    text(
        "attention.shares=off",
        "Workgroups do not hand tiles of attention to each other, which changes no bit.",
        |gpu| gpu.features.shares_tiles = false,
    ),
    schedule(
        "attention.tiles=off",
        "A workgroup has at most four heads of a token in the latent attention of prompts, which changes no bit.",
        |gpu| gpu.features.tiles = false,
    ),
    schedule(
        "schedule.waves=off",
        "Schedules are chosen as if the number of multiprocessors were not known.",
        |gpu| gpu.processors = 0,
    ),
    schedule(
        "schedule.large=on",
        "Where the number of multiprocessors is not known, 16 bytes are loaded at a time and schedules are those for 128. This changes the order of sums.",
        |gpu| {
            if gpu.processors == 0 {
                *gpu = gpu.clone().as_large();
            }
        },
    ),
    schedule(
        "attention.tiles=on",
        "The same, and a workgroup has up to ten heads of a token in the latent attention of prompts, which changes no further bit.",
        |gpu| {
            if gpu.processors == 0 {
                *gpu = gpu.clone().with_tiles();
            }
        },
    ),
    text(
        "panels.ahead=off",
        "Lanes do not load the next stage of panels before they multiply this one.",
        |gpu| gpu.features.panels_ahead = false,
    ),
];
