//! The options of opening a model to compute steps with it.

use std::path::Path;
use std::sync::Arc;

use weft_device::{Device, Forward, Hardware, OpenOptions};
use weft_fuse::{Options, REPLACE};
use weft_gguf::Gguf;
use weft_ir::{Sizes, Switches};
use weft_kern::Replacement;
use weft_models::Pooling;
use weft_pack::PackCache;
use weft_quant::GgmlType;

use crate::devices::choice::DeviceChoice;
use crate::devices::machines::cost_model;
use crate::devices::tuned::{switches_of, tuned_decisions};
use crate::error::Error;
use crate::model::adapters::AdapterFile;

/// Options of opening a model to compute steps with it.
#[derive(Clone, PartialEq, Debug)]
pub struct RuntimeOptions {
    /// The device that computes.
    pub device: DeviceChoice,
    /// The layers that run on the device, if it is not the CPU: the last ones, with the head. The others run on the CPU, with
    /// the embedding. `None` means all, or as many as the device has memory for.
    pub gpu_layers: Option<usize>,
    /// The experts of each layer that run on the device, if it is not the CPU: the first ones. The CPU computes the others at the same
    /// time. `None` means all, or as many as the device has memory for.
    pub gpu_experts: Option<usize>,
    /// The memory of the device that the model may take, in bytes; `None` means all that is free.
    pub gpu_memory: Option<u64>,
    /// The number of CPU threads, which also pack weights for other devices. `None` uses all.
    pub threads: Option<usize>,
    /// The most tokens of a sequence. `None` means 4096, or the length that the model was trained for if that is less;
    /// [`WHOLE`](RuntimeOptions::WHOLE) means that length.
    pub context: Option<usize>,
    /// The number of sequences of full length that the KV cache has room for. More can run at once if they are shorter
    /// or, with room for several, share a prefix.
    pub sequences: usize,
    /// The most tokens computed in a step. `None` means 512, or 128 on a GPU that the screen waits for.
    pub batch: Option<usize>,
    /// The most rows of logits of one sequence in a step: more than one if guessed tokens are computed.
    pub logits: usize,
    /// Whether the layer that predicts one token more is compiled.
    pub mtp: MtpLayer,
    /// The type of the KV cache: F16, BF16, F32, Q8_0, Q5_1 or Q4_0.
    pub kv: GgmlType,
    /// Makes the model compute embeddings, pooled in this way, whatever its file says. It then writes no text.
    pub pooling: Option<Pooling>,
    /// Whether layers with a sliding window keep only their window in the KV cache, where that takes less memory. Of a prompt
    /// that began like an earlier one, fewer tokens may then be found. They keep all tokens if [pages](Self::pieces) are read.
    pub windows: bool,
    /// Whether pages of the KV cache are read and written by their users, to keep them on disk. They have the rows of all layers
    /// then.
    pub pieces: bool,
    /// Whether the KV cache takes all its memory when the model is opened, rather than as it fills. A program that runs
    /// for long then fails at its start if there is too little memory, and not hours later.
    pub commit: bool,
    /// Compiler decisions set by hand.
    pub switches: Switches,
    /// Kernels that replace those of the compiler, wherever it makes them. Each is checked against the interpreter when a
    /// model is opened.
    pub kernels: Vec<Arc<Replacement>>,
    /// LoRA adapters that are added to the model.
    pub adapters: Vec<AdapterFile>,
    /// Whether decisions and schedules that were measured to pay, and are kept in the folder of the cache, are used.
    pub tuned: bool,
    /// The cache of packed weights. `None` packs them in memory each time.
    pub cache: Option<PackCache>,
}

/// Whether the layer that predicts one token more is compiled (multi-token prediction, MTP). Not all models have one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MtpLayer {
    /// It is not.
    #[default]
    Off,
    /// It is if the model has one that can be used.
    IfPossible,
    /// It is, and a model without one cannot be opened.
    Required,
}

impl Default for RuntimeOptions {
    /// One sequence on the CPU with all its threads, without a cache on disk.
    fn default() -> RuntimeOptions {
        RuntimeOptions {
            device: DeviceChoice::default(),
            gpu_layers: None,
            gpu_experts: None,
            gpu_memory: None,
            threads: None,
            context: None,
            sequences: 1,
            batch: None,
            logits: 1,
            mtp: MtpLayer::Off,
            kv: GgmlType::F16,
            pooling: None,
            windows: true,
            pieces: false,
            commit: false,
            switches: Switches::default(),
            kernels: Vec::new(),
            adapters: Vec::new(),
            tuned: true,
            cache: None,
        }
    }
}

/// A device that says it has no more memory than this.
struct Limited {
    device: Box<dyn Device>,
    bytes: u64,
}

impl Forward for Limited {
    fn inner(&self) -> &dyn Device {
        &*self.device
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        &mut *self.device
    }

    fn free_memory(&self) -> Option<u64> {
        Some(self.device.free_memory().map_or(self.bytes, |free| free.min(self.bytes)))
    }
}

impl RuntimeOptions {
    /// As a context: the length that the model was trained for.
    pub const WHOLE: usize = usize::MAX;

    /// Opens the device.
    ///
    /// # Errors
    /// [`Error::Open`] if there is no such device or it cannot be opened.
    pub fn open_device(&self) -> Result<Box<dyn Device>, Error> {
        let folder = self.device_folder().map(Path::to_path_buf);
        let options = OpenOptions { threads: self.threads, folder, ignore_tuned: !self.tuned };
        let device = self.device.open_with(&options)?;
        Ok(match self.gpu_memory {
            Some(bytes) => Box::new(Limited { device, bytes }),
            None => device,
        })
    }

    /// The decisions to compile a model with on a device: those set by hand, and those kept for both.
    pub(crate) fn decisions(&self, hardware: &Hardware, model: &Gguf) -> Switches {
        let folder = self.device_folder().filter(|_| self.tuned);
        let mut kept = switches_of(&tuned_decisions(hardware, folder, model));
        if !self.kernels.is_empty() {
            // A measurement with other kernels says nothing about these.
            kept.set(&REPLACE, REPLACE.default);
        }
        self.switches.on_top_of(&kept)
    }

    /// The options of compiling a model on a device, for steps of up to `max`.
    pub(crate) fn compile_options(&self, hardware: &Hardware, model: &Gguf, max: Sizes) -> Options {
        Options {
            max,
            switches: self.decisions(hardware, model),
            costs: cost_model(hardware, self.device_folder()),
            replacements: self.kernels.clone(),
            ..Options::default()
        }
    }

    /// The folder of the device's own files and of what was measured of it: that of the packed weights.
    pub fn device_folder(&self) -> Option<&Path> {
        self.cache.as_ref().map(|cache| cache.folder.as_path())
    }
}
