//! Tests of `--kernel`.

use std::fs;

use crate::support::{Folder, has_gpu, model, weft};

/// The worked examples of `docs/kernels.md`, and the model that they are for.
const EXAMPLE: &str = include_str!("../../../../docs/kernels/down_by_slot.kernel");
const WGSL: &str = include_str!("../../../../docs/kernels/down_in_wgsl.kernel");
const MODEL: &str = "glm-tiny-q4_0";

#[test]
fn a_kernel_is_checked_and_used() {
    let folder = Folder::new();
    let (model, file) = (model(MODEL), folder.join("down.kernel"));
    fs::write(&file, EXAMPLE).unwrap();
    let logits = |kernel: &[&str], out: &str| {
        let out = folder.join(out);
        let (model, to) = (model.to_str().unwrap(), out.to_str().unwrap());
        let ran = weft([&["logits", model, "--tokens", "1,2,3,4,5", "--out", to], kernel].concat()).run();
        (ran, fs::read(out).unwrap_or_default())
    };
    let given = ["--kernel", file.to_str().unwrap()];
    let (plain, expected) = logits(&[], "plain.f32");
    plain.ok();
    let (ran, found) = logits(&given, "given.f32");
    let said = ran.err.clone();
    assert!(said.contains("the kernel `down_by_slot` replaces `select_sum_256x256_q4_0&"), "{said}");
    assert!(!expected.is_empty() && expected == found);

    let explain = [&["explain", model.to_str().unwrap(), "--layer", "1"], &given[..]].concat();
    let shown = weft(explain.iter()).run().ok();
    let (_, after) = shown.split_once("  down_by_slot ").expect("explain shows the kernel");
    assert!(
        after.lines().nth(2).unwrap().contains("given with --kernel, in place of select_sum_256x256_q4_0&"),
        "{after}"
    );
    let json = weft(explain.iter().chain(&["--json"])).run().json();
    let kernels = json["plans"][0]["kernels"].as_array().unwrap();
    let replaced = kernels.iter().filter(|kernel| kernel["replaces"].is_string());
    assert_eq!(replaced.map(|kernel| &kernel["kernel"]).collect::<Vec<_>>(), ["down_by_slot"]);

    // The experts' weights in the wrong order.
    fs::write(&file, EXAMPLE.replace("load 1 p2[1; 2; 0]", "load 1 p2[0; 2; 0]")).unwrap();
    let (ran, none) = logits(&given, "wrong.f32");
    let said = ran.failed(1);
    assert!(said.contains("values are wrong in a step of 1 token; the worst is value "), "{said}");
    assert!(none.is_empty());
}

#[test]
fn a_file_that_is_no_kernel_is_refused_with_its_line() {
    let folder = Folder::new();
    let file = folder.join("bad.kernel");
    let refused = |text: &[u8]| {
        fs::write(&file, text).unwrap();
        weft(["explain", model(MODEL).to_str().unwrap(), "--kernel", file.to_str().unwrap()]).run().failed(2)
    };
    let bad = EXAMPLE.replace("v10 = add v9 v8", "v10 = plus v9 v8");
    let line = 1 + bad.lines().position(|line| line.contains("plus")).unwrap();
    let said = refused(bad.as_bytes());
    assert!(said.contains(&format!("line {line}: unknown instruction `plus`")), "{said}");
    assert!(refused(&[0xff, 0xfe]).contains("it is not UTF-8 text: byte 0 is invalid"));
    assert!(refused(&vec![b'#'; (1 << 20) + 1]).contains("it is larger than 1 MiB"));
}

#[test]
fn a_text_is_shown_profiled_and_ablated() {
    if !has_gpu() {
        return;
    }
    let folder = Folder::new();
    let (model, file) = (model(MODEL), folder.join("down.kernel"));
    let (model, file) = (model.to_str().unwrap(), file.to_str().unwrap());
    fs::write(file, WGSL).unwrap();
    let given = [model, "--device", "gpu", "--kernel", file];
    let text = &WGSL[WGSL.find("wgsl tokens").unwrap()..];

    let shown = weft(["explain", "--layer", "1", "--source"].iter().chain(&given)).run().ok();
    let (_, after) = shown.split_once("  down_by_lane ").expect("explain shows the kernel");
    assert!(after.contains(text), "{after}");
    let small = ["--no-cache", "--batch", "8", "--context", "64", "-n", "2"];
    let profiled = weft(["profile", "--with-source"].iter().chain(&given).chain(&small)).run();
    let said = "the kernel `down_by_lane`, with its text in WGSL, replaces `select_sum_256x256_q4_0&dot_256x256_q4_0`: the same";
    assert!(profiled.err.contains(said), "{}", profiled.err);
    let shown = profiled.ok();
    assert!(shown.contains("down_by_lane") && shown.contains(text), "{shown}");
    let ablate = ["ablate", "--knobs", "kernel.replace=off", "-p", "4", "-d", "2", "-r", "2", "--markdown"];
    let table = weft(ablate.iter().chain(&given).chain(&small)).run().ok();
    assert!(table.contains("| `kernel.replace=off` | "), "{table}");

    // A mistake is said with the line of the file.
    let line = 1 + WGSL.lines().position(|line| line.contains("let column =")).unwrap();
    fs::write(file, WGSL.replace("let column = (number", "let column = (numbers")).unwrap();
    let out = folder.join("out.f32");
    let logits = ["logits", "--tokens", "1", "--out", out.to_str().unwrap()];
    let said = weft(logits.iter().chain(&given)).run().failed(1);
    assert!(said.contains(&format!("its text in WGSL, line {line} of {file}: ")), "{said}");
    assert!(!out.exists());
}

/// The output of `explain --source` for both kinds of steps, in a file of `--kernel`.
#[test]
fn printed_texts_can_be_pasted() {
    if !has_gpu() {
        return;
    }
    let folder = Folder::new();
    let (model, file) = (model(MODEL), folder.join("pasted.kernel"));
    let model = model.to_str().unwrap();
    let mut pasted = WGSL[..WGSL.find("wgsl tokens").unwrap()].to_string();
    for step in ["decode", "prefill"] {
        let all = ["explain", model, "--layer", "1", "--device", "gpu", "--source", "--step", step];
        let shown = weft(all).run().ok();
        let (_, after) = shown.split_once("  select_sum_256x256_q4_0&dot_256x256_q4_0 ").unwrap();
        let text = &after[after.find("wgsl tokens=").unwrap()..];
        pasted += &text[..text.find("\nend\n").unwrap() + 5];
    }
    fs::write(&file, &pasted).unwrap();
    let logits = |kernel: &[&str], out: &str| {
        let out = folder.join(out);
        let tokens = [
            "logits",
            model,
            "--tokens",
            "1,2,3,4,5",
            "--device",
            "gpu",
            "--no-cache",
            "--out",
            out.to_str().unwrap(),
        ];
        let ran = weft(tokens.iter().chain(kernel)).run();
        (ran.err.clone(), ran.ok(), fs::read(&out).unwrap())
    };
    let (_, _, expected) = logits(&[], "plain.f32");
    let (said, _, found) = logits(&["--kernel", file.to_str().unwrap()], "pasted.f32");
    assert!(
        said.contains("with its text in WGSL, replaces") && said.contains(": the same bits, checked"),
        "{said}"
    );
    assert!(expected == found);
}
