//! Tests of `tune`, and of `ablate` with schedules. Most are skipped without a GPU.

use crate::support::{Folder, Ran, has_gpu, model, weft};

/// Runs a command on the smallest model, with steps small enough for a software GPU.
fn small(command: &str, args: &[&str]) -> Ran {
    let model = model("glm-tiny-q4_0");
    let own = ["-p", "4", "--batch", "4", "-d", "2", "-c", "64", "-t", "2"];
    weft([&[command, model.to_str().unwrap()], &own[..], args].concat()).run()
}

#[test]
fn devices_without_schedules_are_refused() {
    let error = small("tune", &[]).failed(1);
    assert!(
        error.contains("cpu") && error.contains("--device gpu") && error.contains("weft devices"),
        "{error}"
    );
    let error = small("ablate", &["--knobs", "schedules"]).failed(2);
    assert!(error.contains("has no schedules") && error.contains("--device gpu"), "{error}");
    assert!(small("tune", &["--json", "--markdown"]).failed(2).contains("cannot be used together"));
    assert!(small("tune", &["--seconds", "0"]).failed(2).contains("expected an integer from 1"));
}

#[test]
fn tuned_schedules_are_stored_and_used() {
    if !has_gpu() {
        return;
    }
    let folder = Folder::new();
    let cache = ["--cache", folder.path().to_str().unwrap(), "--device", "gpu"];
    let tuned = small("tune", &[&cache[..], &["--seconds", "2", "--beam", "2", "--json"]].concat()).json();
    let kernels = tuned["kernels"].as_array().unwrap();
    assert!(
        tuned["rounds"].as_u64() > Some(0) && kernels.iter().any(|k| k["tried"].as_u64() > Some(0)),
        "{tuned}"
    );
    assert!(kernels.iter().all(|kernel| kernel["wrong"].is_null()), "{tuned}");
    // Whether anything is faster depends on the machine.
    let file = folder.files().into_iter().find(|name| name.starts_with("packed/schedules-"));
    assert_eq!(file.is_some(), tuned["kept"].as_bool().unwrap(), "{:?}", folder.files());
    let Some(file) = file else { return };
    let text = std::fs::read_to_string(folder.join(&file)).unwrap();
    let faster = |k: &&serde_json::Value| k["verdict"] == "faster" && k["step"] == 1;
    let path = model("glm-tiny-q4_0");
    let explain = |more: &[&str]| {
        weft([&["explain", path.to_str().unwrap(), "--source"], &cache[..], more].concat()).run().ok()
    };
    let (with, without) = (explain(&[]), explain(&["--no-cache"]));
    for kernel in kernels.iter().filter(faster) {
        let name = kernel["kernel"].as_str().unwrap();
        let [found, before] = [&kernel["best"]["schedule"], &kernel["before"]].map(|s| s.as_str().unwrap());
        assert!(text.contains(found), "{text}");
        // `explain` shows the step of one token.
        assert!(with.contains(&format!("// {name}: {found}")), "{name}: {found}");
        assert!(without.contains(&format!("// {name}: {before}")), "{name}: {before}");
    }
    weft([&["cache", "clear"], &cache[..2]].concat()).run().ok();
    assert!(!folder.join(&file).exists());
}

#[test]
fn schedules_are_ablated() {
    if !has_gpu() {
        return;
    }
    let knobs = ["--knobs", "schedule.rows=1,schedule.reduce=1", "-n", "1", "-r", "2", "--markdown"];
    let table = small("ablate", &[&knobs[..], &["--device", "gpu", "--no-cache"]].concat()).ok();
    assert!(
        table.contains("| `schedule.rows=1` | ") && table.contains("| `schedule.reduce=1` | "),
        "{table}"
    );
    // Rows per workgroup change no result; the order of sums changes the last bits.
    assert!(table.lines().any(|line| line.contains("rows=1") && line.contains("same bits")), "{table}");
    assert!(table.lines().any(|line| line.contains("reduce=1") && line.contains("% same")), "{table}");
}
