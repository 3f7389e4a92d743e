//! CI runs what the README shows.

use super::{Finding, Rule};
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule {
    name: "ci",
    says: "The README begins with the commands that answer a question and run the tests; .ci/run runs that \
           test command, and only cargo commands that the README shows.",
    why: "Someone who follows the README must see what CI sees; a check that only CI knows comes as a surprise \
          after the work.",
    fix: "Write the command in a code block of README.md exactly as in .ci/run, or remove it from .ci/run.",
    check,
};

const README: &str = "README.md";
const RUN: &str = ".ci/run";

/// The first two commands of the README.
const FIRST: [&str; 2] =
    ["cargo run --release -- run \"What is the capital of France?\"", "cargo test --workspace"];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let told = commands(tree.text(README).unwrap_or(""));
    for (at, first) in FIRST.iter().enumerate() {
        if told.get(at).is_none_or(|(_, command)| command != first) {
            let line = told.get(at).map_or(1, |(line, _)| *line);
            found.push(Finding::new(README, line, format!("command {} is not `{first}`", at + 1)));
        }
    }
    let run = commands(tree.text(RUN).unwrap_or(""));
    if !run.iter().any(|(_, command)| *command == FIRST[1]) {
        found.push(Finding::new(RUN, 1, format!("`{}` is not run", FIRST[1])));
    }
    for (line, command) in run {
        if !told.iter().any(|(_, known)| *known == command) {
            found.push(Finding::new(RUN, line, format!("the README does not show `{command}`")));
        }
    }
    found
}

/// The lines that run cargo, with their numbers, without trailing comments.
fn commands(text: &str) -> Vec<(usize, &str)> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    let cargo = lines.filter(|(_, line)| line.starts_with("cargo "));
    cargo.map(|(at, line)| (at, line.split_once(" #").map_or(line, |(command, _)| command).trim())).collect()
}

#[cfg(test)]
pub(super) const BROKEN: &[(&str, &str)] = &[(RUN, "cargo test --workspace\ncargo deny check\n")];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::findings;

    #[test]
    fn a_command_the_readme_does_not_show_is_found() {
        assert_eq!(findings(&RULE, BROKEN), [".ci/run:2: the README does not show `cargo deny check`"]);
    }

    #[test]
    fn the_test_command_must_be_run() {
        let run = format!("{} # answers\n", FIRST[0]);
        assert_eq!(findings(&RULE, &[(RUN, &run)]), [".ci/run:1: `cargo test --workspace` is not run"]);
    }

    #[test]
    fn the_readme_begins_with_its_two_commands_in_order() {
        let swapped = format!("{}\n{}\n", FIRST[1], FIRST[0]);
        assert_eq!(findings(&RULE, &[(README, &swapped)]).len(), 2);
        assert_eq!(findings(&RULE, &[(README, "")]).len(), 3);
    }
}
