//! The results of `bench-serve`, as a table and as JSON.

use std::io::{self, Write};

use serde_json::{Value, json};
use weft_lab::Samples;

use super::plan::Plan;
use super::statistics::Figures;
use crate::chat::client::Server;
use crate::commands::measure::report_head::known;
use crate::commands::tables::{Form, table as write_table};

/// The quantiles shown.
const QUANTILES: [(&str, f64); 3] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)];

/// Writes the title: the model, the server, and the lengths of prompts and replies.
pub(super) fn title(server: &Server, plan: &Plan, out: &mut impl Write) -> io::Result<()> {
    let model = plan.model.as_deref().unwrap_or("the server's model").escape_debug();
    let shared = match plan.shared {
        0 => String::new(),
        shared => format!(", the first {shared} shared"),
    };
    writeln!(out, "{model} at {}", server.url())?;
    writeln!(out, "prompts of {} tokens{shared}; replies of {} tokens", plan.prompt, plan.reply)
}

/// Writes a row for each number of clients.
pub(super) fn table(levels: &[Figures], out: &mut impl Write) -> io::Result<()> {
    let titles = [
        "clients",
        "requests",
        "failed",
        "req/s",
        "out tok/s",
        "total tok/s",
        "TTFT ms p50/p90/p99",
        "ITL ms p50/p90/p99",
        "TPOT ms",
        "end s p50/p90/p99",
        "waiting",
    ];
    let rows: Vec<[String; 11]> = levels.iter().map(row).collect();
    write_table(Form::Text, titles, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], &rows, out)?;
    for level in levels.iter().filter(|level| level.short > 0) {
        let Figures { clients, short, .. } = level;
        writeln!(
            out,
            "{clients} clients: {short} replies are shorter than asked for; does the server know `ignore_eos`?"
        )?;
    }
    Ok(())
}

fn row(level: &Figures) -> [String; 11] {
    let rate = |count: f64, digits| known(level.per_second(count), digits);
    let three = |samples: &Samples, scale: f64, digits| {
        QUANTILES.map(|(_, q)| known(samples.quantile(q) * scale, digits)).join(" / ")
    };
    [
        level.clients.to_string(),
        level.completed.to_string(),
        level.failed().to_string(),
        rate(level.completed as f64, 2),
        rate(level.reply_tokens as f64, 1),
        rate((level.reply_tokens + level.prompt_tokens) as f64, 1),
        three(&level.first, 1e3, 0),
        three(&level.between, 1e3, 1),
        known(level.per_token.median() * 1e3, 1),
        three(&level.whole, 1.0, 2),
        level.queue.waiting.map_or("-".to_string(), |waiting| waiting.to_string()),
    ]
}

/// The missing part of a measurement that was interrupted when these numbers of clients had begun, of `of` numbers in all.
pub(super) fn missing(begun: &[usize], of: usize) -> String {
    match begun.split_last() {
        None => "nothing was measured".into(),
        Some((last, before)) => format!(
            "{} of {of} numbers of clients were measured, and the last row, of {last}, has only the requests until then",
            before.len(),
        ),
    }
}

/// The results as JSON. Times are in seconds.
pub(super) fn json(server: &Server, plan: &Plan, levels: &[Figures], interrupted: bool) -> Value {
    json!({
        "weft": weft_lab::this_weft(),
        "server": server.url(),
        "model": plan.model,
        "prompt_tokens": plan.prompt,
        "shared_prefix": plan.shared,
        "reply_tokens": plan.reply,
        "interrupted": interrupted,
        "levels": levels.iter().map(level).collect::<Value>(),
    })
}

fn level(level: &Figures) -> Value {
    let per_second = |count: f64| json!(level.per_second(count));
    json!({
        "clients": level.clients,
        "completed": level.completed,
        "errors": level.errors,
        "short_replies": level.short,
        "seconds": level.seconds,
        "prompt_tokens": level.prompt_tokens,
        "cached_tokens": level.cached_tokens,
        "reply_tokens": level.reply_tokens,
        "requests_per_second": per_second(level.completed as f64),
        "reply_tokens_per_second": per_second(level.reply_tokens as f64),
        "total_tokens_per_second": per_second((level.reply_tokens + level.prompt_tokens) as f64),
        "time_to_first_token": quantiles(&level.first),
        "inter_token_latency": quantiles(&level.between),
        "time_per_output_token": quantiles(&level.per_token),
        "end_to_end": quantiles(&level.whole),
        "most_waiting": level.queue.waiting,
        "most_running": level.queue.running,
    })
}

fn quantiles(samples: &Samples) -> Value {
    let all = samples.all();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let mut json = json!({"mean": mean, "max": samples.max(), "count": all.len()});
    for (name, q) in QUANTILES {
        json[name] = samples.quantile(q).into();
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told() {
        assert_eq!(missing(&[], 3), "nothing was measured");
        let told = "1 of 3 numbers of clients were measured, and the last row, of 4, has only the requests until then";
        assert_eq!(missing(&[1, 4], 3), told);
    }
}
