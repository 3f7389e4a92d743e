//! Any request body is read, or refused with an error that is the client's.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    weft_serve::fuzz_request_body(bytes);
});
