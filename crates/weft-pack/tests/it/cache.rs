//! The files that the cache keeps, and for how long.

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Barrier;
use std::time::{Duration, SystemTime};

use weft_gguf::Gguf;
use weft_pack::{PackError, Report, pack};

use crate::support::{Folder, OTHER, TOY, Told, interrupt, load, sources};

const ALL: &[&str] = &["large", "small"];

fn packed() -> Told {
    Told { packed: true, checked: true, notes: Vec::new() }
}

/// Found, and not checked again if the system reports that nothing has changed.
fn found() -> Told {
    Told { packed: false, checked: !cfg!(target_os = "linux"), notes: Vec::new() }
}

/// Found, and checked since something has changed.
fn found_and_checked() -> Told {
    Told { packed: false, checked: true, notes: Vec::new() }
}

fn in_memory(notes: usize, told: &Told) -> bool {
    told.packed && !told.checked && told.notes.len() == notes
}

#[test]
fn weights_are_packed_once() {
    let folder = Folder::new();
    let (model, cache) = (folder.model("a.gguf", 1), folder.cache());
    assert!(in_memory(0, &load(&model, ALL, &TOY, None).1));
    assert_eq!(folder.cached().len(), 0);
    assert_eq!(load(&model, ALL, &TOY, Some(&cache)).1, packed());
    assert_eq!(load(&model, ALL, &TOY, Some(&cache)).1, found());
    assert_eq!(load(&model, &["small"], &TOY, Some(&cache)).1, found(), "a subset of the cached weights");
    assert_eq!(folder.cached().len(), 1);
}

#[test]
fn a_file_is_checked_again_once_it_changes() {
    let folder = Folder::new();
    let (model, cache) = (folder.model("a.gguf", 1), folder.cache());
    load(&model, ALL, &TOY, Some(&cache));
    assert_eq!(load(&model, ALL, &TOY, Some(&cache)).1, found());
    let packed = cache.list().unwrap().remove(0);
    // Another time, and a copy under the same name: another inode.
    File::options().write(true).open(&packed.path).unwrap().set_modified(SystemTime::now()).unwrap();
    assert_eq!(load(&model, ALL, &TOY, Some(&cache)).1, found_and_checked());
    let time = fs::metadata(&packed.path).unwrap().modified().unwrap();
    let copy = packed.path.with_extension("copy");
    fs::copy(&packed.path, &copy).unwrap();
    File::options().write(true).open(&copy).unwrap().set_modified(time).unwrap();
    fs::rename(&copy, &packed.path).unwrap();
    assert_eq!(load(&model, ALL, &TOY, Some(&cache)).1, found_and_checked());
    // Whoever asks gets a check, and what is found damaged is not trusted.
    let go_on = &mut |_, _| ControlFlow::Continue(());
    assert_eq!(cache.verify(&packed, 2, go_on), Some(Ok(())));
    let time = fs::metadata(&packed.path).unwrap().modified().unwrap();
    let mut bytes = fs::read(&packed.path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&packed.path, &bytes).unwrap();
    File::options().write(true).open(&packed.path).unwrap().set_modified(time).unwrap();
    let found = cache.verify(&packed, 2, go_on).unwrap().unwrap_err();
    assert!(found.contains("is damaged at byte"), "{found}");
    assert!(load(&model, ALL, &TOY, Some(&cache)).1.packed);
    assert_eq!(cache.verify(&packed, 2, &mut |_, _| ControlFlow::Break(())), None);
}

#[test]
fn a_missing_weight_replaces_the_file() {
    let folder = Folder::new();
    let (model, cache) = (folder.model("a.gguf", 1), folder.cache());
    assert_eq!(load(&model, &["small"], &TOY, Some(&cache)).1, packed());
    let told = load(&model, ALL, &TOY, Some(&cache)).1;
    assert!(told.packed && told.notes[0].contains("does not have all weights"), "{told:?}");
    assert_eq!(load(&model, ALL, &TOY, Some(&cache)).1, found());
    assert_eq!(folder.cached().len(), 1);
}

#[test]
fn nothing_to_pack_makes_no_file() {
    let folder = Folder::new();
    let model = weft_gguf::Gguf::open(&folder.model("a.gguf", 1)).unwrap();
    let cache = folder.cache();
    let mut report = |_| panic!("nothing to report");
    assert!(pack(&TOY, &[], 2, Some((&model, Some(&cache))), &mut report).unwrap().is_empty());
    // A type without a tile is an error.
    assert!(matches!(
        pack(&TOY, &sources(&model, &["norm"]), 2, Some((&model, Some(&cache))), &mut report),
        Err(PackError::Device(_))
    ));
    assert_eq!(folder.cached().len(), 0);
}

