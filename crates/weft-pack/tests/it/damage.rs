//! Damaged and foreign cache files.

use std::fs;
use std::path::Path;

use weft_pack::PackCache;

use crate::support::{Folder, OTHER, TOY, Told, load};

const ALL: &[&str] = &["large", "small"];

/// Replaces the file's contents with `bytes`, and loads. Panics unless the weights are right.
fn after(model: &Path, cache: &PackCache, file: &Path, bytes: &[u8]) -> Told {
    fs::write(file, bytes).unwrap();
    let told = load(model, ALL, &TOY, Some(cache)).1;
    if !told.notes.is_empty() {
        assert!(told.packed && told.notes.len() == 1 && told.notes[0].contains("packing"), "{told:?}");
        let again = load(model, ALL, &TOY, Some(cache)).1;
        assert!(!again.packed && again.notes.is_empty(), "the file was not replaced: {again:?}");
    }
    told
}

#[test]
fn damage_anywhere_is_found() {
    let folder = Folder::new();
    let (model, cache) = (folder.model("a.gguf", 1), folder.cache());
    load(&model, ALL, &TOY, Some(&cache));
    let file = &folder.cached()[0];
    let whole = fs::read(file).unwrap();
    let header = u32::from_le_bytes(*whole[12..].first_chunk().unwrap()) as usize;
    let data = header.next_multiple_of(2 << 20);
    assert!(whole.len() > data + (4 << 20), "several blocks");
    let everywhere =
        (0..header).step_by(7).chain((data..whole.len()).step_by(650_000)).chain([data, whole.len() - 1]);
    for at in everywhere {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        assert_eq!(after(&model, &cache, file, &bytes).notes.len(), 1, "a bit at {at}");
    }
    // The gap between header and data is not used.
    let mut bytes = whole.clone();
    bytes[header..data].fill(1);
    assert_eq!(after(&model, &cache, file, &bytes).notes.len(), 0);
}

#[test]
fn wrong_lengths_and_missing_blocks_are_found() {
    let folder = Folder::new();
    let (model, cache) = (folder.model("a.gguf", 1), folder.cache());
    load(&model, ALL, &TOY, Some(&cache));
    let file = &folder.cached()[0];
    let whole = fs::read(file).unwrap();
    for len in [0, 1, 8, 15, 16, 23, 24, 40, 200, 4096, 2 << 20, 3 << 20, whole.len() - 1] {
        assert_eq!(after(&model, &cache, file, &whole[..len]).notes.len(), 1, "cut to {len}");
    }
    assert_eq!(after(&model, &cache, file, &[&whole[..], &[0]].concat()).notes.len(), 1, "longer");
    let mut zeros = whole.clone();
    zeros[4 << 20..].fill(0);
    assert_eq!(after(&model, &cache, file, &zeros).notes.len(), 1, "end not written");
    let mut swapped = whole.clone();
    swapped[2 << 20..6 << 20].rotate_left(2 << 20);
    assert_eq!(after(&model, &cache, file, &swapped).notes.len(), 1, "blocks swapped");
    fs::remove_file(file).unwrap();
    fs::create_dir(file).unwrap();
    let told = load(&model, ALL, &TOY, Some(&cache)).1;
    assert!(told.packed && told.notes.len() == 2, "a folder instead of the file: {told:?}");
}

#[test]
fn files_of_other_models_and_layouts_are_found() {
    let folder = Folder::new();
    let (a, b, cache) = (folder.model("a.gguf", 1), folder.model("b.gguf", 2), folder.cache());
    load(&a, ALL, &TOY, Some(&cache));
    let file = &folder.cached()[0];
    load(&b, ALL, &TOY, Some(&cache));
    let of_b = fs::read(folder.cached().iter().find(|path| *path != file).unwrap()).unwrap();
    assert!(after(&a, &cache, file, &of_b).notes[0].contains("belongs to another model"));
    load(&a, ALL, &OTHER, Some(&cache));
    let others = cache.list().unwrap();
    let other = others.iter().find(|p| p.of.as_ref().unwrap().packing == "toy-2").unwrap();
    let packed_otherwise = fs::read(&other.path).unwrap();
    assert!(after(&a, &cache, file, &packed_otherwise).notes[0].contains("another device"));
    let model = fs::read(&a).unwrap();
    assert!(after(&a, &cache, file, &model).notes[0].contains("not a file of packed weights"));
    assert_eq!(cache.list().unwrap().len(), 3);
    fs::write(file, "nothing").unwrap();
    assert_eq!(cache.list().unwrap().iter().filter(|p| p.of.is_none()).count(), 1, "listed without a model");
}
