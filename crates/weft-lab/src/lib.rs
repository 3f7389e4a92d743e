//! The lab: measures what a machine can do and how much of that a model gets, and checks that results are right.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//!
//! use weft_engine::EngineOptions;
//! use weft_lab::{Verifier, VerifyOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/llama-tiny-q6_k.gguf");
//! let options = EngineOptions::default().context(32);
//! let mut verifier = Verifier::load(path.as_ref(), &options, &mut |_| std::ops::ControlFlow::Continue(()))?;
//! // Every kernel is held to the interpreter, with bounds derived from the rounding of each value.
//! let wanted = VerifyOptions { columns: 8, ..VerifyOptions::default() };
//! let found = verifier.verify(&[1, 2, 3], &wanted, &AtomicBool::new(false), &mut |_, _| {})?;
//! assert_eq!(found.steps, [2, 1]); // two tokens together, then one
//! assert_eq!(found.faults().count(), 0);
//! # Ok(())
//! # }
//! ```
//!
//! | to find out | start with |
//! |---|---|
//! | how fast the machine reads memory and multiplies | [`roofline`](roofline()) |
//! | how fast a model runs, and how near to those limits | [`bench()`] |
//! | where the time of a step goes | [`profile`](profile()) |
//! | what each decision of the compiler is worth | [`ablate`](ablate()) |
//! | which schedule of a GPU kernel is faster | [`tune`](tune()) |
//! | whether a device computes what kernels mean | [`Verifier`] |
//! | how well a model predicts a text, alone or beside another | [`perplexity`](perplexity()), [`divergence`](divergence()) |
//! | what was measured before | [`Journal`], [`report`](report()) |
//!
//! Every figure comes with all its samples, and every rate with the limit of the machine, measured in the same minutes.
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
mod kernels;
mod lint;
mod meter;
mod need;
mod perplexity;
mod profile;
mod recorded;
mod repeat;
mod report;
mod roofline;
mod roofs;
mod samples;
mod schedules;
mod speed;
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
pub use recorded::{RecordedProfile, WantedProfile};
pub use report::{Escaped, report};
pub use roofline::{Roofline, machine_json, roofline};
pub use roofs::Roofs;
pub use samples::Samples;
pub use schedules::schedules;
pub use speed::measure as measure_machine;
pub use tune::{
    Candidate, OnTuning, TuneEnd, TuneOptions, TuneOutcome, TuneProgress, Tuned, TunedKernel, tune,
};
pub use verify::{
    Checked, Difference, Fault, FaultKind, Place, Verification, Verified, Verifier, VerifyOptions,
};
pub use weft_device::{Device, Roof};
pub use windows::Windows;

/// A callback that is told the progress: how much is done, and the total.
pub type OnProgress<'a> = &'a mut dyn FnMut(u64, u64);
