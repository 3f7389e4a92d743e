//! Tests of arguments and variables that are not UTF-8, as file names may be.
#![cfg(unix)]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use crate::support::{Folder, Ran, Weft, fixture, model, weft};

/// A name as an old archive has it: Latin-1.
const LATIN: &[u8] = b"caf\xE9";

/// A path in a folder, whose name ends in these bytes.
fn path(folder: &Folder, end: &[u8]) -> PathBuf {
    folder.path().join(OsStr::from_bytes(&[LATIN, end].concat()))
}

/// A copy of a fixture's model under such a name.
fn copy(folder: &Folder, name: &str) -> PathBuf {
    let copy = path(folder, b".gguf");
    fs::copy(model(name), &copy).unwrap();
    copy
}

/// Runs a call, in which `*` stands for this path.
fn call(line: &str, path: &OsStr) -> Weft {
    let word = |word: &str| match word.split_once('*') {
        Some((before, after)) => {
            let mut whole = OsString::from(before);
            whole.push(path);
            whole.push(after);
            whole
        }
        None => word.into(),
    };
    weft(line.split(' ').map(word).collect::<Vec<OsString>>())
}

#[track_caller]
fn no_bug(ran: &Ran) {
    assert!(ran.code.is_some_and(|code| code < 3) && !ran.err.contains("internal error"), "{ran:?}");
}

#[test]
fn a_prompt_that_is_no_text_is_refused() {
    for args in [&[&b"run"[..], b"\xFF\xFE hi"][..], &[b"run", b"smollm2", b"\xFF\xFE hi"]] {
        let error = weft(args.iter().map(|arg| OsStr::from_bytes(arg))).run().failed(2);
        assert!(error.contains("not UTF-8 text: byte 0 is invalid"), "{error}");
    }
    let error =
        weft(["run", "hi", "--system"].map(OsStr::new).into_iter().chain([OsStr::from_bytes(b"ab\xFF")]));
    let error = error.run().failed(2);
    assert!(error.contains("--system") && error.contains("byte 2 is invalid"), "{error}");
}

#[test]
fn no_argument_is_a_bug() {
    let bad = OsStr::from_bytes(b"\xFF");
    for line in [
        "*",
        "-*",
        "--*",
        "run --*",
        "run --temperature *",
        "run --seed * hi",
        "run --kv * hi",
        "run --stop * hi",
        "run --device * hi",
        "run -* hi",
        "explain --set * x",
        "logits x --tokens *",
        "bench x --depth *",
        "cache *",
        "config *",
        "config set * 1",
        "config set model *",
        "journal *",
        "report *",
        "completions *",
        "pull *",
        "rm *",
        "synth x --preset *",
        "bench-serve *",
        "chat --server *",
        "serve --host *",
        "serve --model *",
        "serve --model a=*",
        "ablate x --knobs *",
        "tokenize x *",
        "verify x --text *",
    ] {
        let ran = call(line, bad).run();
        no_bug(&ran);
        assert_ne!(ran.code, Some(0), "{line}: {ran:?}");
    }
}

#[test]
fn models_may_have_any_name() {
    let folder = Folder::new();
    let latin = copy(&folder, "glm-tiny-q4_0");
    let latin = latin.as_os_str();
    for line in [
        "inspect *",
        "inspect * --json",
        "explain * --json",
        "tokenize * Hello",
        "embed * Hello --pooling mean",
        "run * Hello -n 2 --json",
        "run * Hello -n 2 --speculate *",
        "cache clear *",
        "logits * --tokens 1,2 --out *.logits",
        "quantize * *.small.gguf --quant q4_0 --allow-requantize",
        "synth *.made.gguf --json",
        "run * Hello -n 1 --json --set fuse.tail=off",
    ] {
        let ran = call(line, latin).run();
        no_bug(&ran);
        // Nothing is packed that could be cleared.
        let expected = if line.starts_with("cache") { 1 } else { 0 };
        assert_eq!(ran.code, Some(expected), "{line}: {ran:?}");
    }
    assert!(path(&folder, b".gguf.small.gguf").exists() && path(&folder, b".gguf.made.gguf").exists());
    // The prompt is piped, and the model is known by its content.
    let said = call("run * -n 2 --json", latin).input("Hello").run().json();
    assert!(said["model"].as_str().unwrap().ends_with("caf\u{FFFD}.gguf"), "{said}");
    let error = call("run *.gguf Hello", OsStr::from_bytes(b"none\xE9")).run().failed(1);
    assert!(error.contains("no such file"), "{error}");
    let error = call("rm *", latin).run().failed(1);
    assert!(error.contains("it is a file of yours"), "{error}");
}

