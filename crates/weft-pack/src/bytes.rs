//! Reading and writing the numbers and texts of headers. A file may be hostile: nothing is read beyond its end.

/// Why a header is not valid: a predicate to the file's path.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct HeaderError(pub(crate) &'static str);

/// The error where bytes are missing.
pub(crate) const SHORT: HeaderError = HeaderError("ends within its header");

/// Reads values, with bounds checks.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader(bytes)
    }

    /// The remaining bytes.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// The next `len` bytes.
    pub(crate) fn take(&mut self, len: u64) -> Result<&'a [u8], HeaderError> {
        let len = usize::try_from(len).map_err(|_| SHORT)?;
        let (taken, rest) = self.0.split_at_checked(len).ok_or(SHORT)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], HeaderError> {
        let (array, rest) = self.0.split_first_chunk().ok_or(SHORT)?;
        self.0 = rest;
        Ok(*array)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, HeaderError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, HeaderError> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn size(&mut self) -> Result<usize, HeaderError> {
        usize::try_from(self.u64()?).map_err(|_| HeaderError("is too large for this machine"))
    }

    pub(crate) fn text(&mut self) -> Result<String, HeaderError> {
        let len = u64::from(self.u32()?);
        let text = self.take(len)?;
        let text = str::from_utf8(text).map_err(|_| HeaderError("has a name that is not UTF-8"))?;
        Ok(text.to_string())
    }
}

/// Writes a text as [`Reader::text`] reads it.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(text.as_bytes());
}
