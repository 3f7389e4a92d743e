//! The table of features from which ablations derive: each entry has the name by which `weft ablate` offers it, and switches one off.

use crate::gpu::Gpu;

/// A choice of the renderer that can be switched in all kernels at once.
#[derive(PartialEq, Eq, Debug)]
pub struct Departure {
    /// Its name: `schedule.rows=1`.
    pub name: &'static str,
    /// What it changes, in a sentence.
    pub about: &'static str,
}

/// An ablation, and how to apply it.
pub(crate) struct Switch {
    pub(crate) departure: Departure,
    /// Whether schedules depend on it. If not, the same schedules are rendered as other texts.
    pub(crate) is_scheduled: bool,
    pub(crate) switch: fn(&mut Gpu),
}

/// An ablation that changes texts and no schedule.
const fn text(name: &'static str, about: &'static str, switch: fn(&mut Gpu)) -> Switch {
    Switch { departure: Departure { name, about }, is_scheduled: false, switch }
}

/// An ablation that changes schedules, and so their texts.
const fn schedule(name: &'static str, about: &'static str, switch: fn(&mut Gpu)) -> Switch {
    Switch { departure: Departure { name, about }, is_scheduled: true, switch }
}

/// Every ablation of a feature.
pub(crate) static SWITCHES: [Switch; 21] = [
    text("launch.early=off", "No kernel begins before the one before it has ended.", |gpu| {
        gpu.features.dependent_launch = false
    }),
    text("launch.handed=off", "No kernel lets the next one begin before it has waited itself.", |gpu| {
        gpu.features.releases_early = false
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
    schedule(
        "attention.matrix=off",
        "No attention and no scores of indexers are computed by matrix units.",
        |gpu| gpu.features.matrix_halves = false,
    ),
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
