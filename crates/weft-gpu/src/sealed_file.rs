//! Files of compiled kernels: data under a key, with a checksum over both.
//!
//! A file begins with its format's name, the checksum of what follows, the length of the key and the key. A file that
//! is damaged, too large or of another key counts as missing: it only saves time.

use std::path::{Path, PathBuf};
use std::{fs, io};

use weft_render::checksum;

use crate::cache_folder::put;

/// A file of the cache folder that holds data for one key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SealedFile {
    path: PathBuf,
    magic: &'static [u8; 8],
    key: String,
}

impl SealedFile {
    /// The file for `key` in a folder. Its name is made from `prefix` and the key; its first bytes are `magic`, which
    /// names the format and its version.
    pub fn new(folder: &Path, prefix: &str, magic: &'static [u8; 8], key: String) -> SealedFile {
        let path = folder.join(format!("{prefix}{:016x}.bin", checksum(key.as_bytes())));
        SealedFile { path, magic, key }
    }

    /// Reads the data. `None` if there is no file, or it has more than `most` bytes, is damaged or has another key.
    pub fn read(&self, most: u64) -> Option<Vec<u8>> {
        fs::metadata(&self.path).ok().filter(|file| file.len() <= most)?;
        let mut file = fs::read(&self.path).ok()?;
        let data = open(&file, self.magic, &self.key)?.len();
        file.drain(..file.len() - data);
        Some(file)
    }

    /// Replaces the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, data: &[u8]) -> io::Result<()> {
        put(&self.path, &seal(data, self.magic, &self.key))
    }
}

/// A file's bytes.
fn seal(data: &[u8], magic: &[u8; 8], key: &str) -> Vec<u8> {
    let mut rest = (key.len() as u64).to_le_bytes().to_vec();
    rest.extend(key.as_bytes());
    rest.extend(data);
    [magic.as_slice(), &checksum(&rest).to_le_bytes(), &rest].concat()
}

/// The data in a file's bytes.
fn open<'f>(file: &'f [u8], magic: &[u8; 8], key: &str) -> Option<&'f [u8]> {
    let rest = file.strip_prefix(magic)?;
    let (sum, rest) = rest.split_first_chunk::<8>()?;
    if u64::from_le_bytes(*sum) != checksum(rest) {
        return None;
    }
    let (len, rest) = rest.split_first_chunk::<8>()?;
    let (found, data) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
    (found == key.as_bytes()).then_some(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAGIC: &[u8; 8] = b"weftabc1";

    #[test]
    fn only_undamaged_bytes_of_the_same_format_and_key_open() {
        let file = seal(b"data", MAGIC, "card 1");
        assert_eq!(open(&file, MAGIC, "card 1"), Some(b"data".as_slice()));
        assert_eq!(open(&file, MAGIC, "card 2"), None);
        assert_eq!(open(&file, b"weftabc2", "card 1"), None);
        for at in 0..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 1;
            assert_eq!(open(&damaged, MAGIC, "card 1"), None, "byte {at}");
            assert_eq!(open(&file[..at], MAGIC, "card 1"), None, "only {at} bytes");
        }
    }

    #[test]
    fn a_file_is_read_under_its_own_key_up_to_a_size() {
        let folder = std::env::temp_dir().join(format!("weft-sealed-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let file = SealedFile::new(&folder, "kernels-", MAGIC, "card 1".into());
        assert_eq!(file.read(1 << 20), None, "there is none");
        file.write(b"data").unwrap();
        let bytes = fs::metadata(&file.path).unwrap().len();
        assert_eq!(file.read(bytes).as_deref(), Some(b"data".as_slice()));
        assert_eq!(file.read(bytes - 1), None);
        let other = SealedFile::new(&folder, "kernels-", MAGIC, "card 2".into());
        fs::copy(&file.path, &other.path).unwrap();
        assert_eq!(other.read(bytes), None);
        fs::remove_dir_all(folder).unwrap();
    }
}
