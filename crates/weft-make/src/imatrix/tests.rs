//! Both formats, and damaged files.

use super::*;
use crate::test_folder::TestFolder;

fn matrix() -> Imatrix {
    let dense = Entry::new(vec![2.0, 4.0, 0.0, 6.0], vec![2.0]).unwrap();
    // Three experts, the second without a token.
    let experts = Entry::new(vec![8.0, 4.0, 0.0, 0.0, 3.0, 5.0], vec![4.0, 0.0, 1.0]).unwrap();
    Imatrix {
        datasets: vec!["text.txt".into()],
        chunks: 3,
        chunk_size: Some(512),
        entries: [("a.weight".into(), dense), ("b.weight".into(), experts)].into(),
    }
}

fn tensor(name: &str, shape: &[u64]) -> TensorInfo {
    let folder = TestFolder::new(&format!("imatrix-{name}-{}", shape.len()));
    let path = folder.join("m.gguf");
    let mut writer = Writer::new(Metadata::new()).unwrap();
    writer.declare(name, GgmlType::F32, shape).unwrap();
    let mut data = writer.create(&path).unwrap();
    data.write(name, &vec![0; 4 * shape.iter().product::<u64>() as usize]).unwrap();
    data.finish().unwrap();
    Gguf::open(&path).unwrap().tensor(name).unwrap().clone()
}

#[test]
fn a_matrix_survives_its_file() {
    let folder = TestFolder::new("imatrix-file");
    let path = folder.join("imatrix.gguf");
    matrix().write(&path).unwrap();
    assert_eq!(Imatrix::read(&path).unwrap(), matrix());
    // The names that llama.cpp gives them.
    let gguf = Gguf::open(&path).unwrap();
    let shapes: Vec<_> = gguf.tensors().iter().map(|t| (t.name.as_str(), &t.shape[..])).collect();
    assert_eq!(
        shapes,
        [
            ("a.weight.in_sum2", &[4, 1][..]),
            ("a.weight.counts", &[1, 1]),
            ("b.weight.in_sum2", &[2, 3]),
            ("b.weight.counts", &[1, 3])
        ]
    );
}

#[test]
fn columns_of_each_matrix_have_their_means() {
    let matrix = matrix();
    let dense = matrix.importance(&tensor("a.weight", &[4, 3])).unwrap().unwrap();
    assert_eq!(dense.of(2..9), [0.0, 3.0, 1.0, 2.0, 0.0, 3.0, 1.0]);
    // Heads side by side, with one count.
    let heads = matrix.importance(&tensor("a.weight", &[2, 3, 2])).unwrap().unwrap();
    assert_eq!(heads.of(4..8), [1.0, 2.0, 0.0, 3.0]);
    let experts = matrix.importance(&tensor("b.weight", &[2, 2, 3])).unwrap().unwrap();
    assert_eq!(experts.of(0..12), [2.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 3.0, 5.0, 3.0, 5.0]);
    assert_eq!(matrix.importance(&tensor("c.weight", &[4, 2])).unwrap(), None);
    let error = matrix.importance(&tensor("a.weight", &[8, 3])).unwrap_err().to_string();
    assert_eq!(
        error,
        "the importance matrix has 4 values for the tensor `a.weight`: expected 8 for each of 1; it was computed for \
         another model"
    );
}

/// A file as llama.cpp wrote it: two entries, three windows of `text.txt`.
fn old_file() -> Vec<u8> {
    let int = |n: i32| n.to_le_bytes();
    let floats = |all: &[f32]| all.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    [
        &int(2)[..],
        &[&int(8)[..], b"a.weight", &int(2), &int(4), &floats(&[2.0, 4.0, 0.0, 6.0])].concat(),
        &[&int(8)[..], b"b.weight", &int(1), &int(2), &floats(&[8.0, 4.0])].concat(),
        &int(3),
        &[&int(8)[..], b"text.txt"].concat(),
    ]
    .concat()
}

#[test]
fn old_files_can_be_read() {
    let read = Imatrix::of_legacy(&old_file()).unwrap();
    assert_eq!((read.chunks, read.chunk_size, &read.datasets[..]), (3, None, &["text.txt".to_string()][..]));
    assert_eq!(read.entries["a.weight"].means(), [1.0, 2.0, 0.0, 3.0]);
    assert_eq!(read.entries["b.weight"].means(), [8.0, 4.0]);
    // Older ones end after the entries.
    let old = old_file();
    let entries = Imatrix::of_legacy(&old[..old.len() - 16]).unwrap();
    assert_eq!((entries.chunks, entries.datasets.len(), entries.entries), (0, 0, read.entries));
}

#[test]
fn damaged_old_files_are_refused() {
    let good = old_file();
    for len in (0..good.len()).filter(|len| *len != good.len() - 16) {
        assert!(Imatrix::of_legacy(&good[..len]).is_err(), "{len} of {} bytes", good.len());
    }
    // Wrong numbers in the file, each with its place.
    for (at, number) in
        [(0, -1), (0, 0), (0, i32::MAX), (4, -1), (4, i32::MAX), (20, -1), (20, i32::MAX), (24, -2)]
    {
        let mut bad = good.clone();
        bad[at..at + 4].copy_from_slice(&number.to_le_bytes());
        assert!(Imatrix::of_legacy(&bad).is_err(), "{number} at byte {at}");
    }
    for value in [f32::NAN, f32::INFINITY, -1.0] {
        let mut bad = good.clone();
        bad[24..28].copy_from_slice(&value.to_le_bytes());
        let error = format!("{:#}", Imatrix::of_legacy(&bad).unwrap_err());
        assert_eq!(
            error,
            format!("entry 0 of 2: `a.weight`: expected finite numbers of at least 0, found {value}")
        );
    }
    let mut twice = good;
    twice[44] = b'a';
    let error = Imatrix::of_legacy(&twice).unwrap_err().to_string();
    assert_eq!(error, "entry 1 of 2: `a.weight` is there twice");
}

#[test]
fn gguf_files_that_are_no_matrix_are_refused() {
    let folder = TestFolder::new("imatrix-refused");
    let path = folder.join("m.gguf");
    let check = |ty: &str, tensors: &[(&str, GgmlType, &[u64])], expected: &str| {
        let mut metadata = Metadata::new();
        metadata.insert(TYPE_KEY, ty);
        let mut writer = Writer::new(metadata).unwrap();
        for (name, ty, shape) in tensors {
            writer.declare(name, *ty, shape).unwrap();
        }
        let mut data = writer.create(&path).unwrap();
        for (name, ty, shape) in tensors {
            let bytes = ty.row_bytes(shape.iter().product()).unwrap();
            data.write(name, &vec![0; bytes as usize]).unwrap();
        }
        data.finish().unwrap();
        let error = folder.relative(&format!("{:#}", Imatrix::read(&path).unwrap_err()));
        assert_eq!(error, format!("cannot read the importance matrix m.gguf: {expected}"));
    };
    let sums: (&str, GgmlType, &[u64]) = ("a.in_sum2", GgmlType::F32, &[4, 1]);
    check("model", &[sums], "expected a file whose `general.type` is `imatrix`, found model");
    check("imatrix", &[("a", GgmlType::F32, &[4])], "it has no entries");
    check("imatrix", &[sums], "entry `a`: its counts are missing");
    check(
        "imatrix",
        &[sums, ("a.counts", GgmlType::F32, &[1, 3])],
        "entry `a`: expected sums for each of 3 matrices, found 4 sums",
    );
    check("imatrix", &[sums, ("a.counts", GgmlType::F16, &[1, 1])], "entry `a`: expected f32, found f16");
}
