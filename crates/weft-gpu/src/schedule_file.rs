//! The file of tuned schedules, beside the packed weights: a text, one for each GPU and driver.
//!
//! It may be read and edited. A file of another GPU or driver is ignored, and so are lines that
//! make no sense.

use std::path::{Path, PathBuf};
use std::{fs, io};

use weft_render::{TunedSchedules, checksum};

use crate::cache_folder::{SCHEDULES, put};

/// Larger files are not read; the schedules of a model take some thousand bytes.
const MOST: u64 = 4 << 20;

/// The file of a GPU and its driver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ScheduleFile {
    path: PathBuf,
    /// The first line.
    head: String,
}

impl ScheduleFile {
    /// The file in a folder for a GPU and driver that this key identifies.
    pub(crate) fn new(key: &str, folder: &Path) -> ScheduleFile {
        // A driver may put line breaks in a name.
        let key = key.escape_debug();
        let path = folder.join(format!("{SCHEDULES}{:016x}.txt", checksum(key.to_string().as_bytes())));
        ScheduleFile { path, head: format!("weft schedules 1 for {key}") }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The tuned schedules; none, if there is no file or it belongs to another GPU.
    pub(crate) fn read(&self) -> TunedSchedules {
        let small = fs::metadata(&self.path).is_ok_and(|file| file.len() <= MOST);
        let bytes = small.then(|| fs::read(&self.path).ok()).flatten().unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        match text.split_once('\n') {
            Some((head, rest)) if head.trim_end() == self.head => TunedSchedules::parse(rest),
            _ => TunedSchedules::default(),
        }
    }

    /// Replaces the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn write(&self, kept: &TunedSchedules) -> io::Result<()> {
        put(&self.path, format!("{}\n{kept}", self.head).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_by_the_same_gpu_and_driver_alone() {
        let folder = std::env::temp_dir().join(format!("weft-schedules-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let file = ScheduleFile::new("card 10de:1 driver 1\n", &folder);
        assert_eq!(file.read(), TunedSchedules::default(), "there is none");
        let kept = TunedSchedules::parse("sums q4_0[32, 64]: reduce 8\n");
        file.write(&kept).unwrap();
        assert_eq!(file.read(), kept);
        let text = fs::read_to_string(file.path()).unwrap();
        assert_eq!(text, "weft schedules 1 for card 10de:1 driver 1\\n\nsums q4_0[32, 64]: reduce 8\n");
        // The file of another driver, renamed.
        let other = ScheduleFile::new("card 10de:1 driver 2", &folder);
        assert_ne!(other.path(), file.path());
        fs::copy(file.path(), other.path()).unwrap();
        assert_eq!(other.read(), TunedSchedules::default());
        // Damage costs only the lines it is in.
        fs::write(file.path(), [text.as_bytes(), b"sums \xff\xfe\nsums f16[1, 2]: reduce 4"].concat())
            .unwrap();
        assert_eq!(file.read().to_string(), "sums f16[1, 2]: reduce 4\nsums q4_0[32, 64]: reduce 8\n");
        fs::write(file.path(), &text.as_bytes()[1..]).unwrap();
        assert_eq!(file.read(), TunedSchedules::default());
        fs::remove_dir_all(folder).unwrap();
    }
}
