//! Finds other schedules than the heuristic's: neighbours for tuning, and departures in all kernels at once for ablation.

pub(crate) mod departures;
pub(crate) mod neighbours;
