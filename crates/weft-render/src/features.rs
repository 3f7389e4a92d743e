//! The features of a GPU that texts use. A runtime sets them from what it knows of a GPU; `switches.rs` names each of them and switches it
//! off, for ablations.

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
    /// Whether lanes multiply rows that select their matrices by index, in steps in which few rows select the same matrix. Matrix units
    /// multiply those of longer steps. This changes no bit.
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
    /// Whether a launch may begin before the one it depends on has ended (CUDA's programmatic dependent launch). Then each shader waits for
    /// that one before it reads anything but weights and stable memory, which it can load earlier.
    pub dependent_launch: bool,
    /// Whether workgroups of a launch can wait for each other, if no more are launched than run at once, in a language whose
    /// launches can't begin early: then those of short steps become [chains](crate::Chain).
    pub chains: bool,
    /// Whether launches of short steps let the next one begin before they have waited themselves, where that is
    /// [allowed](crate::releases_early).
    pub releases_early: bool,
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
        releases_early: false,
    };
}