#[test]
fn packed_weights_of_such_a_model_are_used_again() {
    let folder = Folder::new();
    let latin = copy(&folder, "glm-tiny-q4_0");
    let cache = path(&folder, b"-cache");
    let run = || call("run * Hello -n 1 --temperature 0", latin.as_os_str()).env("WEFT_CACHE", &cache).run();
    let first = run();
    assert_eq!((first.code, first.err.as_str()), (Some(0), ""), "{first:?}");
    let prune = weft(["cache", "prune", "--json"]).env("WEFT_CACHE", &cache).run().json();
    assert_eq!(prune["freed"], 0, "the model is still there: {prune}");
    assert_eq!(run().ok(), first.out);
}

#[test]
fn every_file_may_have_any_name() {
    let folder = Folder::new();
    let glm = model("glm-tiny-q4_0");
    let glm = glm.to_str().unwrap();
    let file = |end: &[u8], text: &str| {
        let file = path(&folder, end);
        fs::write(&file, text).unwrap();
        file
    };
    for (text, line) in [
        ("Hello", "-n 1 -f *"),
        ("Hello\n", "-n 1 --prompts *"),
        ("{\"type\": \"boolean\"}", "-n 20 Hello --schema *"),
        ("start: \"yes\"", "-n 20 Hello --grammar *"),
        ("{{ messages[0].content }}", "-n 1 Hello --chat-template *"),
    ] {
        let text = file(b".txt", text);
        call(&format!("run {glm} --temperature 0 {line}"), text.as_os_str()).run().ok();
    }
    let error = call(&format!("run {glm} -f *"), OsStr::from_bytes(b"none\xE9")).run().failed(1);
    assert!(error.ends_with("cannot read the prompt none\u{FFFD}: no such file\n"), "{error}");
    let text = file(b".txt", &"Hello there. ".repeat(40));
    call(&format!("perplexity {glm} * -c 16 --windows 1 --no-journal"), text.as_os_str()).run().ok();
    call(&format!("imatrix {glm} * -c 16 --windows 1 -o *.gguf"), text.as_os_str()).run().ok();
    // A kernel or an adapter that is not there is refused by its name.
    for option in ["--kernel", "--lora"] {
        let ran = call(&format!("run {glm} Hello {option} *"), OsStr::from_bytes(b"none\xE9")).run();
        no_bug(&ran);
        assert!(ran.code != Some(0) && ran.err.contains("none"), "{ran:?}");
    }
    assert!(fixture("glm-tiny-q4_0.gguf").exists());
}

#[test]
fn variables_may_be_any_bytes() {
    let folder = Folder::new();
    let latin = copy(&folder, "glm-tiny-q4_0");
    let bad = OsStr::from_bytes(b"\xFFx");
    // Variables with paths work.
    let run = || weft(["run", "Hello", "-n", "1", "--json"]);
    run().env("WEFT_MODEL", &latin).run().json();
    let config = path(&folder, b".toml");
    fs::write(&config, "max-tokens = 2\n").unwrap();
    let call = weft(["run", "Hello", "--json"]).env("WEFT_MODEL", &latin).env("WEFT_CONFIG", &config);
    assert_eq!(call.run().json()["tokens"], 2);
    for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "HOME", "TMPDIR", "NO_COLOR", "TERM"]
    {
        run().env("WEFT_MODEL", &latin).env(name, path(&folder, b"-folder")).run().json();
    }
    // Variables with text are refused, by name.
    for name in
        ["WEFT_SYSTEM", "WEFT_THREADS", "WEFT_THINK", "WEFT_SEED", "WEFT_KV", "HF_TOKEN", "WEFT_DEVICE"]
    {
        let error = run().env("WEFT_MODEL", &latin).env(name, bad).run().failed(2);
        assert!(error.contains("not UTF-8") && error.contains(name), "{name}: {error}");
    }
    // A server without the key that its user meant would be open.
    let error =
        weft(["serve", "--port", "0"]).env("WEFT_MODEL", &latin).env("WEFT_API_KEY", bad).run().failed(1);
    assert!(error.contains("the key in WEFT_API_KEY: it is not UTF-8 text: byte 0"), "{error}");
}
