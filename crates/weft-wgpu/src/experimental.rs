//! Features of wgpu that it calls experimental.

use wgpu::{ExperimentalFeatures, Features};

/// The permission to use those of these features that need one.
pub(crate) fn of(features: Features) -> ExperimentalFeatures {
    if !features.contains(Features::EXPERIMENTAL_COOPERATIVE_MATRIX) {
        return ExperimentalFeatures::disabled();
    }
    // SAFETY: wgpu warns that naga may not reject every text that misuses an experimental feature. Only the renderer's texts use
    // this one, which they do as `VK_KHR_cooperative_matrix` demands: all lanes of a subgroup get to each operation with the same operands,
    // and what they load and store is within their arrays in workgroup memory, at multiples of 16 bytes from their beginning. The array
    // before them takes a multiple of 16 bytes, so that drivers let them begin at one. A user's text is
    // compiled with all of naga's checks, and says itself that it uses the feature.
    unsafe { ExperimentalFeatures::enabled() }
}
