//! The options of opening an engine.

use std::ops::Deref;
use std::sync::Arc;

use weft_ir::Switches;
use weft_kern::Replacement;
use weft_pack::PackCache;
use weft_quant::GgmlType;
use weft_runtime::{AdapterFile, DeviceChoice, MtpLayer, Pooling, RuntimeOptions};

use crate::prompts::folder::PromptCache;
use crate::speculate::Speculate;
use crate::speculate::drafter::MOST_GUESSES;

/// Options of opening an engine. [`Engine::builder`](crate::Engine::builder) returns good defaults; each method changes
/// one option, and calls can be chained.
///
/// They dereference to those of the model alone, which functions that need no engine take.
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
pub struct EngineOptions {
    /// The runtime's options. They agree with `prompts` and `speculate`, which only methods change.
    runtime: RuntimeOptions,
    /// The most prompt tokens computed in a step with replies, which have to wait for them. Fewer make replies smoother and
    /// prompts slower: with a mixture of experts on a CPU, a step of 128 takes a third of the time of one of 512, and a
    /// prompt an eighth longer.
    pub chunk: usize,
    prompts: Option<PromptCache>,
    speculate: Speculate,
}

impl Default for EngineOptions {
    /// One sequence on the CPU with all its threads, without a cache on disk.
    fn default() -> EngineOptions {
        EngineOptions {
            runtime: RuntimeOptions::default(),
            chunk: 128,
            prompts: None,
            speculate: Speculate::Off,
        }
    }
}

impl Deref for EngineOptions {
    type Target = RuntimeOptions;

    fn deref(&self) -> &RuntimeOptions {
        &self.runtime
    }
}

impl EngineOptions {
    /// As a context: the length that the model was trained for.
    pub const WHOLE: usize = RuntimeOptions::WHOLE;

    /// Sets the [device](RuntimeOptions::device).
    pub fn device(mut self, device: DeviceChoice) -> EngineOptions {
        self.runtime.device = device;
        self
    }

    /// Sets the number of layers that [run on the device](RuntimeOptions::gpu_layers).
    pub fn gpu_layers(mut self, layers: impl Into<Option<usize>>) -> EngineOptions {
        self.runtime.gpu_layers = layers.into();
        self
    }

    /// Sets the number of experts of each layer that [run on the device](RuntimeOptions::gpu_experts).
    pub fn gpu_experts(mut self, experts: impl Into<Option<usize>>) -> EngineOptions {
        self.runtime.gpu_experts = experts.into();
        self
    }

    /// Sets the [memory of the device](RuntimeOptions::gpu_memory) that the model may take, in bytes.
    pub fn gpu_memory(mut self, bytes: impl Into<Option<u64>>) -> EngineOptions {
        self.runtime.gpu_memory = bytes.into();
        self
    }

    /// Sets the number of [threads](RuntimeOptions::threads).
    pub fn threads(mut self, threads: impl Into<Option<usize>>) -> EngineOptions {
        self.runtime.threads = threads.into();
        self
    }

    /// Sets the [context](RuntimeOptions::context), in tokens.
    pub fn context(mut self, tokens: impl Into<Option<usize>>) -> EngineOptions {
        self.runtime.context = tokens.into();
        self
    }

    /// Sets the number of [sequences](RuntimeOptions::sequences) of full length that there is room for.
    pub fn sequences(mut self, sequences: usize) -> EngineOptions {
        self.runtime.sequences = sequences;
        self
    }

    /// Sets the most tokens of a [step](RuntimeOptions::batch).
    pub fn batch(mut self, tokens: impl Into<Option<usize>>) -> EngineOptions {
        self.runtime.batch = tokens.into();
        self
    }

    /// Sets the most prompt tokens of a [step with replies](Self::chunk).
    pub fn chunk(self, tokens: usize) -> EngineOptions {
        EngineOptions { chunk: tokens, ..self }
    }

    /// Sets the type of the [KV cache](RuntimeOptions::kv).
    pub fn kv(mut self, kv: GgmlType) -> EngineOptions {
        self.runtime.kv = kv;
        self
    }

    /// Makes the model compute embeddings, [pooled](RuntimeOptions::pooling) in this way.
    pub fn pooling(mut self, pooling: impl Into<Option<Pooling>>) -> EngineOptions {
        self.runtime.pooling = pooling.into();
        self
    }

    /// Sets whether layers with a sliding window keep only their [window](RuntimeOptions::windows) in the KV cache. They keep all
    /// tokens if there is a cache of [prompts](Self::prompts) on disk.
    pub fn windows(mut self, windows: bool) -> EngineOptions {
        self.runtime.windows = windows;
        self
    }

    /// Sets whether the KV cache takes its memory [at once](RuntimeOptions::commit).
    pub fn commit(mut self, commit: bool) -> EngineOptions {
        self.runtime.commit = commit;
        self
    }

    /// Sets [compiler decisions](RuntimeOptions::switches).
    pub fn switches(mut self, switches: Switches) -> EngineOptions {
        self.runtime.switches = switches;
        self
    }

    /// Sets the [kernels](RuntimeOptions::kernels) that replace the compiler's.
    pub fn kernels(mut self, kernels: Vec<Arc<Replacement>>) -> EngineOptions {
        self.runtime.kernels = kernels;
        self
    }

    /// Sets the LoRA [adapters](RuntimeOptions::adapters).
    pub fn adapters(mut self, adapters: Vec<AdapterFile>) -> EngineOptions {
        self.runtime.adapters = adapters;
        self
    }

    /// Sets whether what was [tuned](RuntimeOptions::tuned) is used.
    pub fn tuned(mut self, tuned: bool) -> EngineOptions {
        self.runtime.tuned = tuned;
        self
    }

    /// Sets the [cache](RuntimeOptions::cache) of packed weights.
    pub fn cache(mut self, cache: impl Into<Option<PackCache>>) -> EngineOptions {
        self.runtime.cache = cache.into();
        self
    }

    /// Sets the cache of computed prompts on disk, which a later engine need not compute again. `None` keeps them in memory only.
    pub fn prompts(mut self, prompts: impl Into<Option<PromptCache>>) -> EngineOptions {
        self.prompts = prompts.into();
        self.runtime.pieces = self.prompts.is_some();
        self
    }

    /// Sets what guesses the next tokens of replies, so that one step can compute several. No reply depends on it.
    pub fn speculate(mut self, speculate: Speculate) -> EngineOptions {
        self.runtime.logits = if speculate == Speculate::Off { 1 } else { 1 + MOST_GUESSES };
        self.runtime.mtp = match speculate {
            Speculate::Off | Speculate::Lookup | Speculate::Model(_) => MtpLayer::Off,
            Speculate::Auto => MtpLayer::IfPossible,
            Speculate::Mtp(_) => MtpLayer::Required,
        };
        self.speculate = speculate;
        self
    }

    /// The cache of computed prompts on disk, if there is one.
    pub(crate) fn prompt_cache(&self) -> Option<&PromptCache> {
        self.prompts.as_ref()
    }

    /// The source of guesses of the next tokens of replies.
    pub fn guesser(&self) -> &Speculate {
        &self.speculate
    }
}
