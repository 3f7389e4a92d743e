//! Commands that measure speed or search for more of it, and their common functions.

pub(super) mod ablate;
pub(super) mod bench;
pub(super) mod bench_block;
pub(super) mod bench_serve;
pub(super) mod journal;
pub(super) mod kept_decisions;
pub(super) mod machine_speed;
pub(super) mod measurement;
pub(super) mod optimize;
pub(super) mod profile;
pub(super) mod recording;
pub(super) mod report;
pub(super) mod report_head;
pub(super) mod roofline;
pub(super) mod tune;
