//! `weft ps`: lists the processes of this user that hold models.

use serde_json::Value;

use crate::cli::args::Args;
use crate::commands::tables::{Form, table};
use crate::commands::{Command, Outcome};
use crate::model::processes;
use crate::terminal::streams::{Out, note};
use crate::terminal::units;

pub(in crate::commands) const COMMAND: Command = Command {
    name: "ps",
    about: "List running models and servers",
    notes: "\
Lists every process of this user that holds a model: servers, conversations, runs and measurements. MEMORY is the main memory \
that the process takes, mapped files included; the memory of a GPU is not.

To end one, send it a signal: `kill PID`.",
    positionals: &[],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let found: Vec<_> = processes::list().into_iter().filter(|running| !running.models.is_empty()).collect();
    let mut out = Out::new();
    if args.flag("json") {
        let one = |running: &processes::Running| {
            let mut json = running.json();
            json["memory_bytes"] = running.memory().map_or(Value::Null, Value::from);
            json["seconds"] = running.seconds().into();
            json
        };
        out.json(&found.iter().map(one).collect())?;
        return Ok(Outcome::Done);
    }
    if found.is_empty() {
        note!("no models are running");
        return Ok(Outcome::Done);
    }
    let unknown = || "–".to_string();
    let rows: Vec<[String; 7]> = found
        .iter()
        .map(|running| {
            let models: Vec<&str> = running.models.iter().map(|model| name(model)).collect();
            [
                running.pid.to_string(),
                running.command.clone(),
                models.join(", "),
                running.device.clone(),
                running.memory().map_or_else(unknown, units::bytes),
                duration(running.seconds()),
                running.address.clone().unwrap_or_else(unknown),
            ]
        })
        .collect();
    let titles = ["PID", "COMMAND", "MODEL", "DEVICE", "MEMORY", "UPTIME", "ADDRESS"];
    table(Form::Text, titles, &[0, 4, 5], &rows, &mut out)?;
    Ok(Outcome::Done)
}

/// The name of a model's file.
fn name(model: &str) -> &str {
    let file = model.rsplit(['/', std::path::MAIN_SEPARATOR]).next().unwrap_or(model);
    file.strip_suffix(".gguf").unwrap_or(file)
}

/// A duration in its two largest units.
fn duration(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, ..) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_short() {
        for (seconds, expected) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3599, "59 min"),
            (3660, "1 h 1 min"),
            (90_000, "1 d 1 h"),
        ] {
            assert_eq!(duration(seconds), expected);
        }
        assert_eq!((name("/a/b-Q4_0.gguf"), name("smollm2")), ("b-Q4_0", "smollm2"));
    }
}
