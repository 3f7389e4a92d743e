//! Tests of cached packed weights, cached prompts and `cache`. Caching never changes results.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Folder, model, weft};

const MODEL: &str = "glm-tiny-q4_k_m";

/// The files in a cache, without the notes on what was checked.
fn files(cache: &Folder) -> Vec<String> {
    cache.files().into_iter().filter(|name| !name.ends_with(".checked")).collect()
}

/// Logits computed with this cache folder.
#[track_caller]
fn logits(cache: &Folder, args: &[&str]) -> Vec<u8> {
    let folder = Folder::new();
    let (path, out) = (model(MODEL), folder.join("logits.f32"));
    let call = ["logits", path.to_str().unwrap(), "--tokens", "1,2,3", "--out", out.to_str().unwrap()];
    let ran = weft([&call, args].concat()).env("WEFT_CACHE", cache.path()).run();
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    fs::read(out).unwrap()
}

fn list(cache: &Folder) -> Value {
    weft(["cache", "--json"]).env("WEFT_CACHE", cache.path()).run().json()
}

#[test]
fn cached_weights_change_no_bit() {
    let cache = Folder::new();
    let plain = logits(&cache, &["--no-cache"]);
    assert_eq!(files(&cache).len(), 0);
    assert!(logits(&cache, &[]) == plain, "packed");
    let kept = files(&cache);
    assert!(kept.len() == 1 && kept[0].starts_with("packed") && kept[0].ends_with(".weftpack"), "{kept:?}");
    assert!(logits(&cache, &[]) == plain, "found");
    assert_eq!(files(&cache), kept);
}

#[test]
fn processes_can_pack_at_the_same_time() {
    let cache = Folder::new();
    let plain = logits(&cache, &["--no-cache"]);
    std::thread::scope(|scope| {
        (0..3).for_each(|_| drop(scope.spawn(|| assert!(logits(&cache, &[]) == plain))));
    });
    assert_eq!(files(&cache).len(), 1);
}

#[test]
fn a_damaged_file_is_replaced() {
    let cache = Folder::new();
    let plain = logits(&cache, &[]);
    let file = cache.join(&files(&cache)[0]);
    let mut bytes = fs::read(&file).unwrap();
    let at = bytes.len() - 1000;
    bytes[at] ^= 1;
    fs::write(&file, bytes).unwrap();
    let (path, out) = (model(MODEL), cache.join("logits.f32"));
    let call = ["logits", path.to_str().unwrap(), "--tokens", "1,2,3", "--out", out.to_str().unwrap()];
    let ran = weft(call).env("WEFT_CACHE", cache.path()).run();
    assert!(ran.code == Some(0) && ran.err.lines().count() == 1, "{ran:?}");
    assert!(
        ran.err.contains("is damaged at byte") && ran.err.contains("packing the weights again"),
        "{ran:?}"
    );
    assert!(fs::read(out).unwrap() == plain);
    assert!(logits(&cache, &[]) == plain, "and nothing is reported any more");
}

#[test]
fn a_file_is_checked_once_until_it_changes_or_someone_asks() {
    let cache = Folder::new();
    let plain = logits(&cache, &[]);
    let file = cache.join(&files(&cache)[0]);
    let run = |args: &[&str]| weft(args).env("WEFT_CACHE", cache.path()).run();
    let checked = file.with_file_name(format!("{}.checked", file.file_name().unwrap().to_str().unwrap()));
    assert_eq!(checked.exists(), cfg!(target_os = "linux"));
    assert!(logits(&cache, &[]) == plain);
    let told = run(&["cache", "verify"]);
    assert!(told.code == Some(0) && told.err.contains(&format!("{MODEL}.gguf is good")), "{told:?}");
    let listed = run(&["cache"]).ok();
    assert!(listed.lines().nth(1).unwrap().contains("within the hour"), "{listed}");
    // Damage that keeps size and time is found by whoever asks, and then at the next use.
    let time = fs::metadata(&file).unwrap().modified().unwrap();
    let mut bytes = fs::read(&file).unwrap();
    let at = bytes.len() - 1000;
    bytes[at] ^= 1;
    fs::write(&file, &bytes).unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    let told = run(&["cache", "verify", "--json"]);
    assert_eq!(told.code, Some(1), "{told:?}");
    assert_eq!(told.out.matches(&format!("{MODEL}.gguf\"")).count(), 1, "{told:?}");
    assert!(
        told.out.contains("is damaged at byte") && told.err.contains("1 of 1 files cannot be used"),
        "{told:?}"
    );
    assert!(!checked.exists());
    let path = model(MODEL);
    let out = cache.join("again.f32");
    let told = run(&["logits", path.to_str().unwrap(), "--tokens", "1,2,3", "--out", out.to_str().unwrap()]);
    assert!(told.err.contains("packing the weights again"), "{told:?}");
    assert!(fs::read(out).unwrap() == plain);
}

