//! Models that are kept packed only: the same bits on every device, without the file that they were packed from.

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use weft_check::Emulator;
use weft_cpu::{CpuDevice, CpuOptions};
use weft_device::{BufferId, Device, DeviceError, Forward, ReferenceDevice, Weight};
use weft_engine::inspect::{Runner, fingerprint, oracle_logits};
use weft_engine::{
    EngineOptions, Error, Model, PackCache, Report, is_packed_model, open_file, pack_model, unpack_model,
};
use weft_quant::GgmlType;

use crate::support::{Fixture, all_logits, bits, fixtures};

/// Rows that a device must not look at.
struct Absent;

impl AsRef<[u8]> for Absent {
    fn as_ref(&self) -> &[u8] {
        panic!("a device looked at the rows of a weight that it has tiles of")
    }
}

/// A device whose weights with tiles have no rows.
struct TilesOnly<D>(D);

impl<D: Device> Forward for TilesOnly<D> {
    fn inner(&self) -> &dyn Device {
        &self.0
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        &mut self.0
    }

    fn pack(&mut self, mut weight: Weight) -> Result<BufferId, DeviceError> {
        if weight.tiles.is_some() {
            weight.bytes = Arc::new(Absent);
        }
        self.0.pack(weight)
    }
}

/// A folder that is removed when dropped.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(test: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("weft-engine-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Packs a fixture, and returns it with the path of its packed form.
pub(crate) fn packed(folder: &Folder, name: &str) -> Fixture {
    let mut fixture = Fixture::load(name);
    let path = folder.0.join(format!("{name}.gguf.weft"));
    let model = open_file(&fixture.path).unwrap();
    pack_model(&model, name, &path, 2, &mut |_| ControlFlow::Continue(())).unwrap();
    fixture.path = path;
    fixture
}

#[test]
fn packed_models_compute_the_same_bits_and_pack_nothing() {
    let folder = Folder::new("packed-models");
    let cache = PackCache::new(folder.0.join("cache"));
    for (name, _) in &fixtures() {
        let original = Fixture::load(name);
        let options = || EngineOptions::default().context(128).cache(Some(cache.clone()));
        let without = EngineOptions::default().context(128);
        let expected = bits(&all_logits(&mut original.runner(without.clone()), &original.tokens, 7));
        let kept = packed(&folder, name);
        for options in [options(), without] {
            let mut report = |report| {
                assert!(!matches!(report, Report::Packing { .. } | Report::Note(_)), "{name}: {report:?}");
                ControlFlow::Continue(())
            };
            let mut runner = Runner::load(&kept.path, &options, &mut report).unwrap();
            assert!(bits(&all_logits(&mut runner, &kept.tokens, 7)) == expected, "{name}");
        }
        let [kept, original] = [kept.path, original.path].map(|path| open_file(&path).unwrap());
        assert_eq!(fingerprint(&kept), fingerprint(&original), "prompts that were kept stay valid");
    }
    assert!(cache.list().unwrap().is_empty());
}

#[test]
fn no_rows_of_packed_weights_are_restored() {
    let folder = Folder::new("packed-tiles");
    for name in ["glm-tiny-q4_k_m", "ds2-tiny-q4_0", "llama-tiny-q6_k", "mixtral-tiny-q4_0"] {
        let kept = packed(&folder, name);
        let options = EngineOptions::default().context(128);
        let expected = bits(&all_logits(&mut kept.runner(options.clone()), &kept.tokens, 7));
        let device =
            TilesOnly(CpuDevice::new(CpuOptions { threads: Some(2), ..CpuOptions::default() }).unwrap());
        let model = Model::open(&kept.path, GgmlType::F16).unwrap();
        let go_on = &mut |_| ControlFlow::Continue(());
        let mut runner = Runner::new(model, Box::new(device), &options, go_on).unwrap();
        assert!(bits(&all_logits(&mut runner, &kept.tokens, 7)) == expected, "{name}");
    }
}

/// The bits of the logits on an emulated CUDA device, for which rows of tiles are not read.
fn bits_on_cuda(fixture: &Fixture, folder: &Folder) -> Option<Vec<u32>> {
    let emulator = Emulator::for_test("packed models", &folder.0.join("emulator"))?;
    let model = Model::open(&fixture.path, GgmlType::F16).unwrap();
    let options = EngineOptions::default().context(64).batch(16);
    let go_on = &mut |_| ControlFlow::Continue(());
    let mut runner = Runner::new(model, Box::new(TilesOnly(emulator)), &options, go_on).unwrap();
    Some(bits(&all_logits(&mut runner, &fixture.tokens[..16], 16)))
}

#[test]
#[ignore = "slow"]
fn cuda_texts_read_packed_models() {
    let folder = Folder::new("packed-cuda");
    let name = "glm-tiny-q4_k_m";
    let Some(expected) = bits_on_cuda(&Fixture::load(name), &folder) else { return };
    assert!(bits_on_cuda(&packed(&folder, name), &folder).unwrap() == expected);
}

#[test]
fn a_device_without_tiles_and_the_oracle_get_restored_rows() {
    let folder = Folder::new("packed-rows");
    for name in ["glm-tiny-q4_k_m", "qwen3-tiny-q4_0"] {
        let logits = |path: &std::path::Path, tokens: &[u32]| {
            let model = Model::open(path, GgmlType::F16).unwrap();
            let options = EngineOptions::default().context(64);
            let device = Box::new(ReferenceDevice::default());
            let mut runner =
                Runner::new(model, device, &options, &mut |_| ControlFlow::Continue(())).unwrap();
            let found = bits(&all_logits(&mut runner, tokens, 3));
            let oracle = oracle_logits(&open_file(path).unwrap(), tokens).unwrap();
            (found, bits(&oracle))
        };
        let original = Fixture::load(name);
        let expected = logits(&original.path, &original.tokens[..3]);
        assert!(logits(&packed(&folder, name).path, &original.tokens[..3]) == expected, "{name}");
    }
}

#[test]
fn a_model_comes_back_or_fails_by_name() {
    let folder = Folder::new("packed-back");
    let kept = packed(&folder, "llama-tiny-q6_k");
    let go_on = &mut |_| ControlFlow::Continue(());
    assert!(is_packed_model(&kept.path));
    let model = open_file(&kept.path).unwrap();
    let written = unpack_model(&model, &folder.0, 2, go_on).unwrap();
    assert!(fs::read(&written[0]).unwrap() == fs::read(Fixture::load("llama-tiny-q6_k").path).unwrap());
    drop(model);
    let mut bytes = fs::read(&kept.path).unwrap();
    let at = bytes.len() - 5000;
    bytes[at] ^= 1;
    fs::write(&kept.path, bytes).unwrap();
    let options = EngineOptions::default().context(128);
    let error = Runner::load(&kept.path, &options, go_on).err().unwrap();
    assert!(matches!(error, Error::Packed(_)), "{error:?}");
    assert!(error.to_string().contains("`weft pull llama-tiny-q6_k` fetches it again"), "{error}");
}
