//! Which of two devices holds each part of a model.

use std::collections::BTreeMap;

use weft_device::{Device, Side};
use weft_models::Segment;

use crate::plans::{Sections, offload};
use crate::sizes::SecondPart;

/// Makes buffers on one side of a device from now on, or on both. Does nothing on a device that is one.
pub(crate) fn place(device: &mut dyn Device, side: Option<Side>) {
    if let Some(placement) = device.placement() {
        placement.place(side);
    }
}

/// The side of each segment, if `second` is on the second device.
pub(crate) fn of_segments(second: Option<SecondPart>, segments: &[Segment], sections: Sections) -> Vec<Side> {
    let first = |_: usize| Side::First;
    match second {
        None => (0..segments.len()).map(first).collect(),
        Some(SecondPart::Experts(_)) => segments.iter().map(offload::side).collect(),
        Some(SecondPart::Layers(layers)) => {
            let before = sections.before_layer(segments, layers);
            (0..segments.len()).map(|i| if i < before { Side::Second } else { first(i) }).collect()
        }
    }
}

/// The side of each tensor, by its name in the file; `None` for one that both sides use. Tensors of which a segment has only the first
/// matrices are on the side of the other segments that have them.
pub(crate) fn of_tensors<'s>(sides: &[Side], segments: &'s [Segment]) -> BTreeMap<&'s str, Option<Side>> {
    let mut all = BTreeMap::new();
    for (segment, side) in segments.iter().zip(sides) {
        let first: BTreeMap<&str, usize> = offload::first_matrices(&segment.graph).collect();
        for (_, tensor) in segment.weights.iter().filter(|(own, _)| !first.contains_key(own.as_str())) {
            let known = all.entry(tensor.as_str()).or_insert(Some(*side));
            if *known != Some(*side) {
                *known = None;
            }
        }
    }
    all
}
