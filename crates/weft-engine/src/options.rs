//! What an engine is opened with.

use weft_ir::Switches;
use weft_pack::PackCache;
use weft_quant::GgmlType;

use crate::device_choice::DeviceChoice;

/// What an engine is opened with. [`Engine::builder`](crate::Engine::builder) begins with what is right for a person; the methods change one thing each and can be
/// chained.
///
/// ```no_run
/// # fn main() -> Result<(), weft_engine::Error> {
/// use weft_engine::Engine;
/// let builder = Engine::builder().context(8192).sequences(4).device("gpu".parse()?);
/// let engine = builder.open("model.gguf")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct EngineOptions {
    /// The device that computes.
    pub device: DeviceChoice,
    /// Threads of the CPU, which also prepare weights for other devices; `None` takes all there are.
    pub threads: Option<usize>,
    /// Most tokens of a sequence; `None` takes 4096, or what the model was trained for if that is less.
    pub context: Option<usize>,
    /// Sequences of full length that the KV cache has room for. More can run at once if they are shorter, or begin alike.
    pub sequences: usize,
    /// Most tokens computed in a step.
    pub batch: usize,
    /// How the KV cache stores its values: F16, BF16, F32 or Q8_0.
    pub kv: GgmlType,
    /// Decisions of the compiler that are set by hand.
    pub switches: Switches,
    /// Where packed weights are kept; `None` packs them in memory each time.
    pub cache: Option<PackCache>,
}

impl Default for EngineOptions {
    /// One sequence on the CPU, with all its threads and nothing kept on the disk.
    fn default() -> EngineOptions {
        EngineOptions {
            device: DeviceChoice::default(),
            threads: None,
            context: None,
            sequences: 1,
            batch: 512,
            kv: GgmlType::F16,
            switches: Switches::default(),
            cache: None,
        }
    }
}

impl EngineOptions {
    /// Sets the [device](Self::device).
    pub fn device(self, device: DeviceChoice) -> EngineOptions {
        EngineOptions { device, ..self }
    }

    /// Sets the number of [threads](Self::threads).
    pub fn threads(self, threads: impl Into<Option<usize>>) -> EngineOptions {
        EngineOptions { threads: threads.into(), ..self }
    }

    /// Sets the [context](Self::context), in tokens.
    pub fn context(self, tokens: impl Into<Option<usize>>) -> EngineOptions {
        EngineOptions { context: tokens.into(), ..self }
    }

    /// Sets how many [sequences](Self::sequences) of full length there is room for.
    pub fn sequences(self, sequences: usize) -> EngineOptions {
        EngineOptions { sequences, ..self }
    }

    /// Sets how many tokens a [step](Self::batch) computes at most.
    pub fn batch(self, tokens: usize) -> EngineOptions {
        EngineOptions { batch: tokens, ..self }
    }

    /// Sets how the [KV cache](Self::kv) stores its values.
    pub fn kv(self, kv: GgmlType) -> EngineOptions {
        EngineOptions { kv, ..self }
    }

    /// Sets [decisions](Self::switches) of the compiler.
    pub fn switches(self, switches: Switches) -> EngineOptions {
        EngineOptions { switches, ..self }
    }

    /// Sets where packed weights are [kept](Self::cache).
    pub fn cache(self, cache: impl Into<Option<PackCache>>) -> EngineOptions {
        EngineOptions { cache: cache.into(), ..self }
    }
}
