//! Commands that write a model or an input of one, and their common functions.

pub(super) mod convert;
pub(super) mod imatrix;
pub(super) mod quantize;
pub(super) mod synth;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::thread;

use weft_make::OnProgress;

use super::Positional;
use crate::cli::args::Args;
use crate::terminal::interrupt::Listener;
use crate::terminal::progress::{Progress, Unit};

pub(super) const OUT: Positional =
    Positional { name: "OUT", help: "GGUF file to write; an existing file is replaced", required: true };

/// The number of threads to use.
pub(super) fn threads(args: Args<'_>) -> NonZeroUsize {
    let given = args.count("threads").and_then(NonZeroUsize::new);
    given.or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}

/// Runs `work`, shows its progress, and stops it on Ctrl-C.
pub(super) fn with_progress<T>(label: &str, work: impl FnOnce(OnProgress<'_>) -> T) -> T {
    let listener = Listener::new();
    let mut progress = None;
    work(&mut |done, total| {
        progress.get_or_insert_with(|| Progress::new(label, total, Unit::Bytes)).set(done);
        if listener.pressed().load(Ordering::SeqCst) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })
}

#[cfg(test)]
mod tests {
    use weft_make::QUANT_MIXES;
    use weft_quant::GgmlType;

    use crate::cli::knobs::{KNOBS, Kind};

    #[track_caller]
    fn choices(name: &str) -> &'static [&'static str] {
        match KNOBS.iter().find(|knob| knob.name == name).map(|knob| knob.kind) {
            Some(Kind::Choice(choices)) => choices,
            other => panic!("{name} is {other:?}"),
        }
    }

    #[test]
    fn the_choices_of_the_knobs_are_complete() {
        assert_eq!(choices("quant"), QUANT_MIXES.iter().map(|mix| mix.name).collect::<Vec<_>>());
        for knob in ["output-tensor-type", "token-embedding-type"] {
            let types: Vec<GgmlType> = choices(knob).iter().map(|name| name.parse().unwrap()).collect();
            let writable = GgmlType::ALL.iter().filter(|ty| ty.can_encode());
            assert!(
                writable.clone().all(|ty| types.contains(ty)) && types.len() == writable.count(),
                "{knob}"
            );
        }
    }
}
