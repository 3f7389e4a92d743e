//! The command line: the table of options, the parser made from it, and the values that it yields.

pub(crate) mod again;
pub(crate) mod args;
pub(crate) mod choices;
pub(crate) mod config;
pub(crate) mod hints;
pub(crate) mod kernel_file;
pub(crate) mod knobs;
pub(crate) mod option_args;
pub(crate) mod os_text;
pub(crate) mod parser;
pub(crate) mod presets;
pub(crate) mod samplers;
pub(crate) mod text_file;
pub(crate) mod values;
