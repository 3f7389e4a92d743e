//! The folder of the prompt cache: one file for each page, removed in LRU order.
//!
//! A file's modification time is when its page was last used, minus a microsecond for each page before it in its prompt.
//! So the pages at the end of a prompt are older than those before them, without which they are useless, and removing
//! the oldest first removes prompts from their ends.
//!
//! The folder itself is the index: looking for a page is opening its file. Engines and processes that share a folder so
//! see each other's pages at once, and no index can be wrong.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use weft_file::AtomicFile;

use super::page_file::{self, HEADER};
use crate::memory::key::Key;

/// The suffix of the files.
const SUFFIX: &str = ".weftpage";

/// The fraction of the limit that is freed at once, so that the folder is not listed for every page.
const SLACK: u64 = 16;

/// A cache of computed prompts on disk: its folder and its limit.
///
/// It holds the pages of the prefix cache (the keys and values of 32 tokens each), so that an engine that starts later
/// need not compute prompts that begin the same. Pages are written in the background and verified when they are read; a
/// damaged file is removed and its page is computed again. Several engines may share a folder, also with other models.
///
/// Keys and values reveal the prompts they were computed from: the folder is created for its owner only. Whoever can
/// write to it can change replies, as with model files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PromptCache {
    /// The folder, which need not exist. Other files in it are left alone.
    pub folder: PathBuf,
    /// The limit on the total size of all files, in bytes. The least recently used are removed to make room for new
    /// ones. Engines that share a folder may exceed it by a sixteenth each.
    pub bytes: u64,
}

/// The contents of the folder of a prompt cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct PromptCacheUsage {
    /// The number of pages, of 32 tokens each.
    pub pages: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// When one was last used.
    pub used: Option<SystemTime>,
}

/// The result of looking up a page in the folder.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// Its rows, verified.
    Rows(Vec<u8>),
    /// There is no file.
    Missing,
    /// The file was damaged, and has been removed.
    Damaged,
}

impl PromptCache {
    /// Creates a cache in a folder, with a limit in bytes.
    pub fn new(folder: impl Into<PathBuf>, bytes: u64) -> PromptCache {
        PromptCache { folder: folder.into(), bytes }
    }

    /// Returns what the folder holds, of all models.
    ///
    /// # Errors
    /// If the folder exists and cannot be read.
    pub fn usage(&self) -> io::Result<PromptCacheUsage> {
        let files = self.files()?;
        Ok(PromptCacheUsage {
            pages: files.len() as u64,
            bytes: files.iter().map(|file| file.bytes).sum(),
            used: files.iter().map(|file| file.used).max(),
        })
    }

    /// Removes all pages, and what killed processes left behind. Returns the number of bytes freed. Engines that use the
    /// folder go on, and compute those pages again.
    ///
    /// # Errors
    /// If the folder exists and cannot be read, or a file cannot be removed.
    pub fn clear(&self) -> io::Result<u64> {
        let swept = weft_file::sweep(&self.folder)?;
        Ok(swept + weft_file::remove_files(&self.folder, is_page)?)
    }

    /// Creates the folder if it does not exist, for its owner only, and removes what killed processes left behind.
    pub(crate) fn prepare(&self) -> io::Result<()> {
        let mut folder = fs::DirBuilder::new();
        folder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
        folder.create(&self.folder)?;
        weft_file::sweep(&self.folder)?;
        Ok(())
    }

    /// Reads a page of `bytes` bytes.
    pub(crate) fn read(&self, key: &Key, bytes: usize) -> Found {
        let path = self.path(key);
        match read(&path, key, bytes) {
            Ok(Some(rows)) => Found::Rows(rows),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Found::Missing,
            // A file that cannot be read or removed is replaced when its page has been computed again.
            Ok(None) | Err(_) => {
                let _ = fs::remove_file(&path);
                Found::Damaged
            }
        }
    }

    /// Writes a page, which was used at this time.
    ///
    /// It is not synced: after a power failure the file may be damaged, which costs only time, whereas syncing each page
    /// would wear the disk and delay everything else that it is used for.
    pub(crate) fn write(&self, key: &Key, rows: &[u8], used: SystemTime) -> io::Result<()> {
        let path = self.path(key);
        let mut file = AtomicFile::create(&path)?;
        file.write_all(&page_file::header(key, rows))?;
        file.write_all(rows)?;
        file.commit_unsynced()?;
        self.touch(key, used);
        Ok(())
    }

