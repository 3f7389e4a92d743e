//! Parsed arguments by the names of their knobs, and the options that several commands build from them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::ArgMatches;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use serde_json::Value;
use weft_engine::{
    AdapterFile, Decision, DeviceChoice, EngineOptions, GenerateOptions, MOST_PREDICTED, Mode, PackCache,
    PromptCache, Replacement, Sampling, Speculate, Switches,
};
use weft_hub::{Cache, Settings};
use weft_quant::GgmlType;

use crate::cli::config::{self, Section};
use crate::cli::knobs::{KNOBS, Knob};
use crate::cli::samplers::{COUNTS, REALS};
use crate::cli::values::{Counts, Ids, NO_LIMIT, fresh_seed, limit, on_or_off, real};

/// The arguments of a command, its name, and the settings of the model, if it has any.
///
/// Getters take the name of a knob and must match its kind in the table. A name that the command does not have is a bug
/// and panics.
#[derive(Clone, Copy)]
pub(crate) struct Args<'a>(
    pub(crate) &'a ArgMatches,
    pub(crate) &'static str,
    pub(crate) Option<&'a Section>,
);

impl<'a> Args<'a> {
    /// Whether a flag is set.
    pub(crate) fn flag(self, name: &str) -> bool {
        self.0.get_flag(name)
    }

    /// The state of a switch, if it is set: by the last argument, or else by the environment.
    pub(crate) fn switch(self, name: &str, opposite: &str) -> Option<bool> {
        let place = |id| self.given(id).then(|| self.0.index_of(id)).flatten();
        match (place(name), place(opposite)) {
            (None, None) => match self.of_model(name) {
                Some(value) => on_or_off(value).ok(),
                None => self.is_set(name).then(|| self.0.get_flag(name)),
            },
            (yes, no) => Some(yes > no),
        }
    }

    /// Whether this argument was given on the command line.
    fn given(self, name: &str) -> bool {
        self.0.value_source(name) == Some(ValueSource::CommandLine)
    }

    /// Refuses arguments that have no effect together with `what`. Environment variables are ignored: they are not
    /// about this call.
    ///
    /// # Errors
    /// A usage error if one of them was given.
    pub(crate) fn refuse_with(self, what: &str, names: &[&str]) -> Result<(), clap::Error> {
        match names.iter().find(|name| self.given(name)) {
            None => Ok(()),
            Some(name) => {
                let problem = format!("--{name} has no effect with {what}");
                Err(clap::Error::raw(ErrorKind::ArgumentConflict, problem))
            }
        }
    }

    /// Whether a knob was set: on the command line, by its environment variable, or in the configuration file.
    pub(crate) fn is_set(self, name: &str) -> bool {
        match self.0.value_source(name) {
            Some(ValueSource::CommandLine | ValueSource::EnvVariable) => true,
            // The value in the file is the parser's default.
            Some(_) => config::setting(self.1, name).or(self.of_model(name)).is_some(),
            None => self.of_model(name).is_some(),
        }
    }

