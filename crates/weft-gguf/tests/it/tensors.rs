//! Files with a wrong tensor directory.

use expect_test::expect;

use crate::raw::{Raw, ggml, refused};

/// A file with one tensor, and enough data for a valid one.
fn one(name: &str, shape: &[u64], ty: u32, offset: u64) -> Raw {
    Raw::new(1, 0).tensor(name, shape, ty, offset).data(32, 4096)
}

#[test]
fn invalid_names_are_refused() {
    let twice = Raw::new(2, 0).tensor("same", &[1], ggml::F32, 0).tensor("same", &[1], ggml::F32, 32);
    refused(
        [
            one("", &[1], ggml::F32, 0),
            one(&"n".repeat(256), &[1], ggml::F32, 0),
            Raw::new(1, 0).string(b"\xe2\x28").u32(1).u64(1).u32(ggml::F32).u64(0).data(32, 4),
            twice.data(32, 64),
        ],
        expect![[r#"
            at byte 24: a tensor name must have 1 to 255 bytes, but this one has 0
            at byte 24: a tensor name must have 1 to 255 bytes, but this one has 256
            at byte 24: the name of tensor 0 is not UTF-8 (its byte 0 is 0xe2)
            at byte 60: the tensor name `same` occurs twice"#]],
    );
    one(&"n".repeat(255), &[1], ggml::F32, 0).accepted();
}

#[test]
fn invalid_shapes_are_refused() {
    refused(
        [
            one("t", &[], ggml::F32, 0),
            one("t", &[1, 1, 1, 1, 1], ggml::F32, 0),
            Raw::new(1, 0).string("t").u32(u32::MAX).bytes(&[0; 64]),
            one("t", &[4, 0], ggml::F32, 0),
            one("t", &[48, 2], ggml::Q4_0, 0),
            one("t", &[192, 4], ggml::Q4_K, 0),
        ],
        expect![[r#"
            at byte 33: tensor `t` has 0 dimensions, but 1 to 4 are allowed
            at byte 33: tensor `t` has 5 dimensions, but 1 to 4 are allowed
            at byte 33: tensor `t` has 4294967295 dimensions, but 1 to 4 are allowed
            at byte 37: tensor `t` of shape [4, 0] has a dimension of size zero
            at byte 37: tensor `t` has rows of 48 values, but q4_0 is stored in blocks of 32
            at byte 37: tensor `t` has rows of 192 values, but q4_k is stored in blocks of 256"#]],
    );
    let blocks = one("t", &[32, 2, 3, 4], ggml::Q4_0, 0).accepted();
    assert_eq!(blocks.tensors()[0].bytes, 18 * 24);
}

#[test]
fn sizes_that_overflow_are_refused() {
    // In the row, in the number of values, and in bytes although the number of values fits.
    refused(
        [
            one("t", &[u64::MAX], ggml::F32, 0),
            one("t", &[1 << 32, 1 << 31, 2], ggml::F32, 0),
            one("t", &[1 << 31, 1 << 31], ggml::F32, 0),
        ],
        expect![[r#"
            at byte 37: the size of tensor `t` of shape [18446744073709551615] overflows 64 bits
            at byte 37: the size of tensor `t` of shape [4294967296, 2147483648, 2] overflows 64 bits
            at byte 37: the size of tensor `t` of shape [2147483648, 2147483648] overflows 64 bits"#]],
    );
}

#[test]
fn unknown_types_are_refused() {
    refused(
        [one("t", &[32], 4, 0), one("t", &[32], u32::MAX, 0)],
        expect![[r#"
            at byte 45: tensor `t` has the unknown type 4
            at byte 45: tensor `t` has the unknown type 4294967295"#]],
    );
}

#[test]
fn tensors_outside_the_file_are_refused() {
    let two = Raw::new(2, 0).tensor("a", &[8], ggml::F32, 0).tensor("b", &[256], ggml::F32, 32);
    refused(
        [
            one("t", &[1], ggml::F32, 4),
            one("t", &[1025], ggml::F32, 0),
            one("t", &[1], ggml::F32, 4096),
            one("t", &[1], ggml::F32, u64::MAX - 31),
            // Data that ends too early, and no data.
            two.data(32, 500),
            Raw::new(1, 0).tensor("t", &[1], ggml::F32, 0),
        ],
        expect![[r#"
            at byte 49: the offset of tensor `t` is 4, not a multiple of the alignment 32
            at byte 24: tensor `t` reaches beyond the end of the file, which has 4160 bytes, but its tensors need 4164; the download is incomplete, or the file is damaged
            at byte 24: tensor `t` reaches beyond the end of the file, which has 4160 bytes, but its tensors need 4164; the download is incomplete, or the file is damaged
            at byte 24: tensor `t` reaches beyond the end of the file, which has 4160 bytes, but its tensors need 18446744073709551615; the download is incomplete, or the file is damaged
            at byte 57: tensor `b` reaches beyond the end of the file, which has 596 bytes, but its tensors need 1152; the download is incomplete, or the file is damaged
            at byte 24: tensor `t` reaches beyond the end of the file, which has 57 bytes, but its tensors need 68; the download is incomplete, or the file is damaged"#]],
    );
    one("t", &[1024], ggml::F32, 0).accepted();
}

#[test]
fn overlapping_tensors_are_refused() {
    let same = Raw::new(2, 0).tensor("a", &[8], ggml::F32, 0).tensor("b", &[8], ggml::F32, 0);
    let into = Raw::new(2, 0).tensor("late", &[8], ggml::F32, 32).tensor("early", &[9], ggml::F32, 0);
    refused(
        [same.data(32, 64), into.data(32, 64)],
        expect![[r#"
            at byte 57: tensor `b` begins at byte 0 of the data, within tensor `a`, which has 32 bytes from byte 0
            at byte 24: tensor `late` begins at byte 32 of the data, within tensor `early`, which has 36 bytes from byte 0"#]],
    );
}

#[test]
fn any_order_and_gaps_are_accepted() {
    let two = Raw::new(2, 0).tensor("second", &[1], ggml::F32, 96).tensor("first", &[1], ggml::F32, 0);
    let mut two = two.data(32, 100);
    let start = two.0.len() - 100;
    two.0[start] = 1;
    two.0[start + 96] = 2;
    let model = two.accepted();
    let data = |name| model.data(model.tensor(name).unwrap())[0];
    assert_eq!((data("first"), data("second")), (1, 2));
    assert_eq!(model.tensors()[0].name, "second");
    assert_eq!(model.tensor("third"), None);
}