#[test]
fn what_killed_processes_and_removed_models_left_is_told_and_removed() {
    let cache = Folder::new();
    let run = |args: &[&str]| weft(args).env("WEFT_CACHE", cache.path()).run();
    let (copy, folder) = (cache.join("copy.gguf"), cache.join("packed"));
    fs::copy(model(MODEL), &copy).unwrap();
    run(&["run", copy.to_str().unwrap(), "hi", "-n", "1"]).ok();
    fs::write(folder.join("a-0123456789abcdef.weftpack.0123456789abcdef.part"), vec![0; 5_000_000]).unwrap();
    let told = run(&["cache"]);
    assert!(told.err.contains("5.00 MB of unfinished files"), "{told:?}");
    assert!(!told.ok().contains("is gone"));
    assert_eq!(list(&cache)[0]["gone"], json!(false));
    fs::remove_file(&copy).unwrap();
    assert!(run(&["cache"]).ok().contains("(the model is gone;"));
    assert_eq!(list(&cache)[0]["gone"], json!(true));
    let packed = list(&cache)[0]["bytes"].as_u64().unwrap();
    assert_eq!(run(&["cache", "prune", "--json"]).json()["freed"], json!(packed + 5_000_000));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    // Unfinished files count when everything is cleared.
    fs::write(folder.join("a-0123456789abcdef.weftpack.0123456789abcdef.part"), vec![0; 1000]).unwrap();
    assert_eq!(run(&["cache", "clear", "--json"]).json()["freed"], json!(1000));
}

#[cfg(target_os = "linux")]
#[test]
fn a_good_file_stays_if_it_cannot_be_mapped() {
    let cache = Folder::new();
    let path = cache.join("large.gguf").display().to_string();
    weft(["synth", "--preset", "qwen2.5-0.5b", "--layers", "2", "--quant", "q8_0", &path]).run().ok();
    let run = || {
        let mut call = weft(["run", &path, "hi", "-n", "1"]).env("WEFT_CACHE", cache.path());
        call.command().args(["--context", "64"]);
        call
    };
    run().run().ok();
    let file = cache.join(&files(&cache).into_iter().find(|name| name.ends_with(".weftpack")).unwrap());
    let state = || {
        let about = fs::metadata(&file).unwrap();
        (about.len(), std::os::unix::fs::MetadataExt::ino(&about))
    };
    let before = state();
    let model = fs::metadata(&path).unwrap().len();
    let mut call = run();
    let command = call.command();
    let words: Vec<String> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap()))
        .collect();
    // Up to where there is room for the model's file and the program, but not for the packed weights as well.
    let mut told = String::new();
    for more in (0..40).map(|step| step * before.0 / 3) {
        let script = format!("ulimit -v {}; exec {}", (model + more) / 1024, words.join(" "));
        let mut limited = std::process::Command::new("sh");
        limited.args(["-c", &script]).env_clear();
        limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = limited.output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(state(), before, "{error}");
        told += &error;
        if output.status.success() {
            break;
        }
    }
    assert!(told.contains("cannot be mapped") && !told.contains("packing the weights again"), "{told}");
}

#[test]
fn models_run_without_a_cache() {
    let cache = Folder::new();
    let plain = logits(&cache, &["--no-cache"]);
    for (args, said) in [(&["--cache-limit", "0"][..], "the limit is 0.0 GB"), (&[], "packed: ")] {
        let (path, out) = (model(MODEL), cache.join("logits.f32"));
        if args.is_empty() {
            fs::write(cache.join("packed"), "a file where the folder should be").unwrap();
        }
        let call = ["logits", path.to_str().unwrap(), "--tokens", "1,2,3", "--out", out.to_str().unwrap()];
        let ran = weft([&call, args].concat()).env("WEFT_CACHE", cache.path()).run();
        assert!(ran.code == Some(0) && ran.err.lines().count() == 1, "{ran:?}");
        assert!(ran.err.contains("cannot be cached") && ran.err.contains(said), "{ran:?}");
        assert!(fs::read(out).unwrap() == plain);
    }
}

