//! CUDA texts on the CPU: the suite of all devices, and what the emulator finds wrong.

mod forms;
mod units;
mod wrong;

use std::path::{Path, PathBuf};

use weft_check::Emulator;

/// Workgroups share tiles of attention where there are more than multiprocessors: none begins or ends with a tile here.
#[test]
#[ignore = "slow"]
fn few_processors_share_the_tiles_of_prompts() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulator");
    for processors in [1, 3, 4] {
        let Some(mut device) = Emulator::small_for_test("shared tiles", &folder, processors) else { return };
        weft_check::suite::attend::prompts_in_whole_blocks(&mut device);
    }
}

/// Wide products of long steps, whose workgroups have tiles of 128 rows here.
#[test]
fn few_processors_have_large_tiles() {
    let Some(mut device) = Emulator::small_for_test("large tiles", &folder(), 2) else { return };
    weft_check::suite::many::of_wide_matrices(&mut device);
}

#[test]
fn weights_take_turns_in_slots() {
    let Some(mut device) = device("turns") else { return };
    weft_check::suite::streaming::weights_take_turns(&mut device, 64, 0);
    weft_check::suite::streaming::weights_take_turns(&mut device, 64, 16);
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulator")
}

fn device(test: &str) -> Option<Emulator> {
    Emulator::for_test(test, &folder())
}

weft_check::device_tests!(crate::device);

/// Attention, and products from panels, by cooperative matrices.
mod cooperative {
    fn device(test: &str) -> Option<weft_check::Emulator> {
        crate::device(test).map(weft_check::Emulator::with_cooperative_matrices)
    }

    weft_check::device_tests! { crate::cooperative::device:
        attend {
            latent_and_grouped,
            prompts_in_whole_blocks,
            wild_positions,
        }
        many {
            #[ignore = "slow"] of_one_matrix_or_one_per_head,
            of_picked_matrices,
            of_sums_over_experts,
            of_uneven_shares,
        }
        shapes {
            #[ignore = "slow"] products,
            #[ignore = "slow"] products_with_experts,
            #[ignore = "slow"] attention,
        }
    }

    /// How a tile's rows are chosen, and whether chunks are spread, changes no bit.
    #[test]
    #[ignore = "slow"]
    fn layouts_of_attention() {
        super::units::layouts_of_cooperative_matrices(device("layouts of cooperative matrices"));
    }
}

/// Attention by cooperative matrices that multiply halves alone.
mod cooperative_halves {
    fn device(test: &str) -> Option<weft_check::Emulator> {
        crate::device(test).map(weft_check::Emulator::with_cooperative_halves)
    }

    weft_check::device_tests! { crate::cooperative_halves::device:
        attend {
            latent_and_grouped,
            prompts_in_whole_blocks,
        }
    }
}

/// Products without matrix units.
mod panels {
    fn device(test: &str) -> Option<weft_check::Emulator> {
        crate::device(test).map(weft_check::Emulator::with_panels)
    }

    weft_check::device_tests! { crate::panels::device:
        many {
            of_one_matrix_or_one_per_head,
            of_picked_matrices,
            of_sums_over_experts,
            of_uneven_shares,
        }
        shapes {
            #[ignore = "slow"] products,
            #[ignore = "slow"] products_with_experts,
            #[ignore = "slow"] attention,
        }
    }
}
