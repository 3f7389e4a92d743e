//! Files with wrong metadata, and unusual but valid metadata.

use expect_test::expect;
use weft_gguf::{Array, Value};

use crate::raw::{Raw, ggml, refused, ty};

#[test]
fn invalid_keys_are_refused() {
    refused(
        [
            Raw::new(0, 1).key("", ty::U8).bytes(&[0]),
            Raw::new(0, 1).key(&"k".repeat(65_536), ty::U8).bytes(&[0]),
            Raw::new(0, 1).string(b"a\xff").u32(ty::U8).bytes(&[0]),
            Raw::new(0, 2).key("same", ty::U8).bytes(&[1]).key("same", ty::U8).bytes(&[1]),
        ],
        expect![[r#"
            at byte 24: a metadata key must have 1 to 65535 bytes, but this one has 0
            at byte 24: a metadata key must have 1 to 65535 bytes, but this one has 65536
            at byte 24: the name of metadata key 0 is not UTF-8 (its byte 1 is 0xff)
            at byte 41: the metadata key `same` occurs twice"#]],
    );
    Raw::new(0, 1).key(&"k".repeat(65_535), ty::U8).bytes(&[0]).accepted();
}

#[test]
fn lengths_are_checked_against_the_file() {
    refused(
        [
            Raw::new(0, 1).u64(u64::MAX).bytes(&[0; 16]),
            Raw::new(0, 1).key("a", ty::STRING).u64(1 << 40).bytes(b"abc"),
            Raw::new(0, 1).key("a", ty::U64).u32(7),
            Raw::new(0, 1).array("a", ty::U64, 1 << 61).bytes(&[0; 64]),
            Raw::new(0, 1).array("a", ty::U64, u64::MAX).bytes(&[0; 64]),
            Raw::new(0, 1).array("a", ty::BOOL, 65).bytes(&[0; 64]),
            Raw::new(0, 1).array("a", ty::STRING, 1 << 60).bytes(&[0; 64]),
            Raw::new(0, 1).array("a", ty::STRING, 2).string("x").u64(9).bytes(b"123"),
        ],
        expect![[r#"
            at byte 32: the name of metadata key 0: 18446744073709551615 bytes needed, 16 left in the file; the download is incomplete, or the file is damaged
            at byte 45: the value of key `a`: 1099511627776 bytes needed, 3 left in the file; the download is incomplete, or the file is damaged
            at byte 37: the value of key `a`: 8 bytes needed, 4 left in the file; the download is incomplete, or the file is damaged
            at byte 49: the 2305843009213693952 u64 of key `a`: 18446744073709551616 bytes needed, 64 left in the file; the download is incomplete, or the file is damaged
            at byte 49: the 18446744073709551615 u64 of key `a`: 147573952589676412920 bytes needed, 64 left in the file; the download is incomplete, or the file is damaged
            at byte 49: the 65 bool of key `a`: 65 bytes needed, 64 left in the file; the download is incomplete, or the file is damaged
            at byte 49: the 1152921504606846976 strings of key `a`: 9223372036854775808 bytes needed, 64 left in the file; the download is incomplete, or the file is damaged
            at byte 66: string 1 of key `a`: 9 bytes needed, 3 left in the file; the download is incomplete, or the file is damaged"#]],
    );
}

#[test]
fn invalid_types_are_refused() {
    refused(
        [
            Raw::new(0, 1).key("a", 13).bytes(&[0; 16]),
            Raw::new(0, 1).array("a", 99, 0),
            Raw::new(0, 1).array("a", ty::ARRAY, 1).u32(ty::U8).u64(0),
            Raw::new(0, 1).key("a", ty::BOOL).bytes(&[2]),
            Raw::new(0, 1).array("a", ty::BOOL, 3).bytes(&[0, 1, 255]),
            Raw::new(0, 1).key("a", ty::STRING).string(b"ab\xc3"),
        ],
        expect![[r#"
            at byte 33: the type of key `a` is 13, which is not a GGUF type (0 to 12)
            at byte 37: the element type of key `a` is 99, which is not a GGUF type (0 to 12)
            at byte 37: key `a` is an array of arrays, which is not supported
            at byte 37: a bool must be 0 or 1, but one of key `a` is 2
            at byte 51: a bool must be 0 or 1, but one of key `a` is 255
            at byte 37: the value of key `a` is not UTF-8 (its byte 2 is 0xc3)"#]],
    );
}

#[test]
fn invalid_alignments_are_refused() {
    let with = |alignment: u32| {
        let key = Raw::new(1, 1).key("general.alignment", ty::U32).u32(alignment);
        key.tensor("t", &[1], ggml::F32, 0).data(alignment.max(1) as usize, 4)
    };
    let text = Raw::new(0, 1).key("general.alignment", ty::STRING).string("32");
    refused(
        [with(0), with(48), with(1 << 21), text],
        expect![[r#"
            at byte 49: the alignment must be a power of two up to 1048576, but is 0
            at byte 49: the alignment must be a power of two up to 1048576, but is 48
            at byte 49: the alignment must be a power of two up to 1048576, but is 2097152
            at byte 49: the alignment must be stored as a u32, but is stored as string"#]],
    );
    for alignment in [1, 8, 64, 1 << 20] {
        let mut file = with(alignment);
        *file.0.last_mut().unwrap() = 7;
        let model = file.accepted();
        assert_eq!(model.data(&model.tensors()[0]), [0, 0, 0, 7], "alignment {alignment}");
    }
}

#[test]
fn hostile_names_are_escaped_and_truncated() {
    let name = format!("\x1b[2J\n{}", "x".repeat(1000));
    refused(
        [Raw::new(0, 1).key(&name, 77)],
        expect![[
            r#"at byte 1037: the type of key `\u{1b}[2J\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…` is 77, which is not a GGUF type (0 to 12)"#
        ]],
    );
}

#[test]
fn keys_keep_their_order_and_tokens_may_be_any_bytes() {
    let model = Raw::new(0, 3)
        .key("z", ty::U32)
        .u32(1)
        .array("tokens", ty::STRING, 3)
        .string("a")
        .string(b"\xf0\x9f")
        .string("")
        .array("none", ty::I32, 0)
        .accepted();
    let keys: Vec<&str> = model.metadata().iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["z", "tokens", "none"]);
    let tokens = model.metadata().require_strings("tokens").unwrap();
    assert_eq!(tokens.iter().collect::<Vec<_>>(), [b"a".as_slice(), b"\xf0\x9f", b""]);
    assert_eq!(
        (tokens.get_str(0), tokens.get_str(1), tokens.get(2), tokens.get(3)),
        (Some("a"), None, Some(&[][..]), None)
    );
    assert_eq!(model.metadata().get("none"), Some(&Value::Array(Array::I32(vec![]))));
    assert_eq!(format!("{tokens:?}"), "[\"a\", \"\u{fffd}\", \"\"]");
}
