//! Files built byte by byte, so that a single place can be wrong.

use expect_test::Expect;
use weft_gguf::Gguf;

/// The ids of metadata types.
pub(crate) mod ty {
    pub(crate) const U8: u32 = 0;
    pub(crate) const I32: u32 = 5;
    pub(crate) const U32: u32 = 4;
    pub(crate) const BOOL: u32 = 7;
    pub(crate) const STRING: u32 = 8;
    pub(crate) const ARRAY: u32 = 9;
    pub(crate) const U64: u32 = 10;
}

/// The ids of tensor types.
pub(crate) mod ggml {
    pub(crate) const F32: u32 = 0;
    pub(crate) const Q4_0: u32 = 2;
    pub(crate) const Q4_K: u32 = 12;
}

/// The beginning of a GGUF file.
#[derive(Clone)]
pub(crate) struct Raw(pub(crate) Vec<u8>);

impl Raw {
    /// A version 3 header that claims these counts.
    pub(crate) fn new(tensors: u64, keys: u64) -> Raw {
        Raw(b"GGUF".to_vec()).u32(3).u64(tensors).u64(keys)
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Raw {
        self.0.extend(bytes);
        self
    }

    pub(crate) fn u32(self, v: u32) -> Raw {
        self.bytes(&v.to_le_bytes())
    }

    pub(crate) fn u64(self, v: u64) -> Raw {
        self.bytes(&v.to_le_bytes())
    }

    /// A string: length and bytes.
    pub(crate) fn string(self, s: impl AsRef<[u8]>) -> Raw {
        let s = s.as_ref();
        self.u64(s.len() as u64).bytes(s)
    }

    /// The name of a key and the id of its type; the value must follow.
    pub(crate) fn key(self, name: &str, ty: u32) -> Raw {
        self.string(name).u32(ty)
    }

    /// The name of a key whose value is an array, up to its elements.
    pub(crate) fn array(self, name: &str, element: u32, count: u64) -> Raw {
        self.key(name, ty::ARRAY).u32(element).u64(count)
    }

    /// An entry of the tensor directory.
    pub(crate) fn tensor(self, name: &str, shape: &[u64], ty: u32, offset: u64) -> Raw {
        let head = self.string(name).u32(shape.len() as u32);
        shape.iter().fold(head, |raw, &size| raw.u64(size)).u32(ty).u64(offset)
    }

    /// Padding to a multiple of `alignment`, then `data` bytes.
    pub(crate) fn data(mut self, alignment: usize, data: usize) -> Raw {
        self.0.resize(self.0.len().next_multiple_of(alignment) + data, 0);
        self
    }

    /// Asserts that the file is accepted.
    #[track_caller]
    pub(crate) fn accepted(self) -> Gguf {
        Gguf::parse(self.0).expect("expected a valid file")
    }
}

/// Asserts that all files are refused, with these messages, one per line.
#[track_caller]
pub(crate) fn refused<const N: usize>(files: [Raw; N], messages: Expect) {
    messages.assert_eq(&files.map(|file| refusal(file.0)).join("\n"));
}

/// The message for refused bytes, without the file name at its beginning.
#[track_caller]
pub(crate) fn refusal(bytes: impl Into<Vec<u8>>) -> String {
    let message = Gguf::parse(bytes.into()).expect_err("expected a refusal").to_string();
    message.strip_prefix("GGUF in memory: ").expect("the message begins with the file's name").to_string()
}
