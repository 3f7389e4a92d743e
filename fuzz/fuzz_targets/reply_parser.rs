//! Any reply of a model is split into pieces in the same way however it is cut, and nothing of it is lost.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    weft_text::reply::law::check_fuzzed(bytes);
});
