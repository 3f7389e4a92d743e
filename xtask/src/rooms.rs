//! The rooms of the house as data: which crate may depend on which, which are pure, and where `unsafe` may
//! appear.
//!
//! This table is the only place for that. `tidy` checks manifests and sources against it; ARCHITECTURE.md
//! describes the rooms.

/// A package of the workspace, and what it may do.
#[derive(Debug)]
pub(crate) struct Room {
    /// The package's name.
    pub(crate) name: &'static str,
    /// The rooms its code may import. All come before it in [`ROOMS`], so that there are no cycles.
    pub(crate) uses: &'static [&'static str],
    /// Whether it depends on its inputs only: no IO, clock, environment or threads outside its tests.
    pub(crate) pure: bool,
    /// The paths, relative to the package, where `unsafe` may appear. All other code forbids it.
    pub(crate) unsafe_in: &'static [&'static str],
}

const PURE: Room = Room { name: "", uses: &[], pure: true, unsafe_in: &[] };
const IMPURE: Room = Room { name: "", uses: &[], pure: false, unsafe_in: &[] };

/// Every package of the workspace, from the ground up.
pub(crate) const ROOMS: &[Room] = &[
    Room { name: "weft-random", ..PURE },
    Room { name: "weft-file", ..IMPURE },
    Room { name: "weft-host", unsafe_in: &["src/apple.rs", "src/glibc.rs", "src/windows.rs"], ..IMPURE },
    Room { name: "weft-hub", uses: &["weft-file", "weft-host"], ..IMPURE },
    Room { name: "weft-quant", ..PURE },
    // Runs chat templates on a separate thread, for its stack.
    Room { name: "weft-text", ..IMPURE },
    Room { name: "weft-ir", uses: &["weft-quant"], ..PURE },
    Room { name: "weft-kern", uses: &["weft-quant", "weft-ir"], ..PURE },
    Room { name: "weft-fuse", uses: &["weft-quant", "weft-ir", "weft-kern"], ..PURE },
    Room { name: "weft-gguf", uses: &["weft-file", "weft-quant"], unsafe_in: &["src/mmap.rs"], ..IMPURE },
    Room { name: "weft-convert", uses: &["weft-file", "weft-quant", "weft-text", "weft-gguf"], ..IMPURE },
    Room { name: "weft-models", uses: &["weft-quant", "weft-ir", "weft-gguf"], ..IMPURE },
    Room { name: "weft-device", uses: &["weft-quant", "weft-kern"], ..IMPURE },
    Room {
        name: "weft-cpu",
        uses: &["weft-host", "weft-quant", "weft-kern", "weft-device"],
        unsafe_in: &["src/isa.rs", "src/isa/", "src/memory.rs", "src/compile.rs", "src/team.rs"],
        ..IMPURE
    },
    Room { name: "weft-nvrtc", unsafe_in: &["src/library.rs"], ..IMPURE },
    Room { name: "weft-shader", uses: &["weft-ir"], ..PURE },
    Room { name: "weft-render", uses: &["weft-quant", "weft-kern", "weft-shader"], ..PURE },
    Room {
        name: "weft-gpu",
        uses: &["weft-file", "weft-quant", "weft-kern", "weft-device", "weft-render"],
        ..IMPURE
    },
    Room {
        name: "weft-wgpu",
        uses: &["weft-kern", "weft-device", "weft-render", "weft-gpu"],
        unsafe_in: &["src/experimental.rs", "src/memory.rs", "src/pipeline_cache.rs", "src/pipelines.rs"],
        ..IMPURE
    },
    // Tests only. No room that ships depends on it.
    Room {
        name: "weft-check",
        uses: &["weft-random", "weft-quant", "weft-kern", "weft-device", "weft-render", "weft-gpu"],
        unsafe_in: &["src/emulator/library.rs"],
        ..IMPURE
    },
    Room {
        name: "weft-cuda",
        uses: &["weft-nvrtc", "weft-kern", "weft-device", "weft-render", "weft-gpu"],
        unsafe_in: &["src/driver.rs", "src/driver/"],
        ..IMPURE
    },
    Room { name: "weft-pack", uses: &["weft-file", "weft-quant", "weft-gguf", "weft-device"], ..IMPURE },
    Room {
        name: "weft-runtime",
        uses: &[
            "weft-random",
            "weft-file",
            "weft-quant",
            "weft-text",
            "weft-ir",
            "weft-kern",
            "weft-fuse",
            "weft-gguf",
            "weft-models",
            "weft-device",
            "weft-cpu",
            "weft-wgpu",
            "weft-cuda",
            "weft-pack",
        ],
        ..IMPURE
    },
    Room {
        name: "weft-engine",
        uses: &[
            "weft-random",
            "weft-file",
            "weft-quant",
            "weft-text",
            "weft-ir",
            "weft-kern",
            "weft-fuse",
            "weft-device",
            "weft-cpu",
            "weft-pack",
            "weft-runtime",
        ],
        unsafe_in: &["tests/allocations.rs"],
        ..IMPURE
    },
    Room {
        name: "weft-lab",
        uses: &[
            "weft-random",
            "weft-host",
            "weft-quant",
            "weft-text",
            "weft-kern",
            "weft-device",
            "weft-cpu",
            "weft-engine",
        ],
        ..IMPURE
    },
    Room {
        name: "weft-make",
        uses: &[
            "weft-random",
            "weft-file",
            "weft-quant",
            "weft-text",
            "weft-ir",
            "weft-gguf",
            "weft-convert",
            "weft-models",
            "weft-engine",
        ],
        ..IMPURE
    },
    // Compiles grammars and computes masks on threads of its own.
    Room { name: "weft-grammar", uses: &["weft-text", "weft-engine"], ..IMPURE },
    Room {
        name: "weft-serve",
        uses: &["weft-host", "weft-gguf", "weft-text", "weft-engine", "weft-grammar"],
        ..IMPURE
    },
    Room {
        name: "weft",
        uses: &[
            "weft-random",
            "weft-file",
            "weft-host",
            "weft-hub",
            "weft-quant",
            "weft-text",
            "weft-ir",
            "weft-gguf",
            "weft-models",
            "weft-engine",
            "weft-lab",
            "weft-make",
            "weft-grammar",
            "weft-serve",
        ],
        ..IMPURE
    },
    Room { name: "xtask", ..IMPURE },
];