    /// Records that a page was used at this time. Returns whether it has a file.
    pub(crate) fn touch(&self, key: &Key, used: SystemTime) -> bool {
        // Only the owner may set the time; for others the file exists all the same.
        let path = self.path(key);
        match File::options().write(true).open(&path) {
            Ok(file) => {
                let _ = file.set_modified(used);
                true
            }
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    /// Returns whether a page has a file.
    pub(crate) fn has(&self, key: &Key) -> bool {
        self.path(key).exists()
    }

    /// Removes a page.
    pub(crate) fn remove(&self, key: &Key) {
        let _ = fs::remove_file(self.path(key));
    }

    /// Removes the least recently used pages until there is room for `more` bytes and some to spare. Returns the bytes
    /// that are left, and how many pages were removed.
    pub(crate) fn make_room(&self, more: u64) -> io::Result<(u64, u64)> {
        let mut files = self.files()?;
        let mut total: u64 = files.iter().map(|file| file.bytes).sum();
        let mut removed = 0;
        if total.saturating_add(more) > self.bytes {
            files.sort_by(|a, b| (a.used, &a.path).cmp(&(b.used, &b.path)));
            for file in files {
                if total.saturating_add(more) <= self.bytes - self.slack() {
                    break;
                }
                // Another process may have been faster.
                if fs::remove_file(&file.path).is_ok() || !file.path.exists() {
                    total -= file.bytes;
                    removed += 1;
                }
            }
        }
        Ok((total, removed))
    }

    /// The number of bytes after which the folder is listed again, because other processes may have written to it.
    pub(crate) fn slack(&self) -> u64 {
        self.bytes / SLACK
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(format!("{key}{SUFFIX}"))
    }

    /// All pages; none if there is no folder.
    fn files(&self) -> io::Result<Vec<Listed>> {
        let mut files = Vec::new();
        for entry in weft_file::entries(&self.folder)? {
            if entry.file_name().to_str().is_some_and(is_page)
                // The file may have disappeared.
                && let Some(about) = entry.metadata().ok().filter(fs::Metadata::is_file)
            {
                let used = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                files.push(Listed { path: entry.path(), bytes: about.len(), used });
            }
        }
        Ok(files)
    }
}

/// A file of the folder.
struct Listed {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// When a page counts as used, whose prompt is used now: `depth` pages are before it.
pub(crate) fn time_of_use(now: SystemTime, depth: usize) -> SystemTime {
    now.checked_sub(Duration::from_micros(depth as u64)).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Returns whether this is the name of a page's file.
fn is_page(name: &str) -> bool {
    let key = name.strip_suffix(SUFFIX);
    key.is_some_and(|key| {
        key.len() == 64 && key.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    })
}

/// Reads and verifies a file. Returns `None` if it is damaged.
fn read(path: &Path, key: &Key, bytes: usize) -> io::Result<Option<Vec<u8>>> {
    // Checked first, because opening a pipe would block.
    let about = fs::symlink_metadata(path)?;
    if !about.is_file() || about.len() != (HEADER + bytes) as u64 {
        return Ok(None);
    }
    let mut file = File::open(path)?;
    let mut header = [0; HEADER];
    file.read_exact(&mut header)?;
    let mut rows = Vec::with_capacity(bytes);
    file.take(bytes as u64).read_to_end(&mut rows)?;
    Ok((rows.len() == bytes && page_file::is_valid(&header, key, &rows)).then_some(rows))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};
    use std::thread;

    use super::*;

    struct TestCache(PromptCache);

    impl TestCache {
        fn new(name: &str, bytes: u64) -> TestCache {
            let folder = format!("weft-prompts-{name}-{}", std::process::id());
            let cache = PromptCache::new(std::env::temp_dir().join(folder), bytes);
            // Of a process of the same number that was killed.
            let _ = fs::remove_dir_all(&cache.folder);
            cache.prepare().unwrap();
            TestCache(cache)
        }
    }

    impl Drop for TestCache {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0.folder);
        }
    }

    fn key(i: u32) -> Key {
        Key::root([]).then(&[i])
    }

    const ROWS: usize = 1000;
    const FILE: u64 = (ROWS + HEADER) as u64;

    #[test]
    fn pages_are_found_by_their_keys_and_no_others() {
        let TestCache(cache) = &TestCache::new("found", u64::MAX);
        let rows = vec![7; ROWS];
        assert_eq!(cache.read(&key(0), ROWS), Found::Missing);
        cache.write(&key(0), &rows, SystemTime::now()).unwrap();
        assert_eq!(cache.read(&key(0), ROWS), Found::Rows(rows.clone()));
        assert_eq!(cache.read(&key(1), ROWS), Found::Missing);
        assert_eq!((cache.usage().unwrap().pages, cache.usage().unwrap().bytes), (1, FILE));
        // A file under another page's name, and one of another size.
        fs::rename(cache.path(&key(0)), cache.path(&key(1))).unwrap();
        assert_eq!(cache.read(&key(1), ROWS), Found::Damaged);
        assert_eq!(cache.read(&key(1), ROWS), Found::Missing, "it was removed");
        cache.write(&key(0), &rows, SystemTime::now()).unwrap();
        assert_eq!(cache.read(&key(0), ROWS + 1), Found::Damaged);
        // A folder in its place can be neither read nor removed.
        fs::create_dir(cache.path(&key(2))).unwrap();
        assert_eq!([cache.read(&key(2), ROWS), cache.read(&key(2), ROWS)], [Found::Damaged, Found::Damaged]);
    }

    #[test]
    fn foreign_files_stay() {
        let TestCache(cache) = &TestCache::new("foreign", u64::MAX);
        let name = format!("{}{SUFFIX}", key(0));
        // Of another page, because some systems take names that differ in case for one.
        let upper = format!("{}{SUFFIX}", key(1)).to_uppercase();
        let others = ["notes.txt", ".weftpage", &format!("{name}.bak"), &upper, &name[1..]];
        others.iter().for_each(|other| fs::write(cache.folder.join(other), "mine").unwrap());
        cache.write(&key(0), &[1; ROWS], SystemTime::now()).unwrap();
        assert_eq!((cache.usage().unwrap().pages, cache.usage().unwrap().bytes), (1, FILE));
        assert_eq!(cache.clear().unwrap(), FILE);
        assert!(others.iter().all(|other| cache.folder.join(other).exists()));
        let none = PromptCache::new(cache.folder.join("none"), 1);
        assert_eq!(none.usage().unwrap(), PromptCacheUsage::default());
        assert_eq!(none.clear().unwrap(), 0);
    }

    #[test]
    fn ends_of_prompts_are_evicted_before_their_beginnings() {
        let TestCache(cache) = &TestCache::new("lru", 20 * FILE);
        let (old, new) = (SystemTime::now() - Duration::from_secs(60), SystemTime::now());
        // Two prompts of six pages share the first three. The one used last was written first.
        for (pages, now) in [([0, 1, 2, 3, 4, 5], new), ([0, 1, 2, 6, 7, 8], old)] {
            for (depth, page) in pages.into_iter().enumerate() {
                let used = time_of_use(now, depth);
                let known = cache.touch(&key(page), used);
                assert_eq!(known, now == old && page < 3);
                if !known {
                    cache.write(&key(page), &[0; ROWS], used).unwrap();
                }
            }
        }
        // The second use counts, though it came from a clock that runs behind.
        (0..3).for_each(|page| assert!(cache.touch(&key(page), time_of_use(new, page as usize))));
        let kept = |limit: u64| {
            let cache = PromptCache { bytes: limit, ..cache.clone() };
            let (left, _) = cache.make_room(0).unwrap();
            assert!(left <= limit && left == cache.usage().unwrap().bytes);
            (0..9).filter(|page| cache.path(&key(*page)).exists()).collect::<Vec<u32>>()
        };
        assert_eq!(kept(9 * FILE), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(kept(8 * FILE), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(kept(5 * FILE), [0, 1, 2, 3]);
        assert_eq!(kept(2 * FILE), [0]);
        assert_eq!(kept(0), [] as [u32; 0]);
    }

    /// Tells the process started by the next test its folder and the first of its pages.
    const KILLED: &str = "WEFT_PROMPTS_TEST_KILLED";

    #[test]
    fn a_process_killed_while_it_writes_leaves_whole_files_and_parts_that_are_swept() {
        let rows = vec![0x5a; 2_000_000];
        if let Some(told) = std::env::var_os(KILLED) {
            let told = told.into_string().unwrap();
            let (first, folder) = told.split_once(' ').unwrap();
            let cache = PromptCache::new(folder, u64::MAX);
            println!("\nwriting");
            for page in first.parse().unwrap().. {
                cache.write(&key(page), &rows, SystemTime::now()).unwrap();
            }
        }
        let TestCache(cache) = &TestCache::new("killed", u64::MAX);
        let name = "prompts::folder::tests::a_process_killed_while_it_writes_leaves_whole_files_and_parts_that_are_swept";
        let parts = || fs::read_dir(&cache.folder).unwrap().count() as u64 - cache.usage().unwrap().pages;
        let mut left_over = 0;
        for round in 0..20 {
            let first = 1000 * round;
            let mut child = Command::new(std::env::current_exe().unwrap());
            child.args(["--exact", name, "--nocapture"]).stdout(Stdio::piped());
            child.env(KILLED, format!("{first} {}", cache.folder.display()));
            let mut child = child.spawn().unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
            assert!(lines.any(|line| line == "writing"));
            thread::sleep(Duration::from_micros(u64::from(round) * 997 % 10_000));
            child.kill().unwrap();
            child.wait().unwrap();
            left_over += parts();
            cache.prepare().unwrap();
            assert_eq!(parts(), 0, "round {round}");
            let whole = (first..).take_while(|page| cache.path(&key(*page)).exists());
            assert!(
                whole.clone().all(|page| cache.read(&key(page), rows.len()) == Found::Rows(rows.clone()))
            );
            assert_eq!(cache.usage().unwrap().pages, whole.count() as u64, "round {round}");
            cache.clear().unwrap();
        }
        assert!(left_over > 0, "no process was killed while it wrote");
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_may_read_the_folder() {
        use std::os::unix::fs::PermissionsExt as _;
        let TestCache(cache) = &TestCache::new("owner", u64::MAX);
        assert_eq!(fs::metadata(&cache.folder).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