    /// The value that the settings of the model have, if neither an argument nor the environment says otherwise.
    pub(crate) fn of_model(self, name: &str) -> Option<&'a str> {
        let known = self.0.try_contains_id(name).is_ok();
        let source = if known { self.0.value_source(name) } else { None };
        let said = matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable));
        self.2.filter(|_| !said).and_then(|own| own.get(name)).map(String::as_str)
    }

    /// The value of a text, a choice, or a positional that is text.
    pub(crate) fn text(self, name: &str) -> Option<&'a str> {
        self.of_model(name).or_else(|| self.0.get_one::<String>(name).map(String::as_str))
    }

    /// All values of a knob that may be given more than once.
    pub(crate) fn texts(self, name: &str) -> Vec<String> {
        self.0.get_many::<String>(name).unwrap_or_default().cloned().collect()
    }

    /// All values of a knob or positional with names of files, which may be given more than once.
    pub(crate) fn names(self, name: &str) -> Vec<OsString> {
        self.0.get_many::<OsString>(name).unwrap_or_default().cloned().collect()
    }

    /// A path, or a name that may be one: of a knob or a positional.
    pub(crate) fn path(self, name: &str) -> Option<&'a Path> {
        self.0.get_one::<PathBuf>(name).map(PathBuf::as_path)
    }

    /// An integer, capped at `usize::MAX`.
    pub(crate) fn count(self, name: &str) -> Option<usize> {
        let own = self.of_model(name).and_then(|text| limit(text, 0, u64::MAX).ok());
        let count = own.or_else(|| self.0.get_one::<u64>(name).copied());
        count.map(|count| usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// A limit; `None` where there is none.
    pub(crate) fn limit(self, name: &str) -> Option<usize> {
        let none = usize::try_from(NO_LIMIT).unwrap_or(usize::MAX);
        self.count(name).filter(|&count| count != none)
    }

    /// A number of bytes.
    pub(crate) fn size(self, name: &str) -> Option<u64> {
        self.0.get_one::<u64>(name).copied()
    }

    /// A time; `None` where there is none, or no end.
    pub(crate) fn duration(self, name: &str) -> Option<Duration> {
        self.0.get_one::<Option<Duration>>(name).copied().flatten()
    }

    /// The layers that run on the GPU; not all commands that run a model let users choose them.
    fn gpu_layers(self) -> Option<usize> {
        let layers = self.0.try_get_one::<u64>("gpu-layers").ok().flatten();
        layers.map(|&layers| usize::try_from(layers).unwrap_or(usize::MAX))
    }

    /// The experts of a layer that run on the GPU, if their number was chosen.
    fn gpu_experts(self) -> Option<usize> {
        let experts = self.0.try_get_one::<u64>("experts").ok().flatten().copied();
        let chosen = experts.filter(|experts| *experts != NO_LIMIT)?;
        Some(usize::try_from(chosen).unwrap_or(usize::MAX))
    }

    /// The memory of the GPU that the model may take.
    fn gpu_memory(self) -> Option<u64> {
        self.0.try_get_one::<u64>("gpu-memory").ok().flatten().copied()
    }

    /// A list of integers, each capped at `usize::MAX`.
    pub(crate) fn counts(self, name: &str) -> Option<Vec<usize>> {
        let counts = self.0.get_one::<Counts>(name)?;
        Some(counts.0.iter().map(|&count| usize::try_from(count).unwrap_or(usize::MAX)).collect())
    }

    /// A number that has a default.
    fn real(self, name: &str) -> f32 {
        let own = self.of_model(name).and_then(|text| real(text, f64::MIN, f64::MAX).ok());
        own.or_else(|| self.0.get_one::<f64>(name).copied()).unwrap_or_default() as f32
    }

    /// A number; where the user did not set it, the model's own, if it has one.
    fn real_or(self, name: &str, own: Option<f32>) -> f32 {
        own.filter(|_| !self.is_set(name)).unwrap_or_else(|| self.real(name))
    }

    /// Token ids.
    pub(crate) fn ids(self, name: &str) -> Option<&'a [u32]> {
        self.0.get_one::<Ids>(name).map(|ids| ids.0.as_slice())
    }

    /// A number that has a default in the table, in full precision.
    pub(crate) fn number(self, name: &str) -> f64 {
        self.0.get_one(name).copied().unwrap_or(0.0)
    }

    /// The knobs of `command` that affect a measurement, with their values as a user would write them.
    pub(crate) fn knobs(self, command: &str) -> Value {
        let affects = |knob: &&Knob| knob.is_measured() && knob.commands.contains(&command);
        let written = |knob: &Knob| {
            let values: Vec<Value> =
                self.0.get_raw(knob.name)?.map(|value| value.to_string_lossy().into_owned().into()).collect();
            let value =
                if values.len() == 1 { values.into_iter().next() } else { Some(Value::Array(values)) };
            Some((knob.name.to_string(), value?))
        };
        Value::Object(KNOBS.iter().filter(affects).filter_map(written).collect())
    }

    /// Compiler decisions set by the user; the last setting of each counts.
    pub(crate) fn switches(self) -> Switches {
        let mut switches = Switches::default();
        let settings = self.0.get_many::<(&'static Decision, Mode)>("set").unwrap_or_default();
        settings.for_each(|&(decision, mode)| switches.set(decision, mode));
        switches
    }

    /// The kernels that replace the compiler's.
    pub(crate) fn kernels(self) -> Vec<Arc<Replacement>> {
        self.0.get_many::<Arc<Replacement>>("kernel").unwrap_or_default().cloned().collect()
    }

    /// The LoRA adapters of the model.
    pub(crate) fn adapters(self) -> Vec<AdapterFile> {
        self.0.get_many::<AdapterFile>("lora").unwrap_or_default().cloned().collect()
    }

    /// Refuses adapters with a name where no request chooses them.
    ///
    /// # Errors
    /// If the command is not that of the server and has one.
    pub(crate) fn check_adapters(self) -> anyhow::Result<()> {
        let Ok(Some(mut adapters)) = self.0.try_get_many::<AdapterFile>("lora") else { return Ok(()) };
        let named = adapters.find_map(|adapter| Some((adapter.name.as_ref()?, adapter.path.display())));
        match named.filter(|_| self.1 != "serve") {
            None => Ok(()),
            Some((name, path)) => anyhow::bail!(
                "--lora {name}={path} is an adapter that requests to a server choose by its name; `weft {}` adds an adapter to the model: \
                 expected --lora FILE, or --lora ./FILE if the name of the file has an equals sign",
                self.1
            ),
        }
    }

    /// The device to run on.
    pub(crate) fn device(self) -> DeviceChoice {
        self.0.get_one::<DeviceChoice>("device").cloned().unwrap_or_default()
    }

    /// The data type of the KV cache.
    pub(crate) fn kv(self) -> GgmlType {
        // Every choice of the knob is the name of a type, as a test below checks.
        self.text("kv").and_then(|name| name.parse().ok()).unwrap_or(GgmlType::F16)
    }

    /// The cache of models: the folder given, or the user's own.
    ///
    /// # Errors
    /// If none is given and the user has no home folder.
    pub(crate) fn cache(self) -> anyhow::Result<Cache> {
        match self.path("cache") {
            Some(folder) => Ok(Cache::new(folder.to_path_buf())),
            None => Cache::of_user().context("there is no cache folder; set one with --cache DIR"),
        }
    }

    /// The cache of packed weights; `None` with --no-cache or where there is no cache folder.
    pub(crate) fn pack_cache(self) -> Option<PackCache> {
        let folder = self.packed()?;
        let gigabytes = self.0.get_one::<u64>("cache-limit").copied().unwrap_or(0);
        Some(PackCache { folder, limit: gigabytes.saturating_mul(1_000_000_000) })
    }

    /// The folder of packed weights and other files for devices; `None` as for [`pack_cache`](Self::pack_cache).
    pub(crate) fn packed(self) -> Option<PathBuf> {
        if self.flag("no-cache") {
            return None;
        }
        Some(self.cache().ok()?.packed())
    }

    /// The cache of computed prompts; `None` without --cache-prompts.
    ///
    /// # Errors
    /// If there is no cache folder.
    pub(crate) fn prompt_cache(self) -> anyhow::Result<Option<PromptCache>> {
        let bytes = self.0.get_one::<u64>("cache-prompts").copied().filter(|bytes| *bytes > 0);
        bytes.map(|bytes| Ok(PromptCache::new(self.cache()?.prompts(), bytes))).transpose()
    }

    /// The options of an engine for conversations and measurements.
    pub(crate) fn engine(self) -> EngineOptions {
        self.device_options().context(self.count("context")).batch(self.count("batch"))
    }

    /// The source of guesses of the tokens of replies. A draft model is named, not yet found.
    pub(crate) fn speculate(self) -> Speculate {
        let Some(mode) = self.path("speculate") else { return Speculate::Off };
        guesses(mode.to_str().unwrap_or_default()).unwrap_or_else(|| Speculate::Model(mode.to_path_buf()))
    }

    /// The options that all commands that compute have in common.
    pub(crate) fn device_options(self) -> EngineOptions {
        EngineOptions::default()
            .device(self.device())
            .gpu_layers(self.gpu_layers())
            .gpu_experts(self.gpu_experts())
            .gpu_memory(self.gpu_memory())
            .threads(self.count("threads"))
            .kv(self.kv())
            .switches(self.switches())
            .kernels(self.kernels())
            .adapters(self.adapters())
            .tuned(self.uses_tuned())
            .cache(self.pack_cache())
    }

    /// Whether decisions and schedules that were measured to pay are used: without --no-tuned. `weft tune` has no such option.
    pub(crate) fn uses_tuned(self) -> bool {
        !matches!(self.0.try_get_one::<bool>("no-tuned"), Ok(Some(true)))
    }

    /// The system message; `own` are the model's own settings.
    pub(crate) fn system(self, own: Option<&Settings>) -> Option<&'a str> {
        self.text("system").or(own.and_then(|own| own.system))
    }

    /// How replies are generated; `own` are the model's own settings.
    pub(crate) fn generate(self, own: Option<&Settings>) -> GenerateOptions {
        let mut options = self.sampling_defaults(own);
        options.sampling.seed = self.0.get_one("seed").copied().unwrap_or_else(fresh_seed);
        options.max_tokens = self.limit("max-tokens");
        options.stop = self.texts("stop");
        options
    }

    /// How tokens are sampled, without a seed; `own` are the model's own settings.
    pub(crate) fn sampling_defaults(self, own: Option<&Settings>) -> GenerateOptions {
        let mut sampling = Sampling::default();
        for (name, parameter) in REALS {
            let own = match *name {
                "temperature" => own.map(|own| own.temperature),
                "top-p" => own.map(|own| own.top_p),
                _ => None,
            };
            *parameter(&mut sampling) = self.real_or(name, own);
        }
        for (name, parameter, none) in COUNTS {
            *parameter(&mut sampling) = self.limit(name).unwrap_or(*none);
        }
        sampling.mirostat = self.text("mirostat") == Some("2");
        let mut options = GenerateOptions::default();
        options.sampling = sampling;
        let breakers = self.texts("dry-sequence-breaker");
        if !breakers.is_empty() {
            options.dry_breakers = breakers;
        }
        options
    }
}

