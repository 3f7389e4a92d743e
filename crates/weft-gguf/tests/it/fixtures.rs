//! The models in `fixtures/`, compared with what the Python package `gguf` reads from them
//! (`tests/listings`).

use std::fmt::Write;
use std::path::{Path, PathBuf};

use weft_gguf::{Array, Gguf, Value};

fn fixture(model: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(format!("{model}.gguf"))
}

/// Lists everything in a model, in the form that `tests/listings/list.py` prints.
fn list(model: &Gguf) -> String {
    let mut out = String::new();
    for (key, value) in model.metadata().iter() {
        let shown = match value {
            Value::Array(Array::String(v)) => format!("string {} {}", v.len(), sum(v.iter().flatten())),
            Value::Array(Array::I32(v)) => {
                let bytes: Vec<u8> = v.iter().flat_map(|v| v.to_le_bytes()).collect();
                format!("i32 {} {}", v.len(), sum(&bytes))
            }
            Value::U32(v) => v.to_string(),
            Value::F32(v) => format!("{:08x}", v.to_bits()),
            Value::Bool(v) => v.to_string(),
            Value::String(v) => format!("{v:?}"),
            _ => panic!("{key}: the fixtures have no {}", value.type_name()),
        };
        writeln!(out, "key {key} {} {shown}", value.type_name()).unwrap();
    }
    for tensor in model.tensors() {
        let shape: Vec<String> = tensor.shape.iter().map(u64::to_string).collect();
        let (name, ty, offset, bytes) = (&tensor.name, tensor.ty, tensor.offset, tensor.bytes);
        let total = sum(model.data(tensor));
        writeln!(out, "tensor {name} {ty} {} {offset} {bytes} {total}", shape.join("x")).unwrap();
    }
    out
}

fn sum<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> u64 {
    bytes.into_iter().map(|&byte| u64::from(byte)).sum()
}

fn check(name: &str, listing: &str) {
    let path = fixture(name);
    let model = Gguf::open(&path).unwrap();
    assert!(list(&model) == listing, "{name} differs from its listing:\n{}", list(&model));
    // The data ends where the file ends, so that nothing in it was missed.
    let end = model.tensors().iter().map(|t| t.offset + t.bytes.next_multiple_of(32)).max();
    let header = model.files()[0].size - end.unwrap();
    assert!(header < 200_000 && header.is_multiple_of(32), "a header of {header} bytes");
    // Reading from memory gives the same model, and kept bytes are the model's.
    let in_memory = Gguf::parse(std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(in_memory.tensors(), model.tensors());
    let last = model.tensors().last().unwrap();
    assert_eq!(*in_memory.tensor_bytes(last), *model.data(last));
}

#[test]
fn ds2_tiny_q4_0() {
    check("ds2-tiny-q4_0", include_str!("../listings/ds2-tiny-q4_0.txt"));
}

#[test]
fn glm_tiny_q4_0() {
    check("glm-tiny-q4_0", include_str!("../listings/glm-tiny-q4_0.txt"));
}

#[test]
fn glm_tiny_q4_k_m() {
    check("glm-tiny-q4_k_m", include_str!("../listings/glm-tiny-q4_k_m.txt"));
}

#[test]
fn glm_tiny_q8_0() {
    check("glm-tiny-q8_0", include_str!("../listings/glm-tiny-q8_0.txt"));
}

#[test]
fn a_fixture_truncated_anywhere_is_refused() {
    let bytes = std::fs::read(fixture("glm-tiny-q4_0")).unwrap();
    for length in (0..bytes.len()).step_by(9_970) {
        assert!(Gguf::parse(&bytes[..length]).is_err(), "cut to {length} bytes");
    }
}

#[test]
fn folders_and_missing_files_are_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let error = Gguf::open(folder).unwrap_err();
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(
        (error.to_string(), source.to_string()),
        (format!("cannot open {}", folder.display()), "it is a folder".into())
    );
    assert!(Gguf::open(&folder.join("absent.gguf")).unwrap_err().to_string().starts_with("cannot open"));
}
