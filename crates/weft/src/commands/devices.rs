//! `weft devices`: lists the devices of this machine.

use std::io::{self, Write};

use serde_json::{Value, json};
use weft_engine::{BACKENDS, Backend, DeviceInfo, Fact, FactValue, OpenError};
use weft_lab::Host;

use super::{Command, Outcome};
use crate::cli::args::Args;
use crate::terminal::streams::{Out, note};
use crate::terminal::units;

pub(super) const COMMAND: Command = Command {
    name: "devices",
    about: "List the devices of this machine and their features",
    notes: "\
Each line begins with the value to give to --device. Part of a name is enough. `--device cpu:avx2` keeps the CPU to an \
instruction set below its fastest, to measure it: avx512-amx, avx512-vnni, avx2-vnni, avx2, neon-dotprod or portable, if \
the CPU has it. No reply depends on it, as all give the same bits. `--device gpu` selects the first NVIDIA GPU through CUDA \
where that works, otherwise the first GPU through Vulkan or Metal. A model runs only on devices whose largest buffer holds its largest weight.

Examples:
  weft devices
  weft run --device gpu \"What is the capital of France?\"
  weft run --device gpu:radeon \"What is the capital of France?\"",
    positionals: &[],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let found: Vec<_> = BACKENDS.iter().map(|backend| (*backend, backend.probe())).collect();
    let mut out = Out::new();
    if args.flag("json") {
        let backends = found.iter().map(|(backend, devices)| {
            let missing = devices.is_empty().then(|| backend.missing());
            let note = backend.note();
            json!({ "name": backend.name(), "about": backend.about(), "missing": missing, "note": note })
        });
        let backends: Vec<Value> = backends.collect();
        let reports =
            found.iter().flat_map(|(backend, devices)| devices.iter().map(|info| report(*backend, info)));
        let devices: Vec<Value> = reports.collect();
        out.json(&json!({ "host": Host::this().json(), "backends": backends, "devices": devices }))?;
        return Ok(Outcome::Done);
    }
    for (backend, devices) in &found {
        devices.iter().try_for_each(|info| show(*backend, info, &mut out))?;
    }
    for (backend, _) in found.iter().filter(|(_, devices)| devices.is_empty()) {
        note!("{}", OpenError::Missing { backend: backend.name(), why: backend.missing() });
    }
    found.iter().filter_map(|(backend, _)| backend.note()).for_each(|said| note!("{said}"));
    Ok(Outcome::Done)
}

/// The value of `--device` that selects this device.
fn selector(backend: &dyn Backend, info: &DeviceInfo) -> String {
    let name = backend.name();
    if backend.has_names() { format!("{name}:{}", info.name) } else { name.into() }
}

fn show(backend: &dyn Backend, info: &DeviceInfo, out: &mut impl Write) -> io::Result<()> {
    let DeviceInfo { name, kind, interface, driver, memory_bytes, facts } = info;
    write!(out, "{}: ", selector(backend, info))?;
    if !backend.has_names() {
        return writeln!(out, "{}", [&[name.clone()][..], &phrases(facts)].concat().join(", "));
    }
    let memory = memory_bytes.map(|bytes| format!("{} of memory", units::bytes(bytes)));
    let about = [Some(kind.name().to_string()), interface.clone(), memory];
    write!(out, "{}", about.into_iter().flatten().collect::<Vec<_>>().join(", "))?;
    driver.iter().try_for_each(|driver| write!(out, "; {driver}"))?;
    writeln!(out, "\n    {}", phrases(facts).join(", "))
}

/// The facts as phrases.
fn phrases(facts: &[Fact]) -> Vec<String> {
    let phrase = |fact: &Fact| {
        let value = match &fact.value {
            FactValue::Bytes(bytes) => units::bytes(*bytes),
            FactValue::Count(count) => count.to_string(),
            FactValue::Text(text) => text.clone(),
            FactValue::Flag(true) => String::new(),
            FactValue::Flag(false) => return None,
        };
        Some(fact.phrase.replace("{}", &value))
    };
    facts.iter().filter_map(phrase).collect()
}

fn report(backend: &dyn Backend, info: &DeviceInfo) -> Value {
    let mut report = json!({
        "device": selector(backend, info),
        "backend": backend.name(),
        "name": info.name,
        "kind": info.kind.name(),
        "interface": info.interface,
        "driver": info.driver,
        "memory_bytes": info.memory_bytes,
    });
    for fact in &info.facts {
        report[fact.name] = match &fact.value {
            FactValue::Bytes(number) | FactValue::Count(number) => json!(number),
            FactValue::Text(text) => json!(text),
            FactValue::Flag(has) => json!(has),
        };
    }
    report
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use weft_engine::DeviceKind;

    use super::*;

    #[test]
    fn facts_become_phrases_and_fields() {
        let info = DeviceInfo {
            name: "A Card".into(),
            kind: DeviceKind::Discrete,
            interface: Some("Vulkan".into()),
            driver: Some("driver 1.2".into()),
            memory_bytes: Some(8_000_000_000),
            facts: vec![
                Fact::new("largest_buffer_bytes", "buffers up to {}", FactValue::Bytes(2_000_000_000)),
                Fact::new("workgroup_invocations", "workgroups of {}", FactValue::Count(1024)),
                Fact::new("f16", "16-bit floats", FactValue::Flag(true)),
                Fact::new("dot4", "4-byte dot products", FactValue::Flag(false)),
            ],
        };
        let backend = *BACKENDS.iter().find(|backend| backend.has_names()).unwrap();
        let mut text = Vec::new();
        show(backend, &info, &mut text).unwrap();
        expect![[r#"
            gpu:A Card: discrete, Vulkan, 8.00 GB of memory; driver 1.2
                buffers up to 2.00 GB, workgroups of 1024, 16-bit floats
        "#]]
        .assert_eq(&String::from_utf8(text).unwrap());
        expect![[r#"{"device":"gpu:A Card","backend":"gpu","name":"A Card","kind":"discrete","interface":"Vulkan","driver":"driver 1.2","memory_bytes":8000000000,"largest_buffer_bytes":2000000000,"workgroup_invocations":1024,"f16":true,"dot4":false}"#]]
            .assert_eq(&report(backend, &info).to_string());
    }
}
