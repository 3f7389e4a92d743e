//! Tests of `cache pack`, `cache unpack` and `pull --packed`: models of which only the packed form is kept.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::{Folder, Ran, model, weft};

const NAME: &str = "hf:org/repo:Q4_K_M";

/// A cache with a model that Weft may dispose of, as if it had been fetched.
fn cache_with(path: &Path) -> (Folder, PathBuf) {
    let cache = Folder::new();
    let own = cache.join("models/org/repo/a-Q4_K_M.gguf");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::copy(path, &own).unwrap();
    (cache, own)
}

fn run(cache: &Folder, args: &[&str]) -> Ran {
    weft(args).env("WEFT_CACHE", cache.path()).run()
}

/// The bytes of a file that a command writes to the path it gets.
#[track_caller]
fn written(cache: &Folder, args: &[&str]) -> Vec<u8> {
    let folder = Folder::new();
    let out = folder.join("out");
    run(cache, &[args, &[out.to_str().unwrap()]].concat()).ok();
    fs::read(out).unwrap()
}

/// Everything that is kept of models in a cache.
fn kept(cache: &Folder) -> Vec<String> {
    cache.files().into_iter().filter(|name| !name.ends_with(".checked")).collect()
}

const PACKED: &str = "models/org/repo/a-Q4_K_M.gguf.weft";
const OWN: &str = "models/org/repo/a-Q4_K_M.gguf";

#[test]
fn a_model_is_packed_used_and_unpacked() {
    let original = fs::read(model("glm-tiny-q4_k_m")).unwrap();
    let (cache, own) = cache_with(&model("glm-tiny-q4_k_m"));
    let all = || {
        let logits = ["logits", NAME, "--tokens", "1,2,3"];
        let computed = |more: &[&str]| written(&cache, &[&logits, more, &["--out"]].concat());
        let plain = [computed(&[]), computed(&["--no-cache"]), computed(&["--oracle"])];
        let other = written(&cache, &["quantize", NAME, "--quant", "q8_0", "--allow-requantize"]);
        let said = ["tokenize", NAME, "Once upon a time"];
        let inspected = run(&cache, &["inspect", NAME, "--tensors", "--json"]).json();
        (plain, other, run(&cache, &said).ok(), inspected["tensors"].clone())
    };
    let expected = all();
    assert_eq!(kept(&cache).len(), 2, "{:?}", kept(&cache));
    let told = run(&cache, &["cache", "pack", NAME]);
    assert!(told.code == Some(0) && told.err.contains(&format!("packed {NAME}: ")), "{told:?}");
    assert_eq!(kept(&cache), [PACKED], "one file in place of two");
    assert!(all() == expected);
    assert_eq!(kept(&cache), [PACKED], "nothing was packed again");
    let listed = run(&cache, &["list", "--json"]).json();
    assert_eq!((&listed[0]["name"], &listed[0]["packed"]), (&json!(NAME), &json!(true)));
    // Its paths are names too: that which `pull` printed, and its own.
    for path in [own.display().to_string(), cache.join(PACKED).display().to_string()] {
        run(&cache, &["run", &path, "hi", "-n", "1"]).ok();
        run(&cache, &["tokenize", &path, "hi"]).ok();
    }
    let told = run(&cache, &["cache", "verify"]);
    assert!(told.code == Some(0) && told.err.contains("a-Q4_K_M.gguf.weft is good"), "{told:?}");
    let told = run(&cache, &["cache", "pack", NAME]);
    assert!(told.code == Some(0) && told.err.contains("is packed already"), "{told:?}");
    run(&cache, &["cache", "clear"]).ok();
    run(&cache, &["cache", "prune"]).ok();
    assert_eq!(kept(&cache), [PACKED], "it is no cached copy");
    let told = run(&cache, &["cache", "unpack", NAME]);
    assert!(told.code == Some(0) && told.err.contains(&format!("unpacked {NAME}")), "{told:?}");
    assert_eq!(cache.files(), [OWN]);
    assert!(fs::read(&own).unwrap() == original);
    assert!(run(&cache, &["cache", "unpack", NAME]).err.contains("is not packed"));
}

