//! Which of two devices holds each part of a model: the first segments are on the second device, all others on the first.

use std::collections::BTreeMap;

use weft_device::{Device, Side};
use weft_models::Segment;

/// Makes buffers on one side of a device from now on, or on both. Does nothing on a device that is one.
pub(crate) fn place(device: &mut dyn Device, side: Option<Side>) {
    if let Some(placement) = device.placement() {
        placement.place(side);
    }
}

/// The side of a segment, if the first `second` segments are on the second device.
pub(crate) fn of_segment(second: usize, segment: usize) -> Side {
    if segment < second { Side::Second } else { Side::First }
}

/// The side of each tensor, by its name in the file; `None` for one that both sides use.
pub(crate) fn of_tensors(second: usize, segments: &[Segment]) -> BTreeMap<&str, Option<Side>> {
    let mut sides = BTreeMap::new();
    for (i, segment) in segments.iter().enumerate() {
        let side = Some(of_segment(second, i));
        for (_, tensor) in &segment.weights {
            let known = sides.entry(tensor.as_str()).or_insert(side);
            if *known != side {
                *known = None;
            }
        }
    }
    sides
}
