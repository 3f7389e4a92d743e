//! A GPU against the interpreter, what every device promises, weights in pieces, and compiled pipelines that are kept.

mod kept;
mod pieces;
mod support;

weft_check::device_tests!(crate::support::device, first);

/// The same with the texts of a large GPU.
mod large {
    weft_check::device_tests!(crate::support::large_device, second);
}