#[test]
fn a_model_in_memory_is_not_cached() {
    let (folder, mut told) = (Folder::new(), Vec::new());
    let model = weft_gguf::Gguf::parse(fs::read(folder.model("a.gguf", 1)).unwrap()).unwrap();
    let mut report = |report| {
        told.push(report);
        ControlFlow::Continue(())
    };
    let tiles =
        pack(&TOY, &sources(&model, ALL), 2, Some((&model, Some(&folder.cache()))), &mut report).unwrap();
    assert_eq!((tiles.len(), folder.cached().len()), (2, 0));
    assert!(!told.is_empty() && told.iter().all(|told| matches!(told, Report::Packing { .. })), "{told:?}");
}

#[test]
fn every_layout_and_model_has_its_own_file() {
    let folder = Folder::new();
    let (a, b, cache) = (folder.model("a.gguf", 1), folder.model("b.gguf", 2), folder.cache());
    for (model, toy) in [(&a, &TOY), (&a, &OTHER), (&b, &TOY)] {
        assert_eq!(load(model, ALL, toy, Some(&cache)).1, packed());
    }
    for (model, toy) in [(&a, &TOY), (&a, &OTHER), (&b, &TOY)] {
        assert_eq!(load(model, ALL, toy, Some(&cache)).1, found());
    }
    let listed = cache.list().unwrap();
    let of: Vec<_> = listed.iter().map(|p| p.of.clone().unwrap()).collect();
    assert_eq!(of.iter().filter(|of| of.model == weft_file::canonical(&a).unwrap()).count(), 2);
    assert_eq!(of.iter().filter(|of| of.packing == "toy-1").count(), 2);
    assert!(listed.iter().all(|p| p.bytes == fs::metadata(&p.path).unwrap().len()));
}

#[test]
fn a_changed_model_is_packed_again() {
    let folder = Folder::new();
    let (model, cache) = (folder.model("a.gguf", 1), folder.cache());
    load(&model, ALL, &TOY, Some(&cache));
    // Other bytes, with the same modification time and inode.
    let written = fs::metadata(&model).unwrap().modified().unwrap();
    let other = fs::read(folder.model("b.gguf", 2)).unwrap();
    let same_times = |bytes: &[u8]| {
        fs::write(&model, bytes).unwrap();
        File::options().write(true).open(&model).unwrap().set_modified(written).unwrap();
    };
    same_times(&other);
    let told = load(&model, ALL, &TOY, Some(&cache)).1;
    assert!(told.packed && told.notes[0].contains("before it was changed"), "{told:?}");
    assert_eq!(load(&model, ALL, &TOY, Some(&cache)).1, found());
    // The same bytes with another modification time.
    File::options().write(true).open(&model).unwrap().set_modified(SystemTime::now()).unwrap();
    assert!(load(&model, ALL, &TOY, Some(&cache)).1.packed);
    assert_eq!(folder.cached().len(), 1, "it replaced the old file");
}

#[test]
fn concurrent_loads_do_not_interfere() {
    let folder = Folder::new();
    let (model, cache) = (folder.model("a.gguf", 1), folder.cache());
    let together = Barrier::new(4);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                together.wait();
                let told = load(&model, ALL, &TOY, Some(&cache)).1;
                assert!(told.notes.is_empty(), "{told:?}");
            });
        }
    });
    assert_eq!(folder.cached().len(), 1);
    // Whose note is the last is chance, and a note of another time costs one more check.
    let told = load(&model, ALL, &TOY, Some(&cache)).1;
    assert!(!told.packed && told.notes.is_empty(), "{told:?}");
    assert_eq!(load(&model, ALL, &TOY, Some(&cache)).1, found());
}

#[test]
fn the_least_recently_used_file_is_removed_unless_in_use() {
    let folder = Folder::new();
    let models = ["a", "b", "c", "d"].map(|name| folder.model(name, 3));
    let mut cache = folder.cache();
    load(&models[0], ALL, &TOY, Some(&cache));
    let each = cache.list().unwrap()[0].bytes;
    cache.limit = 2 * each + each / 2;
    let age = |days: u64, of: usize| {
        let file =
            cache.list().unwrap().into_iter().find(|p| p.of.as_ref().unwrap().model == models[of]).unwrap();
        let then = SystemTime::now() - Duration::from_secs(days * 86_400);
        File::options().write(true).open(file.path).unwrap().set_modified(then).unwrap();
    };
    let there = || {
        let of = cache.list().unwrap().into_iter().map(|p| p.of.unwrap().model);
        let mut there: Vec<usize> =
            of.map(|m| models.iter().position(|known| *known == m).unwrap()).collect();
        there.sort();
        there
    };
    load(&models[1], ALL, &TOY, Some(&cache));
    age(2, 0);
    age(1, 1);
    load(&models[2], ALL, &TOY, Some(&cache));
    assert_eq!(there(), [1, 2], "the oldest is removed");
    age(3, 1);
    age(2, 2);
    let (in_use, told) = load(&models[1], ALL, &TOY, Some(&cache));
    assert_eq!(told, found_and_checked(), "its time has changed");
    age(4, 1);
    load(&models[3], ALL, &TOY, Some(&cache));
    assert_eq!(there(), [1, 3], "a file in use stays, however old");
    let (also, _) = load(&models[3], ALL, &TOY, Some(&cache));
    let told = load(&models[0], ALL, &TOY, Some(&cache)).1;
    assert!(in_memory(1, &told) && told.notes[0].contains("in use"), "{told:?}");
    assert_eq!(cache.remove(&cache.list().unwrap()[0]).unwrap(), 0);
    drop((in_use, also));
    for packed in cache.list().unwrap() {
        assert_eq!(cache.remove(&packed).unwrap(), each);
    }
    assert_eq!(folder.cached().len(), 0);
    cache.limit = each - 1;
    let told = load(&models[0], ALL, &TOY, Some(&cache)).1;
    assert!(in_memory(1, &told) && told.notes[0].contains("the limit is"), "{told:?}");
}

