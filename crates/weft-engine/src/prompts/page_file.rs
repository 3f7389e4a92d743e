//! The file of a page: a header that names the page and seals it, then the rows of all layers.
//!
//! ```text
//! magic "weftpage", version                      8, 4 bytes
//! size of the header                             4 bytes
//! key of the page                               32 bytes
//! size and checksum of the rows                  8, 8 bytes
//! checksum of the header up to here              8 bytes
//! the rows of the page in each state of the model, in the order of the states' names
//! ```
//!
//! Numbers are little-endian. A file may be damaged, cut off or of another program. It is valid only if it is exactly as
//! long as a page of this model, it has the wanted key, and both checksums match, so no length in it is ever trusted.

use weft_pack::checksum;

use crate::memory::key::Key;

const MAGIC: [u8; 8] = *b"weftpage";

/// Increases with every change of the format or the checksum.
const VERSION: u32 = 1;

/// The size of a header.
pub(crate) const HEADER: usize = 72;

/// The size of a header without its checksum.
const SEALED: usize = HEADER - 8;

/// The header of the file with these rows.
pub(crate) fn header(key: &Key, rows: &[u8]) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..16].copy_from_slice(&(HEADER as u32).to_le_bytes());
    header[16..48].copy_from_slice(key.bytes());
    header[48..56].copy_from_slice(&(rows.len() as u64).to_le_bytes());
    header[56..SEALED].copy_from_slice(&checksum(rows).to_le_bytes());
    let seal = checksum(&header[..SEALED]);
    header[SEALED..].copy_from_slice(&seal.to_le_bytes());
    header
}

/// Returns whether this is the header of these rows under this key.
pub(crate) fn is_valid(found: &[u8; HEADER], key: &Key, rows: &[u8]) -> bool {
    // Exactly one header is valid for a key and rows.
    *found == header(key, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_of_a_file_counts() {
        let key = Key::root([b"a".as_slice()]);
        let rows: Vec<u8> = (0..=255).collect();
        let good = header(&key, &rows);
        assert!(is_valid(&good, &key, &rows));
        assert!(!is_valid(&good, &Key::root([b"b".as_slice()]), &rows));
        for bit in 0..8 * HEADER {
            let mut bad = good;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_valid(&bad, &key, &rows), "bit {bit} of the header");
        }
        for bit in 0..8 * rows.len() {
            let mut bad = rows.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_valid(&good, &key, &bad), "bit {bit} of the rows");
        }
        for len in 0..rows.len() {
            assert!(!is_valid(&good, &key, &rows[..len]), "{len} bytes");
        }
    }

    #[test]
    fn the_format_is_stable() {
        // A change requires a new version.
        let header = header(&Key::root([]), &[1, 2, 3]);
        assert_eq!(&header[..16], b"weftpage\x01\0\0\0\x48\0\0\0");
        assert_eq!(&header[48..56], &[3, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(checksum(&header), 10_155_129_374_904_797_035);
    }
}
