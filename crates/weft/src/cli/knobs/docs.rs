//! Generates `docs/knobs.md` from the table. A test keeps the file up to date.
#![cfg(test)]

use std::fmt::Write as _;

use expect_test::expect_file;
use weft_engine::DeviceChoice;

use super::{KNOBS, Kind, Knob};

const PREFACE: &str = "\
# Knobs

All options of Weft and the commands they belong to. An argument takes precedence over an environment variable, and that
over the default. This page is generated from the table in `crates/weft/src/cli/knobs/table.rs`: edit the table and run
`UPDATE_EXPECT=1 cargo test -p weft knobs`.
";

const REST: &str = "
## Other environment variables

An empty variable counts as unset, except `WEFT_SYSTEM`, which then means an empty system message. Weft also honours these
standard variables:

| environment | effect |
|---|---|
| `NO_COLOR` | If set and not empty, errors are printed without colour |
| `XDG_CACHE_HOME` | The user's cache folder. Downloaded models and packed weights are kept in `weft` below it, unless `--cache` names another folder |
| `XDG_DATA_HOME` | The user's data folder. `weft chat` keeps its input history in `weft/history` below it, and measurements are recorded in `weft/journal.db` |

Where the last two are unset, the system's usual folders are used: `~/.cache` and `~/.local/share` on Linux,
`~/Library/Caches` and `~/Library/Application Support` on macOS, `LOCALAPPDATA` on Windows.
";

#[test]
fn the_page_is_up_to_date() {
    expect_file!["../../../../../docs/knobs.md"].assert_eq(&page());
}

fn page() -> String {
    let mut page = String::from(PREFACE);
    let mut heading = "";
    for knob in KNOBS {
        if heading != knob.heading {
            heading = knob.heading;
            let _ = write!(
                page,
                "\n## {heading}\n\n| argument | environment | values | default | commands | effect |\n"
            );
            page.push_str("|---|---|---|---|---|---|\n");
        }
        let variable = knob.env.map_or(String::new(), |name| format!("`{name}`"));
        let default = knob.default.map(|default| format!("`{default}`"));
        let default = default.or(knob.unset.map(String::from)).unwrap_or_default();
        let commands = knob.commands.join(", ");
        let Knob { help, .. } = knob;
        let _ = writeln!(
            page,
            "| {} | {variable} | {} | {default} | {commands} | {help} |",
            argument(knob),
            values(knob.kind)
        );
    }
    page + REST
}

fn argument(knob: &Knob) -> String {
    let name = match knob.kind {
        Kind::Switch(no, _) => format!("`--{}`, `--{no}`", knob.name),
        _ => format!("`--{}`", knob.name),
    };
    knob.short.map_or(name.clone(), |short| format!("`-{short}`, {name}"))
}

fn values(kind: Kind) -> String {
    match kind {
        Kind::Flag | Kind::Switch(..) => String::new(),
        Kind::Text(_) | Kind::Texts(_) => "text".into(),
        Kind::Name(_) | Kind::Names(_) => "text or path".into(),
        Kind::Path(_) | Kind::Kernels => "path".into(),
        Kind::Experts(to) => format!("`cpu`, `auto`, or 0 to {to}"),
        Kind::Context(to) => format!("1 to {to}, or `max`"),
        Kind::Limit(from, to) => format!("{from} to {to}, or -1 for no limit"),
        Kind::Seed => "0 to 2^64 - 1, or -1 for a random one".into(),
        Kind::Adapters => "path, or path`:`number, with or without name`=` before it".into(),
        Kind::Count(from, u64::MAX) => format!("{from} to 2^64 - 1"),
        Kind::Count(from, to) => format!("{from} to {to}"),
        Kind::Size => "size such as `500M` or `4G`".into(),
        Kind::Duration => "time such as `10m` or `90` (seconds), or -1 for no limit".into(),
        Kind::Real(from, to) => format!("{from} to {to}"),
        Kind::Choice(choices) => choices.join(", "),
        Kind::Ids => "token ids".into(),
        Kind::Counts(from, to) => format!("list of {from} to {to}"),
        Kind::Device => DeviceChoice::forms(),
        Kind::Decisions => "decision `=on`, `=off` or `=by-cost`".into(),
    }
}
