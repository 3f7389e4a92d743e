//! The options of opening an engine.

use std::path::Path;
use std::sync::Arc;

use weft_device::{Device, Hardware, OpenOptions};
use weft_fuse::REPLACE;
use weft_gguf::Gguf;
use weft_ir::Switches;
use weft_kern::Replacement;
use weft_pack::PackCache;
use weft_quant::GgmlType;

use crate::adapters::AdapterFile;
use crate::device_choice::DeviceChoice;
use crate::error::Error;
use crate::prompts::folder::PromptCache;
use crate::speculate::Speculate;
use crate::tuned::{switches_of, tuned_decisions};

/// Options of opening an engine. [`Engine::builder`](crate::Engine::builder) returns good defaults; each method changes
/// one option, and calls can be chained.
///
/// ```no_run
/// # fn main() -> Result<(), weft_engine::Error> {
/// use weft_engine::Engine;
/// let builder = Engine::builder().context(8192).sequences(4).device("gpu".parse()?);
/// let engine = builder.open("model.gguf")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct EngineOptions {
    /// The device that computes.
    pub device: DeviceChoice,
    /// The layers that run on the device, if it is not the CPU: the last ones, with the head. The others run on the CPU, with
    /// the embedding. `None` means all, or as many as the device has memory for.
    pub gpu_layers: Option<usize>,
    /// The number of CPU threads, which also pack weights for other devices. `None` uses all.
    pub threads: Option<usize>,
    /// The most tokens of a sequence. `None` means 4096, or the length that the model was trained for if that is less;
    /// [`WHOLE`](EngineOptions::WHOLE) means that length.
    pub context: Option<usize>,
    /// The number of sequences of full length that the KV cache has room for. More can run at once if they are shorter
    /// or, with room for several, share a prefix.
    pub sequences: usize,
    /// The most tokens computed in a step. `None` means 512, or 128 on a GPU that the screen waits for.
    pub batch: Option<usize>,
    /// The most prompt tokens computed in a step with replies, which have to wait for them. Fewer make replies smoother and
    /// prompts slower: with a mixture of experts on a CPU, a step of 128 takes a third of the time of one of 512, and a
    /// prompt an eighth longer.
    pub chunk: usize,
    /// The type of the KV cache: F16, BF16, F32 or Q8_0.
    pub kv: GgmlType,
    /// Whether layers with a sliding window keep only their window in the KV cache, where that takes less memory. Of a prompt
    /// that began like an earlier one, fewer tokens may then be found. They keep all tokens if there is a cache of
    /// [prompts](Self::prompts) on disk.
    pub windows: bool,
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
    /// The cache of computed prompts on disk, which a later engine need not compute again. `None` keeps them in memory
    /// only.
    pub prompts: Option<PromptCache>,
    /// What guesses the next tokens of replies, so that one step can compute several. No reply depends on it.
    pub speculate: Speculate,
}

impl Default for EngineOptions {
    /// One sequence on the CPU with all its threads, without a cache on disk.
    fn default() -> EngineOptions {
        EngineOptions {
            device: DeviceChoice::default(),
            gpu_layers: None,
            threads: None,
            context: None,
            sequences: 1,
            batch: None,
            chunk: 128,
            kv: GgmlType::F16,
            windows: true,
            commit: false,
            switches: Switches::default(),
            kernels: Vec::new(),
            adapters: Vec::new(),
            tuned: true,
            cache: None,
            prompts: None,
            speculate: Speculate::Off,
        }
    }
}

impl EngineOptions {
    /// Sets the [device](Self::device).
    pub fn device(self, device: DeviceChoice) -> EngineOptions {
        EngineOptions { device, ..self }
    }

    /// Sets the number of layers that [run on the device](Self::gpu_layers).
    pub fn gpu_layers(self, layers: impl Into<Option<usize>>) -> EngineOptions {
        EngineOptions { gpu_layers: layers.into(), ..self }
    }

    /// Sets the number of [threads](Self::threads).
    pub fn threads(self, threads: impl Into<Option<usize>>) -> EngineOptions {
        EngineOptions { threads: threads.into(), ..self }
    }

