//! The table as `docs/knobs.md`. A test keeps the file what the table says.
#![cfg(test)]

use std::fmt::Write as _;

use expect_test::expect_file;

use super::{KNOBS, Kind, Knob};

const PREFACE: &str = "\
# Knobs

Everything about Weft that can be set, with the commands it belongs to. An argument wins over an environment variable,
and that over the default. This page is made from the table in `crates/weft/src/knobs/table.rs`: change that, and run
`UPDATE_EXPECT=1 cargo test -p weft knobs`.
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
    page
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
        Kind::Decisions => "a decision, `=on` or `=off`".into(),
    }
}
