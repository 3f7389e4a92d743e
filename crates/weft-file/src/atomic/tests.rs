//! Every stage of writing fails once, and the process is killed at every stage once: the old file survives.

use std::ops;
use std::process::Command;

use super::*;
use crate::fault::{FAULT, Fault};
use crate::sweep;

/// A new empty folder, removed when dropped.
struct TestFolder(PathBuf);

impl TestFolder {
    fn new(test: &str) -> TestFolder {
        let path = std::env::temp_dir().join(format!("weft-file-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        TestFolder(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl ops::Deref for TestFolder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Calls a function while a stage fails.
fn failing<T>(stage: Stage, act: impl FnOnce() -> T) -> T {
    FAULT.set(Some((stage, Fault::Fails)));
    let done = act();
    FAULT.set(None);
    done
}

#[test]
fn whatever_fails_the_old_file_survives_and_nothing_is_left_over() {
    let folder = TestFolder::new("fails");
    let path = folder.join("a");
    for stage in Stage::ALL {
        write(&path, b"old").unwrap();
        let error = failing(stage, || write(&path, b"new")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{stage:?}");
        // The file has been renamed by the time the folder is synced.
        let expected: &[u8] = if stage == Stage::SyncFolder { b"new" } else { b"old" };
        assert_eq!(fs::read(&path).unwrap(), expected, "{stage:?}");
        assert_eq!(folder.names(), ["a"], "{stage:?}");
    }
}

#[test]
fn an_unsynced_file_is_replaced_whole_too() {
    let folder = TestFolder::new("unsynced");
    let path = folder.join("a");
    let write_unsynced = |bytes: &[u8]| {
        let mut file = AtomicFile::create(&path)?;
        file.write_all(bytes)?;
        file.commit_unsynced()
    };
    write_unsynced(b"old").unwrap();
    for stage in [Stage::Create, Stage::Write, Stage::Rename] {
        assert!(failing(stage, || write_unsynced(b"new")).is_err(), "{stage:?}");
        assert_eq!(
            (fs::read(&path).unwrap(), folder.names()),
            (b"old".to_vec(), vec!["a".into()]),
            "{stage:?}"
        );
    }
    failing(Stage::SyncFile, || write_unsynced(b"new")).unwrap();
    assert_eq!((fs::read(&path).unwrap(), folder.names()), (b"new".to_vec(), vec!["a".into()]));
}

#[test]
fn whatever_fails_a_download_can_be_continued() {
    let folder = TestFolder::new("continued");
    let path = folder.join("a");
    let continued = || {
        let mut file = AtomicFile::resume(&path, "v2")?;
        let len = file.len()? as usize;
        file.seek(SeekFrom::End(0))?;
        file.write_all(&b"new"[len..])?;
        file.commit()
    };
    for stage in Stage::ALL {
        write(&path, b"old").unwrap();
        if stage != Stage::Permissions {
            assert!(failing(stage, continued).is_err(), "{stage:?}");
        }
        if stage != Stage::SyncFolder {
            assert_eq!(fs::read(&path).unwrap(), b"old", "{stage:?}");
            continued().unwrap();
        }
        assert_eq!(
            (fs::read(&path).unwrap(), folder.names()),
            (b"new".to_vec(), vec!["a".into()]),
            "{stage:?}"
        );
    }
}

/// The variable that tells the process started by the next test its stage and folder.
const KILLED: &str = "WEFT_FILE_TEST_KILLED";

#[test]
fn a_killed_process_leaves_the_old_file_and_a_part_that_is_swept() {
    if let Some(told) = std::env::var_os(KILLED) {
        let told = told.into_string().unwrap();
        let (stage, folder) = told.split_once(' ').unwrap();
        let stage = Stage::ALL.into_iter().find(|known| format!("{known:?}") == stage).unwrap();
        FAULT.set(Some((stage, Fault::Kills)));
        let _ = write(&Path::new(folder).join("a"), b"new");
        unreachable!("the process was to be killed at {stage:?}");
    }
    let folder = TestFolder::new("killed");
    let path = folder.join("a");
    let name = "atomic::tests::a_killed_process_leaves_the_old_file_and_a_part_that_is_swept";
    for stage in Stage::ALL {
        write(&path, b"old").unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", name]).env(KILLED, format!("{stage:?} {}", folder.display()));
        let output = child.output().unwrap();
        assert!(!output.status.success(), "{stage:?}");
        let expected: &[u8] = if stage == Stage::SyncFolder { b"new" } else { b"old" };
        assert_eq!(fs::read(&path).unwrap(), expected, "{stage:?}");
        let left = usize::from(![Stage::Create, Stage::SyncFolder].contains(&stage));
        assert_eq!(folder.names().len(), 1 + left, "{stage:?}: {:?}", folder.names());
        let bytes = if [Stage::SyncFile, Stage::Rename].contains(&stage) { 3 } else { 0 };
        assert_eq!(sweep(&folder).unwrap(), bytes, "{stage:?}");
        assert_eq!(folder.names(), ["a"], "{stage:?}");
    }
}

#[test]
fn a_part_is_swept_only_when_its_writer_is_gone_and_a_download_never() {
    let folder = TestFolder::new("sweep");
    let mut living = AtomicFile::create(&folder.join("a")).unwrap();
    living.write_all(b"new").unwrap();
    drop(AtomicFile::resume(&folder.join("b"), "v1").unwrap());
    fs::write(folder.join("c.0123456789abcdef.part"), "12345").unwrap();
    fs::write(folder.join("c.partial"), "not ours").unwrap();
    assert_eq!(sweep(&folder).unwrap(), 5);
    living.commit().unwrap();
    assert_eq!(folder.names(), ["a", "b.v1.part", "c.partial"]);
    assert_eq!(sweep(&folder.join("absent")).unwrap(), 0);
}

#[test]
fn two_writers_of_one_file_do_not_meet() {
    let folder = TestFolder::new("two");
    let path = folder.join("a");
    let [mut one, mut other] = [(); 2].map(|()| AtomicFile::create(&path).unwrap());
    one.write_all(b"one").unwrap();
    other.write_all(b"other").unwrap();
    other.commit().unwrap();
    one.commit().unwrap();
    assert_eq!((fs::read(&path).unwrap(), folder.names()), (b"one".to_vec(), vec!["a".into()]));
    let _downloading = AtomicFile::resume(&path, "v2").unwrap();
    assert_eq!(AtomicFile::resume(&path, "v2").unwrap_err().kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn a_download_committed_between_open_and_lock_is_not_written_again() {
    let folder = TestFolder::new("committed");
    let path = folder.join("a");
    let mut other = AtomicFile::resume(&path, "v2").unwrap();
    other.write_all(b"complete").unwrap();
    let part = other.part_path().unwrap().to_path_buf();
    let other = std::cell::Cell::new(Some(other));
    let opened = std::cell::Cell::new(0);
    let mut file = part::open_locked(&part, |path| {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        opened.set(opened.get() + 1);
        if let Some(other) = other.take() {
            other.commit()?;
        }
        Ok(file)
    })
    .unwrap();
    file.write_all(b"new").unwrap();
    assert_eq!(opened.get(), 2);
    assert_eq!((fs::read(&path).unwrap(), fs::read(&part).unwrap()), (b"complete".to_vec(), b"new".to_vec()));

    // A file that is gone each time is left to the others.
    let error = part::open_locked(&part, |path| {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        fs::remove_file(path)?;
        Ok(file)
    });
    drop(file);
    assert_eq!(error.unwrap_err().kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn a_copy_of_the_open_file_does_not_keep_the_lock() {
    let folder = TestFolder::new("copied");
    let path = folder.join("a");
    let first = AtomicFile::resume(&path, "v2").unwrap();
    // As in a child process between its start and its program.
    let _copy = first.file().try_clone().unwrap();
    drop(first);
    let second = AtomicFile::resume(&path, "v2").unwrap();
    let _copy = second.file().try_clone().unwrap();
    second.commit().unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.try_lock().unwrap();
}

#[test]
fn threads_write_at_offsets() {
    let folder = TestFolder::new("offsets");
    let path = folder.join("a");
    let file = AtomicFile::create(&path).unwrap();
    std::thread::scope(|scope| {
        for i in 0..4u8 {
            let file = &file;
            scope.spawn(move || file.write_all_at(&[i; 100], u64::from(i) * 100).unwrap());
        }
    });
    file.sync_data().unwrap();
    file.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), (0..4).flat_map(|i| [i; 100]).collect::<Vec<u8>>());
}

#[test]
fn a_discarded_download_is_gone() {
    let folder = TestFolder::new("discarded");
    let mut file = AtomicFile::resume(&folder.join("a"), "v1").unwrap();
    file.write_all(b"bytes").unwrap();
    assert_eq!(file.part_path(), Some(folder.join("a.v1.part").as_path()));
    file.discard().unwrap();
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn folders_and_places_without_a_folder_are_refused() {
    let folder = TestFolder::new("refused");
    assert_eq!(write(&folder, b"").unwrap_err().to_string(), "it is a folder");
    assert_eq!(write(&folder.join("absent/a"), b"").unwrap_err().kind(), io::ErrorKind::NotFound);
    // A folder that appears in between is not replaced either.
    let file = AtomicFile::create(&folder.join("a")).unwrap();
    fs::create_dir(folder.join("a")).unwrap();
    assert!(file.commit().is_err());
    assert_eq!(folder.names(), ["a"]);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn links_stay_and_what_they_lead_to_is_replaced() {
        let folder = TestFolder::new("links");
        fs::write(folder.join("file"), "old").unwrap();
        symlink("file", folder.join("link")).unwrap();
        symlink("absent", folder.join("broken")).unwrap();
        write(&folder.join("link"), b"new").unwrap();
        assert!(folder.join("link").is_symlink());
        assert_eq!(fs::read(folder.join("file")).unwrap(), b"new");
        let error = write(&folder.join("broken"), b"new").unwrap_err();
        assert_eq!(error.to_string(), "it is a broken symbolic link");
        assert_eq!(folder.names(), ["broken", "file", "link"]);
    }

    #[test]
    fn pipes_and_devices_are_written_to_and_stay() {
        let folder = TestFolder::new("pipe");
        let [pipe, link] = ["pipe", "link"].map(|name| folder.join(name));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        symlink("pipe", &link).unwrap();
        // Opened for reading and writing, so that neither end waits for the other.
        let mut reader = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        for path in [&pipe, &link] {
            write(path, b"new").unwrap();
            let mut found = [0; 3];
            reader.read_exact(&mut found).unwrap();
            assert_eq!(&found, b"new");
        }
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo() && link.is_symlink());
        assert_eq!(folder.names(), ["link", "pipe"]);
        write(Path::new("/dev/null"), b"new").unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        assert!(AtomicFile::resume(Path::new("/dev/null"), "v1").is_err());
        // One that appears in between is not replaced.
        let file = AtomicFile::create(&folder.join("late")).unwrap();
        assert!(Command::new("mkfifo").arg(folder.join("late")).status().unwrap().success());
        assert!(file.commit().unwrap_err().to_string().contains("is no longer"));
        assert_eq!(folder.names(), ["late", "link", "pipe"]);
    }

    #[test]
    fn permissions_are_kept_and_no_wider_before() {
        let folder = TestFolder::new("permissions");
        let path = folder.join("a");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        // A new file gets the permissions that the umask leaves, like any other.
        write(&path, b"old").unwrap();
        fs::write(folder.join("b"), "").unwrap();
        assert_eq!(mode(&path), mode(&folder.join("b")));
        for (had, has) in [(0o600, 0o600), (0o666, 0o666), (0o4755, 0o755), (0o444, 0o444)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(had)).unwrap();
            let file = AtomicFile::create(&path).unwrap();
            assert_eq!(mode(file.part_path().unwrap()), has, "{had:o}");
            file.commit().unwrap();
            assert_eq!(mode(&path), has, "{had:o}");
        }
    }
}
