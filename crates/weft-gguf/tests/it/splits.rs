//! Models in several files.

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect;
use weft_gguf::{Gguf, Metadata, Writer};
use weft_quant::GgmlType;

use crate::folder::Folder;

/// Writes a part with tensors of one f32 each: the tensor's index in `names`, plus ten times `no`.
fn write_part(path: &Path, no: u16, count: u32, total: i32, names: &[&str]) {
    let mut metadata = Metadata::new();
    if no == 0 {
        metadata.insert("general.architecture", "llama");
    }
    metadata.insert("split.no", no);
    metadata.insert("split.count", count);
    metadata.insert("split.tensors.count", total);
    let mut writer = Writer::new(metadata).unwrap();
    names.iter().for_each(|name| writer.declare(name, GgmlType::F32, &[1]).unwrap());
    let mut data = writer.create(path).unwrap();
    for (i, name) in names.iter().enumerate() {
        data.write(name, &(i as f32 + 10.0 * f32::from(no)).to_le_bytes()).unwrap();
    }
    data.finish().unwrap();
}

fn part(folder: &Folder, number: usize) -> PathBuf {
    folder.join(format!("m-{number:05}-of-00003.gguf"))
}

/// A valid model of three parts, the first of which has only metadata.
fn write_model(folder: &Folder) {
    write_part(&part(folder, 1), 0, 3, 3, &[]);
    write_part(&part(folder, 2), 1, 3, 3, &["a", "b"]);
    write_part(&part(folder, 3), 2, 3, 3, &["c"]);
}

/// The message for a refused model that `path` belongs to.
#[track_caller]
fn refusal(folder: &Folder, path: &Path) -> String {
    folder.relative(&Gguf::open(path).expect_err("expected a refusal").to_string())
}

#[test]
fn any_part_opens_the_whole() {
    let folder = Folder::new("split-whole");
    write_model(&folder);
    for number in 1..=3 {
        let model = Gguf::open(&part(&folder, number)).unwrap();
        assert_eq!(model.metadata().str("general.architecture"), Ok(Some("llama")));
        let paths: Vec<PathBuf> = model.files().iter().map(|file| file.path.clone()).collect();
        assert_eq!(paths, [part(&folder, 1), part(&folder, 2), part(&folder, 3)]);
        for (name, file, value) in [("a", 1, 10.0f32), ("b", 1, 11.0), ("c", 2, 20.0)] {
            let tensor = model.tensor(name).unwrap();
            assert_eq!((tensor.file, model.data(tensor)), (file, value.to_le_bytes().as_slice()), "{name}");
        }
    }
}

#[test]
fn missing_parts_are_named() {
    let folder = Folder::new("split-missing");
    write_model(&folder);
    fs::remove_file(part(&folder, 1)).unwrap();
    let alone = folder.join("n-00001-of-00009.gguf");
    write_part(&alone, 0, 9, 3, &[]);
    // This name claims very many parts, which must not be searched for.
    let many = folder.join("m-00001-of-4294967295.gguf");
    write_part(&many, 0, u32::MAX, 3, &[]);
    let messages = [part(&folder, 2), alone, many].map(|path| refusal(&folder, &path));
    expect![[r#"
        m-00002-of-00003.gguf: this is part 2 of a model of 3 tensors in 3 files, but m-00001-of-00003.gguf cannot be found; all parts must be in one folder
        n-00001-of-00009.gguf: this is part 1 of a model of 3 tensors in 9 files, but n-00002-of-00009.gguf, n-00003-of-00009.gguf, n-00004-of-00009.gguf and 5 more cannot be found; all parts must be in one folder
        m-00001-of-4294967295.gguf: this is part 1 of a model of 3 tensors in 4294967295 files; at most 10000 files are allowed"#]].assert_eq(&messages.join("\n"));
}

#[test]
fn renamed_and_damaged_parts_are_refused() {
    let folder = Folder::new("split-damaged");
    write_model(&folder);
    let renamed = folder.join("model.gguf");
    fs::copy(part(&folder, 1), &renamed).unwrap();
    fs::write(part(&folder, 3), b"GGUF").unwrap();
    let messages = [refusal(&folder, &renamed), refusal(&folder, &part(&folder, 1))];
    expect![[r#"
        model.gguf: this is part 1 of a model of 3 tensors in 3 files, so its name must end in `-00001-of-00003.gguf`; rename it
        m-00003-of-00003.gguf: at byte 4: the format version: 4 bytes needed, 0 left in the file; the download is incomplete, or the file is damaged"#]].assert_eq(&messages.join("\n"));
}

#[test]
fn parts_of_different_models_are_refused() {
    let folder = Folder::new("split-mixed");
    write_model(&folder);
    let with = |no, count, total, names: &[&str]| {
        write_part(&part(&folder, 2), no, count, total, names);
        refusal(&folder, &part(&folder, 1))
    };
    let messages = [
        with(1, 3, 4, &["a", "b"]),
        with(2, 3, 3, &["a", "b"]),
        with(0, 1, 2, &["a", "b"]),
        with(1, 3, 3, &["a"]),
        with(1, 3, 3, &["a", "c"]),
    ];
    expect![[r#"
        m-00002-of-00003.gguf: expected part 2 of a model of 3 tensors in 3 files, found part 2 of a model of 4 tensors in 3 files; the parts belong to different models
        m-00002-of-00003.gguf: expected part 2 of a model of 3 tensors in 3 files, found part 3 of a model of 3 tensors in 3 files; the parts belong to different models
        m-00002-of-00003.gguf: expected part 2 of a model of 3 tensors in 3 files, found a model in one file; the parts belong to different models
        m-00001-of-00003.gguf: this is part 1 of a model of 3 tensors in 3 files, but the 3 files have 2 tensors
        m-00003-of-00003.gguf: tensor `c` is also in m-00002-of-00003.gguf"#]].assert_eq(&messages.join("\n"));
}

#[test]
fn a_count_of_one_is_not_a_split() {
    let folder = Folder::new("split-one");
    let path = folder.join("model.gguf");
    write_part(&path, 0, 1, 1, &["a"]);
    assert_eq!(Gguf::open(&path).unwrap().files().len(), 1);
}

#[test]
fn a_part_in_memory_is_refused() {
    let folder = Folder::new("split-memory");
    write_model(&folder);
    let error = Gguf::parse(fs::read(part(&folder, 2)).unwrap()).unwrap_err();
    expect!["GGUF in memory: this is part 2 of a model of 3 tensors in 3 files; open it by its path"]
        .assert_eq(&error.to_string());
}
