//! Other schedules than the heuristic's: single steps away from one, and the same change in all kernels.

pub(crate) mod departures;
pub(crate) mod neighbours;
