//! Pages of runs as the commands write them, and of hostile ones.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;

/// One run of each command that has a part of the page; all names are hostile.
pub(crate) fn records() -> Vec<Record> {
    let name = "</title><script>alert(1)</script>\"'&";
    let record = |id, command: &str, results| Record {
        id,
        time: "2026-11-20T16:02:59Z".into(),
        command: command.into(),
        weft: json!({ "version": "0.1.0", "commit": name }),
        machine: json!({ "cpu": name, "threads": 2, "isa": "avx2" }),
        model: json!({ "path": name, "bytes": 2_996_702_464_u64, "fingerprint": "ab" }),
        knobs: json!({ "set": [name], "threads": "2" }),
        results,
    };
    let setting = |phase, depth, median: f64, limit: f64| {
        let samples: Vec<f64> = (0..5).map(|i| median * (0.96 + 0.02 * f64::from(i))).collect();
        json!({
            "phase": phase, "tokens": 32, "depth": depth,
            "tokens_per_second": { "median": median, "samples": samples }, "limit_tokens_per_second": limit,
        })
    };
    let settings = json!([
        setting("prefill", 0, 310.0, 640.0),
        setting("decode", 0, 41.0, 52.0),
        setting("decode", 4096, 30.0, 51.0)
    ]);
    let phase = |base: i64, change: i64, [median, low, high]: [f64; 3]| {
        json!({
            "kernels": { "base": base, "change": change },
            "gain": { "median": median, "low": low, "high": high },
        })
    };
    let row = |change: &str, verdict: &str, why: &str, kernels: i64, decode, prefill| {
        json!({
            "change": change, "about": name, "verdict": verdict, "why": why,
            "logits": { "same_bits": kernels != 67, "from_base": { "mean_kl": 0.0023 } },
            "decode": phase(75, kernels, decode), "prefill": phase(75, kernels, prefill),
        })
    };
    let nothing = [0.001, -0.004, 0.006];
    let rows = json!([
        row("aa", "undecided", "does less than 2 %", 75, nothing, [-0.002, -0.009, 0.004]),
        row(
            "fuse.tail=off",
            "drop",
            "loses in decode",
            139,
            [-0.081, -0.093, -0.07],
            [-0.03, -0.041, -0.022]
        ),
        row("fold.query=on", "keep", "gains in decode", 67, [0.12, 0.11, 0.13], [0.02, -0.03, 0.05]),
        json!({ "change": "tidy.constants=off", "verdict": "undecided", "why": "the kernels are the same" }),
        json!({ "change": name, "verdict": name, "why": name, "decode": phase(1, 2, [3.0, 2.0, 4.0]) }),
    ]);
    let combined = json!({ "tried": [rows[2]], "together": { "decode": phase(75, 67, [0.12, 0.11, 0.13]) } });
    let rule = json!({ "confidence": 0.992 });
    vec![
        record(1, "bench", json!({ "device": name, "settings": settings })),
        record(2, "ablate", json!({ "rows": rows, "combined": combined, "rule": rule })),
        record(3, "profile", profile(name)),
        record(4, "bench", json!({ "device": name, "settings": settings })),
        record(5, "bench-block", json!({ "blocks": [block(name)] })),
        record(
            6,
            "perplexity",
            json!({
                "perplexity": 7.25, "standard_error": 0.1, "nll": { "mean": 1.981 }, "scored_tokens": 4096, "context": 512,
                "tokens_per_second": 300.0, "windows": { "of": 3, "nll": [1.9, 2.1, 1.943] },
            }),
        ),
    ]
}

fn block(name: &str) -> Value {
    json!({
        "block": name, "segment": "layer 1", "layers": 46, "kernels": 7, "weight_bytes": 4_000_000, "state_bytes": 0,
        "seconds": { "median": 2e-4 }, "quartiles": [1.9e-4, 2.2e-4], "of_roof": 0.7,
    })
}

