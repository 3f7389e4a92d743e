//! A GPU against the interpreter, what every device promises, and compiled pipelines that are kept.

mod kept;
mod support;

weft_check::device_tests!(crate::support::device);
