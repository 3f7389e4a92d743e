//! The lab: what the machine can do, and how much of that a model gets.
//!
//! [`roofline`] measures the machine: reading memory, multiplying integers, multiplying floats. [`bench()`] measures a loaded model, prompts
//! and replies at several depths of context, beside what the same machine could do at most in the same minutes. A rate without its limit says
//! little, and a median without its samples cannot be checked: both are kept everywhere.
#![forbid(unsafe_code)]

mod ablate;
mod bench;
mod block;
mod distribution;
mod divergence;
mod error;
mod host;
mod journal;
mod json;
mod lint;
mod meter;
mod need;
mod perplexity;
mod profile;
mod report;
mod roofline;
mod samples;
mod tune;
mod verify;
mod windows;

pub use ablate::{
    AblateOptions, Ablation, Change, Combined, Distance, Gain, Gate, Golden, MARGIN, Measured, Outcome, Row,
    Rule, Verdict, ablate,
};
pub use bench::{Bench, BenchOptions, Phase, Setting, bench};
pub use block::{Block, BlockOptions, Blocks, bench_blocks};
pub use distribution::Mean;
pub use divergence::{Divergence, divergence};
pub use error::Error;
pub use host::Host;
pub use journal::{Compared, Diff, Journal, JournalError, Model, Record, Run, diff, summary};
pub use json::{joined, this_weft};
pub use lint::Lint;
pub use meter::Meter;
pub use need::{Need, PerToken};
pub use perplexity::{Perplexity, perplexity};
pub use profile::{
    Clock, Profile, ProfileOptions, Row as ProfileRow, Slice, Timed, Timeline, Worker, profile,
};
pub use report::report;
pub use roofline::{Roofline, Roofs, probe, roofline};
pub use samples::Samples;
pub use tune::{
    Candidate, OnTuning, TuneEnd, TuneOptions, TuneOutcome, TuneProgress, Tuned, TunedKernel, schedules, tune,
};
pub use verify::{
    Checked, Difference, Fault, FaultKind, Place, Verification, Verified, Verifier, VerifyOptions,
};
pub use weft_cpu::{Probe, Roof};
pub use windows::Windows;

/// What is told how much is done, and of how much.
pub type OnProgress<'a> = &'a mut dyn FnMut(u64, u64);