#[test]
fn every_command_has_its_part() {
    let records = records();
    let page = |ids: &[i64]| {
        let chosen: Vec<Record> = records.iter().filter(|record| ids.contains(&record.id)).cloned().collect();
        report(&chosen)
    };
    for (id, parts) in [
        (4, &["<h3>Tokens per second</h3>"][..]),
        (5, &["<h3>Blocks</h3>", "<b>200</b>", "70.0 %"]),
        (6, &["<b>7.25</b>perplexity", "± 0.100", "<h3>Windows</h3>"]),
    ] {
        let page = page(&[id]);
        for part in parts {
            assert!(page.contains(part), "run {id}: no {part}");
        }
    }
    // Two benchmarks are drawn together, on one scale.
    let both = page(&[1, 4]);
    assert!(both.contains("together</h2>") && both.contains("310 → 310") && both.contains("+0.0 %"));
    assert!(!page(&[1, 5]).contains("together</h2>"));
    // Between different models nothing has changed.
    let mut other = records[3].clone();
    other.model = json!({ "path": "other.gguf", "bytes": 1, "fingerprint": "cd" });
    let different = report(&[records[0].clone(), other]);
    assert!(
        different.contains("310, 310") && !different.contains("310 → 310") && !different.contains("+0.0 %")
    );
    assert_eq!(different.matches("The runs are of different models").count(), 2);
    // A gain beyond the axis has an arrow.
    assert!(page(&[2]).contains("<path class=\"good\" d=\"M300 11"));
    // Advice names its kernel.
    let advice = page(&[3]);
    assert!(advice.contains("</code>: "), "{}", &advice[advice.find("<h3>Advice").unwrap()..]);
    assert!(advice.contains(">thread 0<"));
}

fn profile(name: &str) -> Value {
    let roles = ["attention", "routed experts", "shared expert", "router", "head", name];
    let mut kernels: Vec<Value> = Vec::new();
    for (i, role) in roles.iter().enumerate() {
        let i = i as f64;
        let (ms, roof) = (6.0 / (1.0 + i), 4.5 / (1.0 + 1.2 * i));
        let bytes = 4e7 / (1.0 + i);
        kernels.push(json!({
            "kernel": format!("dot_{i}"), "role": role, "segments": "layer 1 to layer 7", "launches": 7, "ms": ms, "share": 0.1,
            "busy_ms": ms * 0.9, "waiting_ms": ms * 0.1, "roof_ms": roof, "lost_ms": ms - roof, "of_roof": roof / ms,
            "weight_bytes": bytes, "state_bytes": 0, "integer_multiplications": bytes * (1.8 + i), "float_multiplications": 0,
            "bytes_per_second": 1e3 * bytes / ms, "multiplications_per_second": 1e3 * bytes * (1.8 + i) / ms,
        }));
    }
    let by_role: Vec<Value> = kernels.clone();
    let launches: Vec<Value> = (0..60)
        .map(|i| json!({ "kernel": format!("dot_{}", i % 6), "role": roles[i % 6], "segment": format!("layer {}", i / 6) }))
        .collect();
    let slices: Vec<Value> = (0..60)
        .flat_map(|i| {
            let begin = 0.4 * f64::from(i);
            let long = [0.3, 0.36 - 0.004 * f64::from(i)];
            [0, 1].map(|thread| json!([thread, i, begin, begin + long[thread]]))
        })
        .collect();
    json!({
        "roofs": {
            "read_bytes_per_second": { "median": 29e9 }, "dot_multiplications_per_second": { "median": 310e9 },
            "mul_add_multiplications_per_second": { "median": 90e9 },
        },
        "step": { "tokens": 1, "depth": 512, "kernels": 60 },
        "tokens_per_second": { "median": 41.3 },
        "clock": { "wall_ms": 24.1, "kernels_ms": 22.0, "waits_ms": 1.5, "closes": 0.991 },
        "overhead": { "median": 0.004 },
        "roles": by_role, "kernels": kernels, "launches": launches,
        "timeline": { "wall_ms": 24.1, "slices": slices },
        "lints": [{ "lint": "far", "about": name, "lost_ms": 0.3, "text": name }],
    })
}

/// Returns the names of a page's elements; panics if it is not well-formed.
fn check_tags(page: &str) -> BTreeSet<String> {
    let (mut open, mut seen): (Vec<String>, BTreeSet<String>) = (Vec::new(), BTreeSet::new());
    let mut rest = page;
    while let Some(begin) = rest.find('<') {
        let end = rest[begin..].find('>').expect("a tag that does not end") + begin;
        let tag = &rest[begin + 1..end];
        rest = &rest[end + 1..];
        let name = tag.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap_or_default().to_string();
        if tag.starts_with('!') || tag.ends_with('/') || ["meta", "br"].contains(&name.as_str()) {
            continue;
        }
        if tag.starts_with('/') {
            assert_eq!(open.pop().as_deref(), Some(name.as_str()), "closes what is not open");
        } else {
            seen.insert(name.clone());
            open.push(name);
        }
    }
    assert_eq!(open, [""; 0], "what is not closed");
    seen
}

#[test]
fn each_part_appears_with_its_data() {
    let records = records();
    let page = report(&records);
    check_tags(&page);
    let parts = [
        "Tokens per second",
        "One change at a time",
        "Combined",
        "Time by role",
        "Roofline",
        "Kernels by lost time",
        "Timeline of",
        "Advice",
    ];
    for part in parts {
        assert!(page.contains(&format!("<h3>{part}")), "{part}");
    }
    let only_bench = report(&records[..1]);
    check_tags(&only_bench);
    let there: Vec<_> = parts.iter().filter(|part| only_bench.contains(&format!("<h3>{part}"))).collect();
    assert_eq!(there, [&"Tokens per second"]);
    let both = report(&[records[0].clone(), Record { id: 9, ..records[0].clone() }]);
    assert!(both.contains("From run 1 to run 9"), "two runs are compared");
    check_tags(&both);
}

