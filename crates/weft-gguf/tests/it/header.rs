//! Files of other kinds, and files whose first 24 bytes are wrong.

use std::fs;

use expect_test::expect;
use weft_gguf::Gguf;

use crate::folder::Folder;
use crate::raw::{Raw, ggml, refusal, refused, ty};

/// An empty file of this version.
fn version(version: u32) -> Raw {
    Raw(b"GGUF".to_vec()).u32(version).u64(0).u64(0)
}

#[test]
fn the_smallest_file_is_accepted() {
    let empty = Raw::new(0, 0).accepted();
    assert_eq!((empty.version(), empty.metadata().len(), empty.tensors().len()), (3, 0, 0));
    assert_eq!(empty.files()[0].size, 24);
    assert_eq!(version(2).accepted().version(), 2);
}

#[test]
fn other_kinds_of_file_are_named() {
    let safetensors = [8u64.to_le_bytes().as_slice(), b"{\"a\":{}}"].concat();
    let kinds = [
        b"".as_slice(),
        b"G",
        b"GGML",
        b"\x7fELF",
        b"FUGG\0\0\0\x03",
        b"tjgg\x03\0\0\0",
        b"PK\x03\x04archive/data.pkl",
        b"\x1f\x8b\x08\0",
        &safetensors,
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0",
        b"\n<!DOCTYPE html><html><title>Sign in</title>",
        b"{\"error\":\"Repository not found\"}",
        &[0; 64],
    ];
    expect![[r#"
        not a supported GGUF file: it is empty (0 bytes)
        at byte 0: the magic `GGUF`: 4 bytes needed, 1 left in the file; the download is incomplete, or the file is damaged
        not a supported GGUF file: it begins with the bytes 47 47 4d 4c, not with `GGUF`
        not a supported GGUF file: it begins with the bytes 7f 45 4c 46, not with `GGUF`
        not a supported GGUF file: it is in big-endian byte order; convert it to little-endian
        not a supported GGUF file: it is in a GGML format older than GGUF; convert the model again from its source
        not a supported GGUF file: it is a zip archive or a PyTorch checkpoint; convert it, or unpack it first
        not a supported GGUF file: it is compressed with gzip; unpack it first
        not a supported GGUF file: it is a safetensors file; convert it to GGUF first
        not a supported GGUF file: it is a Git LFS pointer, not the model itself; run `git lfs pull`, or download the file
        not a supported GGUF file: it is a web page; the download went wrong (a login page, a mistyped address?)
        not a supported GGUF file: it is JSON; the download went wrong (an error message from the server?)
        not a supported GGUF file: it begins with zeros; its download is incomplete"#]].assert_eq(&kinds.map(refusal).join("\n"));
}

#[test]
fn unknown_versions_are_refused() {
    refused(
        [version(0), version(1), version(4), version(3u32.swap_bytes())],
        expect![[r#"
            not a supported GGUF file: it claims GGUF version 0, but only versions 2 and 3 are supported
            not a supported GGUF file: it is GGUF version 1, of August 2023; convert the model again from its source
            not a supported GGUF file: it claims GGUF version 4, but only versions 2 and 3 are supported
            not a supported GGUF file: it is in big-endian byte order; convert it to little-endian"#]],
    );
}

#[test]
fn counts_are_checked_against_limits_and_the_file() {
    refused(
        [
            Raw::new(u64::MAX, 0),
            Raw::new(0, u64::MAX),
            Raw::new(131_072, 0),
            Raw::new(0, 65_536),
            Raw::new(0, 2).key("a", ty::U8).bytes(&[1]),
            Raw::new(2, 0).tensor("t", &[1], ggml::F32, 0),
        ],
        expect![[r#"
            at byte 8: the file claims 18446744073709551615 tensors, more than the limit of 131072
            at byte 16: the file claims 18446744073709551615 metadata keys, more than the limit of 65536
            at byte 24: the directory of 131072 tensors: 4194304 bytes needed, 0 left in the file; the download is incomplete, or the file is damaged
            at byte 24: 65536 metadata keys: 851968 bytes needed, 0 left in the file; the download is incomplete, or the file is damaged
            at byte 24: 2 metadata keys: 26 bytes needed, 14 left in the file; the download is incomplete, or the file is damaged
            at byte 24: the directory of 2 tensors: 64 bytes needed, 33 left in the file; the download is incomplete, or the file is damaged"#]],
    );
}

#[test]
fn a_header_over_the_limit_is_refused() {
    // A sparse file: it takes no room on disk, and must not be read to the end of the array.
    let folder = Folder::new("header-limit");
    let path = folder.join("huge.gguf");
    fs::write(&path, Raw::new(0, 1).array("a", ty::U8, 256 << 20).0).unwrap();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(300 << 20).unwrap();
    let message = Gguf::open(&path).unwrap_err().to_string();
    expect!["huge.gguf: at byte 49: the 268435456 u8 of key `a` would make the header longer than the limit of 268435456 bytes"].assert_eq(&folder.relative(&message));
}
