//! Models that are kept packed only: their bits, their files byte for byte, and what happens to damaged ones.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use weft_device::{Packing, RowsOf16};
use weft_gguf::{Gguf, Metadata, TensorInfo, Writer};
use weft_pack::{
    Form, ModelError, PackCache, Report, check, fingerprint, identity, is_packed_model, open_model,
    originals, pack, pack_model, unpack_model, verify_model,
};
use weft_quant::GgmlType;
use weft_random::Random;

use crate::support::{Folder, OTHER, TOY, sources};

const PACKINGS: [&dyn Packing; 2] = [&TOY, &RowsOf16];

fn form(tensor: &TensorInfo) -> Form {
    match tensor.name.as_str() {
        "small" => Form::Both,
        _ => Form::Tiles,
    }
}

fn go_on(_: Report) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Packs a model as `x.weft` beside it.
fn packed(path: &Path, packing: &'static dyn Packing) -> PathBuf {
    let to = path.with_extension("weft");
    let model = Gguf::open(path).unwrap();
    pack_model(&model, "toy-name", packing, &form, &to, 2, &mut go_on).unwrap();
    assert!(is_packed_model(&to) && !is_packed_model(path));
    to
}

fn open(path: &Path) -> Result<Gguf, ModelError> {
    open_model(path, &PACKINGS)
}

/// Whether two models have the same tensors.
fn same_tensors(a: &Gguf, b: &Gguf) -> bool {
    a.tensors() == b.tensors()
        && a.tensors().iter().all(|tensor| {
            let (a, b) = (a.tensor_bytes(tensor), b.tensor_bytes(tensor));
            a.len() == b.len() && *a == *b
        })
}

