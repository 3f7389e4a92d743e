//! Packed weights: the same bits from memory and from the cache.

use std::fs;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use weft_cpu::{CpuDevice, CpuOptions};
use weft_device::{BufferId, Caps, Device, DeviceError, Forward, Packing, Tile, Weight};
use weft_engine::inspect::Runner;
use weft_engine::{EngineOptions, Error, Model, PackCache, Report};
use weft_quant::GgmlType;

use crate::support::{Fixture, all_logits, bits, fixtures};

/// Rows interleaved by five, byte by byte.
#[derive(Debug)]
struct Interleaved;

const ROWS: usize = 5;

fn row_bytes(ty: GgmlType, row_len: usize) -> usize {
    ty.row_bytes(row_len as u64).unwrap() as usize
}

impl Packing for Interleaved {
    fn id(&self) -> &'static str {
        "interleaved"
    }

    fn tile(&self, ty: GgmlType, row_len: usize) -> Option<Tile> {
        let bytes = (ROWS * row_bytes(ty, row_len)).next_multiple_of(64);
        (ty != GgmlType::F32).then_some(Tile { rows: ROWS, bytes })
    }

    fn pack(&self, ty: GgmlType, row_len: usize, rows: &[u8], out: &mut [u8]) {
        for (r, row) in rows.chunks_exact(row_bytes(ty, row_len)).enumerate() {
            row.iter().enumerate().for_each(|(i, byte)| out[i * ROWS + r] = *byte);
        }
    }

    fn restore(&self, ty: GgmlType, row_len: usize, tile: &[u8], rows: &mut [u8]) {
        for (r, row) in rows.chunks_exact_mut(row_bytes(ty, row_len)).enumerate() {
            row.iter_mut().enumerate().for_each(|(i, byte)| *byte = tile[i * ROWS + r]);
        }
    }
}

/// A CPU device that multiplies by weights which it unpacks from tiles.
struct Unpacking {
    cpu: CpuDevice,
    caps: Caps,
    tiles: Arc<AtomicUsize>,
}

impl Unpacking {
    fn new(tiles: Arc<AtomicUsize>) -> Unpacking {
        let cpu = CpuDevice::new(CpuOptions { threads: Some(2), ..CpuOptions::default() }).unwrap();
        let caps = Caps { packing: Some(&Interleaved), ..cpu.caps().clone() };
        Unpacking { cpu, caps, tiles }
    }
}

impl Forward for Unpacking {
    fn inner(&self) -> &dyn Device {
        &self.cpu
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        &mut self.cpu
    }

    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn pack(&mut self, weight: Weight) -> Result<BufferId, DeviceError> {
        let Some(tiles) = &weight.tiles else { return self.cpu.pack(weight) };
        self.tiles.fetch_add(1, Ordering::Relaxed);
        let row = row_bytes(weight.ty, weight.row_len);
        let tile = Interleaved.tile(weight.ty, weight.row_len).unwrap();
        let mut bytes = Vec::new();
        for r in 0..weight.rows {
            let tile = &(**tiles).as_ref()[r / ROWS * tile.bytes..][..tile.bytes];
            bytes.extend((0..row).map(|i| tile[i * ROWS + r % ROWS]));
        }
        assert_eq!((**tiles).as_ref().len(), weight.rows.div_ceil(ROWS) * tile.bytes);
        self.cpu.pack(Weight { bytes: Arc::new(bytes), tiles: None, ..weight })
    }
}

fn options(cache: Option<PackCache>) -> EngineOptions {
    EngineOptions::default().context(128).cache(cache)
}

/// The bits of the logits, the number of weights in tiles, and whether they had to be packed.
fn logits(fixture: &Fixture, cache: Option<PackCache>) -> (Vec<u32>, usize, bool) {
    let tiles = Arc::new(AtomicUsize::new(0));
    let device = Box::new(Unpacking::new(Arc::clone(&tiles)));
    let mut packed = false;
    let mut report = |report| {
        assert!(!matches!(report, Report::Note(_)), "{report:?}");
        packed |= matches!(report, Report::Packing { .. });
        ControlFlow::Continue(())
    };
    let model = Model::open(&fixture.path, GgmlType::F16).unwrap();
    let mut runner = Runner::new(model, device, &options(cache), &mut report).unwrap();
    let logits = bits(&all_logits(&mut runner, &fixture.tokens[..9], 4));
    (logits, tiles.load(Ordering::Relaxed), packed)
}

#[test]
fn tiles_from_memory_and_from_the_cache_give_the_same_bits() {
    let folder = std::env::temp_dir().join(format!("weft-engine-packing-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    let cache = PackCache::new(folder.clone());
    for (name, _) in &fixtures() {
        let fixture = Fixture::load(name);
        let plain = bits(&all_logits(&mut fixture.runner(options(None)), &fixture.tokens[..9], 4));
        let (in_memory, tiles, packed) = logits(&fixture, None);
        assert!(tiles > 10 && packed, "{name}: {tiles} weights in tiles");
        assert!(in_memory == plain, "{name}: tiles are not the weights");
        assert!(
            logits(&fixture, Some(cache.clone())) == (plain.clone(), tiles, true),
            "{name}: packed into the cache"
        );
        assert!(logits(&fixture, Some(cache.clone())) == (plain, tiles, false), "{name}: found in the cache");
    }
    assert_eq!(cache.list().unwrap().len(), fixtures().len());
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn loading_can_be_interrupted() {
    let fixture = Fixture::load("glm-tiny-q4_0");
    let device = Box::new(Unpacking::new(Arc::default()));
    let model = Model::open(&fixture.path, GgmlType::F16).unwrap();
    let loaded = Runner::new(model, device, &options(None), &mut |_| ControlFlow::Break(()));
    assert!(matches!(loaded.err(), Some(Error::Interrupted)));
}
