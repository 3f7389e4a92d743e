//! The lab: measures the limits of a machine and how near a model comes to them, and checks that results are correct.
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
//! // Every kernel is compared with the interpreter, within bounds derived from the rounding of each value.
//! let wanted = VerifyOptions { columns: 8, ..VerifyOptions::default() };
//! let found = verifier.verify(&[1, 2, 3], &wanted, &AtomicBool::new(false), &mut |_, _| {})?;
//! assert_eq!(found.steps, [2, 1]); // two tokens together, then one
//! assert_eq!(found.faults().count(), 0);
//! # Ok(())
//! # }
//! ```
//!
//! | question | start with |
//! |---|---|
//! | How fast does the machine read memory and multiply? | [`roofline`](roofline()) |
//! | How fast is a model, and how near to those limits? | [`bench()`] |
//! | Where does the time of a step go? | [`profile`](profile()) |
//! | What is each decision of the compiler worth? | [`ablate`](ablate()) |
//! | Which decisions are worth keeping? | [`optimize`](optimize()) |
//! | Which schedule of a GPU kernel is faster? | [`tune`](tune()) |
//! | Does a device compute what kernels mean? | [`Verifier`] |
//! | How well does a model predict a text, alone or compared with another? | [`perplexity`](perplexity()), [`divergence`](divergence()) |
//! | What was measured before? | [`Journal`], [`report`](report()) |
//!
//! Every figure comes with all its samples, and every rate with the limit of the machine, measured in the same run.
#![forbid(unsafe_code)]

mod ablate;
mod against;
mod bench;
mod block;
mod clock;
mod distribution;
mod divergence;
mod error;
mod host;
mod journal;
mod json;
mod kernels;
mod lint;
mod lock;
mod meter;
mod need;
mod optimize;
mod others;
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
    Rule, Verdict, ablate, kept_together,
};
pub use against::{Against, against};
pub use bench::{Bench, BenchOptions, Phase, Setting, bench};
pub use block::{Block, BlockOptions, Blocks, bench_blocks};
pub use distribution::Mean;
pub use divergence::{Divergence, divergence};
pub use error::Error;
pub use host::Host;
pub use journal::{
    Compared, Diff, Here, Imported, Journal, JournalError, Model, Record, Run, Tried, Where, diff,
    interruption, shipped, summary, tried,
};
pub use json::{commit, joined, this_weft};
pub use lint::Lint;
pub use lock::{Asked, MeasuringLock};
pub use meter::Meter;
pub use need::{Need, PerToken};
pub use optimize::{OnOptimizing, OptimizeEnd, OptimizeProgress, Optimized, optimize, optimize_context};
pub use others::Others;
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

/// A callback for progress: how much is done, and the total.
pub type OnProgress<'a> = &'a mut dyn FnMut(u64, u64);