#[test]
fn an_interruption_leaves_no_file() {
    let folder = Folder::new();
    let (model, cache) = (folder.model("a.gguf", 1), folder.cache());
    assert_eq!(interrupt(&model, &cache), PackError::Interrupted);
    assert_eq!(folder.cached().len(), 0);
    load(&model, ALL, &TOY, Some(&cache));
    let then = SystemTime::now() - Duration::from_secs(60);
    File::options().write(true).open(&folder.cached()[0]).unwrap().set_modified(then).unwrap();
    assert_eq!(interrupt(&model, &cache), PackError::Interrupted, "while checking");
    assert_eq!(load(&model, ALL, &TOY, Some(&cache)).1, found_and_checked());
    assert_eq!(load(&model, ALL, &TOY, Some(&cache)).1, found());
}

#[test]
fn unfinished_files_are_removed_and_foreign_files_stay() {
    let folder = Folder::new();
    let (model, cache) = (folder.model("a.gguf", 1), folder.cache());
    fs::create_dir_all(&cache.folder).unwrap();
    let names = ["x.weftpack.0123456789abcdef.part", "x.weftpack.1-1.partial"];
    let [left, left_by_an_old_version] = names.map(|name| cache.folder.join(name));
    let [held, foreign] =
        ["y.weftpack.0123456789abcdef.part", "z.partial"].map(|name| cache.folder.join(name));
    let all = [&left, &left_by_an_old_version, &held, &foreign];
    all.iter().for_each(|path| fs::write(path, "half").unwrap());
    let writer = File::options().write(true).open(&held).unwrap();
    writer.lock().unwrap();
    assert_eq!(load(&model, ALL, &TOY, Some(&cache)).1, packed());
    assert_eq!(all.map(|path| path.exists()), [false, false, true, true]);
    assert_eq!(cache.list().unwrap().len(), 1);
}

#[test]
fn without_a_writable_folder_weights_are_packed_in_memory() {
    let folder = Folder::new();
    let (model, mut cache) = (folder.model("a.gguf", 1), folder.cache());
    fs::write(&cache.folder, "a file where the folder should be").unwrap();
    for _ in 0..2 {
        let told = load(&model, ALL, &TOY, Some(&cache)).1;
        assert!(told.packed && told.notes.iter().any(|note| note.contains("cannot be cached")), "{told:?}");
    }
    cache.folder.push("below");
    assert!(load(&model, ALL, &TOY, Some(&cache)).1.notes[0].contains("cannot be cached"));
}

#[test]
fn weights_that_another_process_has_packed_meanwhile_are_used() {
    let folder = Folder::new();
    let (path, cache) = (folder.model("a.gguf", 1), folder.cache());
    let model = Gguf::open(&path).unwrap();
    let mut notes = Vec::new();
    let mut meanwhile = false;
    let mut report = |report| {
        match report {
            Report::Packing { done, total } if done == total && !meanwhile => {
                meanwhile = true;
                // The file of this process cannot take its place.
                let is_part = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "part");
                fs::remove_file(folder.cached().into_iter().find(is_part).unwrap()).unwrap();
                load(&path, ALL, &TOY, Some(&cache));
            }
            Report::Note(note) => notes.push(note),
            _ => {}
        }
        ControlFlow::Continue(())
    };
    let tiles = pack(&TOY, &sources(&model, ALL), 2, Some((&model, Some(&cache))), &mut report).unwrap();
    assert!(meanwhile && notes.is_empty(), "{notes:?}");
    let expected = load(&path, ALL, &TOY, Some(&cache)).0;
    assert!(tiles.iter().zip(&expected).all(|(a, b)| (**a).as_ref() == (**b).as_ref()));
}