#[test]
fn hostile_names_do_not_become_markup() {
    let page = report(&records());
    let tags = check_tags(&page);
    assert!(!tags.contains("script"), "{tags:?}");
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script"));
    // Quotes are escaped in attributes.
    assert!(!page.contains("\"'&"));
    for fetched in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!page.contains(fetched), "the page fetches something: {fetched}");
    }
}

#[test]
fn every_picture_has_a_description() {
    let page = report(&records());
    for svg in page.split("<svg").skip(1) {
        let tag = &svg[..svg.find('>').unwrap()];
        let label = tag.split("aria-label=\"").nth(1).and_then(|rest| rest.split('"').next());
        assert!(tag.contains("role=\"img\"") && label.is_some_and(|label| label.len() > 10), "{tag}");
        assert!(!svg[..svg.find("</svg>").unwrap()].contains("NaN"), "a position that is NaN: {tag}");
    }
}

/// Of a measured limit, and of samples that exceed it.
#[test]
fn rates_beyond_the_limit_are_not_clipped() {
    let mut records = records();
    let strips = |records: &[Record]| {
        let page = report(&records[..1]);
        page.split("<svg class=\"strip\"").skip(1).map(str::to_string).collect::<Vec<_>>()
    };
    assert!(strips(&records).iter().all(|strip| !strip.contains("class=\"limit\"")));
    let setting = &mut records[0].results["settings"][1];
    setting["tokens_per_second"]["median"] = json!(60.0);
    setting["limit_tokens_per_second"] = json!(52.0);
    let strip = strips(&records).swap_remove(1);
    let width = |class: &str| -> f64 {
        let rest = strip.split(&format!("class=\"{class}\"")).nth(1).unwrap();
        rest.split("width=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
    };
    assert_eq!((width("bar"), width("track")), (300.0, 260.0), "{strip}");
    assert!(strip.contains("<rect class=\"limit\" x=\"259.0\""), "{strip}");
}

/// For devices other than the CPU only the memory roof is known.
#[test]
fn unknown_values_are_shown_as_dashes() {
    let mut records = records();
    records[0].results["settings"][0]["limit_tokens_per_second"] = Value::Null;
    let results = &mut records[2].results;
    results["roofs"] = json!({ "read_bytes_per_second": { "median": 29e9 } });
    for list in ["kernels", "roles"] {
        for key in ["roof_ms", "lost_ms", "of_roof"] {
            results[list][1][key] = Value::Null;
        }
    }
    let page = report(&records);
    check_tags(&page);
    assert!(!page.contains("NaN"), "{page}");
    assert!(page.contains("the limit is unknown") && page.contains("unknown how much of it lost"));
    let plot = page.split("<svg class=\"plot\"").nth(1).unwrap();
    let plot = &plot[..plot.find("</svg>").unwrap()];
    assert!(plot.contains("memory, 29.0 GB/s") && !plot.contains("8-bit integers"), "{plot}");
    assert_eq!(plot.matches("class=\"roof\"").count(), 1);
}

#[test]
fn results_of_any_kind_make_a_page() {
    let hostile = [
        Value::Null,
        json!([]),
        json!({ "settings": 1, "rows": "x", "kernels": {} }),
        json!({ "settings": [null], "rows": [null, 1], "kernels": [null, {}], "roles": [null], "launches": [null] }),
        json!({
            "kernels": [{ "ms": -1, "multiplications_per_second": 1e300, "weight_bytes": 1e-300, "integer_multiplications": 1e300 }],
            "roofs": { "read_bytes_per_second": { "median": 1e-300 }, "dot_multiplications_per_second": { "median": 1e300 } },
            "timeline": { "wall_ms": 1e-300, "slices": [[0, 99, 1e300, -1e300], [1, "x", null, {}], [2]] },
        }),
        json!({ "timeline": { "wall_ms": 1, "slices": [[u64::MAX, 0, 0, 1]] }, "kernels": [{}] }),
        json!({ "rows": [{ "decode": { "gain": { "median": 1e308, "low": -1e308, "high": 1e308 } } }] }),
    ];
    for results in hostile {
        let record = Record { results, ..records()[0].clone() };
        check_tags(&report(std::slice::from_ref(&record)));
        check_tags(&report(&[record.clone(), record]));
    }
    check_tags(&report(&[]));
}