#[test]
fn the_cache_is_listed_and_cleared() {
    let cache = Folder::new();
    let call = |args: &[&str]| weft(args).env("WEFT_CACHE", cache.path()).run();
    assert_eq!(list(&cache), json!([]));
    assert!(call(&["cache"]).err.contains("no packed weights in"));
    let path = call(&["cache", "path"]).ok();
    assert_eq!(path.trim_end(), cache.join("packed").to_str().unwrap());
    logits(&cache, &[]);
    let (own, listed) = (weft_file::canonical(&model(MODEL)).unwrap(), list(&cache));
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(listed[0]["model"], own.to_str().unwrap());
    let file = fs::metadata(cache.join(&files(&cache)[0])).unwrap();
    assert_eq!(listed[0]["bytes"], file.len());
    assert!(listed[0]["used"].as_u64().unwrap() > 1_700_000_000);
    let text = call(&["cache", "list"]).ok();
    assert!(text.lines().count() == 2 && text.contains(own.to_str().unwrap()), "{text}");

    let other = model("glm-tiny-q4_0");
    let told = call(&["cache", "clear", other.to_str().unwrap()]).failed(1);
    assert!(told.contains("there are no packed weights of"), "{told}");
    assert_eq!(files(&cache).len(), 1);
    let told = call(&["cache", "clear", own.to_str().unwrap(), "--json"]).json();
    assert_eq!(told, json!({ "freed": file.len(), "in_use": 0 }));
    assert_eq!(files(&cache).len(), 0);

    logits(&cache, &[]);
    fs::write(cache.join("packed/mine.txt"), "not theirs").unwrap();
    fs::write(cache.join("packed/x.weftpack.1-1.partial"), "left over").unwrap();
    fs::write(cache.join("packed/x.weftpack"), "damaged").unwrap();
    assert!(call(&["cache"]).ok().contains("is damaged or from another version"));
    assert!(call(&["cache", "clear"]).err.contains("freed"));
    assert_eq!(files(&cache), ["packed/mine.txt"]);
}

#[test]
fn prompts_are_kept_listed_and_cleared() {
    let cache = Folder::new();
    let path = model(MODEL);
    let prompt = "Once upon a midnight dreary, while I pondered, weak and weary, ".repeat(4);
    let say = |args: &[&str]| {
        let call =
            ["run", path.to_str().unwrap(), &prompt, "--raw", "--max-tokens", "5", "--seed", "1", "--json"];
        let mut said = weft([&call, args].concat()).env("WEFT_CACHE", cache.path()).run().json();
        said["timings"].take();
        said
    };
    let plain = say(&[]);
    assert!(!cache.join("prompts").exists());
    let tokens = plain["prompt_tokens"].as_u64().unwrap();
    for _ in 0..2 {
        assert_eq!(say(&["--cache-prompts", "1G"]), plain);
        let prompts = list(&cache)[1].clone();
        // The reply's last token is not computed.
        assert_eq!(prompts["prompts"], (tokens + 4) / 32);
        assert_eq!(prompts["path"], cache.join("prompts").to_str().unwrap());
    }
    let call = |args: &[&str]| weft(args).env("WEFT_CACHE", cache.path()).run();
    assert!(call(&["cache"]).err.contains("of prompts in"));
    call(&["cache", "clear", path.to_str().unwrap()]);
    assert_eq!(list(&cache).as_array().unwrap().len(), 1, "prompts belong to no model");
    let told = call(&["cache", "clear", "--json"]).json();
    assert!(told["freed"].as_u64().unwrap() > 0);
    assert_eq!(list(&cache), json!([]));
    let told = weft(["run", "hi", "--cache-prompts", "much"]).run().failed(2);
    assert!(told.contains("`much` is not a size"), "{told}");
    let told = weft(["run", path.to_str().unwrap(), "hi", "--raw", "--cache-prompts", "1"]);
    let told = told.env("WEFT_CACHE", cache.path()).run().failed(1);
    assert!(told.contains("the prompt cache is limited to 1 bytes: expected at least"), "{told}");
}

#[test]
fn unknown_actions_are_refused() {
    let told = weft(["cache", "empty"]).run().failed(2);
    assert!(
        told.contains(
            "there is no action `empty`; expected list, clear, prune, verify, pack, unpack or path"
        ),
        "{told}"
    );
    assert!(weft(["logits", "x", "--no-cache", "--cache-limit", "-1"]).run().failed(2).contains("from 0 to"));
}
