//! The writer: what it refuses, and that a file appears as a whole or not at all.

use std::fs;
use std::io::{self, Write};

use expect_test::expect;
use weft_gguf::{DataWriter, Gguf, Metadata, WriteError, Writer};
use weft_quant::GgmlType;

use crate::folder::Folder;

/// The message for a refused request.
#[track_caller]
fn refusal<T: std::fmt::Debug>(result: Result<T, WriteError>) -> String {
    result.expect_err("expected a refusal").to_string()
}

/// A writer that has declared `a`, three f32, and `b`, one block of Q8_0.
fn declared() -> Writer {
    let mut writer = Writer::new(Metadata::new()).unwrap();
    writer.declare("a", GgmlType::F32, &[3]).unwrap();
    writer.declare("b", GgmlType::Q8_0, &[32, 1]).unwrap();
    writer
}

fn write_all(mut data: DataWriter<'_>) -> Result<(), WriteError> {
    data.write("a", &[1; 5])?;
    data.write("a", &[])?;
    data.write("a", &[2; 7])?;
    data.write("b", &[3; 34])?;
    data.finish()
}

#[test]
fn chunks_may_have_any_size() {
    let mut file = Vec::new();
    write_all(declared().to_stream(&mut file).unwrap()).unwrap();
    // The last tensor is padded too, as in GGML.
    assert!(file.len().is_multiple_of(32));
    let model = Gguf::parse(file).unwrap();
    let data = |name| model.data(model.tensor(name).unwrap());
    assert_eq!(
        (model.version(), data("a"), data("b")),
        (3, [[1; 5].as_slice(), &[2; 7]].concat().as_slice(), [3; 34].as_slice())
    );
    assert_eq!(model.tensor("b").unwrap().offset, 32);
}

#[test]
fn the_alignment_of_the_metadata_is_respected() {
    let mut metadata = Metadata::new();
    metadata.insert("general.alignment", 256u32);
    let mut writer = Writer::new(metadata).unwrap();
    writer.declare("a", GgmlType::F32, &[1]).unwrap();
    writer.declare("b", GgmlType::F32, &[1]).unwrap();
    let mut file = Vec::new();
    let mut data = writer.to_stream(&mut file).unwrap();
    data.write("a", &[1; 4]).unwrap();
    data.write("b", &[2; 4]).unwrap();
    data.finish().unwrap();
    assert_eq!((file.len(), &file[256..260], &file[512..516]), (768, [1; 4].as_slice(), [2; 4].as_slice()));
    let model = Gguf::parse(file).unwrap();
    assert_eq!(model.data(&model.tensors()[1]), [2; 4]);
}

#[test]
fn declarations_that_the_reader_would_refuse_are_refused() {
    let mut writer = declared();
    let mut declare = |name, ty, shape: &[u64]| refusal(writer.declare(name, ty, shape));
    let with_key = |key: &str, value: u32| {
        let mut metadata = Metadata::new();
        metadata.insert(key, value);
        refusal(Writer::new(metadata))
    };
    let messages = [
        declare("a", GgmlType::F32, &[1]),
        declare("", GgmlType::F32, &[1]),
        declare("c", GgmlType::F32, &[]),
        declare("c", GgmlType::F32, &[0]),
        declare("c", GgmlType::Q4_K, &[128]),
        declare("c", GgmlType::F32, &[u64::MAX / 4]),
        with_key("general.alignment", 3),
        with_key("", 3),
    ];
    expect![[r#"
        cannot write this GGUF file: the tensor name `a` is declared twice
        cannot write this GGUF file: a tensor name must have 1 to 255 bytes, but this one has 0
        cannot write this GGUF file: tensor `c` has 0 dimensions, but 1 to 4 are allowed
        cannot write this GGUF file: tensor `c` of shape [0] has a dimension of size zero
        cannot write this GGUF file: tensor `c` has rows of 128 values, but q4_k is stored in blocks of 256
        cannot write this GGUF file: the end of tensor `c` overflows 64 bits
        cannot write this GGUF file: the alignment must be a power of two up to 1048576, but is 3
        cannot write this GGUF file: a metadata key must have 1 to 65535 bytes, but this one has 0"#]]
    .assert_eq(&messages.join("\n"));
}

#[test]
fn data_that_was_not_declared_is_refused() {
    let mut data = declared().to_stream(io::sink()).unwrap();
    let too_early = refusal(data.write("b", &[0; 34]));
    data.write("a", &[0; 8]).unwrap();
    let too_long = refusal(data.write("a", &[0; 8]));
    data.write("a", &[0; 4]).unwrap();
    data.write("b", &[0; 34]).unwrap();
    let too_late = refusal(data.write("b", &[0; 1]));
    data.finish().unwrap();

    let mut data = declared().to_stream(io::sink()).unwrap();
    data.write("a", &[0; 8]).unwrap();
    let incomplete = refusal(data.finish());
    expect![[r#"
        cannot write this GGUF file: got data for tensor `b`, but 12 bytes of `a` are due
        cannot write this GGUF file: got 8 bytes of data for tensor `a`, but only 4 are due
        cannot write this GGUF file: got data for tensor `b` after the last tensor was complete
        cannot write this GGUF file: tensor `a` has only 8 of its 12 bytes"#]]
    .assert_eq(&[too_early, too_long, too_late, incomplete].join("\n"));
}

#[test]
fn a_file_replaces_another_only_when_complete() {
    let folder = Folder::new("atomic");
    let path = folder.join("model.gguf");
    fs::write(&path, "the old one").unwrap();
    let mut data = declared().create(&path).unwrap();
    data.write("a", &[0; 12]).unwrap();
    assert_eq!(folder.names().len(), 2, "expected a temporary file beside it");
    drop(data);
    assert_eq!(folder.names(), ["model.gguf"]);
    assert_eq!(fs::read(&path).unwrap(), b"the old one");

    write_all(declared().create(&path).unwrap()).unwrap();
    assert_eq!(folder.names(), ["model.gguf"]);
    assert_eq!(Gguf::open(&path).unwrap().tensors().len(), 2);
}

#[test]
fn a_mapping_survives_the_replacement_of_its_file() {
    let folder = Folder::new("replaced");
    let path = folder.join("model.gguf");
    write_all(declared().create(&path).unwrap()).unwrap();
    let model = Gguf::open(&path).unwrap();
    let kept = model.tensor_bytes(model.tensor("b").unwrap());
    drop(model);
    let written = write_all(declared().create(&path).unwrap());
    if cfg!(windows) {
        let error = written.unwrap_err();
        let why = std::error::Error::source(&error).unwrap().to_string();
        assert!(why.contains("a program is using the file"), "{error}: {why}");
    } else {
        written.unwrap();
    }
    let on_another_thread = std::thread::spawn(move || kept.to_vec());
    assert_eq!(on_another_thread.join().unwrap(), [3; 34]);
}

#[test]
fn failing_outputs_are_reported() {
    /// Accepts the header and nothing more.
    struct Full(bool);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0 = true;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut data = declared().to_stream(Full(false)).unwrap();
    let first = refusal(data.write("a", &[0; 12]));
    let second = refusal(data.write("a", &[0; 12]));

    let folder = Folder::new("no-folder");
    let nowhere = folder.relative(&refusal(declared().create(&folder.join("absent/model.gguf"))));
    expect![[r#"
        cannot write the GGUF output
        cannot write this GGUF file: an earlier write failed
        cannot create absent/model.gguf"#]]
    .assert_eq(&[first, second, nowhere].join("\n"));
}
