//! Reads a header front to back, checking every length against the bytes that are left before using it.

use std::fmt::Display;

use crate::error::Error;
use crate::limits::MAX_HEADER_BYTES;

/// A position in the header of a file.
pub(crate) struct Cursor<'a> {
    file: &'a str,
    bytes: &'a [u8],
    pos: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(file: &'a str, bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { file, bytes, pos: 0 }
    }

    /// Bytes from the start of the file.
    pub(crate) fn pos(&self) -> u64 {
        self.pos as u64
    }

    /// The error for something at byte `offset` that breaks `rule`.
    pub(crate) fn malformed(&self, offset: u64, rule: impl Into<String>) -> Error {
        Error::Malformed { file: self.file.to_string(), offset, rule: rule.into() }
    }

    /// Takes the next `count` items of `size` bytes each. Errors call them `what`.
    pub(crate) fn take(&mut self, count: u64, size: u64, what: impl Display) -> Result<&'a [u8], Error> {
        self.expect(count, size, what)?;
        // `expect` has found that many bytes, so the product neither overflows nor exceeds a usize.
        let taken = &self.bytes[self.pos..][..(count * size) as usize];
        self.pos += taken.len();
        Ok(taken)
    }

    /// Checks that `count` items of at least `size` bytes each can follow. Errors call them `what`.
    ///
    /// Call this before allocating room for a number of items that the file claims.
    pub(crate) fn expect(&self, count: u64, size: u64, what: impl Display) -> Result<(), Error> {
        let needed = u128::from(count) * u128::from(size);
        let left = self.bytes.len() - self.pos;
        if needed > left as u128 {
            let rule = format!(
                "{what}: {needed} bytes needed, {left} left in the file; \
                 the download is incomplete, or the file is damaged"
            );
            return Err(self.malformed(self.pos(), rule));
        }
        if needed + self.pos as u128 > u128::from(MAX_HEADER_BYTES) {
            let rule =
                format!("{what} would make the header longer than the limit of {MAX_HEADER_BYTES} bytes");
            return Err(self.malformed(self.pos(), rule));
        }
        Ok(())
    }

    pub(crate) fn u32(&mut self, what: impl Display) -> Result<u32, Error> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self, what: impl Display) -> Result<u64, Error> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// Takes the next `N` bytes. Errors call them `what`.
    pub(crate) fn array<const N: usize>(&mut self, what: impl Display) -> Result<[u8; N], Error> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(1, N as u64, what)?);
        Ok(array)
    }

    /// Takes a string: its length as a `u64`, then its bytes.
    pub(crate) fn string(&mut self, what: impl Display) -> Result<&'a [u8], Error> {
        let length = self.u64(format_args!("the length of {what}"))?;
        self.take(length, 1, what)
    }

    /// Takes a string that must be UTF-8.
    pub(crate) fn text(&mut self, what: impl Display) -> Result<&'a str, Error> {
        let start = self.pos();
        let bytes = self.string(&what)?;
        std::str::from_utf8(bytes).map_err(|e| {
            let at = e.valid_up_to();
            self.malformed(start, format!("{what} is not UTF-8 (its byte {at} is {:#04x})", bytes[at]))
        })
    }
}