/// The meaning of a value of `speculate`. `None` if it names a draft model.
pub(crate) fn guesses(mode: &str) -> Option<Speculate> {
    let mode = mode.to_ascii_lowercase();
    match mode.as_str() {
        "off" => Some(Speculate::Off),
        "lookup" => Some(Speculate::Lookup),
        "mtp" => Some(Speculate::Mtp(1)),
        "auto" => Some(Speculate::Auto),
        _ => {
            let tokens = mode.strip_prefix("mtp:")?.parse().ok()?;
            (1..=MOST_PREDICTED).contains(&tokens).then_some(Speculate::Mtp(tokens))
        }
    }
}

#[cfg(test)]
mod tests {
    use weft_models::BuildOptions;

    use super::*;
    use crate::cli::knobs::Kind;
    use crate::cli::parser::{called, parser};

    /// Parses a command line.
    fn with_args<T>(line: &[&str], read: impl FnOnce(Args<'_>) -> T) -> T {
        let matches = parser().try_get_matches_from([&["weft"], line].concat()).unwrap();
        let (command, matches) = called(&matches).unwrap();
        read(Args(matches, command.name, None))
    }

    #[test]
    fn defaults_match_the_engine() {
        let (engine, generate) = with_args(&["run", "hi"], |args| (args.engine(), args.generate(None)));
        assert!(engine.cache.as_ref().is_none_or(|cache| cache.limit == PackCache::LIMIT));
        assert_eq!(engine, EngineOptions::default().cache(engine.cache.clone()));
        assert_eq!(engine.kv, BuildOptions::default().kv);
        let mut expected = GenerateOptions::default();
        expected.sampling = expected.sampling.seed(generate.sampling.seed);
        assert_eq!(generate, expected);
    }

    #[test]
    fn a_models_settings_override_defaults_but_not_the_user() {
        let own = Settings { system: Some("own"), temperature: 0.25, top_p: 0.75 };
        let read = |line: &[&str]| {
            with_args(line, |args| {
                let sampling = args.generate(Some(&own)).sampling;
                (args.system(Some(&own)).map(str::to_string), sampling.temperature, sampling.top_p)
            })
        };
        assert_eq!(read(&["run", "hi"]), (Some("own".into()), 0.25, 0.75));
        // A default given explicitly still overrides the model's settings.
        let said = ["run", "hi", "--temperature", "0.6", "--system", ""];
        assert_eq!(read(&said), (Some(String::new()), 0.6, 0.75));
    }

    #[test]
    fn every_sampler_has_its_option() {
        let line = [
            ("dry-multiplier", "0.5"),
            ("dry-base", "2"),
            ("dry-allowed-length", "3"),
            ("dry-penalty-last-n", "-1"),
            ("dry-sequence-breaker", "x"),
            ("top-n-sigma", "1.5"),
            ("typical-p", "0.75"),
            ("xtc-probability", "0.25"),
            ("xtc-threshold", "0.125"),
            ("dynatemp-range", "0.375"),
            ("dynatemp-exponent", "1.25"),
            ("mirostat", "2"),
            ("mirostat-tau", "4"),
            ("mirostat-eta", "0.5"),
        ];
        let line: Vec<String> = line.map(|(name, value)| format!("--{name}={value}")).to_vec();
        let line: Vec<&str> = ["run", "hi"].into_iter().chain(line.iter().map(String::as_str)).collect();
        let options = with_args(&line, |args| args.generate(None));
        let mut expected = GenerateOptions::default();
        let sampling = &mut expected.sampling;
        sampling.seed = options.sampling.seed;
        (sampling.dry_multiplier, sampling.dry_base) = (0.5, 2.0);
        (sampling.dry_allowed_length, sampling.dry_last_n) = (3, usize::MAX);
        (sampling.top_n_sigma, sampling.typical_p) = (1.5, 0.75);
        (sampling.xtc_probability, sampling.xtc_threshold) = (0.25, 0.125);
        (sampling.dynatemp_range, sampling.dynatemp_exponent) = (0.375, 1.25);
        (sampling.mirostat, sampling.mirostat_tau, sampling.mirostat_eta) = (true, 4.0, 0.5);
        expected.dry_breakers = vec!["x".into()];
        assert_eq!(options, expected);
    }

    #[test]
    fn what_guesses_is_a_mode_or_a_model() {
        let read = |mode: &str| with_args(&["run", "--speculate", mode, "hi"], |args| args.speculate());
        let modes = ["off", "AUTO", "lookup", "mtp"].map(read);
        assert_eq!(modes, [Speculate::Off, Speculate::Auto, Speculate::Lookup, Speculate::Mtp(1)]);
        assert_eq!(["mtp:1", "MTP:4"].map(read), [1, 4].map(Speculate::Mtp));
        assert_eq!(
            ["mtp:0", "mtp:5", "mtp:"].map(read),
            ["mtp:0", "mtp:5", "mtp:"].map(|mode| Speculate::Model(mode.into()))
        );
        assert_eq!(read("Small.gguf"), Speculate::Model("Small.gguf".into()));
        assert_eq!(with_args(&["run", "hi"], |args| args.speculate()), Speculate::Off);
    }

    #[test]
    fn every_kv_choice_is_a_type() {
        let knob = KNOBS.iter().find(|knob| knob.name == "kv").unwrap();
        let Kind::Choice(choices) = knob.kind else { panic!("kv is not a choice") };
        for choice in choices {
            let kv = with_args(&["run", "--kv", choice, "hi"], |args| args.kv());
            assert_eq!(kv.name(), *choice);
        }
    }

    #[test]
    fn switches_have_three_states_and_the_last_argument_wins() {
        for (line, expected) in [
            (&["run", "hi"][..], None),
            (&["run", "--think", "hi"], Some(true)),
            (&["run", "--no-think", "hi"], Some(false)),
            (&["run", "--no-think", "--think", "hi"], Some(true)),
            (&["run", "--think", "--no-think", "hi"], Some(false)),
        ] {
            assert_eq!(with_args(line, |args| args.switch("think", "no-think")), expected, "{line:?}");
        }
    }

    #[test]
    fn a_context_or_a_reply_may_be_as_long_as_the_model_allows() {
        for whole in ["0", "max"] {
            let context = with_args(&["run", "-c", whole, "hi"], |args| args.engine().context);
            assert_eq!(context, Some(EngineOptions::WHOLE));
        }
        assert_eq!(with_args(&["run", "-n", "-1", "hi"], |args| args.generate(None).max_tokens), None);
        assert_eq!(with_args(&["run", "-n", "3", "hi"], |args| args.generate(None).max_tokens), Some(3));
    }

    #[test]
    fn seeds_are_exact_or_fresh() {
        let seed = |line: &[&str]| with_args(line, |args| args.generate(None).sampling.seed);
        assert_eq!(seed(&["run", "--seed", "18446744073709551615", "hi"]), u64::MAX);
        assert!(seed(&["run", "--seed", "-1", "hi"]) <= u32::MAX.into());
        assert_ne!(
            (seed(&["run", "hi"]), seed(&["run", "hi"])),
            (seed(&["run", "hi"]), seed(&["run", "hi"]))
        );
    }
}