/// The room with this name.
pub(crate) fn room(name: &str) -> Option<&'static Room> {
    ROOMS.iter().find(|room| room.name == name)
}

/// Whether the code of `upper` depends on that of `lower`, directly or through others.
pub(crate) fn builds_on(upper: &Room, lower: &str) -> bool {
    upper.uses.iter().any(|&used| used == lower || room(used).is_some_and(|used| builds_on(used, lower)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_uses_only_rooms_above_it_in_the_table() {
        for (at, room) in ROOMS.iter().enumerate() {
            for used in room.uses {
                assert!(
                    ROOMS[..at].iter().any(|above| above.name == *used),
                    "{}: `{used}` is not above it in the table",
                    room.name
                );
            }
        }
    }

    #[test]
    fn a_pure_room_uses_only_pure_rooms() {
        for upper in ROOMS.iter().filter(|room| room.pure) {
            for used in upper.uses {
                assert!(room(used).is_some_and(|used| used.pure), "{}: `{used}` is not pure", upper.name);
            }
        }
    }

    #[test]
    fn builds_on_is_transitive_and_points_down() {
        let [device, engine] = ["weft-device", "weft-engine"].map(|name| room(name).unwrap());
        assert!(builds_on(engine, "weft-quant"));
        assert!(builds_on(device, "weft-ir"), "through weft-kern");
        assert!(!builds_on(device, "weft-engine"));
        assert!(!builds_on(device, "weft-device"));
    }
}