#[test]
fn only_models_of_the_cache_are_packed() {
    let (cache, own) = cache_with(&model("glm-tiny-q4_0"));
    let theirs = cache.join("theirs.gguf");
    fs::rename(&own, &theirs).unwrap();
    let refused = |args: &[&str], code, said: &str| {
        let error = run(&cache, args).failed(code);
        assert!(error.contains(said), "{error}");
    };
    let path = theirs.to_str().unwrap();
    refused(&["cache", "pack", path], 1, "is a file of yours: only models in");
    refused(&["cache", "pack", "nothing"], 1, "there is no model nothing in");
    refused(&["cache", "pack"], 2, "pack needs a MODEL");
    refused(&["cache", "unpack"], 2, "unpack needs a MODEL");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&theirs, &own).unwrap();
        refused(&["cache", "pack", NAME], 1, "is a link to a file elsewhere");
        assert!(own.is_symlink());
    }
    assert!(fs::read(&theirs).unwrap() == fs::read(model("glm-tiny-q4_0")).unwrap());
}

#[test]
fn a_damaged_only_copy_says_how_to_fetch_it_again() {
    let (cache, _) = cache_with(&model("glm-tiny-q4_k_m"));
    run(&cache, &["cache", "pack", NAME]).ok();
    let path = cache.join(PACKED);
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.len() - 5000;
    bytes[at] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let advice = format!("`weft rm {NAME}` removes it, and `weft pull {NAME}` fetches it again");
    let out = cache.join("out");
    let out = out.to_str().unwrap();
    for args in [
        &["run", NAME, "hi", "-n", "1"][..],
        &["logits", NAME, "--tokens", "1", "--oracle", "--out", out],
        &["quantize", NAME, "--quant", "q8_0", "--allow-requantize", out],
        &["cache", "unpack", NAME],
    ] {
        let error = run(&cache, args).failed(1);
        assert!(error.contains(&advice) && error.contains("damaged"), "{args:?}: {error}");
    }
    let told = run(&cache, &["cache", "verify", NAME]);
    assert!(told.code == Some(1) && told.err.contains(&advice), "{told:?}");
    assert!(told.err.contains("1 of 1 files are damaged, and are the only copies"), "{told:?}");
    assert_eq!(kept(&cache), [PACKED]);
    run(&cache, &["rm", NAME]).ok();
    assert!(cache.files().is_empty(), "{:?}", cache.files());
}

/// Whenever a process is killed while it packs or unpacks, the model is there afterwards.
#[cfg(unix)]
#[test]
fn a_model_survives_kills() {
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    let folder = Folder::new();
    let path = folder.join("large.gguf");
    let made =
        ["synth", "--preset", "qwen2.5-0.5b", "--layers", "2", "--quant", "q4_0", path.to_str().unwrap()];
    weft(made).run().ok();
    let (cache, own) = cache_with(&path);
    let usable = || {
        let whole = own.exists() || cache.join(PACKED).exists();
        let opened = run(&cache, &["inspect", NAME, "--json"]);
        assert!(whole && opened.code == Some(0), "{:?}: {opened:?}", cache.files());
    };
    for (action, only) in [("pack", PACKED), ("unpack", OWN)] {
        let mut time = Duration::from_millis(5);
        let mut kills = 0;
        loop {
            let mut call = weft(["cache", action, NAME]).env("WEFT_CACHE", cache.path());
            let mut child = call.command().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let started = Instant::now();
            let ended = loop {
                match child.try_wait().unwrap() {
                    Some(status) => break Some(status),
                    None if started.elapsed() > time => break None,
                    None => std::thread::sleep(Duration::from_millis(1)),
                }
            };
            if let Some(status) = ended {
                assert!(status.success());
                break;
            }
            child.kill().unwrap();
            child.wait().unwrap();
            kills += 1;
            usable();
            time = time * 4 / 3;
        }
        assert!(kills > 2, "{kills} kills");
        usable();
        assert_eq!(kept(&cache), [only], "nothing else is left");
    }
    assert!(fs::read(&own).unwrap() == fs::read(&path).unwrap());
}
