//! Small models, a layout that reveals mistakes, and temporary folders.

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use weft_device::{Packing, Tile, Weight};
use weft_gguf::{Gguf, Metadata, Writer};
use weft_pack::{PackCache, PackError, Report, SourceWeight, pack};
use weft_quant::GgmlType;
use weft_random::Random;

/// Rows interleaved by three, every byte changed, and tiles whose size does not divide a block's.
#[derive(Debug)]
pub(crate) struct Toy(&'static str);

pub(crate) static TOY: Toy = Toy("toy-1");
pub(crate) static OTHER: Toy = Toy("toy-2");

const ROWS: usize = 3;

impl Packing for Toy {
    fn id(&self) -> &'static str {
        self.0
    }

    fn tile(&self, ty: GgmlType, row_len: usize) -> Option<Tile> {
        let row = ty.row_bytes(row_len as u64).filter(|_| ty != GgmlType::F32)?;
        Some(Tile { rows: ROWS, bytes: (ROWS * row as usize).next_multiple_of(64) })
    }

    fn pack(&self, ty: GgmlType, row_len: usize, rows: &[u8], out: &mut [u8]) {
        let row = ty.row_bytes(row_len as u64).unwrap() as usize;
        assert_eq!(out.len(), self.tile(ty, row_len).unwrap().bytes);
        assert!(rows.len().is_multiple_of(row) && (1..=ROWS).contains(&(rows.len() / row)));
        out.fill(0xee);
        for (r, bytes) in rows.chunks_exact(row).enumerate() {
            bytes.iter().enumerate().for_each(|(i, byte)| out[i * ROWS + r] = byte ^ self.0.as_bytes()[4]);
        }
    }

    fn restore(&self, ty: GgmlType, row_len: usize, tile: &[u8], rows: &mut [u8]) {
        let row = ty.row_bytes(row_len as u64).unwrap() as usize;
        assert_eq!(tile.len(), self.tile(ty, row_len).unwrap().bytes);
        for (r, bytes) in rows.chunks_exact_mut(row).enumerate() {
            bytes
                .iter_mut()
                .enumerate()
                .for_each(|(i, byte)| *byte = tile[i * ROWS + r] ^ self.0.as_bytes()[4]);
        }
    }
}

/// A folder that is removed when dropped.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let name = format!("weft-pack-{}-{}", std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(weft_file::canonical(&path).unwrap())
    }

    /// A cache in the folder.
    pub(crate) fn cache(&self) -> PackCache {
        PackCache::new(self.0.join("packed"))
    }

    /// The paths of all files of the cache, without the notes on what was checked.
    pub(crate) fn cached(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.0.join("packed")) else { return Vec::new() };
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_none_or(|extension| extension != "checked"));
        paths.sort();
        paths
    }

    /// Writes a model of two matrices, the second of several blocks, and a norm. The weights depend on `seed`.
    pub(crate) fn model(&self, name: &str, seed: u64) -> PathBuf {
        let path = self.0.join(name);
        let mut metadata = Metadata::new();
        metadata.insert("general.architecture", "toy");
        let mut writer = Writer::new(metadata).unwrap();
        let tensors: [(_, _, &[u64]); 3] = [
            ("small", GgmlType::Q4_0, &[64, 7]),
            ("norm", GgmlType::F32, &[64]),
            ("large", GgmlType::Q8_0, &[4096, 50, 25]),
        ];
        tensors.iter().for_each(|(name, ty, shape)| writer.declare(name, *ty, shape).unwrap());
        let mut data = writer.create(&path).unwrap();
        let mut random = Random::new(seed);
        for (name, ty, shape) in tensors {
            let bytes = ty.row_bytes(shape.iter().product()).unwrap();
            data.write(name, &(0..bytes).map(|_| random.next_u64() as u8).collect::<Vec<_>>()).unwrap();
        }
        data.finish().unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The weights of a model that have these names.
pub(crate) fn sources(model: &Gguf, names: &[&str]) -> Vec<SourceWeight> {
    let source = |name: &&str| {
        let tensor = model.tensor(name).unwrap();
        let bytes = model.tensor_bytes(tensor);
        let (rows, row_len) = (tensor.shape[1..].iter().product::<u64>(), tensor.shape[0]);
        let weight = Weight {
            ty: tensor.ty,
            rows: rows as usize,
            row_len: row_len as usize,
            bytes: Arc::new(bytes.clone()),
            tiles: None,
        };
        SourceWeight { name: name.to_string(), weight, mapped: Some(bytes) }
    };
    names.iter().map(source).collect()
}

/// The reports of a load.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) packed: bool,
    pub(crate) checked: bool,
    pub(crate) notes: Vec<String>,
}

/// Packs weights of the model at `path`, and checks the tiles.
pub(crate) fn load(
    path: &std::path::Path,
    names: &[&str],
    packing: &'static Toy,
    cache: Option<&PackCache>,
) -> (Vec<weft_device::WeightBytes>, Told) {
    let model = Gguf::open(path).unwrap();
    let sources = sources(&model, names);
    let mut told = Told::default();
    let mut last = 0;
    let mut report = |report| {
        match report {
            Report::Packing { done, total }
            | Report::Checking { done, total }
            | Report::Loading { done, total }
            | Report::Unpacking { done, total } => {
                assert!(done <= total && total > 0, "{done} of {total}");
                last = total - done;
                told.packed |= matches!(report, Report::Packing { .. });
                told.checked |= matches!(report, Report::Checking { .. });
            }
            Report::Note(note) => told.notes.push(note),
        }
        ControlFlow::Continue(())
    };
    let tiles = pack(packing, &sources, 2, Some((&model, cache)), &mut report).unwrap();
    assert_eq!(last, 0, "the last report is complete");
    assert_eq!(tiles.len(), sources.len());
    for (source, tiles) in sources.iter().zip(&tiles) {
        let tiles = (**tiles).as_ref();
        assert!(tiles.as_ptr().addr().is_multiple_of(64));
        assert!(tiles == expected(packing, &source.weight), "wrong tiles of {}", source.name);
    }
    (tiles, told)
}

/// The expected tiles of a weight.
fn expected(packing: &dyn Packing, weight: &Weight) -> Vec<u8> {
    let Weight { ty, row_len, bytes, .. } = weight;
    let (tile, row) = (packing.tile(*ty, *row_len).unwrap(), ty.row_bytes(*row_len as u64).unwrap());
    let mut all = Vec::new();
    for rows in (**bytes).as_ref().chunks(tile.rows * row as usize) {
        let at = all.len();
        all.resize(at + tile.bytes, 0);
        packing.pack(*ty, *row_len, rows, &mut all[at..]);
    }
    all
}

/// Packs, interrupted by the first report.
pub(crate) fn interrupt(path: &std::path::Path, cache: &PackCache) -> PackError {
    let model = Gguf::open(path).unwrap();
    let sources = sources(&model, &["large"]);
    pack(&TOY, &sources, 2, Some((&model, Some(cache))), &mut |_| ControlFlow::Break(())).err().unwrap()
}
