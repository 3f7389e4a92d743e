//! Any bytes given to the reader of safetensors' headers end in an error or in tensors that fill the data exactly.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weft_convert::safetensors::tensors;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut found) = tensors(bytes) else { return };
    found.sort_by_key(|tensor| (tensor.range.start, tensor.range.end));
    let mut at = found.first().map_or(bytes.len(), |tensor| tensor.range.start);
    for tensor in &found {
        assert_eq!(tensor.range.start, at);
        let values: u64 = tensor.shape.iter().product();
        assert_eq!((tensor.range.end - at) as u64, values * tensor.dtype.bytes());
        at = tensor.range.end;
    }
    assert_eq!(at, bytes.len());
});
