//! Any bytes given to the GGUF reader end in an error or in a model that is sound, and that can be written and read
//! again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weft_gguf::{Gguf, Writer};

fuzz_target!(|bytes: &[u8]| {
    let Ok(model) = Gguf::parse(bytes) else { return };
    for tensor in model.tensors() {
        assert_eq!(model.data(tensor).len() as u64, tensor.bytes);
        assert_eq!(tensor.ty.row_bytes(tensor.values()), Some(tensor.bytes));
        assert_eq!(model.tensor(&tensor.name), Some(tensor));
    }

    let mut writer = Writer::new(model.metadata().clone()).expect("what was read can be written");
    for tensor in model.tensors() {
        writer.declare(&tensor.name, tensor.ty, &tensor.shape).expect("what was read can be declared");
    }
    let mut file = Vec::new();
    let mut out = writer.to_stream(&mut file).expect("a vector takes all bytes");
    for tensor in model.tensors() {
        out.write(&tensor.name, model.data(tensor)).expect("the data have the declared size");
    }
    out.finish().expect("all data are there");

    let again = Gguf::parse(file).expect("what was written can be read");
    for (tensor, was) in again.tensors().iter().zip(model.tensors()) {
        assert_eq!((&tensor.name, tensor.ty, &tensor.shape), (&was.name, was.ty, &was.shape));
        assert_eq!(again.data(tensor), model.data(was));
    }
    // As text, since a NaN differs from itself.
    assert_eq!(format!("{:?}", again.metadata().iter().collect::<Vec<_>>()), {
        format!("{:?}", model.metadata().iter().collect::<Vec<_>>())
    });
});
