//! The models in `tests/models`, and copies of them that a test can damage.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;
use weft_convert::Conversion;

use crate::weights;

/// The folder of a model.
pub(crate) fn model(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models").join(name)
}

/// A copy of a model, with its weights, which is removed when it is dropped.
pub(crate) struct Copy(pub(crate) PathBuf);

impl Copy {
    pub(crate) fn of(name: &str) -> Copy {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("weft-convert-{}-{number}", std::process::id()));
        // The name of the folder is in the converted file.
        let folder = folder.join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        for file in fs::read_dir(model(name)).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), folder.join(file.file_name())).unwrap();
        }
        if folder.join("weights.txt").exists() {
            weights::write(&folder);
        }
        Copy(folder)
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.0.join(file)
    }

    /// Changes a JSON file.
    pub(crate) fn edit(&self, file: &str, change: impl FnOnce(&mut Value)) {
        let path = self.path(file);
        let mut value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        change(&mut value);
        fs::write(path, value.to_string()).unwrap();
    }

    /// Changes the header of a safetensors file, and keeps its data.
    pub(crate) fn edit_header(&self, file: &str, change: impl FnOnce(&mut Value)) {
        let path = self.path(file);
        let bytes = fs::read(&path).unwrap();
        let end = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let mut header = serde_json::from_slice(&bytes[8..end]).unwrap();
        change(&mut header);
        let header = header.to_string();
        let mut out = (header.len() as u64).to_le_bytes().to_vec();
        out.extend(header.as_bytes());
        out.extend(&bytes[end..]);
        fs::write(path, out).unwrap();
    }
}

/// A copy of a fixture with one change in config.json must be refused for it.
#[track_caller]
pub(crate) fn changed(name: &str, key: &str, value: Value, expected: &str) {
    let copy = Copy::of(name);
    copy.edit("config.json", |config| config[key] = value);
    let message = Conversion::open(&copy.0).unwrap_err().to_string();
    assert!(message.contains(expected), "{name} with another {key}: {message}");
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.0.parent().unwrap());
    }
}
