//! What the renderer can use of a GPU and do without, one entry each. The ablations that `weft ablate` offers for them are this table.
//!
//! A feature is a field of [`Limits`], which a runtime sets from what it knows of a GPU, and an entry here, which says how to switch it.

use crate::limits::Limits;

/// A choice of the renderer that can be changed in all kernels at once.
#[derive(PartialEq, Eq, Debug)]
pub struct Departure {
    /// Its name: `schedule.rows=1`.
    pub name: &'static str,
    /// What it changes, in a sentence.
    pub about: &'static str,
}

/// A feature of a GPU, and how to switch it.
pub(crate) struct Feature {
    pub(crate) departure: Departure,
    /// Whether schedules depend on it. Otherwise the texts of the same schedules do.
    pub(crate) is_scheduled: bool,
    pub(crate) switch: fn(&mut Limits),
}

/// A feature that only texts depend on.
const fn text(name: &'static str, about: &'static str, switch: fn(&mut Limits)) -> Feature {
    Feature { departure: Departure { name, about }, is_scheduled: false, switch }
}

/// A feature that the heuristic knows of, so that schedules and their texts depend on it.
const fn schedule(name: &'static str, about: &'static str, switch: fn(&mut Limits)) -> Feature {
    Feature { departure: Departure { name, about }, is_scheduled: true, switch }
}

/// Every feature.
pub(crate) static FEATURES: [Feature; 21] = [
    text("launch.early=off", "No kernel begins before the one before it has ended.", |limits| {
        limits.dependent_launch = false
    }),
    text("launch.handed=off", "No kernel lets the next one begin before it has waited itself.", |limits| {
        limits.hands_over = false
    }),
    text("launch.chains=off", "No launches become one whose workgroups wait for each other.", |limits| {
        limits.chains = false
    }),
    text(
        "loads.early=off",
        "No weights are loaded before a workgroup waits, or ahead of a norm.",
        |limits| limits.early_words = 0,
    ),
    schedule(
        "loads.quads=off",
        "Lanes load one word at a time, which changes the order of sums.",
        |limits| (limits.quads, limits.gathers) = (false, false),
    ),
    schedule("products.matrix=off", "No products are computed by matrix units.", |limits| {
        limits.matrix = false
    }),
    schedule(
        "products.panels=off",
        "No products are multiplied from panels in workgroup memory, nor rows sorted by their matrix for that, which changes no bit.",
        |limits| limits.panels = false,
    ),
    text(
        "cooperative.values=off",
        "Cooperative matrices multiply no bytes, and nothing value by value: products from panels and the joins of prompts' attention are left to lanes, which changes no bit of finite values.",
        |limits| limits.cooperative_values = false,
    ),
    text(
        "products.stages=off",
        "Products on matrix units copy no weights before a workgroup waits.",
        |limits| limits.matrix_stages_ahead = false,
    ),
    text(
        "products.whole=off",
        "Products on matrix units have no more than some stages of what they multiply in workgroup memory.",
        |limits| limits.matrix_whole = false,
    ),
    schedule(
        "products.large=off",
        "Wide products of prompts have workgroups of 32 rows and no more, which changes no bit.",
        |limits| limits.matrix_large = false,
    ),
    schedule(
        "products.picked=off",
        "Where few rows pick the same matrix, matrix units multiply them as in longer steps, which changes no bit.",
        |limits| limits.picked_by_lanes = false,
    ),
    schedule("attention.matrix=off", "No attention is computed by matrix units.", |limits| {
        limits.matrix_halves = false
    }),
    schedule("attention.cooperative=off", "No attention is computed by cooperative matrices.", |limits| {
        limits.cooperative = false
    }),
    schedule(
        "attention.warpgroups=off",
        "No warps multiply matrices together, which changes no bit.",
        |limits| limits.warpgroups = false,
    ),
    text(
        "attention.shares=off",
        "Workgroups do not hand tiles of attention to each other, which changes no bit.",
        |limits| limits.shares_tiles = false,
    ),
    schedule(
        "attention.tiles=off",
        "A workgroup has at most four heads of a token in the latent attention of prompts, which changes no bit.",
        |limits| limits.tiles = false,
    ),
    schedule(
        "schedule.waves=off",
        "Schedules are chosen as if the number of multiprocessors were not known.",
        |limits| limits.processors = 0,
    ),
    schedule(
        "schedule.large=on",
        "Where the number of multiprocessors is not known, 16 bytes are loaded at a time and schedules are those for 128. This changes the order of sums.",
        |limits| {
            if limits.processors == 0 {
                *limits = limits.clone().as_large();
            }
        },
    ),
    schedule(
        "attention.tiles=on",
        "The same, and a workgroup has up to ten heads of a token in the latent attention of prompts, which changes no further bit.",
        |limits| {
            if limits.processors == 0 {
                *limits = limits.clone().with_tiles();
            }
        },
    ),
    text(
        "panels.ahead=off",
        "Lanes do not load the next stage of panels before they multiply this one.",
        |limits| limits.panels_ahead = false,
    ),
];
