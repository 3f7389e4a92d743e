//! `weft devices`: what there is to compute on.

use std::io::Write as _;

use serde_json::{Value, json};
use weft_engine::{Adapter, adapters};
use weft_lab::Host;

use super::{Command, Outcome};
use crate::args::Args;
use crate::out::{Out, note};
use crate::units;

pub(super) const COMMAND: Command = Command {
    name: "devices",
    about: "List the processor and the graphics adapters, and what each can do",
    notes: "\
What stands first in a line is what --device takes; any part of an adapter's name will do. `--device gpu` takes the first adapter. \
No buffer of an adapter is larger than it says, and so no weight can be.",
    positionals: &[],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let (host, adapters) = (Host::this(), adapters());
    let mut out = Out::new();
    if args.flag("json") {
        let adapters: Vec<Value> = adapters.iter().map(report).collect();
        out.json(&json!({ "cpu": host.json(), "adapters": adapters }))?;
        return Ok(Outcome::Done);
    }
    writeln!(out, "cpu: {}, {} threads, {}", host.cpu, host.threads, host.isa)?;
    for adapter in &adapters {
        let limits = adapter.limits();
        let memory =
            adapter.memory().map_or(String::new(), |bytes| format!(", {} of memory", units::bytes(bytes)));
        writeln!(
            out,
            "gpu:{}: {}, {}{memory}; {}",
            adapter.name(),
            adapter.kind().name(),
            adapter.interface(),
            adapter.driver()
        )?;
        writeln!(
            out,
            "    buffers to {}, workgroups of {} with {} between them, {}",
            units::bytes(adapter.largest_buffer() as u64),
            limits.invocations,
            units::bytes(limits.shared_bytes.into()),
            abilities(adapter)
        )?;
    }
    if adapters.is_empty() {
        note!("{}", weft_engine::Error::from(weft_engine::OpenError::None));
    }
    Ok(Outcome::Done)
}

/// What it has beyond what all have, in a line.
fn abilities(adapter: &Adapter) -> String {
    let limits = adapter.limits();
    let subgroup = limits.subgroup.map(|lanes| format!("subgroups of {lanes} and more"));
    let others = [
        (limits.f16, "16-bit floats"),
        (limits.dot4, "products of four bytes"),
        (adapter.has_clock(), "a clock"),
    ];
    let others = others.into_iter().filter(|(has, _)| *has).map(|(_, name)| name.to_string());
    subgroup.into_iter().chain(others).collect::<Vec<_>>().join(", ")
}

fn report(adapter: &Adapter) -> Value {
    let limits = adapter.limits();
    json!({
        "name": adapter.name(),
        "kind": adapter.kind().name(),
        "interface": adapter.interface(),
        "driver": adapter.driver(),
        "memory_bytes": adapter.memory(),
        "largest_buffer_bytes": adapter.largest_buffer(),
        "workgroup_invocations": limits.invocations,
        "workgroup_bytes": limits.shared_bytes,
        "storage_buffers": limits.storage_buffers,
        "least_subgroup": limits.subgroup,
        "f16": limits.f16,
        "dot4": limits.dot4,
        "clock": adapter.has_clock(),
    })
}
