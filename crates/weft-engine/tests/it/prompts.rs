//! The prompt cache on disk: a later engine finds what an earlier one computed, bit for bit, whatever happens to the files.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weft_cpu::{CpuDevice, CpuOptions};
use weft_device::{BufferId, Device, DeviceError, Forward};
use weft_engine::{
    Engine, EngineOptions, Error, Finish, Generation, Model, PromptCache, Reply, Request, Sampling, Switches,
    decisions,
};
use weft_ir::Mode;
use weft_pack::checksum;
use weft_quant::GgmlType;
use weft_random::Random;

use crate::support::{Fixture, THREADS};

/// The number of tokens of a page, and the size of a file's header in bytes.
const PAGE: usize = 32;
const HEADER: usize = 72;

const NAME: &str = "llama-tiny-q6_k";

/// A prompt with four full pages before its last token.
const PROMPT: usize = 150;

/// A folder of a test, removed when dropped.
pub(crate) struct TestFolder(PathBuf);

impl TestFolder {
    pub(crate) fn new(test: &str) -> TestFolder {
        let path = std::env::temp_dir().join(format!("weft-engine-prompts-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        TestFolder(path)
    }

    pub(crate) fn cache(&self) -> PromptCache {
        PromptCache::new(&self.0, u64::MAX)
    }

    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> =
            fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn options() -> EngineOptions {
    EngineOptions::default().threads(THREADS).context(256).batch(64)
}

fn model(name: &str) -> PathBuf {
    Fixture::load(name).path
}

fn open(options: EngineOptions, cache: Option<PromptCache>) -> Engine {
    options.prompts(cache).open(model(NAME)).unwrap()
}

fn prompt(seed: u64) -> Vec<u32> {
    let mut random = Random::new(seed);
    (0..PROMPT).map(|_| random.below(250) as u32).collect()
}

/// A request whose reply shows every bit of the likeliest logits.
pub(crate) fn request(prompt: &[u32]) -> Request {
    Request::new(prompt).ignore_end(true).max_tokens(12).sampling(Sampling::greedy()).logprobs(4)
}

/// The replies of an engine without a cache on disk.
fn expected<const N: usize>(prompts: [&[u32]; N]) -> [Reply; N] {
    let mut engine = open(options(), None);
    prompts.map(|prompt| engine.complete(request(prompt).cache(false)).unwrap())
}

pub(crate) fn check(found: &Reply, expected: &Reply, cached: usize, case: &str) {
    assert_eq!(found.tokens, expected.tokens, "{case}");
    assert_eq!(found.usage.cached_tokens, cached, "{case}");
}

#[test]
fn a_restart_finds_whole_pages_and_changes_no_bit() {
    let folder = TestFolder::new("restart");
    for name in ["llama-tiny-q6_k", "glm-tiny-q4_k_m", "qwen3moe-tiny-q4_k_m"] {
        for kv in [GgmlType::F16, GgmlType::Q8_0, GgmlType::Q5_1, GgmlType::Q4_0, GgmlType::F32] {
            let case = format!("{name} {kv}");
            let options = options().kv(kv);
            let first = prompt(1);
            let with_cache = || options.clone().prompts(folder.cache()).open(model(name)).unwrap();
            let cold = options.open(model(name)).unwrap().complete(request(&first)).unwrap();
            check(&with_cache().complete(request(&first)).unwrap(), &cold, 0, &case);
            // The next turn of the conversation has the reply in it, and another prompt shares two pages and a bit.
            let turn: Vec<u32> =
                first.iter().copied().chain(cold.tokens.iter().map(|t| t.id)).chain(prompt(2)).collect();
            let turn = &turn[..200];
            let other: Vec<u32> = first[..75].iter().copied().chain(prompt(3)).collect();
            let expected =
                [turn, &other].map(|p| options.open(model(name)).unwrap().complete(request(p)).unwrap());
            // The second engine finds the whole other prompt, which the first one has written.
            for (batch, threads, cached) in [(64, 2, 75), (7, 1, 224)] {
                let engine = || options.clone().batch(batch).threads(threads).prompts(folder.cache());
                let mut engine = engine().open(model(name)).unwrap();
                check(&engine.complete(request(&first)).unwrap(), &cold, 128, &case);
                let stats = engine.stats().prompt_cache;
                assert_eq!((stats.restored, stats.damaged, stats.failed), (4, 0, 0), "{case}");
                assert_eq!((engine.stats().prefix_queries, engine.stats().prefix_hits), (150, 128), "{case}");
                // In memory by now.
                check(&engine.complete(request(&first)).unwrap(), &cold, PROMPT - 1, &case);
                assert_eq!(engine.stats().prompt_cache.restored, 4, "{case}");
                let reply = engine.complete(request(&other)).unwrap();
                check(&reply, &expected[1], cached, &case);
                drop(engine);
            }
            check(&with_cache().complete(request(turn)).unwrap(), &expected[0], 160, &case);
        }
    }
}

#[test]
fn idle_engines_write_all_pages_and_a_dropped_one_those_that_are_left() {
    let folder = TestFolder::new("idle");
    let mut engine = open(options(), Some(folder.cache()));
    assert!(!engine.idle().unwrap());
    engine.complete(request(&prompt(1))).unwrap();
    while engine.idle().unwrap() {}
    // 150 + 11 tokens are computed; the last of the reply is not.
    assert_eq!((engine.stats().prompt_cache.written, folder.files().len()), (5, 5));
    assert!(!engine.step().unwrap());
    // No token was chosen, so nothing shows that the pages are good.
    engine.complete(request(&prompt(2)).max_tokens(0)).unwrap();
    engine.complete(request(&prompt(3)).cache(false)).unwrap();
    while engine.idle().unwrap() {}
    assert_eq!(folder.files().len(), 5);
    engine.complete(request(&prompt(2))).unwrap();
    drop(engine);
    assert_eq!(folder.files().len(), 10);
    assert_eq!(folder.cache().usage().unwrap().pages, 10);
}

/// A way to damage a file.
type Damage = (&'static str, fn(&Path, &mut Vec<u8>));

const DAMAGES: &[Damage] = &[
    ("magic", |_, bytes| bytes[0] ^= 1),
    ("version", |_, bytes| bytes[8] = 2),
    ("size of the header", |_, bytes| bytes[12] += 8),
    ("key", |_, bytes| bytes[20] ^= 0x80),
    ("size of the rows", |_, bytes| bytes[55] = 0xff),
    ("checksum of the rows", |_, bytes| bytes[56] ^= 1),
    ("checksum of the header", |_, bytes| bytes[71] ^= 1),
    ("first byte", |_, bytes| bytes[HEADER] ^= 1),
    ("a byte in the middle", |_, bytes| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
    }),
    ("last byte", |_, bytes| *bytes.last_mut().unwrap() ^= 1),
    ("a block of zeros, as after a power failure", |_, bytes| {
        let end = bytes.len().min(4096 + 4096);
        bytes[4096..end].fill(0);
    }),
    ("all zeros", |_, bytes| bytes.fill(0)),
    ("empty", |_, bytes| bytes.clear()),
    ("no rows", |_, bytes| bytes.truncate(HEADER)),
    ("half a header", |_, bytes| bytes.truncate(HEADER / 2)),
    ("a byte missing", |_, bytes| bytes.truncate(bytes.len() - 1)),
    ("a byte too many", |_, bytes| bytes.push(0)),
    ("another page", |path, bytes| {
        let files = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
        *bytes = fs::read(files.filter(|other| other != path).min().unwrap()).unwrap();
    }),
    ("text", |_, bytes| *bytes = b"not a page".to_vec()),
];

#[test]
fn a_damaged_file_is_computed_again_and_replaced() {
    let folder = TestFolder::new("damaged");
    let prompt = prompt(1);
    let [right] = expected([&prompt]);
    // The reply's page is written later than the prompt's, in the order of the prompt.
    let mut engine = open(options(), Some(folder.cache()));
    engine.complete(request(&prompt).max_tokens(1)).unwrap();
    drop(engine);
    let mut files = folder.files();
    files.sort_by_key(|file| fs::metadata(file).unwrap().modified().unwrap());
    // The first page of a prompt has the latest time.
    files.reverse();
    assert_eq!(files.len(), 4);
    let good: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    for (i, (damage, act)) in DAMAGES.iter().enumerate() {
        let page = i % 4;
        let mut bytes = good[page].clone();
        act(&files[page], &mut bytes);
        assert_ne!(bytes, good[page], "{damage}");
        fs::write(&files[page], bytes).unwrap();
        let mut engine = open(options(), Some(folder.cache()));
        let case = format!("{damage} of page {page}");
        let reply = engine.complete(request(&prompt).max_tokens(12)).unwrap();
        check(&reply, &right, page * PAGE, &case);
        let stats = engine.stats().prompt_cache;
        assert_eq!((stats.restored, stats.damaged), (page as u64, 1), "{case}");
        drop(engine);
        let now: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
        assert!(now == good, "{case}: the file was not replaced");
    }
    // A missing file, and a folder in its place, which cannot be replaced.
    fs::remove_file(&files[2]).unwrap();
    fs::create_dir(&files[2]).unwrap();
    for _ in 0..2 {
        let mut engine = open(options(), Some(folder.cache()));
        check(&engine.complete(request(&prompt)).unwrap(), &right, 2 * PAGE, "a folder");
    }
}

#[test]
fn rows_that_are_not_numbers_are_removed_after_one_request() {
    let folder = TestFolder::new("forged");
    let prompt = prompt(1);
    let [right] = expected([&prompt]);
    drop(open(options(), Some(folder.cache())).complete(request(&prompt)).unwrap());
    for file in folder.files() {
        let mut bytes = fs::read(&file).unwrap();
        bytes[HEADER..].fill(0xff);
        let rows = checksum(&bytes[HEADER..]);
        bytes[56..64].copy_from_slice(&rows.to_le_bytes());
        let seal = checksum(&bytes[..64]);
        bytes[64..HEADER].copy_from_slice(&seal.to_le_bytes());
        fs::write(&file, bytes).unwrap();
    }
    let mut engine = open(options(), Some(folder.cache()));
    let forged = engine.complete(request(&prompt)).unwrap();
    assert!(matches!(forged.finish, Finish::Failed(_)), "{:?}", forged.finish);
    while engine.idle().unwrap() {}
    check(&engine.complete(request(&prompt)).unwrap(), &right, 0, "after forged pages");
    drop(engine);
    let mut engine = open(options(), Some(folder.cache()));
    check(&engine.complete(request(&prompt)).unwrap(), &right, 128, "after a restart");
}

#[test]
fn pages_serve_only_the_same_model_numbers_and_salt() {
    let folder = TestFolder::new("others");
    let prompt = prompt(1);
    open(options(), Some(folder.cache())).complete(request(&prompt)).unwrap();
    let copies = TestFolder::new("others-models");
    fs::create_dir_all(&copies.0).unwrap();
    let copy = copies.0.join("model.gguf");
    fs::copy(model(NAME), &copy).unwrap();
    let mut switches = Switches::default();
    switches.set(decisions().next().unwrap(), Mode::Off);
    let own = model(NAME);
    for (case, options, path, salt, hits) in [
        ("the same", options(), &own, "", true),
        (
            "another context, batch and number of threads",
            options().context(200).batch(9).threads(1),
            &own,
            "",
            true,
        ),
        ("another salt", options(), &own, "salt", false),
        ("another KV type", options().kv(GgmlType::BF16), &own, "", false),
        ("other decisions", options().switches(switches), &own, "", false),
        ("another device", options().device("reference".parse().unwrap()), &own, "", false),
        ("a copy of the model", options(), &copy, "", false),
        ("another model", options(), &model("llama-tiny-q5_k_m"), "", false),
    ] {
        let mut engine = options.prompts(folder.cache()).open(path).unwrap();
        let reply = engine.complete(request(&prompt).max_tokens(1).salt(salt)).unwrap();
        assert_eq!(reply.usage.cached_tokens, if hits { 128 } else { 0 }, "{case}");
        assert_eq!(engine.stats().prompt_cache.restored, if hits { 4 } else { 0 }, "{case}");
    }
}

#[test]
fn the_limit_is_kept_and_the_pages_used_last_survive() {
    let folder = TestFolder::new("limit");
    open(options(), Some(folder.cache())).complete(request(&prompt(0)).max_tokens(1)).unwrap();
    let page = folder.cache().usage().unwrap().bytes / 4;
    let limit = 11 * page;
    let cache = PromptCache::new(&folder.0, limit);
    let mut engine = open(options(), Some(cache.clone()));
    let mut evicted = 0;
    for seed in 1..8 {
        // Always used, and at last only in memory.
        for seed in [seed, 0] {
            engine.complete(request(&prompt(seed)).max_tokens(1)).unwrap();
            while engine.idle().unwrap() {
                assert!(cache.usage().unwrap().bytes <= limit);
            }
        }
        assert!(cache.usage().unwrap().bytes <= limit);
        evicted = engine.stats().prompt_cache.evicted;
    }
    assert!(evicted >= 4 * 8 - 11, "{evicted} pages");
    drop(engine);
    let cached = |seed| {
        let reply = open(options(), Some(cache.clone())).complete(request(&prompt(seed)).max_tokens(1));
        reply.unwrap().usage.cached_tokens
    };
    assert_eq!([cached(0), cached(7), cached(1)], [128, 128, 0]);

    let small = options().prompts(PromptCache::new(&folder.0, page - 1)).open(model(NAME));
    let Err(Error::Option(why)) = small else { panic!("there is no room for a page") };
    assert!(why.contains(&format!("{} bytes: expected at least {page}", page - 1)), "{why}");
}

#[test]
fn a_folder_that_cannot_be_used_is_an_error_and_a_removed_one_is_made_again() {
    let folder = TestFolder::new("unusable");
    fs::write(&folder.0, "a file").unwrap();
    let Err(Error::Option(why)) = options().prompts(folder.cache()).open(model(NAME)) else {
        panic!("a file is not a folder")
    };
    assert!(why.contains(&folder.0.display().to_string()), "{why}");
    fs::remove_file(&folder.0).unwrap();
    let mut engine = open(options(), Some(folder.cache()));
    fs::remove_dir_all(&folder.0).unwrap();
    engine.complete(request(&prompt(1))).unwrap();
    drop(engine);
    assert_eq!(folder.files().len(), 5);
}

/// Replies of generations that run together, compared with those alone. Each prompt comes with the length of its reply.
fn run_together(engine: &mut Engine, prompts: &[(&[u32], usize)], expected: &[Reply], case: &str) {
    let push = |(prompt, most): &(&[u32], usize)| engine.push(request(prompt).max_tokens(*most)).unwrap();
    let mut all: Vec<Generation> = prompts.iter().map(push).collect();
    while engine.step().unwrap() {}
    for (i, (one, expected)) in all.iter_mut().zip(expected).enumerate() {
        let events = std::iter::from_fn(|| one.poll());
        let tokens =
            events.filter_map(|e| if let weft_engine::Event::Token(token) = e { Some(token) } else { None });
        assert_eq!(tokens.collect::<Vec<_>>(), expected.tokens, "{case}, request {i}");
    }
    let stats = engine.stats();
    assert_eq!((stats.running, stats.waiting, stats.pages_held), (0, 0, 0), "{case}");
}

#[test]
fn restored_prompts_run_beside_others_and_through_preemptions() {
    let folder = TestFolder::new("beside");
    let (a, b, c) = (prompt(1), prompt(2), prompt(3));
    let d: Vec<u32> = a[..100].iter().chain(&b[..40]).copied().collect();
    // These preempt each other where there is room for one sequence of full length, which is 8 pages: each begins with one page,
    // so it never waits for a disk, and takes two more before the first of them ends.
    let long: [&[u32]; 5] = std::array::from_fn(|i| &[&a, &b, &c, &a, &b][i][10 * i..][..30]);
    let prompts: [&[u32]; 12] =
        [&a[..60], &b[..60], &c[..60], &a[30..90], &a, &b, &a, &c[..50], &d, &b[..90], &c, &a[1..]];
    let all = long.iter().map(|prompt| (*prompt, 60)).chain(prompts.iter().map(|prompt| (*prompt, 12)));
    let all: Vec<(&[u32], usize)> = all.collect();
    let mut alone = open(options(), None);
    let right =
        all.iter().map(|(p, most)| alone.complete(request(p).max_tokens(*most).cache(false)).unwrap());
    let right: Vec<Reply> = right.collect();
    for (sequences, batch) in [(8, 64), (1, 64), (1, 16), (2, 7)] {
        let _ = fs::remove_dir_all(&folder.0);
        // The first finds nothing on disk but what others have left while it runs, the second everything.
        for round in 0..2 {
            let case = format!("{sequences} sequences, batches of {batch}, round {round}");
            let mut engine = open(options().sequences(sequences).batch(batch), Some(folder.cache()));
            run_together(&mut engine, &all, &right, &case);
            let stats = engine.stats();
            assert_eq!((stats.prompt_cache.damaged, stats.prompt_cache.failed), (0, 0), "{case}");
            assert!(stats.preempted > 0 || sequences > 1, "{case}");
            if (sequences, round) == (8, 1) {
                // Each page once, although several need it: of a, b, c, a[30..], a[1..], and the one that only d has.
                assert_eq!(stats.prompt_cache.restored, 4 + 4 + 4 + 1 + 4 + 1, "{case}");
            }
        }
    }
}

#[test]
fn a_prompt_cancelled_while_it_is_read_leaks_nothing() {
    let folder = TestFolder::new("cancelled");
    let prompts = [prompt(1), prompt(2)];
    let [right, _] = expected([&prompts[0], &prompts[1]]);
    let mut engine = open(options(), Some(folder.cache()));
    prompts.iter().for_each(|prompt| drop(engine.complete(request(prompt)).unwrap()));
    drop(engine);
    for steps in 0..4 {
        let mut engine = open(options().sequences(2), Some(folder.cache()));
        let dropped = [0, 1, 0].map(|i| engine.push(request(&prompts[i])).unwrap());
        (0..steps).for_each(|_| assert!(engine.step().unwrap()));
        drop(dropped);
        assert!(!engine.step().unwrap());
        assert_eq!((engine.stats().pages_held, engine.stats().running), (0, 0));
        assert_eq!(
            engine.complete(request(&prompts[0])).unwrap().tokens,
            right.tokens,
            "after {steps} steps"
        );
    }
}

#[test]
fn two_engines_share_a_folder() {
    let folder = TestFolder::new("shared");
    let prompts: Vec<Vec<u32>> = (0..6).map(prompt).collect();
    let right: Vec<Reply> = prompts.iter().map(|prompt| expected([prompt])[0].clone()).collect();
    std::thread::scope(|scope| {
        for reversed in [false, true] {
            let (cache, prompts, right) = (folder.cache(), &prompts, &right);
            scope.spawn(move || {
                let mut engine = open(options().threads(1), Some(cache));
                for i in 0..2 * prompts.len() {
                    let i = if reversed { prompts.len() - 1 - i % prompts.len() } else { i % prompts.len() };
                    assert_eq!(engine.complete(request(&prompts[i])).unwrap().tokens, right[i].tokens);
                    while engine.idle().unwrap() {}
                }
                assert_eq!(engine.stats().prompt_cache.damaged, 0);
            });
        }
    });
    assert_eq!(folder.files().len(), 6 * 5);
    // A third engine finds at once what another writes after the third was opened.
    let mut third = open(options(), Some(folder.cache()));
    let later = prompt(9);
    let [expected] = expected([&later]);
    open(options(), Some(folder.cache())).complete(request(&later)).unwrap();
    check(&third.complete(request(&later)).unwrap(), &expected, 128, "written later");
}

/// Fails reads of rows when told to.
struct FailsToRead(CpuDevice, Arc<AtomicBool>);

impl Forward for FailsToRead {
    fn inner(&self) -> &dyn Device {
        &self.0
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        &mut self.0
    }

    fn read(&self, buffer: BufferId, offset: usize, out: &mut [u8]) -> Result<(), DeviceError> {
        if self.1.load(Ordering::SeqCst) {
            return Err(DeviceError::Memory { device: "test".into(), bytes: out.len() });
        }
        self.0.read(buffer, offset, out)
    }
}

#[test]
fn nothing_is_written_after_the_device_has_failed() {
    let folder = TestFolder::new("failing");
    let prompt = prompt(1);
    let [right] = expected([&prompt]);
    let fail = Arc::new(AtomicBool::new(false));
    let cpu = CpuDevice::new(CpuOptions { threads: Some(2), ..CpuOptions::default() }).unwrap();
    let device = Box::new(FailsToRead(cpu, Arc::clone(&fail)));
    let model = Model::open(&model(NAME), GgmlType::F16).unwrap();
    let mut engine = Engine::new(model, device, &options().prompts(folder.cache())).unwrap();
    let mut generation = engine.push(request(&prompt)).unwrap();
    while generation.usage().tokens == 0 {
        engine.step().unwrap();
        generation.poll();
    }
    fail.store(true, Ordering::SeqCst);
    // Rows read before the failure may still be on their way to the disk.
    let failed = loop {
        match engine.idle() {
            Err(_) => break true,
            Ok(true) => {}
            Ok(false) => break false,
        }
    };
    let written = folder.cache().usage().unwrap().pages;
    assert!(failed || written >= 4, "wanted pages are read from the device");
    assert!((0..9).any(|_| engine.step().is_err()));
    fail.store(false, Ordering::SeqCst);
    while engine.idle().unwrap() {}
    let kept = folder.cache().usage().unwrap().pages;
    drop(generation);
    check(&engine.complete(request(&prompt)).unwrap(), &right, kept as usize * PAGE, "after a failure");
    drop(engine);
    check(
        &open(options(), Some(folder.cache())).complete(request(&prompt)).unwrap(),
        &right,
        128,
        "a restart",
    );
}

/// Tells the process started by the next test its folder and the first of its prompts.
const KILLED: &str = "WEFT_ENGINE_TEST_KILLED";

#[test]
fn a_process_killed_while_it_writes_costs_only_time() {
    if let Some(told) = std::env::var_os(KILLED) {
        let told = told.into_string().unwrap();
        let (first, folder) = told.split_once(' ').unwrap();
        let mut engine = open(options(), Some(PromptCache::new(folder, u64::MAX)));
        for seed in first.parse::<u64>().unwrap().. {
            engine.complete(request(&prompt(seed)).max_tokens(1)).unwrap();
            if seed.is_multiple_of(100) {
                println!("\nwriting");
            }
            while engine.idle().unwrap() {}
        }
    }
    let folder = TestFolder::new("killed");
    let mut random = Random::new(5);
    let mut alone = open(options(), None);
    for round in 0..20 {
        let first = 100 * round;
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "prompts::a_process_killed_while_it_writes_costs_only_time", "--nocapture"]);
        child.env(KILLED, format!("{first} {}", folder.0.display())).stdout(Stdio::piped());
        let mut child = child.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let writing = lines.any(|line| line == "writing");
        std::thread::sleep(Duration::from_micros(random.below(20_000) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(writing, "round {round}");
        let is_part = |file: &PathBuf| file.extension().is_some_and(|ext| ext == "part");
        let mut engine = open(options(), Some(folder.cache()));
        assert!(!folder.files().iter().any(is_part), "round {round}: part files are swept");
        for seed in first..first + 3 {
            let found = engine.complete(request(&prompt(seed))).unwrap();
            let right = alone.complete(request(&prompt(seed)).cache(false)).unwrap();
            assert_eq!(found.tokens, right.tokens, "round {round}");
        }
        assert_eq!(engine.stats().prompt_cache.damaged, 0, "files get their names only when they are whole");
    }
}
