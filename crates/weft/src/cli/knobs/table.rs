//! The table of knobs. To add one, add an entry here and read it where it is used.

use super::{Kind, Knob};
use weft_make::PRESET_NAMES as PRESETS;

/// The commands of several groups.
macro_rules! all_of {
    ($($group:expr),+) => {{
        const GROUPS: &[&[&str]] = &[$($group),+];
        const COMMANDS: [&str; count(GROUPS)] = joined(GROUPS);
        &COMMANDS
    }};
}

/// Commands that measure a model and record the results in the journal.
const RECORD: &[&str] =
    &["bench", "ablate", "tune", "optimize", "profile", "bench-block", "perplexity", "kl", "verify"];
/// Commands whose results depend on how fast the machine is.
const TIMED: &[&str] = &["bench", "ablate", "tune", "optimize", "profile", "bench-block", "roofline"];
/// Commands that generate text.
const GENERATE: &[&str] = &["run", "chat"];
/// Commands that talk to a running server.
const REMOTE: &[&str] = &["chat", "bench-serve"];
/// Commands that sample tokens.
const SAMPLE: &[&str] = all_of![GENERATE, &["serve"]];
/// Commands that compute prompts.
const BATCH: &[&str] = all_of![SAMPLE, RECORD, &["imatrix", "embed"]];
/// Commands that run a model.
const LOAD: &[&str] = all_of![BATCH, &["logits"]];
/// Commands that compile a model, to run it or to show how.
const COMPILE: &[&str] = all_of![LOAD, &["explain"]];
/// Commands that use what was tuned, and can ignore it.
const TUNED: &[&str] = all_of![
    SAMPLE,
    &[
        "embed",
        "bench",
        "ablate",
        "optimize",
        "profile",
        "bench-block",
        "perplexity",
        "kl",
        "verify",
        "logits",
        "explain"
    ]
];
/// Commands that use a device.
const DEVICES: &[&str] = all_of![COMPILE, &["roofline"]];
/// Commands that may download a model.
const FETCH: &[&str] = all_of![COMPILE, &["pull", "inspect", "tokenize", "quantize"]];
/// Commands that run a model on a GPU and the CPU together, if the GPU is too small.
const PLACED: &[&str] = all_of![SAMPLE, &["embed", "bench", "perplexity", "kl", "logits"]];
/// Commands that use the cache.
const CACHE: &[&str] = all_of![FETCH, &["list", "rm", "cache", "config", "roofline"]];
/// Commands that write a model, by default quantised.
const QUANTIZE: &[&str] = &["synth", "quantize"];
/// Commands that write a model.
const MAKE: &[&str] = all_of![QUANTIZE, &["convert"]];
/// Commands that use several threads.
const THREADS: &[&str] = all_of![COMPILE, MAKE, &["roofline"]];
/// Commands that can print JSON.
const JSON: &[&str] = all_of![
    RECORD,
    MAKE,
    &[
        "run",
        "embed",
        "ps",
        "list",
        "cache",
        "inspect",
        "explain",
        "tokenize",
        "roofline",
        "devices",
        "journal",
        "bench-serve",
        "imatrix"
    ]
];
/// Commands that use the journal.
const JOURNALS: &[&str] = all_of![RECORD, &["journal", "report", "explain"]];

/// The number of commands in these groups.
const fn count(groups: &[&[&str]]) -> usize {
    let (mut n, mut group) = (0, 0);
    while group < groups.len() {
        n += groups[group].len();
        group += 1;
    }
    n
}