    /// As a context: the length that the model was trained for.
    pub const WHOLE: usize = usize::MAX;

    /// Sets the [context](Self::context), in tokens.
    pub fn context(self, tokens: impl Into<Option<usize>>) -> EngineOptions {
        EngineOptions { context: tokens.into(), ..self }
    }

    /// Sets the number of [sequences](Self::sequences) of full length that there is room for.
    pub fn sequences(self, sequences: usize) -> EngineOptions {
        EngineOptions { sequences, ..self }
    }

    /// Sets the most tokens of a [step](Self::batch).
    pub fn batch(self, tokens: impl Into<Option<usize>>) -> EngineOptions {
        EngineOptions { batch: tokens.into(), ..self }
    }

    /// Sets the most prompt tokens of a [step with replies](Self::chunk).
    pub fn chunk(self, tokens: usize) -> EngineOptions {
        EngineOptions { chunk: tokens, ..self }
    }

    /// Sets the type of the [KV cache](Self::kv).
    pub fn kv(self, kv: GgmlType) -> EngineOptions {
        EngineOptions { kv, ..self }
    }

    /// Sets whether layers with a sliding window keep only their [window](Self::windows) in the KV cache.
    pub fn windows(self, windows: bool) -> EngineOptions {
        EngineOptions { windows, ..self }
    }

    /// Sets whether the KV cache takes its memory [at once](Self::commit).
    pub fn commit(self, commit: bool) -> EngineOptions {
        EngineOptions { commit, ..self }
    }

    /// Sets [compiler decisions](Self::switches).
    pub fn switches(self, switches: Switches) -> EngineOptions {
        EngineOptions { switches, ..self }
    }

    /// Sets the [kernels](Self::kernels) that replace the compiler's.
    pub fn kernels(self, kernels: Vec<Arc<Replacement>>) -> EngineOptions {
        EngineOptions { kernels, ..self }
    }

    /// Sets the LoRA [adapters](Self::adapters).
    pub fn adapters(self, adapters: Vec<AdapterFile>) -> EngineOptions {
        EngineOptions { adapters, ..self }
    }

    /// Sets whether what was [tuned](Self::tuned) is used.
    pub fn tuned(self, tuned: bool) -> EngineOptions {
        EngineOptions { tuned, ..self }
    }

    /// Sets the [cache](Self::cache) of packed weights.
    pub fn cache(self, cache: impl Into<Option<PackCache>>) -> EngineOptions {
        EngineOptions { cache: cache.into(), ..self }
    }

    /// Sets the cache of computed [prompts](Self::prompts) on disk.
    pub fn prompts(self, prompts: impl Into<Option<PromptCache>>) -> EngineOptions {
        EngineOptions { prompts: prompts.into(), ..self }
    }

    /// Sets what [guesses](Self::speculate) the next tokens of replies.
    pub fn speculate(self, speculate: Speculate) -> EngineOptions {
        EngineOptions { speculate, ..self }
    }

    /// Opens the device.
    ///
    /// # Errors
    /// [`Error::Open`] if there is no such device or it cannot be opened.
    pub fn open_device(&self) -> Result<Box<dyn Device>, Error> {
        let folder = self.device_folder().map(Path::to_path_buf);
        self.device.open_with(&OpenOptions { threads: self.threads, folder, ignore_tuned: !self.tuned })
    }

    /// The decisions to compile a model with on a device: those set by hand, and those kept for both.
    pub(crate) fn decisions(&self, hardware: &Hardware, model: &Gguf) -> Switches {
        let folder = self.device_folder().filter(|_| self.tuned);
        let mut kept = switches_of(&tuned_decisions(hardware, folder, model));
        if !self.kernels.is_empty() {
            // What was found of other kernels says nothing about these.
            kept.set(&REPLACE, REPLACE.default);
        }
        self.switches.on_top_of(&kept)
    }

    /// The folder of the device's own files and of what was measured of it: that of the packed weights.
    pub fn device_folder(&self) -> Option<&Path> {
        self.cache.as_ref().map(|cache| cache.folder.as_path())
    }
}
