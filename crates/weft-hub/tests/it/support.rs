//! A cache in a temporary folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use weft_hub::{Cache, Hub, HubOptions};

/// A cache that is removed when dropped.
pub(crate) struct TestCache(PathBuf);

impl TestCache {
    pub(crate) fn new() -> TestCache {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&folder);
        TestCache(folder)
    }

    /// The path of a file in it.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A hub that downloads into it.
    pub(crate) fn hub(&self, endpoint: &str) -> Hub {
        let mut options = HubOptions::default();
        options.endpoint = endpoint.into();
        Hub::new(Cache::new(self.0.clone()), &options).unwrap()
    }

    /// The paths of the files in `models`, relative to it.
    pub(crate) fn models(&self) -> Vec<String> {
        fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() { walk(&path, found) } else { found.push(path) }
            }
        }
        let (models, mut found) = (self.join("models"), Vec::new());
        walk(&models, &mut found);
        found.sort();
        let shown = |path: &PathBuf| path.strip_prefix(&models).unwrap().display().to_string();
        found.iter().map(|path| shown(path).replace('\\', "/")).collect()
    }
}

impl Drop for TestCache {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