/// The `N` commands in these groups, concatenated.
const fn joined<const N: usize>(groups: &[&[&'static str]]) -> [&'static str; N] {
    let mut all = [""; N];
    let (mut n, mut group) = (0, 0);
    while group < groups.len() {
        let mut i = 0;
        while i < groups[group].len() {
            all[n] = groups[group][i];
            n += 1;
            i += 1;
        }
        group += 1;
    }
    all
}

const MODEL: &str = "Model";
const SERVER: &str = "Server";
const PROMPT: &str = "Prompt";
const SERVE: &str = "Serving";
const SAMPLING: &str = "Sampling";
const INPUT: &str = "Input";
const MEASURE: &str = "Measuring";
const WEIGHTS: &str = "Weights";
const OUTPUT: &str = "Output";
const JOURNAL: &str = "Journal";
const STORE: &str = "Cache and hub";

/// The names of the quantisations.
const QUANT_MIXES: &[&str] = &[
    "f32",
    "f16",
    "bf16",
    "q8_0",
    "q6_k",
    "q5_k_m",
    "q5_k_s",
    "q5_1",
    "q5_0",
    "q4_k_m",
    "q4_k_s",
    "q4_1",
    "iq4_nl",
    "q4_0",
    "iq4_xs",
    "mxfp4_moe",
    "q3_k_l",
    "q3_k_m",
    "q3_k_s",
    "q2_k",
    "tq2_0",
    "tq1_0",
];
/// The types that weights can be converted to.
const TYPES: &[&str] = &[
    "f32", "f16", "bf16", "q8_0", "q6_k", "q5_k", "q5_1", "q5_0", "q4_k", "q4_1", "iq4_nl", "q4_0", "iq4_xs",
    "mxfp4", "q3_k", "q2_k", "tq2_0", "tq1_0",
];

/// Every knob, in the order the help shows them.
#[rustfmt::skip] // Two lines for each knob: its values, then its help.
pub(crate) const KNOBS: &[Knob] = &[
    // The model and how it is computed.
    knob(MODEL, "device", Kind::Device, DEVICES).env("WEFT_DEVICE").default("cpu")
        .help("Device to run on; see `weft devices`"),
    knob(MODEL, "device", Kind::Device, &["inspect"]).unset("no device")
        .help("Device whose memory to compare with what the model needs"),
    knob(MODEL, "gpu-layers", Kind::Count(0, 65536), PLACED).env("WEFT_GPU_LAYERS").unset("as many as it has memory for")
        .help("Number of layers that run on the GPU, with the head; the others run on the CPU"),
    knob(MODEL, "experts", Kind::Experts(65536), PLACED).env("WEFT_EXPERTS").default("auto")
        .help("Experts of each layer that run on the GPU; the CPU computes the others at the same time"),
    knob(MODEL, "gpu-memory", Kind::Size, PLACED).env("WEFT_GPU_MEMORY").unset("all that is free")
        .help("Memory of the GPU that the model may take, such as 8G"),
    knob(MODEL, "threads", Kind::Count(1, 1024), THREADS).env("WEFT_THREADS").short('t').unset("all cores; on Apple silicon, performance cores")
        .help("Number of CPU threads"),
    knob(MODEL, "context", Kind::Context(1 << 31), all_of![SAMPLE, &["embed", "tune", "inspect"]]).env("WEFT_CONTEXT").short('c').unset("4096, or the model's limit if lower")
        .help("Context size: maximum number of tokens of prompt and reply together; `max` is the model's limit"),
    knob(MODEL, "context", Kind::Count(1, 1 << 31), &["bench", "profile", "bench-block", "ablate", "optimize"]).short('c').unset("as many as needed, with prompts at least a batch")
        .help("Context size in tokens"),
    knob(MODEL, "context", Kind::Count(3, 1 << 20), &["perplexity", "kl"]).short('c').default("512")
        .help("Tokens per window; predictions in its second half are scored"),
    knob(MODEL, "context", Kind::Count(3, 1 << 20), &["imatrix"]).short('c').default("512")
        .help("Tokens per window"),
    knob(MODEL, "batch", Kind::Count(1, 65536), BATCH).env("WEFT_BATCH").unset("512, or 128 on an integrated GPU, or 2048 where experts are streamed")
        .help("Maximum number of tokens computed in one step"),
    knob(MODEL, "kv", Kind::Choice(&["f16", "bf16", "f32", "q8_0", "q5_1", "q4_0"]), all_of![COMPILE, &["inspect"]]).env("WEFT_KV").value_name("TYPE").default("f16")
        .help("Data type of the KV cache"),
    knob(MODEL, "pooling", Kind::Choice(&["last", "mean", "cls"]), &["embed", "serve"]).env("WEFT_POOLING").value_name("HOW").unset("as the file says")
        .help("Make the model compute embeddings from these rows of its hidden states: that of the last token, the mean of all, or that of the first"),
    knob(MODEL, "speculate", Kind::Name("MODE"), all_of![SAMPLE, &["bench"]]).env("WEFT_SPECULATE").default("off")
        .help("How to guess the next tokens of replies, so that one step can compute several: off; lookup, from earlier text; mtp, with the layer that some models have for it, and mtp:2 to mtp:4 for as many tokens at once; auto, with either where it pays; or a smaller model of the same vocabulary, a file or a name. Changes no reply"),
    knob(MODEL, "set", Kind::Decisions, COMPILE).env("WEFT_SET")
        .help("Set a compiler decision to on, off or by-cost, e.g. fuse.tail=off; `weft explain` lists them"),
    knob(MODEL, "kernel", Kind::Kernels, COMPILE)
        .help("File with a kernel that replaces one of the compiler's, and its texts for GPUs; it is checked against the interpreter first; may be given more than once"),
    knob(MODEL, "lora", Kind::Adapters, COMPILE).value_name("FILE[:SCALE]")
        .help("LoRA adapter to add to the model, a GGUF file, and what its additions are multiplied by, 1 unless given; a server adds one that is given as NAME=FILE[:SCALE] for the requests that choose it; may be given more than once"),
    knob(MODEL, "no-tuned", Kind::Flag, TUNED).env("WEFT_NO_TUNED")
        .help("Ignore decisions kept by `weft ablate --keep` and `weft optimize`, and schedules found by `weft tune`"),

    // The server that answers.
    knob(SERVER, "server", Kind::Text("URL"), &["chat"])
        .help("Address of a running server that answers instead of a model of this machine"),
    knob(SERVER, "model", Kind::Text("NAME"), REMOTE).unset("the server's first model")
        .help("Name of the server's model"),
    knob(SERVER, "api-key", Kind::Text("KEY"), REMOTE).env("WEFT_API_KEY")
        .help("The server's key; safer in the environment, where other users cannot see it"),

    // The prompt.
    knob(PROMPT, "system", Kind::Text("TEXT"), GENERATE).env("WEFT_SYSTEM").short('s')
        .help("System message, which tells the model how to behave"),
    knob(PROMPT, "prompt-file", Kind::Path("FILE"), &["run"]).short('f')
        .help("File to read the prompt from; `-` for standard input"),
    knob(PROMPT, "prompts", Kind::Path("FILE"), &["run"])
        .help("Answer every line of a file, several at once: text, a JSON string, or an object with a `prompt`; prints a line of JSON for each"),
    knob(PROMPT, "schema", Kind::Name("JSON"), GENERATE)
        .help("JSON schema that the reply must match, or a file that contains one"),
    knob(PROMPT, "grammar", Kind::Path("FILE"), GENERATE)
        .help("Grammar that the reply must follow, in llguidance's dialect of Lark or in llama.cpp's form (GBNF)"),
    knob(PROMPT, "raw", Kind::Flag, &["run"])
        .help("Continue the prompt as it is, without the model's chat template; control tokens in it are parsed"),
    knob(PROMPT, "think", Kind::Switch("no-think", "Answer without reasoning first"), GENERATE).env("WEFT_THINK").unset("up to the chat template")
        .help("Reason before answering, if the chat template supports `enable_thinking`"),
    knob(PROMPT, "reasoning-budget", Kind::Count(0, u32::MAX as u64), SAMPLE).env("WEFT_REASONING_BUDGET").unset("no limit")
        .help("Maximum number of tokens of reasoning: then the thought is closed, and the answer follows"),
    knob(PROMPT, "reasoning-preserve", Kind::Switch("no-reasoning-preserve", "Leave the reasoning of earlier turns out of prompts"), &["serve"]).env("WEFT_REASONING_PRESERVE").unset("on")
        .help("Keep the reasoning of earlier turns that requests send in prompts, where the chat template has a variable for it, so that agents' prompts stay cached"),
    knob(PROMPT, "chat-template", Kind::Name("NAME"), GENERATE).env("WEFT_CHAT_TEMPLATE").unset("the model's own")
        .help("Chat template: a file of Jinja, or chatml, llama2, llama3, mistral, gemma, phi3, zephyr, vicuna or alpaca"),
    knob(PROMPT, "resume", Kind::Flag, &["chat"])
        .help("Continue the last conversation"),
    knob(PROMPT, "max-tokens", Kind::Limit(1, u32::MAX as u64), GENERATE).env("WEFT_MAX_TOKENS").short('n').unset("no limit")
        .help("Maximum number of tokens in a reply"),
    knob(PROMPT, "stop", Kind::Texts("TEXT"), GENERATE)
        .help("End the reply before this text; may be given more than once"),

    // How requests are served.
    knob(SERVE, "model", Kind::Names("NAME=MODEL"), &["serve"])
        .help("Another model under a name, loaded when first used; may be given more than once"),
    knob(SERVE, "models", Kind::Path("FILE"), &["serve"]).env("WEFT_MODELS")
        .help("File of models with their settings: a section [NAME] for each, with `model`, `aliases`, `pinned`, `load`, `keep-alive`, `device`, `context`, `temperature` and so on; docs/serving.md describes it"),
    knob(SERVE, "memory", Kind::Size, &["serve"]).env("WEFT_MEMORY").unset("what there is")
        .help("Maximum memory of all loaded models, such as 24G: the one used least recently is unloaded to load another"),
    knob(SERVE, "keep-alive", Kind::Duration, &["serve"]).env("WEFT_KEEP_ALIVE").unset("until another needs the memory")
        .help("How long models stay loaded after their last request, such as 10m; the next request loads them again"),
    knob(SERVE, "host", Kind::Text("ADDRESS"), &["serve"]).env("WEFT_HOST").default("127.0.0.1")
        .help("IP address to listen on; other machines can only be served with an API key"),
    knob(SERVE, "port", Kind::Count(0, 65535), &["serve"]).env("WEFT_PORT").default("8090")
        .help("Port to listen on; 0 for any"),
    knob(SERVE, "ollama-port", Kind::Count(1, 65535), &["serve"]).env("WEFT_OLLAMA_PORT").unset("none")
        .help("Another port to listen on: programs made for Ollama look for it on 11434"),
    knob(SERVE, "no-ollama", Kind::Flag, &["serve"]).env("WEFT_NO_OLLAMA")
        .help("Leave out Ollama's API (/api/chat and the like)"),
    knob(SERVE, "api-key-file", Kind::Path("FILE"), &["serve"]).env("WEFT_API_KEY_FILE")
        .help("File of API keys, one on each line, in addition to the one in WEFT_API_KEY"),
    knob(SERVE, "allow-host", Kind::Texts("NAME"), &["serve"])
        .help("Name that requests may use for this server besides localhost, such as that of a proxy; may be given more than once"),
    knob(SERVE, "parallel", Kind::Count(1, 4096), &["serve"]).env("WEFT_PARALLEL").default("16")
        .help("Maximum number of replies computed together"),
    knob(SERVE, "kv-tokens", Kind::Count(1, 1 << 31), &["serve"]).env("WEFT_KV_TOKENS").unset("4 times --context")
        .help("Room in the KV cache, in tokens, for the requests in work and the prefix cache"),
    knob(SERVE, "chunk", Kind::Count(1, 65536), &["serve"]).env("WEFT_CHUNK").default("64")
        .help("Maximum number of prompt tokens computed in a step while replies run; fewer make replies smoother and prompts slower"),
    knob(SERVE, "max-inputs", Kind::Count(1, 1 << 20), &["serve"]).default("2048")
        .help("Maximum number of texts in a request for embeddings, or of documents in one to rank them"),
    knob(SERVE, "queue", Kind::Count(1, 1 << 20), &["serve"]).default("256")
        .help("Maximum number of waiting requests; more are refused with status 429"),
    knob(SERVE, "queue-tokens", Kind::Count(1, 1 << 31), &["serve"]).default("1048576")
        .help("Maximum number of prompt tokens of all waiting requests, and of the texts of one request for embeddings or ranks"),
    knob(SERVE, "per-key", Kind::Count(1, 1 << 20), &["serve"]).unset("no limit")
        .help("Maximum number of requests of one API key, in work and waiting"),
    knob(SERVE, "timeout", Kind::Count(1, 1_000_000), &["serve"]).default("3600")
        .help("Maximum time of a request, in seconds"),
    knob(SERVE, "drain", Kind::Count(0, 1_000_000), &["serve"]).default("30")
        .help("Time that replies have to end after Ctrl-C or SIGTERM, in seconds"),
    knob(SERVE, "max-tokens", Kind::Limit(1, u32::MAX as u64), &["serve"]).unset("no limit")
        .help("Maximum number of tokens in a reply; requests that ask for more get this many"),
    knob(SERVE, "strict", Kind::Flag, &["serve"]).env("WEFT_STRICT")
        .help("Refuse requests with fields that have no effect here, instead of leaving these out and naming them in the answer"),
    knob(SERVE, "kv-events", Kind::Text("ADDRESS"), &["serve"]).unset("off")
        .help("Publishes what the prefix cache holds over ZeroMQ on IP:PORT, for routers; it contains the tokens of prompts"),

    // How tokens are sampled.
    knob(SAMPLING, "temperature", Kind::Real(0.0, 100.0), SAMPLE).env("WEFT_TEMPERATURE").default("0.6")
        .help("Sampling temperature: 0 always picks the most likely token, higher values vary more"),
    knob(SAMPLING, "top-k", Kind::Limit(0, u32::MAX as u64), SAMPLE).env("WEFT_TOP_K").default("40")
        .help("Sample from the N most likely tokens; 0 for all"),
    knob(SAMPLING, "top-p", Kind::Real(0.0, 1.0), SAMPLE).env("WEFT_TOP_P").default("0.95")
        .help("Sample from the most likely tokens whose probabilities add up to N; 1 for all"),
    knob(SAMPLING, "min-p", Kind::Real(0.0, 1.0), SAMPLE).env("WEFT_MIN_P").default("0.05")
        .help("Sample from tokens at least N times as likely as the most likely one; 0 for all"),
    knob(SAMPLING, "repeat-penalty", Kind::Real(0.01, 100.0), SAMPLE).env("WEFT_REPEAT_PENALTY").default("1.0")
        .help("Divide the positive logits of recent tokens by N, and multiply the negative ones; 1 for no penalty"),
    knob(SAMPLING, "repeat-last-n", Kind::Limit(0, u32::MAX as u64), SAMPLE).env("WEFT_REPEAT_LAST_N").default("64")
        .help("Number of recent tokens that penalties apply to"),
    knob(SAMPLING, "presence-penalty", Kind::Real(-100.0, 100.0), SAMPLE).env("WEFT_PRESENCE_PENALTY").default("0")
        .help("Subtract N from the logit of every recent token"),
    knob(SAMPLING, "frequency-penalty", Kind::Real(-100.0, 100.0), SAMPLE).env("WEFT_FREQUENCY_PENALTY").default("0")
        .help("Subtract N from the logit of a recent token for each time it occurred"),
    knob(SAMPLING, "dry-multiplier", Kind::Real(0.0, 100.0), SAMPLE).env("WEFT_DRY_MULTIPLIER").default("0")
        .help("DRY: subtract N from the logit of a token that would go on with a repetition, and more the longer it is; 0 for no penalty, 0.8 is usual"),
    knob(SAMPLING, "dry-base", Kind::Real(1.0, 100.0), SAMPLE).env("WEFT_DRY_BASE").default("1.75")
        .help("By what DRY's penalty is multiplied for each token of the repetition beyond --dry-allowed-length"),
    knob(SAMPLING, "dry-allowed-length", Kind::Count(0, 1 << 31), SAMPLE).env("WEFT_DRY_ALLOWED_LENGTH").default("2")
        .help("Length of the shortest repetition that DRY lowers, in tokens"),
    knob(SAMPLING, "dry-penalty-last-n", Kind::Limit(0, 1 << 31), SAMPLE).env("WEFT_DRY_PENALTY_LAST_N").default("64")
        .help("Number of last tokens in which DRY looks for repetitions"),
    knob(SAMPLING, "dry-sequence-breaker", Kind::Texts("TEXT"), SAMPLE).unset("line ends, colons, double quotes and asterisks")
        .help("Text across which DRY sees no repetition; may be given more than once"),
    knob(SAMPLING, "top-n-sigma", Kind::Real(-1.0, 100.0), SAMPLE).env("WEFT_TOP_N_SIGMA").default("0")
        .help("Sample from tokens whose logits are at most N standard deviations below the highest; 0 for all"),
    knob(SAMPLING, "typical-p", Kind::Real(0.0, 1.0), SAMPLE).env("WEFT_TYPICAL_P").default("1")
        .help("Sample from the tokens whose surprise is closest to the entropy, until their probabilities add up to N; 1 for all"),
    knob(SAMPLING, "xtc-probability", Kind::Real(0.0, 1.0), SAMPLE).env("WEFT_XTC_PROBABILITY").default("0")
        .help("XTC: with this probability, remove all tokens above --xtc-threshold but the least likely of them; 0 for never"),
    knob(SAMPLING, "xtc-threshold", Kind::Real(0.0, 1.0), SAMPLE).env("WEFT_XTC_THRESHOLD").default("0.1")
        .help("Probability from which on XTC removes tokens; above 0.5 it removes none"),
    knob(SAMPLING, "dynatemp-range", Kind::Real(0.0, 2.0), SAMPLE).env("WEFT_DYNATEMP_RANGE").default("0")
        .help("Vary the temperature by up to N: lower where the model is certain, higher where it is not; 0 for a fixed one"),
    knob(SAMPLING, "dynatemp-exponent", Kind::Real(0.0, 100.0), SAMPLE).env("WEFT_DYNATEMP_EXPONENT").default("1")
        .help("Power of the entropy with which --dynatemp-range raises the temperature"),
    knob(SAMPLING, "mirostat", Kind::Choice(&["0", "2"]), SAMPLE).env("WEFT_MIROSTAT").value_name("N").default("0")
        .help("2 for mirostat 2 in place of top-k, top-p, min-p, typical-p, top-n-sigma and XTC; 0 for none"),
    knob(SAMPLING, "mirostat-tau", Kind::Real(0.0, 100.0), SAMPLE).env("WEFT_MIROSTAT_TAU").default("5")
        .help("Surprise that mirostat aims at, in bits"),
    knob(SAMPLING, "mirostat-eta", Kind::Real(0.0, 1.0), SAMPLE).env("WEFT_MIROSTAT_ETA").default("0.1")
        .help("How fast mirostat follows the surprise of the tokens that were chosen"),
    knob(SAMPLING, "seed", Kind::Seed, GENERATE).env("WEFT_SEED").unset("random")
        .help("Random seed; the same seed gives the same reply"),

    // Inputs of `tokenize`, `embed`, `logits` and `verify`.
    knob(INPUT, "special", Kind::Switch("no-special", "Treat names of control tokens as plain text, and do not add BOS"), &["tokenize"]).unset("on")
        .help("Recognise control tokens by name, and add BOS if the model expects it"),
    knob(INPUT, "dimensions", Kind::Count(1, 1 << 24), &["embed"]).unset("all")
        .help("Number of values to keep of each embedding, from the first on; what is kept is scaled to length 1 again"),
    knob(INPUT, "tokens", Kind::Ids, &["logits", "verify"])
        .help("Token ids to compute, comma-separated"),
    knob(INPUT, "text", Kind::Text("TEXT"), &["logits", "verify"])
        .help("Text to compute, tokenised as by `weft tokenize`"),
    knob(INPUT, "chunk", Kind::Count(1, 65536), &["logits"]).default("512")
        .help("Maximum number of tokens computed in one step; does not change the logits"),
    knob(INPUT, "oracle", Kind::Flag, &["logits"])
        .help("Compute with the float oracle, the slow reference implementation"),

    knob(MEASURE, "no-wait", Kind::Flag, TIMED).env("WEFT_NO_WAIT")
        .help("Fail if another process is measuring on this machine, instead of waiting for it"),

    // Measurements of `bench`.
    knob(MEASURE, "against", Kind::Text("RUN"), &["bench"])
        .help("Compare with an earlier run of the journal, and fail if any figure is certainly slower by more than 2 %"),
    knob(MEASURE, "prefill", Kind::Count(0, 1 << 20), &["bench"]).short('p').default("512")
        .help("Prompt length in tokens; 0 to skip"),
    knob(MEASURE, "decode", Kind::Count(0, 1 << 20), &["bench"]).short('n').default("32")
        .help("Reply length in tokens; 0 to skip"),
    knob(MEASURE, "depth", Kind::Counts(0, 1 << 30), &["bench"]).short('d').default("0,4096")
        .help("Number of tokens already in the context; comma-separated list"),
    knob(MEASURE, "parallel", Kind::Counts(1, 4096), &["bench"]).default("1")
        .help("Number of replies decoded together; comma-separated list"),
    knob(MEASURE, "guesses", Kind::Counts(0, 15), &["bench"]).default("0")
        .help("Number of wrong guesses computed beside each token of a reply, to measure what speculation costs; comma-separated list"),
    knob(MEASURE, "vocabulary", Kind::Count(1, 1 << 30), &["bench"]).unset("all of the model's")
        .help("Number of different tokens that are drawn, so that experts are chosen again"),
    knob(MEASURE, "repeat", Kind::Count(1, 10_000), &["bench"]).short('r').default("5")
        .help("Number of samples of each figure, after one warm-up"),

    // Measurements of `bench-serve`.
    knob(MEASURE, "clients", Kind::Counts(1, 1024), &["bench-serve"]).default("1,4,16,64")
        .help("Number of clients that send requests at once; comma-separated list"),
    knob(MEASURE, "requests", Kind::Count(1, 1_000_000), &["bench-serve"]).unset("4 for each client")
        .help("Number of requests for each number of clients"),
    knob(MEASURE, "prefill", Kind::Count(1, 1 << 20), &["bench-serve"]).short('p').default("256")
        .help("Prompt length in tokens"),
    knob(MEASURE, "decode", Kind::Count(1, 1 << 20), &["bench-serve"]).short('n').default("64")
        .help("Reply length in tokens"),
    knob(MEASURE, "shared-prefix", Kind::Count(0, 1 << 20), &["bench-serve"]).default("0")
        .help("Number of tokens at the start of every prompt that are the same in all of them"),
    knob(MEASURE, "seed", Kind::Count(0, u64::MAX), &["bench-serve"]).default("0")
        .help("Random seed of the prompts"),
    knob(MEASURE, "timeout", Kind::Count(1, 86_400), &["bench-serve"]).value_name("SECONDS").default("600")
        .help("Seconds without a byte from the server after which a request has failed"),

    // Measurements of `profile` and `bench-block`.
    knob(MEASURE, "steps", Kind::Count(1, 1000), &["profile"]).short('n').default("20")
        .help("Number of steps timed kernel by kernel; as many are timed as a whole"),
    knob(MEASURE, "prefill", Kind::Count(1, 65536), &["profile", "bench-block"]).short('p').unset("one token of a reply")
        .help("Measure a step of N prompt tokens"),
    knob(MEASURE, "depth", Kind::Count(0, 1 << 30), &["profile", "bench-block"]).short('d').default("0")
        .help("Number of tokens already in the context"),
    knob(MEASURE, "repeat", Kind::Count(1, 10_000), &["bench-block"]).short('r').default("30")
        .help("Number of samples of each block, after one warm-up"),

    knob(MEASURE, "role", Kind::Choice(&["attention", "router", "routed-experts", "shared-expert", "dense-feed-forward", "norm", "other"]), &["bench-block"]).value_name("ROLE").unset("whole blocks")
        .help("Measure only the kernels of this role"),

    // Checks of `verify`.
    knob(MEASURE, "all", Kind::Flag, &["verify"])
        .help("Check every layer, not only the first, middle and last of each kind"),
    knob(MEASURE, "columns", Kind::Count(0, 1 << 30), &["verify"]).default("256")
        .help("Maximum number of columns compared per product, sampled with a fixed seed; 0 for all"),

    // Inputs of `perplexity` and `kl`.
    knob(MEASURE, "windows", Kind::Count(1, 1 << 30), &["perplexity", "kl"]).unset("all")
        .help("Maximum number of windows to score"),

    // Inputs of `imatrix`.
    knob(MEASURE, "windows", Kind::Count(1, 1 << 30), &["imatrix"]).unset("all")
        .help("Maximum number of windows to run"),

    // Changes that `ablate` tries.
    knob(MEASURE, "knobs", Kind::Text("NAMES"), &["ablate"]).default("all")
        .help("Changes to try, comma-separated: decisions as NAME or NAME=MODE, `batch.half` (half of --batch), `schedules` (on a GPU), `aa` (no change), or `all`"),
    knob(MEASURE, "prefill", Kind::Count(0, 1 << 20), &["ablate", "optimize"]).short('p').default("64")
        .help("Prompt tokens per sample; 0 to skip"),
    knob(MEASURE, "decode", Kind::Count(0, 1 << 20), &["ablate", "optimize"]).short('n').default("8")
        .help("Reply tokens per sample; 0 to skip"),
    knob(MEASURE, "depth", Kind::Count(0, 1 << 30), &["ablate", "optimize"]).short('d').default("512")
        .help("Number of tokens already in the context"),
    knob(MEASURE, "repeat", Kind::Count(1, 100_000), &["ablate", "optimize"]).short('r').default("30")
        .help("Maximum number of sample pairs per change; stops earlier when the verdict is clear"),
    knob(MEASURE, "combine", Kind::Flag, &["ablate"])
        .help("Combine the winners: add one at a time, and keep it if it still wins"),
    knob(MEASURE, "keep", Kind::Flag, &["ablate"])
        .help("Combine the winners, and keep what wins: every later run of this model on this hardware uses it"),
    knob(MEASURE, "golden", Kind::Path("FILE.json"), &["ablate"])
        .help("Compare logits with these known-good ones instead of the base's"),
    knob(MEASURE, "max-kl", Kind::Real(0.0, 100.0), &["ablate", "optimize"]).default("0.01")
        .help("Maximum mean KL divergence from the base, in nats, for a change to be kept"),

    // Further options of `optimize`.
    knob(MEASURE, "seconds", Kind::Count(0, 1_000_000), &["optimize"]).default("120")
        .help("Time to search for schedules on a GPU, in seconds; 0 to skip"),

    // Measurements of `tune`.
    knob(MEASURE, "seconds", Kind::Count(1, 1_000_000), &["tune"]).default("120")
        .help("Time to search, in seconds; verifying the result takes additional time"),
    knob(MEASURE, "beam", Kind::Count(1, 64), &["tune"]).default("3")
        .help("Beam width: number of schedules per kernel whose neighbours are tried next"),
    knob(MEASURE, "prefill", Kind::Count(0, 65536), &["tune"]).short('p').default("512")
        .help("Prompt tokens per step to tune for, at most --batch; 0 to tune for replies only"),
    knob(MEASURE, "depth", Kind::Count(0, 1 << 30), &["tune"]).short('d').default("0")
        .help("Number of tokens already in the context"),

    // Outputs of `synth`, `convert` and `quantize`.
    knob(WEIGHTS, "quant", Kind::Choice(QUANT_MIXES), QUANTIZE).value_name("TYPE").default("q4_k_m")
        .help("Quantisation, by llama.cpp's names: most tensors get this type, sensitive ones more bits"),
    knob(WEIGHTS, "quant", Kind::Choice(QUANT_MIXES), &["convert"]).value_name("TYPE").unset("bf16 or f16, as the weights are stored")
        .help("Quantisation, by llama.cpp's names: most tensors get this type, sensitive ones more bits"),
    knob(WEIGHTS, "preset", Kind::Choice(PRESETS), &["synth"]).value_name("NAME").default("tiny")
        .help("Model whose shape to use"),
    knob(WEIGHTS, "layers", Kind::Count(1, 1000), &["synth"]).unset("as many as the preset has")
        .help("Number of layers"),
    knob(WEIGHTS, "vocab", Kind::Count(256, 1 << 20), &["synth"]).unset("as many as the preset has")
        .help("Number of tokens in the vocabulary"),
    knob(WEIGHTS, "mtp", Kind::Flag, &["synth"])
        .help("Add a layer for multi-token prediction, which `--speculate mtp` uses"),
    knob(WEIGHTS, "seed", Kind::Count(0, u64::MAX), &["synth"]).default("0")
        .help("Random seed"),
    knob(WEIGHTS, "output-tensor-type", Kind::Choice(TYPES), &["quantize"]).value_name("TYPE")
        .help("Type of the output matrix, overriding --quant"),
    knob(WEIGHTS, "token-embedding-type", Kind::Choice(TYPES), &["quantize"]).value_name("TYPE")
        .help("Type of the token embedding, overriding --quant"),
    knob(WEIGHTS, "imatrix", Kind::Path("FILE"), &["quantize"])
        .help("Importance matrix, from `weft imatrix` or llama.cpp: errors in important columns of weights are made smaller"),
    knob(WEIGHTS, "allow-requantize", Kind::Flag, &["quantize"])
        .help("Allow quantised weights to be quantised again without getting smaller, which only loses precision"),

    // Where things are kept and what is printed.
    knob(OUTPUT, "out", Kind::Path("FILE"), &["logits"]).short('o')
        .help("File to write: little-endian f32, one row of logits per token; `-` for standard output"),
    knob(OUTPUT, "out", Kind::Path("FILE"), &["report"]).short('o').default("report.html")
        .help("File to write; `-` for standard output"),
    knob(OUTPUT, "out", Kind::Path("FILE"), &["optimize"]).short('o').default("optimize.html")
        .help("Page to write with all results"),
    knob(OUTPUT, "out", Kind::Path("FILE"), &["imatrix"]).short('o').default("imatrix.gguf")
        .help("File to write; an existing file is replaced"),
    knob(OUTPUT, "tensors", Kind::Flag, &["inspect"])
        .help("List every tensor"),
    knob(OUTPUT, "step", Kind::Choice(&["decode", "prefill"]), &["explain"]).value_name("STEP").default("decode")
        .help("Step to explain: one token of a reply, or 512 tokens of a prompt"),
    knob(OUTPUT, "layer", Kind::Count(0, 4095), &["explain"])
        .help("Show only this layer, counting from 0"),
    knob(OUTPUT, "why", Kind::Flag, &["explain"])
        .help("Show what each kernel computes, which kernels read its results, why they are not fused, and what each decision costs"),
    knob(OUTPUT, "plan", Kind::Flag, &["explain"])
        .help("Print graphs and plans in their text form"),
    knob(OUTPUT, "source", Kind::Flag, &["explain"])
        .help("Print the source code of each kernel, as a file of --kernel can have it; needs a GPU, such as --device gpu or cuda"),
    knob(OUTPUT, "dot", Kind::Path("FILE"), &["explain"])
        .help("Write a graph before rewriting, and its kernels, in Graphviz format; `-` for standard output"),
    knob(OUTPUT, "html", Kind::Path("FILE"), &["explain"])
        .help("Write everything as an HTML page; `-` for standard output"),
    knob(OUTPUT, "with-source", Kind::Flag, &["profile"])
        .help("Also print the source of every kernel: the text that a GPU compiles, or Weft's own on the CPU"),
    knob(OUTPUT, "trace", Kind::Path("FILE"), &["profile"])
        .help("Write the fastest step as a trace for Perfetto or chrome://tracing; `-` for standard output"),
    knob(OUTPUT, "all", Kind::Flag, &["list"])
        .help("List the models of the catalogue too, which can be downloaded by their names"),
    knob(OUTPUT, "all", Kind::Flag, &["config"])
        .help("List every setting that there is, with its meaning and default"),
    knob(OUTPUT, "json", Kind::Flag, JSON)
        .help("Print JSON"),
    knob(OUTPUT, "events", Kind::Flag, &["run"])
        .help("Print the reply as it is generated, as lines of JSON: `prompt`, `reasoning`, `text` and `end` events"),
    knob(OUTPUT, "markdown", Kind::Flag, &["ablate", "tune"])
        .help("Print Markdown"),
    knob(OUTPUT, "log-format", Kind::Choice(&["text", "json"]), &["serve"]).env("WEFT_LOG_FORMAT").value_name("FORMAT").default("text")
        .help("Format of the log on standard error"),
    knob(OUTPUT, "verbose", Kind::Flag, &["run", "chat", "logits"]).env("WEFT_VERBOSE").short('v')
        .help("Print token counts and timings to standard error"),
    knob(JOURNAL, "journal", Kind::Path("FILE"), JOURNALS).env("WEFT_JOURNAL").unset("journal.db in the user's data folder")
        .help("Journal file, which records every measurement"),
    knob(JOURNAL, "no-journal", Kind::Flag, RECORD).env("WEFT_NO_JOURNAL")
        .help("Do not record this run in the journal"),
    knob(STORE, "packed", Kind::Flag, &["pull"])
        .help("Pack the model, and keep only its packed form: half the disk space"),
    knob(STORE, "cache", Kind::Path("DIR"), CACHE).env("WEFT_CACHE").unset("the user's cache folder")
        .help("Folder for downloaded models and packed weights"),
    knob(STORE, "no-cache", Kind::Flag, DEVICES).env("WEFT_NO_CACHE")
        .help("Pack weights in memory instead of caching them on disk, and ignore tuned schedules"),
    knob(STORE, "cache-limit", Kind::Count(0, 1_000_000), LOAD).env("WEFT_CACHE_LIMIT").value_name("GB").default("64")
        .help("Maximum size of all packed weights on disk, in GB; the least recently used are removed first"),
    knob(STORE, "cache-prompts", Kind::Size, SAMPLE).env("WEFT_CACHE_PROMPTS").default("0")
        .help("Keep computed prompts on disk, up to this size such as 4G, so that a later process need not compute prompts that begin the same"),
    knob(STORE, "hub", Kind::Text("URL"), FETCH).env("HF_ENDPOINT").default("https://huggingface.co")
        .help("URL of the Hugging Face hub or a mirror"),
    knob(STORE, "hub-token", Kind::Text("TOKEN"), FETCH).env("HF_TOKEN")
        .help("Access token for the hub, for models that require one; safer in the environment, where other users cannot see it"),
];

const fn knob(
    heading: &'static str,
    name: &'static str,
    kind: Kind,
    commands: &'static [&'static str],
) -> Knob {
    Knob {
        name,
        short: None,
        env: None,
        kind,
        value_name: None,
        default: None,
        unset: None,
        help: "",
        heading,
        commands,
    }
}

impl Knob {
    /// Whether it affects the measurement, rather than the output and the places of files.
    pub(crate) fn is_measured(&self) -> bool {
        ![OUTPUT, JOURNAL, STORE].contains(&self.heading)
            && !["no-wait", "against", "keep"].contains(&self.name)
    }

    /// Whether few people need it, so that the short help leaves it out.
    pub(crate) fn is_for_few(&self) -> bool {
        let sampling = self.heading == SAMPLING && !["temperature", "seed"].contains(&self.name);
        sampling
            || [JOURNAL, STORE].contains(&self.heading)
            || ["set", "kernel", "lora", "batch", "kv", "no-tuned"].contains(&self.name)
    }

    const fn short(self, short: char) -> Knob {
        Knob { short: Some(short), ..self }
    }

    const fn env(self, env: &'static str) -> Knob {
        Knob { env: Some(env), ..self }
    }

    const fn value_name(self, value_name: &'static str) -> Knob {
        Knob { value_name: Some(value_name), ..self }
    }

    const fn default(self, default: &'static str) -> Knob {
        Knob { default: Some(default), ..self }
    }

    const fn unset(self, unset: &'static str) -> Knob {
        Knob { unset: Some(unset), ..self }
    }

    const fn help(self, help: &'static str) -> Knob {
        Knob { help, ..self }
    }
}
