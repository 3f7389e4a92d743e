//! `devices`, and `--device` wherever a model is loaded.

use crate::support::{Folder, model, weft};

#[test]
fn the_processor_is_always_there() {
    let text = weft(["devices"]).run().ok();
    assert!(text.starts_with("cpu: "), "{text}");
    let json = weft(["devices", "--json"]).run().json();
    assert!(json["cpu"]["threads"].as_u64().unwrap() > 0, "{json}");
    let adapters = json["adapters"].as_array().unwrap();
    assert_eq!(text.matches("\ngpu:").count(), adapters.len());
    for adapter in adapters {
        let name = adapter["name"].as_str().unwrap();
        assert!(text.contains(&format!("gpu:{name}: ")), "{text}");
        assert!(adapter["largest_buffer_bytes"].as_u64().unwrap() >= 1 << 27, "{adapter}");
    }
}

#[test]
fn a_device_that_is_none_is_refused_before_anything_is_loaded() {
    let model = model("glm-tiny-q4_0");
    let model = model.to_str().unwrap();
    let error = weft(["run", model, "hi", "--device", "cuda"]).run().failed(2);
    assert!(error.contains("`cpu`, `gpu`, or `gpu:`"), "{error}");
    let folder = Folder::new();
    let out = folder.join("out.f32");
    let call =
        ["logits", model, "--tokens", "1", "--out", out.to_str().unwrap(), "--device", "gpu:no such adapter"];
    let error = weft(call).run().failed(1);
    assert!(error.contains("no graphics adapter"), "{error}");
    assert!(folder.files().is_empty());
}

#[test]
fn only_what_runs_text_has_text_to_show() {
    let model = model("glm-tiny-q4_0");
    let model = model.to_str().unwrap();
    let error = weft(["explain", model, "--source"]).run().failed(2);
    assert!(error.contains("--device gpu"), "{error}");
    let explained = weft(["explain", model, "--source", "--layer", "1", "--device", "gpu"]).run();
    match explained.code {
        Some(0) => {
            assert_eq!(explained.out.matches("@compute").count(), 9, "nine kernels: {}", explained.out);
        }
        _ => assert!(explained.failed(1).contains("there is no graphics adapter")),
    }
}

#[test]
fn a_model_speaks_on_a_graphics_device() {
    if weft(["devices", "--json"]).run().json()["adapters"].as_array().unwrap().is_empty() {
        assert!(std::env::var_os("WEFT_TEST_ADAPTER").is_none(), "there is no graphics adapter");
        return;
    }
    let model = model("glm-tiny-q8_0");
    let call = ["run", model.to_str().unwrap(), "--device", "gpu", "--raw", "--json", "-n", "6", "hello"];
    // Small, since an adapter may be a program.
    let reply = weft([&call[..], &["--context", "64", "--batch", "16"]].concat()).run().json();
    assert!(reply["device"].as_str().unwrap().starts_with("gpu ("), "{reply}");
    assert!(reply["tokens"].as_u64().unwrap() > 0 && !reply["text"].as_str().unwrap().is_empty(), "{reply}");
}

/// Held against what the same adapter reads, and not against the processor.
#[test]
fn a_graphics_device_is_measured_by_what_it_does_itself() {
    if weft(["devices", "--json"]).run().json()["adapters"].as_array().unwrap().is_empty() {
        assert!(std::env::var_os("WEFT_TEST_ADAPTER").is_none(), "there is no graphics adapter");
        return;
    }
    let model = model("glm-tiny-q8_0");
    let on = |command: &str, more: &[&str]| {
        let call = [command, model.to_str().unwrap(), "--device", "gpu", "--batch", "8", "--json"];
        weft([&call[..], more].concat()).run().json()
    };
    let bench = on("bench", &["-p", "4", "-n", "2", "-r", "1", "-d", "0"]);
    let [prefill, decode] = [0, 1].map(|i| &bench["settings"][i]);
    assert!(
        decode["limit_tokens_per_second"].as_f64().unwrap() > 0.0
            && prefill["limit_tokens_per_second"].is_null()
    );
    let profile = on("profile", &["-n", "1"]);
    for roofs in [&bench["roofs"], &profile["roofs"]] {
        assert_eq!(roofs["read_bytes_per_second"]["samples"].as_array().unwrap().len(), 1, "{roofs}");
        assert!(roofs.get("dot_multiplications_per_second").is_none(), "{roofs}");
    }
    let kernels = profile["kernels"].as_array().unwrap();
    let head = kernels.iter().find(|kernel| kernel["role"] == "head").unwrap();
    assert!(head["of_roof"].as_f64().unwrap() > 0.0, "{head}");
    assert!(profile["empty_launch_ms"].as_f64().unwrap() > 0.0);
}
