//! Tests of `devices` and `--device`.

use crate::support::{Folder, has_gpu, model, weft};

#[test]
fn devices_are_listed_as_text_and_json() {
    let text = weft(["devices"]).run().ok();
    assert!(text.starts_with("cpu: "), "{text}");
    let json = weft(["devices", "--json"]).run().json();
    let devices = json["devices"].as_array().unwrap();
    let cpu = &devices[0];
    assert!(
        cpu["device"] == "cpu" && cpu["kind"] == "processor" && cpu["threads"].as_u64() > Some(0),
        "{cpu}"
    );
    assert_eq!((&json["host"]["cpu"], &json["host"]["isa"]), (&cpu["name"], &cpu["isa"]));
    assert!(devices.iter().any(|device| device["device"] == "reference"), "{json}");
    for backend in json["backends"].as_array().unwrap() {
        let has_devices = devices.iter().any(|device| device["backend"] == backend["name"]);
        assert_eq!(backend["missing"].is_null(), has_devices, "{backend}");
    }
    for device in devices {
        assert!(text.contains(&format!("{}: ", device["device"].as_str().unwrap())), "{text}");
        if device["backend"] == "gpu" {
            assert!(device["largest_buffer_bytes"].as_u64().unwrap() >= 1 << 27, "{device}");
        }
    }
}

#[test]
fn the_reference_device_agrees_with_the_cpu() {
    let model = model("glm-tiny-q8_0");
    let on = |device: &str| {
        let call =
            ["run", model.to_str().unwrap(), "--device", device, "--raw", "--json", "-n", "3", "hello"];
        let reply = weft([&call[..], &["--temperature", "0", "--context", "32", "--batch", "8"]].concat())
            .run()
            .json();
        (reply["text"].clone(), reply["device"].clone())
    };
    let [(cpu, _), (reference, name)] = ["cpu", "reference"].map(on);
    assert_eq!(cpu, reference);
    assert!(name.as_str().unwrap().starts_with("reference"), "{name}");
}

#[test]
fn unknown_devices_are_refused_before_anything_is_loaded() {
    let model = model("glm-tiny-q4_0");
    let model = model.to_str().unwrap();
    let error = weft(["run", model, "hi", "--device", "metal"]).run().failed(2);
    assert!(
        error.contains("`cpu`, `cpu:ISA`, `gpu`, `gpu:NAME`, `cuda`, `cuda:NAME` or `reference`"),
        "{error}"
    );
    let folder = Folder::new();
    let out = folder.join("out.f32");
    let call =
        ["logits", model, "--tokens", "1", "--out", out.to_str().unwrap(), "--device", "gpu:no such adapter"];
    let error = weft(call).run().failed(1);
    assert!(error.contains("no `gpu` device"), "{error}");
    assert!(folder.files().is_empty());
}

#[test]
fn an_instruction_set_of_the_cpu_is_chosen_by_its_name() {
    let model = model("glm-tiny-q8_0");
    let on = |device: &str| {
        let call = ["run", model.to_str().unwrap(), "--device", device, "--raw", "-n", "3", "hello"];
        weft([&call[..], &["--json", "--temperature", "0", "--context", "32"]].concat()).run()
    };
    let [best, portable] = ["cpu", "cpu:portable"].map(|device| on(device).json());
    assert_eq!(best["text"], portable["text"]);
    let device = portable["device"].as_str().unwrap();
    assert!(device.starts_with("cpu (portable), "), "{device}");
    let error = on("cpu:sse9").failed(1);
    assert!(
        error.contains("this processor does not have `sse9`; it has ") && error.contains("portable"),
        "{error}"
    );
}

#[test]
fn only_gpus_have_source_code_to_show() {
    let model = model("glm-tiny-q4_0");
    let model = model.to_str().unwrap();
    let error = weft(["explain", model, "--source"]).run().failed(2);
    assert!(error.contains("--device gpu"), "{error}");
    let explained = weft(["explain", model, "--source", "--layer", "1", "--device", "gpu"]).run();
    match explained.code {
        Some(0) => {
            // Nine kernels. Attention over a long context is two: chunks of it, and their sum.
            assert_eq!(explained.out.matches("@compute").count(), 10, "{}", explained.out);
        }
        _ => assert!(explained.failed(1).contains("there is no `gpu` device")),
    }
}

#[test]
fn a_model_runs_on_a_gpu() {
    if !has_gpu() {
        return;
    }
    let model = model("glm-tiny-q8_0");
    let call = ["run", model.to_str().unwrap(), "--device", "gpu", "--raw", "--json", "-n", "6", "hello"];
    // Small, since the GPU may be emulated in software.
    let reply = weft([&call[..], &["--context", "64", "--batch", "16"]].concat()).run().json();
    assert!(reply["device"].as_str().unwrap().starts_with("gpu ("), "{reply}");
    assert!(reply["tokens"].as_u64().unwrap() > 0 && !reply["text"].as_str().unwrap().is_empty(), "{reply}");
}

/// The limits are the GPU's own bandwidth, not the CPU's.
#[test]
fn a_gpu_is_compared_with_its_own_limits() {
    if !has_gpu() {
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
