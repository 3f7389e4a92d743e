//! The table itself. A new knob is a line here and the place that reads it.

use super::{Kind, Knob};
use crate::synth::preset::NAMES as PRESETS;

/// All commands of some groups.
macro_rules! all_of {
    ($($group:expr),+) => {{
        const GROUPS: &[&[&str]] = &[$($group),+];
        const COMMANDS: [&str; count(GROUPS)] = joined(GROUPS);
        &COMMANDS
    }};
}

/// Commands that measure a model, and write down what they found.
const RECORD: &[&str] = &["bench", "ablate", "tune", "profile", "bench-block", "perplexity", "kl", "verify"];
/// Commands that generate text.
const GENERATE: &[&str] = &["run", "chat"];
/// Commands that compute prompts.
const BATCH: &[&str] = all_of![GENERATE, RECORD];
/// Commands that load a model to compute with it.
const LOAD: &[&str] = all_of![BATCH, &["logits"]];
/// Commands that compile a model, to compute with it or to show how.
const COMPILE: &[&str] = all_of![LOAD, &["explain"]];
/// Commands that may fetch a model.
const FETCH: &[&str] = all_of![COMPILE, &["pull", "inspect", "tokenize", "quantize"]];
/// Commands that know the cache.
const CACHE: &[&str] = all_of![FETCH, &["list", "cache"]];
/// Commands that write a model.
const MAKE: &[&str] = &["synth", "quantize"];
/// Commands that use several threads.
const THREADS: &[&str] = all_of![COMPILE, MAKE, &["roofline"]];
/// Commands that have something to tell programs.
const JSON: &[&str] = all_of![
    RECORD,
    MAKE,
    &["run", "list", "cache", "inspect", "explain", "tokenize", "roofline", "devices", "journal"]
];
/// Commands that know the journal.
const JOURNALS: &[&str] = all_of![RECORD, &["journal", "report"]];

/// How many commands groups have together.
const fn count(groups: &[&[&str]]) -> usize {
    let (mut n, mut group) = (0, 0);
    while group < groups.len() {
        n += groups[group].len();
        group += 1;
    }
    n
}

/// The commands of groups, one after another; `N` is how many.
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
const PROMPT: &str = "Prompt";
const SAMPLING: &str = "Sampling";
const INPUT: &str = "Input";
const MEASURE: &str = "Measuring";
const WEIGHTS: &str = "Weights";
const OUTPUT: &str = "Output";
const JOURNAL: &str = "Journal";
const STORE: &str = "Cache and hub";

/// Names of mixes of types.
const QUANT_MIXES: &[&str] =
    &["f32", "f16", "bf16", "q8_0", "q6_k", "q5_k_m", "q5_1", "q5_0", "q4_k_m", "q4_1", "q4_0"];
/// Types that can be written.
const TYPES: &[&str] =
    &["f32", "f16", "bf16", "q8_0", "q6_k", "q5_k", "q5_1", "q5_0", "q4_k", "q4_1", "q4_0"];

