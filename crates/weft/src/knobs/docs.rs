//! The table as `docs/knobs.md`. A test keeps the file what the table says.
#![cfg(test)]

use std::fmt::Write as _;

use expect_test::expect_file;
use weft_engine::DeviceChoice;

use super::{KNOBS, Kind, Knob};

const PREFACE: &str = "\
# Knobs

Everything about Weft that can be set, with the commands it belongs to. An argument wins over an environment variable,
and that over the default. This page is made from the table in `crates/weft/src/knobs/table.rs`: change that, and run
`UPDATE_EXPECT=1 cargo test -p weft knobs`.
";

const REST: &str = "
## Beside the table

An empty variable counts as one that is not set, but for `WEFT_SYSTEM`: an empty system message is one. These standard
variables are honoured too:

| environment | |
|---|---|
| `NO_COLOR` | Errors are not coloured where it is set and not empty |
| `XDG_CACHE_HOME` | Where the user's cache folder is: fetched models and packed weights are kept in `weft` below it, if `--cache` does not say otherwise |
| `XDG_DATA_HOME` | Where the user's data are: `weft chat` keeps what was typed on a terminal in `weft/history` below it, and what was measured is in `weft/journal.db` |

Without them the folders are the usual ones: `~/.cache` and `~/.local/share`, on macOS `~/Library/Caches` and
`~/Library/Application Support`, on Windows that in `LOCALAPPDATA`.
";

#[test]
fn the_page_says_what_the_table_says() {
    expect_file!["../../../../docs/knobs.md"].assert_eq(&page());
}

fn page() -> String {
    let mut page = String::from(PREFACE);
    let mut heading = "";
    for knob in KNOBS {
        if heading != knob.heading {
            heading = knob.heading;
            let _ = write!(
                page,
                "\n## {heading}\n\n| argument | environment | values | default | commands | |\n"
            );
            page.push_str("|---|---|---|---|---|---|\n");
        }
        let variable = knob.env.map_or(String::new(), |name| format!("`{name}`"));
        let default = knob.default.map_or(String::new(), |default| format!("`{default}`"));
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
        Kind::Switch(no) => format!("`--{}`, `--{no}`", knob.name),
        _ => format!("`--{}`", knob.name),
    };
    knob.short.map_or(name.clone(), |short| format!("`-{short}`, {name}"))
}

fn values(kind: Kind) -> String {
    match kind {
        Kind::Flag | Kind::Switch(_) => String::new(),
        Kind::Text(_) | Kind::Texts(_) => "text".into(),
        Kind::Path(_) => "a path".into(),
        Kind::Count(from, u64::MAX) => format!("{from} to 2^64 - 1"),
        Kind::Count(from, to) => format!("{from} to {to}"),
        Kind::Real(from, to) => format!("{from} to {to}"),
        Kind::Choice(choices) => choices.join(", "),
        Kind::Ids => "ids".into(),
        Kind::Counts(from, to) => format!("a list of {from} to {to}"),
        Kind::Device => DeviceChoice::forms(),
        Kind::Decisions => "a decision, `=on`, `=off` or `=by-cost`".into(),
    }
}
