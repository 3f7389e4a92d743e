//! The rooms of the house as data: which crate may build on which, which are pure, where `unsafe` may live.
//!
//! This table is the one place where that is written. `tidy` holds the manifests and the sources to it;
//! ARCHITECTURE.md says in words what each room is for.

/// A package of the workspace and what it is allowed.
#[derive(Debug)]
pub(crate) struct Room {
    /// The package's name.
    pub(crate) name: &'static str,
    /// The rooms its code may import. All stand above it in [`ROOMS`], so that no circle can be drawn.
    pub(crate) uses: &'static [&'static str],
    /// Whether it is a function of its inputs alone: no IO, clock, environment or threads outside its tests.
    pub(crate) pure: bool,
    /// The paths, relative to the package, under which `unsafe` may appear; everything else forbids it.
    pub(crate) unsafe_in: &'static [&'static str],
}

const PURE: Room = Room { name: "", uses: &[], pure: true, unsafe_in: &[] };
const WORLDLY: Room = Room { name: "", uses: &[], pure: false, unsafe_in: &[] };

/// Every package of the workspace, from the ground floor up.
pub(crate) const ROOMS: &[Room] = &[
    Room { name: "weft-random", ..PURE },
    Room { name: "weft-file", ..WORLDLY },
    Room { name: "weft-hub", uses: &["weft-file"], ..WORLDLY },
    Room { name: "weft-quant", ..PURE },
    // Runs chat templates on a thread of its own, for its stack.
    Room { name: "weft-text", ..WORLDLY },
    Room { name: "weft-ir", uses: &["weft-quant"], ..PURE },
    Room { name: "weft-kern", uses: &["weft-quant", "weft-ir"], ..PURE },
    Room { name: "weft-fuse", uses: &["weft-quant", "weft-ir", "weft-kern"], ..PURE },
    Room { name: "weft-gguf", uses: &["weft-file", "weft-quant"], unsafe_in: &["src/mmap.rs"], ..WORLDLY },
    Room { name: "weft-models", uses: &["weft-quant", "weft-ir", "weft-gguf"], ..WORLDLY },
    Room { name: "weft-device", uses: &["weft-quant", "weft-kern"], ..WORLDLY },
    Room {
        name: "weft-cpu",
        uses: &["weft-quant", "weft-kern", "weft-device"],
        unsafe_in: &["src/isa.rs", "src/isa/", "src/memory.rs", "src/compile.rs", "src/team.rs"],
        ..WORLDLY
    },
    Room {
        name: "weft-render",
        uses: &["weft-quant", "weft-kern"],
        unsafe_in: &["tests/it/nvrtc.rs"],
        ..PURE
    },
    Room {
        name: "weft-wgpu",
        uses: &["weft-file", "weft-quant", "weft-kern", "weft-device", "weft-render"],
        unsafe_in: &["src/memory.rs", "src/pipeline_cache.rs", "src/pipelines.rs"],
        ..WORLDLY
    },
    Room { name: "weft-pack", uses: &["weft-file", "weft-gguf", "weft-device"], ..WORLDLY },
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
            "weft-gguf",
            "weft-models",
            "weft-device",
            "weft-cpu",
            "weft-wgpu",
            "weft-pack",
        ],
        unsafe_in: &["tests/allocations.rs"],
        ..WORLDLY
    },
    Room {
        name: "weft-lab",
        uses: &[
            "weft-random",
            "weft-quant",
            "weft-text",
            "weft-kern",
            "weft-device",
            "weft-cpu",
            "weft-engine",
        ],
        ..WORLDLY
    },
    Room {
        name: "weft",
        uses: &[
            "weft-random",
            "weft-file",
            "weft-hub",
            "weft-quant",
            "weft-text",
            "weft-ir",
            "weft-gguf",
            "weft-models",
            "weft-engine",
            "weft-lab",
        ],
        ..WORLDLY
    },
    // An experiment beside the compiler: the library it needs is in no room that ships.
    Room {
        name: "weft-explore",
        uses: &["weft-random", "weft-quant", "weft-ir", "weft-kern", "weft-fuse"],
        ..WORLDLY
    },
    Room { name: "xtask", ..WORLDLY },
];

/// The room of this name.
pub(crate) fn room(name: &str) -> Option<&'static Room> {
    ROOMS.iter().find(|room| room.name == name)
}

/// Whether the code of `upper` is built on that of `lower`, directly or through others.
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
    fn builds_on_follows_the_stairs_down_and_never_up() {
        let [device, engine] = ["weft-device", "weft-engine"].map(|name| room(name).unwrap());
        assert!(builds_on(engine, "weft-quant"));
        assert!(builds_on(device, "weft-ir"), "through weft-kern");
        assert!(!builds_on(device, "weft-engine"));
        assert!(!builds_on(device, "weft-device"));
    }
}