/// A model of every format, with odd numbers of rows, gaps that are not zero, and bytes after its last tensor.
fn every_format(folder: &Folder) -> PathBuf {
    let path = folder.0.join("all.gguf");
    let mut metadata = Metadata::new();
    metadata.insert("general.architecture", "toy");
    let mut writer = Writer::new(metadata).unwrap();
    let types: Vec<GgmlType> =
        GgmlType::ALL.iter().copied().filter(|ty| ty.row_bytes(512).is_some()).collect();
    let shapes: [&[u64]; 4] = [&[256, 1], &[512, 17], &[256, 5, 3], &[768]];
    let declared: Vec<(String, GgmlType, &[u64])> = types
        .iter()
        .flat_map(|ty| shapes.iter().enumerate().map(move |(i, shape)| (format!("{ty}.{i}"), *ty, *shape)))
        .collect();
    declared.iter().for_each(|(name, ty, shape)| writer.declare(name, *ty, shape).unwrap());
    let mut data = writer.create(&path).unwrap();
    let mut random = Random::new(5);
    for (name, ty, shape) in &declared {
        let bytes = ty.row_bytes(shape.iter().product()).unwrap();
        let mut bytes: Vec<u8> = (0..bytes).map(|_| random.next_u64() as u8).collect();
        // Of these, some bytes are written by no encoder.
        match ty {
            GgmlType::TQ1_0 => bytes.chunks_mut(54).for_each(|block| {
                let digits = |byte: u8| u32::from(byte) * 243 / 256;
                block[..48].iter_mut().for_each(|byte| *byte = (digits(*byte) * 256).div_ceil(243) as u8);
                block[48..52].fill(0);
            }),
            GgmlType::NVFP4 => {
                bytes.chunks_mut(36).for_each(|block| block[..4].iter_mut().for_each(|scale| *scale %= 0x7f))
            }
            _ => {}
        }
        data.write(name, &bytes).unwrap();
    }
    data.finish().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let model = Gguf::open(&path).unwrap();
    let mut at = 0;
    for (i, piece) in model.pieces(0).into_iter().enumerate() {
        match piece {
            weft_gguf::Piece::Other(len) => {
                if i > 0 {
                    bytes[at..at + len as usize].fill(0xa5);
                }
                at += len as usize;
            }
            weft_gguf::Piece::Tensor(index) => at += model.tensors()[index].bytes as usize,
        }
    }
    bytes.extend(b"and more");
    drop(model);
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn every_format_comes_back_byte_for_byte() {
    let folder = Folder::new();
    let path = every_format(&folder);
    let original = Gguf::open(&path).unwrap();
    for packing in PACKINGS {
        let to = packed(&path, packing);
        let model = open(&to).unwrap();
        assert!(same_tensors(&model, &original), "{packing:?}");
        let borrowed = original.tensors().iter().all(|tensor| model.data(tensor) == original.data(tensor));
        assert!(borrowed, "{packing:?}");
        assert_eq!((fingerprint(&model), identity(&model)), (fingerprint(&original), identity(&original)));
        assert_eq!(originals(&model).unwrap(), ["all.gguf"]);
        let back = folder.0.join("back");
        fs::create_dir_all(&back).unwrap();
        let written = unpack_model(&model, &back, 2, &mut go_on).unwrap();
        assert_eq!(written, [back.join("all.gguf")]);
        assert!(fs::read(&written[0]).unwrap() == fs::read(&path).unwrap(), "{packing:?}");
    }
}

#[test]
fn tiles_are_the_same_as_packed_from_the_file() {
    let folder = Folder::new();
    let path = folder.model("a.gguf", 3);
    let model = Gguf::open(&path).unwrap();
    let all = ["small", "large"];
    let expected = pack(&TOY, &sources(&model, &all), 2, None, &mut go_on).unwrap();
    let kept = open(&packed(&path, &TOY)).unwrap();
    fs::remove_file(&path).unwrap();
    check(&kept, 2, &mut |_, _| ControlFlow::Continue(())).unwrap();
    let cache = folder.cache();
    let mut packs = 0;
    let mut report = |report| {
        packs += usize::from(matches!(report, Report::Packing { .. }));
        ControlFlow::Continue(())
    };
    let found = pack(&TOY, &sources(&kept, &all), 2, Some((&kept, Some(&cache))), &mut report).unwrap();
    assert!(found.iter().zip(&expected).all(|(a, b)| (**a).as_ref() == (**b).as_ref()));
    assert_eq!((packs, folder.cached().len()), (0, 0), "nothing is packed");
    // Another layout is packed from restored rows, into the cache.
    let other = pack(&OTHER, &sources(&kept, &all), 2, Some((&kept, Some(&cache))), &mut go_on).unwrap();
    let direct = pack(&OTHER, &sources(&kept, &all), 2, None, &mut go_on).unwrap();
    assert!(other.iter().zip(&direct).all(|(a, b)| (**a).as_ref() == (**b).as_ref()));
    assert_eq!(folder.cached().len(), 1);
}

#[test]
fn split_models_are_one_packed_file() {
    let folder = Folder::new();
    let paths: Vec<PathBuf> = (1..=2).map(|n| folder.0.join(format!("m-0000{n}-of-00002.gguf"))).collect();
    for (n, path) in paths.iter().enumerate() {
        let mut metadata = Metadata::new();
        metadata.insert("general.architecture", "toy");
        metadata.insert("split.no", n as u16);
        metadata.insert("split.count", 2u16);
        metadata.insert("split.tensors.count", 2i32);
        let mut writer = Writer::new(metadata).unwrap();
        writer.declare(&format!("t{n}"), GgmlType::Q8_0, &[64, 9]).unwrap();
        let mut data = writer.create(path).unwrap();
        data.write(&format!("t{n}"), &vec![n as u8 + 1; 9 * 68]).unwrap();
        data.finish().unwrap();
    }
    let original = Gguf::open(&paths[0]).unwrap();
    let to = folder.0.join("m.weft");
    pack_model(&original, "m", &RowsOf16, &form, &to, 2, &mut go_on).unwrap();
    let bytes: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    let tensors = original.tensors().to_vec();
    // Windows keeps files that are mapped.
    drop(original);
    paths.iter().for_each(|path| fs::remove_file(path).unwrap());
    let model = open(&to).unwrap();
    assert!(model.tensors() == tensors && model.files().len() == 2);
    let written = unpack_model(&model, &folder.0, 1, &mut go_on).unwrap();
    assert_eq!(written, paths);
    assert!(paths.iter().zip(bytes).all(|(path, bytes)| fs::read(path).unwrap() == bytes));
}

/// A layout that loses a bit, as a device's own could.
#[derive(Debug)]
struct Lossy;

impl Packing for Lossy {
    fn id(&self) -> &'static str {
        "lossy"
    }

    fn tile(&self, ty: GgmlType, row_len: usize) -> Option<weft_device::Tile> {
        TOY.tile(ty, row_len)
    }

    fn pack(&self, ty: GgmlType, row_len: usize, rows: &[u8], out: &mut [u8]) {
        TOY.pack(ty, row_len, rows, out);
    }

    fn restore(&self, ty: GgmlType, row_len: usize, tile: &[u8], rows: &mut [u8]) {
        TOY.restore(ty, row_len, tile, rows);
        rows[0] &= !1;
    }
}

