//! How often experts were chosen lately: a small text file in the cache folder for each model, so that the next run begins with those in
//! slots that the last one used most.
//!
//! Where experts are changes no bit. A file that is missing, damaged, of another model or of other experts counts as none.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::devices::machines::checksum;

/// The prefix of file names.
const PREFIX: &str = "experts-";

/// The size of the largest file that is read.
const MAX_BYTES: u64 = 4 << 20;

/// A choice in the last step of a run, as a number in the file.
const CHOICE: f32 = 1000.0;

/// The file of a model.
#[derive(Debug)]
pub(crate) struct KeptUses {
    path: PathBuf,
    model: u64,
    /// The experts of a layer.
    experts: usize,
}

impl KeptUses {
    /// That of a model, which its fingerprint says.
    pub(crate) fn new(folder: &Path, model: u64, experts: usize) -> KeptUses {
        let path = folder.join(format!("{PREFIX}{model:016x}.txt"));
        KeptUses { path, model, experts }
    }

    /// For each of the first layers with experts, how often each expert was chosen.
    pub(crate) fn read(&self) -> Vec<Vec<f32>> {
        let read = || {
            if fs::metadata(&self.path).ok()?.len() > MAX_BYTES {
                return None;
            }
            self.parse(&fs::read_to_string(&self.path).ok()?)
        };
        let counts = read().unwrap_or_default();
        counts.iter().map(|layer| layer.iter().map(|count| *count as f32 / CHOICE).collect()).collect()
    }

    /// Keeps the counts of the first layers with experts. Those of others stay.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn write(&self, layers: &[Vec<f32>]) -> io::Result<()> {
        let others = self.read().into_iter().skip(layers.len());
        let all: Vec<Vec<f32>> = layers.iter().cloned().chain(others).collect();
        let number = |count: &f32| (count * CHOICE).round() as u32;
        let all: Vec<Vec<u32>> = all.iter().map(|layer| layer.iter().map(number).collect()).collect();
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        weft_file::write(&self.path, self.text(&all).as_bytes())
    }

    fn text(&self, layers: &[Vec<u32>]) -> String {
        let KeptUses { model, experts, .. } = self;
        let mut text = format!("weft, experts 1 of model {model:016x}, {experts} a layer\n");
        for layer in layers {
            for (i, count) in layer.iter().enumerate() {
                // Writing to a string does not fail.
                let _ = write!(text, "{}{count}", if i == 0 { "" } else { " " });
            }
            text.push('\n');
        }
        let sum = checksum(text.as_bytes());
        text + &format!("checksum {sum:016x}\n")
    }

    fn parse(&self, found: &str) -> Option<Vec<Vec<u32>>> {
        let lines: Vec<&str> = found.lines().collect();
        let [_, lines @ .., _] = &lines[..] else { return None };
        let layer = |line: &&str| line.split(' ').map(|count| count.parse().ok()).collect::<Option<_>>();
        let layers: Vec<Vec<u32>> = lines.iter().map(layer).collect::<Option<_>>()?;
        let whole = layers.iter().all(|layer| layer.len() == self.experts);
        // Exactly one text is valid for these counts.
        (whole && found == self.text(&layers)).then_some(layers)
    }
}

/// Removes all files. Returns the number of bytes freed.
pub(crate) fn clear(folder: &Path) -> io::Result<u64> {
    weft_file::remove_files(folder, |name| weft_file::is_keyed(name, PREFIX, ".txt"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_kept_for_a_model_and_its_experts() {
        let folder = std::env::temp_dir().join(format!("weft-{}-uses", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let kept = KeptUses::new(&folder, 7, 3);
        assert!(kept.read().is_empty());
        let counts = vec![vec![1.5, 0.0, 33.125], vec![2.0, 0.25, 1e9], vec![0.0; 3]];
        kept.write(&counts).unwrap();
        assert_eq!(kept.read()[..1], counts[..1]);
        // As large as the file can say.
        assert_eq!(kept.read()[1], [2.0, 0.25, u32::MAX as f32 / CHOICE]);
        // A run with fewer such layers.
        kept.write(&[vec![3.0; 3]]).unwrap();
        assert_eq!(kept.read()[0], [3.0; 3]);
        assert_eq!(kept.read()[2], [0.0; 3]);
        // Other experts, another model, damage.
        assert!(KeptUses { experts: 2, ..KeptUses::new(&folder, 7, 3) }.read().is_empty());
        assert!(KeptUses::new(&folder, 8, 3).read().is_empty());
        let text = fs::read_to_string(&kept.path).unwrap();
        for damaged in
            [text.replace("3000", "3001"), text.replace(" of", "  of"), text[1..].into(), "".into()]
        {
            fs::write(&kept.path, damaged).unwrap();
            assert!(kept.read().is_empty());
        }
        fs::write(&kept.path, text).unwrap();
        assert!(!kept.read().is_empty());
        assert!(clear(&folder).unwrap() > 0);
        assert!(kept.read().is_empty());
        let _ = fs::remove_dir_all(&folder);
    }
}
