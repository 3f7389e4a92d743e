//! `weft bench-serve`: measures a running server.

mod load;
mod plan;
mod prompts;
mod queue;
mod show;
mod statistics;

use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context as _, bail};

use crate::chat::client::Server;
use crate::cli::args::Args;
use crate::commands::{Command, Outcome, Positional};
use crate::terminal::interrupt::Listener;
use crate::terminal::streams::{Out, note};
use load::Clients;
use plan::Plan;
use prompts::Prompts;
use statistics::Figures;

const URL: Positional =
    Positional { name: "URL", help: "Address of the server, such as http://127.0.0.1:8090", required: true };

pub(in crate::commands) const COMMAND: Command = Command {
    name: "bench-serve",
    about: "Measure the throughput and latency of a running server",
    notes: "\
Measures any server with OpenAI's /v1/completions: `weft serve`, llama-server, vLLM. Each client sends its next request \
as soon as the one before has ended. Prompts are random words, different in every request, so that no cache has them, \
except for the first tokens set with --shared-prefix. Replies have a fixed length by `ignore_eos`, and temperature 0.

Results per number of clients: requests and tokens per second over all clients (out: of replies; total: with prompts), and \
the 50th, 90th and 99th percentile of the time to the first token (TTFT), between two pieces of a reply (ITL), and to the \
end of the reply. Servers that send several tokens at once have few but long intervals: compare their TPOT, the mean time \
per token after the first. If the server has /metrics, `waiting` is the longest queue seen.

Examples:
  weft bench-serve http://127.0.0.1:8090
  weft bench-serve http://127.0.0.1:8080 --clients 8 --prefill 256 --decode 64 --json",
    positionals: &[URL],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let silence = Duration::from_secs(args.count("timeout").unwrap_or(600) as u64);
    let server = Server::new(args.text(URL.name).unwrap_or_default(), args.text("api-key"), silence)?;
    let count = |name: &str| args.count(name).unwrap_or_default();
    let model = match args.text("model") {
        Some(model) => Some(model.to_string()),
        None => server.models()?.into_iter().next(),
    };
    let plan =
        Plan { model, prompt: count("prefill"), shared: count("shared-prefix"), reply: count("decode") };
    if plan.shared >= plan.prompt {
        bail!("--shared-prefix {} leaves nothing of a prompt of {} tokens", plan.shared, plan.prompt);
    }
    let mut prompts = Prompts::new(args.count("seed").unwrap_or(0) as u64);
    warm_up(&server, &plan, &mut prompts)?;
    let listener = Listener::new();
    let stop = listener.pressed();
    let (mut out, json) = (Out::new(), args.flag("json"));
    if !json {
        show::title(&server, &plan, &mut out)?;
    }
    let mut levels: Vec<Figures> = Vec::new();
    let wanted = args.counts("clients").unwrap_or_default();
    let of = wanted.len();
    for clients in wanted {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let requests = args.count("requests").unwrap_or(4 * clients);
        let mut bodies =
            (0..requests).map(|_| plan.body(&prompts.next(plan.prompt, plan.shared), plan.reply)).collect();
        let measured = Clients::new(&server, clients).measure(&mut bodies, stop);
        let figures = statistics::of(clients, plan.reply, &measured);
        for (kind, (count, example)) in &measured.errors {
            note!("{clients} clients: {count} requests failed ({kind}), for example: {example}");
        }
        levels.push(figures);
    }
    let stopped = stop.load(Ordering::SeqCst);
    match json {
        true => out.json(&show::json(&server, &plan, &levels, stopped))?,
        false => show::table(&levels, &mut out)?,
    }
    if stopped {
        let begun: Vec<usize> = levels.iter().map(|level| level.clients).collect();
        note!("interrupted: {}", show::missing(&begun, of));
    }
    if !stopped && levels.iter().all(|level| level.completed == 0) {
        bail!("no request succeeded");
    }
    Ok(if stopped { Outcome::Interrupted } else { Outcome::Done })
}

/// Sends one request, which also shows how many tokens a word has.
fn warm_up(server: &Server, plan: &Plan, prompts: &mut Prompts) -> anyhow::Result<()> {
    let text = prompts.words(plan.prompt);
    let sample = load::request(server, &plan.body(&text, plan.reply.min(8)))
        .map_err(anyhow::Error::from)
        .context("the first request failed")?;
    match sample.usage {
        Some(usage) if usage.prompt > 0 => {
            prompts.set_tokens_per_word(usage.prompt as f64 / plan.prompt as f64)
        }
        _ => note!(
            "the server does not count tokens (`stream_options.include_usage`): prompts have {} words instead, and \
             every piece of a reply counts as a token",
            plan.prompt
        ),
    }
    Ok(())
}