/// Every knob, in the order the help shows them.
#[rustfmt::skip] // One knob, one paragraph: the name and its values first, then the sentence.
pub(crate) const KNOBS: &[Knob] = &[
    // What is computed with.
    knob(MODEL, "device", Kind::Device, COMPILE).env("WEFT_DEVICE").default("cpu")
        .help("The device to compute on; `weft devices` lists them, and part of a name is enough"),
    knob(MODEL, "threads", Kind::Count(1, 1024), THREADS).env("WEFT_THREADS").short('t')
        .help("Threads to compute with; all cores if not given"),
    knob(MODEL, "context", Kind::Count(1, 1 << 31), all_of![GENERATE, &["tune"]]).env("WEFT_CONTEXT").short('c')
        .help("Most tokens of prompt and reply together; 4096 if not given, or what the model was made for if that is less"),
    knob(MODEL, "context", Kind::Count(1, 1 << 31), &["bench", "profile", "bench-block", "ablate"]).short('c')
        .help("Most tokens there is room for at each depth; as many as are measured if not given"),
    knob(MODEL, "context", Kind::Count(3, 1 << 20), &["perplexity", "kl"]).short('c').default("512")
        .help("Tokens of a window, of whose later half the predictions are scored"),
    knob(MODEL, "batch", Kind::Count(1, 65536), BATCH).env("WEFT_BATCH").default("512")
        .help("Most tokens of a prompt computed at once"),
    knob(MODEL, "kv", Kind::Choice(&["f16", "bf16", "f32", "q8_0"]), COMPILE).env("WEFT_KV").default("f16")
        .help("How the KV cache stores its values"),
    knob(MODEL, "set", Kind::Decisions, COMPILE).env("WEFT_SET")
        .help("Set a decision of the compiler to on, off or by-cost; `weft explain` lists them"),

    // What is said.
    knob(PROMPT, "system", Kind::Text("TEXT"), GENERATE).env("WEFT_SYSTEM").short('s')
        .help("The system message, which tells the model how to behave"),
    knob(PROMPT, "raw", Kind::Flag, &["run"])
        .help("Continue the prompt as it stands, without the model's chat template"),
    knob(PROMPT, "think", Kind::Switch("no-think"), GENERATE).env("WEFT_THINK")
        .help("Whether the model reasons before it answers, where its chat template knows `enable_thinking`"),
    knob(PROMPT, "max-tokens", Kind::Count(1, u32::MAX as u64), GENERATE).env("WEFT_MAX_TOKENS").short('n')
        .help("Most tokens of a reply; until the model ends its turn if not given"),
    knob(PROMPT, "stop", Kind::Texts("TEXT"), GENERATE)
        .help("End the reply where this text comes, and leave it out; may be given more than once"),

    // How tokens are chosen.
    knob(SAMPLING, "temperature", Kind::Real(0.0, 100.0), GENERATE).env("WEFT_TEMPERATURE").default("0.6")
        .help("Divides the logits: 0 always takes the likeliest token, higher is livelier"),
    knob(SAMPLING, "top-k", Kind::Count(0, u32::MAX as u64), GENERATE).env("WEFT_TOP_K").default("40")
        .help("Choose among the so many likeliest tokens; 0 for all"),
    knob(SAMPLING, "top-p", Kind::Real(0.0, 1.0), GENERATE).env("WEFT_TOP_P").default("0.95")
        .help("Choose among the likeliest tokens that together are this probable; 1 for all"),
    knob(SAMPLING, "min-p", Kind::Real(0.0, 1.0), GENERATE).env("WEFT_MIN_P").default("0.05")
        .help("Choose among tokens at least this many times as probable as the likeliest; 0 for all"),
    knob(SAMPLING, "repeat-penalty", Kind::Real(0.01, 100.0), GENERATE).env("WEFT_REPEAT_PENALTY").default("1.0")
        .help("Divides the logits of tokens that occurred lately; 1 for none"),
    knob(SAMPLING, "repeat-last-n", Kind::Count(0, u32::MAX as u64), GENERATE).env("WEFT_REPEAT_LAST_N").default("64")
        .help("How many of the last tokens the penalties look at"),
    knob(SAMPLING, "presence-penalty", Kind::Real(-100.0, 100.0), GENERATE).env("WEFT_PRESENCE_PENALTY").default("0")
        .help("Taken off the logit of every token that occurred lately"),
    knob(SAMPLING, "frequency-penalty", Kind::Real(-100.0, 100.0), GENERATE).env("WEFT_FREQUENCY_PENALTY").default("0")
        .help("Taken off the logit of a token for each time it occurred lately"),
    knob(SAMPLING, "seed", Kind::Count(0, u64::MAX), GENERATE).env("WEFT_SEED")
        .help("Of the random numbers: the same seed gives the same reply; a new one each time if not given"),

    // What `tokenize` and `logits` take.
    knob(INPUT, "special", Kind::Switch("no-special"), &["tokenize"])
        .help("Whether names of control tokens are read as these tokens, and BOS is added; yes if not given"),
    knob(INPUT, "tokens", Kind::Ids, &["logits", "verify"])
        .help("The tokens to compute, as ids: 1,2,3"),
    knob(INPUT, "text", Kind::Text("TEXT"), &["logits", "verify"])
        .help("The text to compute, instead of ids; control tokens are read by their names, and BOS is added"),
    knob(INPUT, "chunk", Kind::Count(1, 65536), &["logits"]).default("512")
        .help("Most tokens computed at once; the logits are the same"),
    knob(INPUT, "oracle", Kind::Flag, &["logits"])
        .help("Compute through the float oracle: slow, obvious, and what is right"),

    // What `bench` measures.
    knob(MEASURE, "prefill", Kind::Count(0, 1 << 20), &["bench"]).short('p').default("512")
        .help("Tokens of a prompt; 0 to measure none"),
    knob(MEASURE, "decode", Kind::Count(0, 1 << 20), &["bench"]).short('n').default("32")
        .help("Tokens of a reply; 0 to measure none"),
    knob(MEASURE, "depth", Kind::Counts(0, 1 << 30), &["bench"]).short('d').default("0,4096")
        .help("How many tokens stand before either; several with commas between them"),
    knob(MEASURE, "parallel", Kind::Counts(1, 4096), &["bench"]).default("1")
        .help("How many replies are computed at once; several numbers with commas between them"),
    knob(MEASURE, "repeat", Kind::Count(1, 10_000), &["bench"]).short('r').default("5")
        .help("Samples of everything, after one that does not count"),

    // What `profile` and `bench-block` measure.
    knob(MEASURE, "steps", Kind::Count(1, 1000), &["profile"]).short('n').default("20")
        .help("Steps that are timed kernel by kernel, and as many beside them that are not"),
    knob(MEASURE, "prefill", Kind::Count(1, 65536), &["profile", "bench-block"]).short('p')
        .help("Compute so many tokens of a prompt at once; one token of a reply if not given"),
    knob(MEASURE, "depth", Kind::Count(0, 1 << 30), &["profile", "bench-block"]).short('d').default("0")
        .help("How many tokens stand before them"),
    knob(MEASURE, "repeat", Kind::Count(1, 10_000), &["bench-block"]).short('r').default("30")
        .help("Samples of every block, after one that does not count"),

    // What `verify` checks.
    knob(MEASURE, "all", Kind::Flag, &["verify"])
        .help("Check every layer, and not only the first, the middle and the last of those that are alike"),
    knob(MEASURE, "columns", Kind::Count(0, 1 << 30), &["verify"]).default("256")
        .help("Most columns of each product that are compared, drawn with a fixed seed; 0 for all"),

    // What `perplexity` and `kl` read.
    knob(MEASURE, "windows", Kind::Count(1, 1 << 30), &["perplexity", "kl"])
        .help("Most windows of the text; all there are if not given"),

    // What `ablate` tries.
    knob(MEASURE, "knobs", Kind::Text("NAMES"), &["ablate"]).default("all")
        .help("What to change: `all`, or names of decisions with commas between them, each with or without =MODE; `aa` changes nothing, `batch.half` halves --batch, `schedules` are those of a GPU"),
    knob(MEASURE, "prefill", Kind::Count(0, 1 << 20), &["ablate"]).short('p').default("64")
        .help("Tokens of a prompt in a sample; 0 to measure none"),
    knob(MEASURE, "decode", Kind::Count(0, 1 << 20), &["ablate"]).short('n').default("8")
        .help("Tokens of a reply in a sample; 0 to measure none"),
    knob(MEASURE, "depth", Kind::Count(0, 1 << 30), &["ablate"]).short('d').default("512")
        .help("How many tokens stand before either"),
    knob(MEASURE, "repeat", Kind::Count(1, 100_000), &["ablate"]).short('r').default("30")
        .help("Pairs of samples at most; fewer where it is clear earlier"),
    knob(MEASURE, "combine", Kind::Flag, &["ablate"])
        .help("Put the winners together, one after another as long as they win"),
    knob(MEASURE, "golden", Kind::Path("FILE.json"), &["ablate"])
        .help("Logits that are known to be right, to hold changes against instead of the base"),
    knob(MEASURE, "max-kl", Kind::Real(0.0, 100.0), &["ablate"]).default("0.01")
        .help("Mean divergence from the base, in nats, that a change may have to be kept"),

    // What `tune` measures.
    knob(MEASURE, "seconds", Kind::Count(1, 1_000_000), &["tune"]).default("120")
        .help("How long to look for faster schedules; what is found is verified after that"),
    knob(MEASURE, "beam", Kind::Count(1, 64), &["tune"]).default("3")
        .help("How many schedules of each kernel are kept, to look near them for faster ones"),
    knob(MEASURE, "prefill", Kind::Count(0, 65536), &["tune"]).short('p').default("512")
        .help("Tokens of a prompt that are computed at once, up to --batch; 0 to tune for replies alone"),
    knob(MEASURE, "depth", Kind::Count(0, 1 << 30), &["tune"]).short('d').default("0")
        .help("How many tokens stand before them"),

    // What `synth` and `quantize` make.
    knob(WEIGHTS, "quant", Kind::Choice(QUANT_MIXES), MAKE).default("q4_k_m")
        .help("How weights are stored, by llama.cpp's names: mostly in the type of that name, what is sensitive in a larger one"),
    knob(WEIGHTS, "preset", Kind::Choice(PRESETS), &["synth"]).default("tiny")
        .help("The model whose shape it has"),
    knob(WEIGHTS, "layers", Kind::Count(1, 1000), &["synth"])
        .help("How many layers; as many as the real one has if not given"),
    knob(WEIGHTS, "seed", Kind::Count(0, u64::MAX), &["synth"]).default("0")
        .help("Of the random numbers"),
    knob(WEIGHTS, "output-tensor-type", Kind::Choice(TYPES), &["quantize"])
        .help("The type of the output matrix, whatever --quant says"),
    knob(WEIGHTS, "token-embedding-type", Kind::Choice(TYPES), &["quantize"])
        .help("The type of the token embedding, whatever --quant says"),
    knob(WEIGHTS, "allow-requantize", Kind::Flag, &["quantize"])
        .help("Quantise what is quantised already, even where that gains nothing"),

    // Where things are and what comes out.
    knob(OUTPUT, "out", Kind::Path("FILE"), &["logits"]).short('o')
        .help("Where the logits go: little-endian f32, one row of the vocabulary a token; `-` is standard output"),
    knob(OUTPUT, "out", Kind::Path("FILE"), &["report"]).short('o').default("report.html")
        .help("Where the page goes; `-` is standard output"),
    knob(OUTPUT, "tensors", Kind::Flag, &["inspect"])
        .help("List every tensor"),
    knob(OUTPUT, "step", Kind::Choice(&["decode", "prefill"]), &["explain"]).default("decode")
        .help("What is computed at once: one token, or a prompt's 512"),
    knob(OUTPUT, "layer", Kind::Count(0, 4095), &["explain"])
        .help("Only the kernels of this layer"),
    knob(OUTPUT, "why", Kind::Flag, &["explain"])
        .help("Say what each kernel computes, who reads its values and why that is not computed in it, and what decided"),
    knob(OUTPUT, "plan", Kind::Flag, &["explain"])
        .help("Print the graphs and plans themselves, in their text form"),
    knob(OUTPUT, "source", Kind::Flag, &["explain"])
        .help("Print the source text of each kernel as a GPU runs it, with --device gpu"),
    knob(OUTPUT, "dot", Kind::Path("FILE"), &["explain"])
        .help("Write a graph before the rules and its kernels, as Graphviz text; `-` is standard output"),
    knob(OUTPUT, "html", Kind::Path("FILE"), &["explain"])
        .help("Write all of it as one page for a browser; `-` is standard output"),
    knob(OUTPUT, "with-source", Kind::Flag, &["profile"])
        .help("Print the text form of every kernel, too"),
    knob(OUTPUT, "trace", Kind::Path("FILE"), &["profile"])
        .help("Write the fastest step as a trace for Perfetto or chrome://tracing; `-` is standard output"),
    knob(OUTPUT, "json", Kind::Flag, JSON)
        .help("Print JSON, for programs"),
    knob(OUTPUT, "markdown", Kind::Flag, &["ablate", "tune"])
        .help("Print Markdown, for documents"),
    knob(OUTPUT, "verbose", Kind::Flag, &["run", "chat", "logits"]).env("WEFT_VERBOSE").short('v')
        .help("Say on stderr what was loaded, how many tokens there were and how long they took"),
    knob(JOURNAL, "journal", Kind::Path("FILE"), JOURNALS).env("WEFT_JOURNAL")
        .help("Where what was measured is written down; journal.db in the user's data folder if not given"),
    knob(JOURNAL, "no-journal", Kind::Flag, RECORD).env("WEFT_NO_JOURNAL")
        .help("Do not write this run down"),
    knob(STORE, "cache", Kind::Path("DIR"), CACHE).env("WEFT_CACHE")
        .help("Where fetched models and packed weights are kept; the user's cache folder if not given"),
    knob(STORE, "no-cache", Kind::Flag, COMPILE).env("WEFT_NO_CACHE")
        .help("Pack the weights in memory each time, and keep no file of them; do without tuned schedules"),
    knob(STORE, "cache-limit", Kind::Count(0, 1_000_000), LOAD).env("WEFT_CACHE_LIMIT").default("64")
        .help("Most GB that packed weights take on the disk; for new ones, those go that were not used for the longest time"),
    knob(STORE, "hub", Kind::Text("URL"), FETCH).env("HF_ENDPOINT").default("https://huggingface.co")
        .help("The Hugging Face hub, or a mirror of it"),
    knob(STORE, "hub-token", Kind::Text("TOKEN"), FETCH).env("HF_TOKEN")
        .help("Your access token for the hub, for models that ask for one; better set in the environment, where others do not see it"),
];

const fn knob(
    heading: &'static str,
    name: &'static str,
    kind: Kind,
    commands: &'static [&'static str],
) -> Knob {
    Knob { name, short: None, env: None, kind, default: None, help: "", heading, commands }
}

impl Knob {
    /// Whether it says what is measured and how. Where files lie and what is printed does not.
    pub(crate) fn is_measured(&self) -> bool {
        ![OUTPUT, JOURNAL, STORE].contains(&self.heading)
    }

    const fn short(self, short: char) -> Knob {
        Knob { short: Some(short), ..self }
    }

    const fn env(self, env: &'static str) -> Knob {
        Knob { env: Some(env), ..self }
    }

    const fn default(self, default: &'static str) -> Knob {
        Knob { default: Some(default), ..self }
    }

    const fn help(self, help: &'static str) -> Knob {
        Knob { help, ..self }
    }
}