#[test]
fn nothing_is_written_unless_everything_can_be_restored() {
    let folder = Folder::new();
    let path = folder.model("a.gguf", 4);
    let before = fs::read(&path).unwrap();
    let model = Gguf::open(&path).unwrap();
    let to = folder.0.join("a.weft");
    let error = pack_model(&model, "a", &Lossy, &form, &to, 2, &mut go_on).unwrap_err().to_string();
    assert!(error.contains("a.gguf stays as it is: its tensor `"), "{error}");
    let files = || -> Vec<_> { fs::read_dir(&folder.0).unwrap().map(|e| e.unwrap().file_name()).collect() };
    assert_eq!(files(), ["a.gguf"]);
    // Interrupted at each report.
    for stop in 0.. {
        let mut reports = 0;
        let mut report = |_| {
            reports += 1;
            if reports > stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        match pack_model(&model, "a", &TOY, &form, &to, 1, &mut report) {
            Ok(()) => break,
            Err(error) => assert!(matches!(error, ModelError::Interrupted), "{error}"),
        }
        assert_eq!(files(), ["a.gguf"], "at report {stop}");
    }
    assert!(fs::read(&path).unwrap() == before);
    let kept = open(&to).unwrap();
    for stop in 0..3 {
        let mut reports = 0;
        let mut report = |_| {
            reports += 1;
            if reports > stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let back = folder.0.join("back");
        fs::create_dir_all(&back).unwrap();
        let error = unpack_model(&kept, &back, 1, &mut report).unwrap_err();
        assert!(matches!(error, ModelError::Interrupted), "{error}");
        assert_eq!(fs::read_dir(back).unwrap().count(), 0);
    }
    let error = pack_model(&kept, "a", &TOY, &form, &to, 1, &mut go_on).unwrap_err().to_string();
    assert!(error.contains("is packed already"), "{error}");
    let error = unpack_model(&model, &folder.0, 1, &mut go_on).unwrap_err().to_string();
    assert!(error.contains("is not packed"), "{error}");
}

#[test]
fn damage_is_found_and_says_how_to_fetch_the_model_again() {
    let folder = Folder::new();
    let path = folder.model("a.gguf", 4);
    let to = packed(&path, &RowsOf16);
    let good = fs::read(&to).unwrap();
    let continues = &mut |_, _| ControlFlow::Continue(());
    let advice = "`weft rm toy-name` removes it, and `weft pull toy-name` fetches it again";
    let (data, header) = (good.len() - 100, 40);
    for at in [data, good.len() / 2, header, 0, 10, 20, 30] {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        fs::write(&to, &bytes).unwrap();
        let found = open(&to).and_then(|model| check(&model, 2, continues));
        let error = found.unwrap_err().to_string();
        // Without its first bytes it is no packed model; without its header the name is lost.
        assert!(at > 0 || error.contains("not a supported GGUF file"), "{at}: {error}");
        assert!(at == 0 || error.contains("is the only copy of this model: `weft rm "), "{at}: {error}");
        assert!(at <= header || error.contains(advice), "{at}: {error}");
    }
    for len in [good.len() - 1, good.len() / 2, 5000, 40, 31, 9] {
        fs::write(&to, &good[..len]).unwrap();
        let error = open(&to).err().unwrap().to_string();
        assert!(error.contains("is the only copy of this model"), "{len}: {error}");
    }
    // A file that was changed without a trace is not unpacked, whatever its checksums say.
    fs::write(&to, &good).unwrap();
    let model = open(&to).unwrap();
    check(&model, 2, continues).unwrap();
    let time = fs::metadata(&to).unwrap().modified().unwrap();
    drop(model);
    let mut bytes = good.clone();
    bytes[good.len() / 2] ^= 1;
    fs::write(&to, &bytes).unwrap();
    fs::File::options().write(true).open(&to).unwrap().set_modified(time).unwrap();
    let model = open(&to).unwrap();
    let back = folder.0.join("back");
    fs::create_dir_all(&back).unwrap();
    let error = unpack_model(&model, &back, 2, &mut go_on).unwrap_err().to_string();
    assert!(
        error.contains("a.gguf would be restored with another SHA-256") && error.contains(advice),
        "{error}"
    );
    assert_eq!(fs::read_dir(back).unwrap().count(), 0);
    let error = verify_model(&model, 2, continues).unwrap_err().to_string();
    assert!(error.contains("is damaged at byte") && error.contains(advice), "{error}");
    drop(model);
    // A layout that this version does not know.
    fs::write(&to, &good).unwrap();
    let error = open_model(&to, &[&TOY]).err().unwrap().to_string();
    assert!(
        error.contains("was packed in the layout `rows of 16, version 1`, which this version does not"),
        "{error}"
    );
}

#[test]
fn a_packed_model_is_checked_once_until_it_changes() {
    let folder = Folder::new();
    let to = packed(&folder.model("a.gguf", 4), &RowsOf16);
    let checks = |model: &Gguf| {
        let mut reports = 0;
        let mut on = |_, _| {
            reports += 1;
            ControlFlow::Continue(())
        };
        check(model, 2, &mut on).unwrap();
        reports > 0
    };
    let model = open(&to).unwrap();
    assert!(checks(&model) && !checks(&model));
    assert_eq!(checks(&open(&to).unwrap()), !cfg!(target_os = "linux"));
    let stopped = verify_model(&model, 2, &mut |_, _| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(ModelError::Interrupted)));
    assert!(PackCache::new(folder.0.clone()).list().unwrap().is_empty(), "it is no file of the cache");
}

/// Headers with a right checksum, but numbers and bytes that no packer would write.
#[test]
fn hostile_files_are_refused_or_are_models() {
    let folder = Folder::new();
    let path = folder.0.join("tiny.gguf");
    let mut metadata = Metadata::new();
    metadata.insert("general.architecture", "toy");
    let mut writer = Writer::new(metadata).unwrap();
    let tensors: [(&str, &[u64]); 3] = [("small", &[32, 17]), ("b", &[64, 3, 2]), ("c", &[96])];
    tensors.iter().for_each(|(name, shape)| writer.declare(name, GgmlType::Q4_0, shape).unwrap());
    let mut data = writer.create(&path).unwrap();
    for (name, shape) in tensors {
        let bytes = GgmlType::Q4_0.row_bytes(shape.iter().product()).unwrap();
        data.write(name, &vec![7; bytes as usize]).unwrap();
    }
    data.finish().unwrap();
    let to = packed(&path, &RowsOf16);
    let good = fs::read(&to).unwrap();
    let len = u64::from_le_bytes(good[16..24].try_into().unwrap()) as usize;
    let mut random = Random::new(9);
    let (mut refused, mut opened) = (0, 0);
    for _ in 0..1500 {
        let mut header = good[..len].to_vec();
        for _ in 0..=random.next_u64() % 3 {
            let at = 32 + random.next_u64() as usize % (len - 40);
            match random.next_u64() % 3 {
                0 => header[at] ^= 1 << (random.next_u64() % 8),
                1 => header[at] = random.next_u64() as u8,
                _ => {
                    let extreme = [0, 1, u64::MAX, u64::MAX / 2, 1 << 32, random.next_u64() % 4096];
                    let value = extreme[random.next_u64() as usize % extreme.len()];
                    header[at..at + 8].copy_from_slice(&value.to_le_bytes());
                }
            }
        }
        let sum = weft_pack::checksum(&header[32..]);
        header[24..32].copy_from_slice(&sum.to_le_bytes());
        let mut file = fs::File::options().write(true).open(&to).unwrap();
        std::io::Write::write_all(&mut file, &header).unwrap();
        match open(&to) {
            Ok(model) => {
                opened += 1;
                for tensor in model.tensors() {
                    assert_eq!(model.tensor_bytes(tensor).as_ref().len() as u64, tensor.bytes);
                }
                let names = originals(&model).unwrap();
                assert!(names.iter().all(|name| !name.contains(['/', '\\'])), "{names:?}");
            }
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 100 && opened > 100, "{refused} refused, {opened} opened");
}
