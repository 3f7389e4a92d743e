//! Tests of `explain`.

use std::collections::BTreeSet;
use std::fs;

use expect_test::expect_file;
use serde_json::Value;

use crate::support::{Folder, Ran, model, weft};

/// Explains a model for two threads, whatever the machine.
fn explain(args: &[&str]) -> Ran {
    explain_file("glm-tiny-q4_k_m", args)
}

fn explain_file(name: &str, args: &[&str]) -> Ran {
    let path = model(name);
    weft([&["explain", path.to_str().unwrap(), "--threads", "2"], args].concat()).run()
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("{key} in {value}"))
}

/// The number of kernels in a step, from its plans.
fn kernels(report: &Value) -> usize {
    list(report, "plans").iter().map(|p| list(p, "kernels").len() * list(p, "segments").len()).sum()
}

/// The decision of this name.
fn decision<'v>(report: &'v Value, name: &str) -> &'v Value {
    list(report, "decisions").iter().find(|decision| decision["name"] == name).unwrap()
}

#[test]
fn a_layer_as_text() {
    expect_file!["explain/glm-tiny-q4_k_m.txt"].assert_eq(&explain(&["--layer", "1"]).ok());
}

#[test]
fn a_layer_as_text_with_reasons() {
    let text = explain(&["--layer", "1", "--why"]).ok();
    expect_file!["explain/glm-tiny-q4_k_m-why.txt"].assert_eq(&text);
}

/// The example in `docs/explain.md` is part of the real output.
#[test]
fn the_manual_shows_real_output() {
    let text = explain(&["--layer", "1", "--why"]).ok();
    let from = |start: &'static str| text.lines().skip_while(move |line| !line.starts_with(start));
    let (kernel, next, costs) = ("   2  ", "   3  ", "  decisions by cost");
    let example: Vec<&str> = (text.lines().take(1).chain(["   …"]))
        .chain(from(kernel).take_while(|line| !line.starts_with(next)).chain(["   …"]))
        .chain(from(costs).take_while(|line| !line.starts_with("decisions")))
        .collect();
    let page = include_str!("../../../../docs/explain.md");
    let (before, rest) = page.split_once("```text\n").unwrap();
    let (_, after) = rest.split_once("```\n").unwrap();
    let expected = format!("{before}```text\n{}\n```\n{after}", example.join("\n").trim_end());
    expect_file!["../../../../docs/explain.md"].assert_eq(&expected);
}

#[test]
fn a_step_as_json_adds_up() {
    let report = explain(&["--json"]).json();
    assert!(kernels(&report) > 0);
    assert_eq!(report["total"]["kernels"], kernels(&report));
    for plan in list(&report, "plans") {
        for key in ["weight_bytes", "multiplications"] {
            let sum: u64 = list(plan, "kernels").iter().map(|kernel| kernel[key].as_u64().unwrap()).sum();
            assert_eq!(plan["total"][key], sum, "{key} of {}", plan["graph"]);
        }
    }
    // The totals do not depend on the layer shown.
    let layer = explain(&["--json", "--layer", "1"]).json();
    assert_eq!(layer["total"], report["total"]);
    assert_eq!(layer["decisions"], report["decisions"]);
    assert_eq!(kernels(&layer), list(&list(&layer, "plans")[0], "kernels").len());
}

#[test]
fn layers_of_one_shape_are_shown_once() {
    let report = explain_file("ds2-tiny-q4_0", &["--json"]).json();
    let shared: Vec<&Value> =
        list(&report, "plans").iter().filter(|plan| list(plan, "segments").len() == 26).collect();
    assert_eq!(shared.len(), 1);
    let text = explain_file("ds2-tiny-q4_0", &["--layer", "26"]).ok();
    assert!(text.starts_with("mla_moe_layer (layer 1 to layer 26, 26 in all): "), "{text}");
}

#[test]
fn readers_of_values_are_named_with_the_reason() {
    let plans = explain(&["--json"]).json();
    for plan in list(&plans, "plans") {
        let all = list(plan, "kernels");
        let computes = |kernel: &Value, node: &Value| {
            list(kernel, "parts").iter().any(|part| list(part, "nodes").contains(node))
        };
        for (at, kernel) in all.iter().enumerate() {
            assert_eq!(kernel["number"], at + 1);
            let moves = list(kernel, "parts").iter().all(|part| list(part, "nodes").is_empty());
            assert!(moves || !list(kernel, "hands_on").is_empty(), "{kernel} has no effect");
            for value in list(kernel, "hands_on") {
                assert!(computes(kernel, &value["node"]), "{value}");
                for reader in list(value, "readers") {
                    let number = reader["kernel"].as_u64().unwrap() as usize;
                    assert!(
                        number > at + 1,
                        "{reader} reads a value of kernel {} before it is written",
                        at + 1
                    );
                    let nodes = list(reader, "nodes");
                    assert!(nodes.iter().all(|node| computes(&all[number - 1], node)), "{reader}");
                    assert_ne!(reader["why"], "", "{reader} of {}", value["node"]);
                }
            }
        }
    }
}

#[test]
fn rules_and_costs_are_shown() {
    let report = explain(&["--json", "--layer", "1"]).json();
    let plan = &list(&report, "plans")[0];
    let rule = |name: &str| list(plan, "rules").iter().find(|rule| rule["name"] == name).unwrap();
    let fired = rule("moe.sum_in_down");
    assert!(fired["why_not"].is_null() && !list(fired, "replaced").is_empty(), "{fired}");
    let missed = rule("tidy.constants");
    assert!(!missed["why_not"].is_null() && list(missed, "replaced").is_empty(), "{missed}");

    let choices = list(plan, "choices");
    assert!(choices.iter().all(|choice| choice["error"].is_null()), "{choices:?}");
    let choice = choices.iter().find(|choice| choice["name"] == "fuse.norm_into_dot").unwrap();
    let cost = |side: &str, key: &str| choice[side][key].as_u64().unwrap();
    assert_eq!(choice["pays"], cost("with", "estimated_ns") < cost("without", "estimated_ns"));
    assert!(cost("with", "kernels") < cost("without", "kernels"));
    assert_eq!(report["machine"]["workers"], 2);
}

#[test]
fn decisions_are_set_by_name() {
    let (on, off) = (explain(&["--json"]).json(), explain(&["--json", "--set", "fuse.tail=off"]).json());
    assert!(kernels(&off) > kernels(&on), "{} and {}", kernels(&off), kernels(&on));
    assert_eq!(off["total"]["kernels"], kernels(&off));
    let mode = |report: &Value| decision(report, "fuse.tail")["mode"].clone();
    assert_eq!((mode(&on), mode(&off)), ("on".into(), "off".into()));
    // The last setting of a decision counts, and arguments override the environment.
    let path = model("glm-tiny-q4_k_m");
    let path = path.to_str().unwrap();
    let call = ["explain", path, "--threads", "2", "--json", "--set", "fuse.tail=off,fuse.tail=on"];
    assert_eq!(weft(call).env("WEFT_SET", "fuse.tail=off").run().json(), on);
    assert_eq!(weft(&call[..5]).env("WEFT_SET", "fuse.tail=off").run().json(), off);
}

#[test]
fn a_decision_by_cost_is_taken_where_it_pays() {
    let report = explain(&["--json", "--set", "fuse.beside=by-cost"]).json();
    let beside = decision(&report, "fuse.beside");
    assert_eq!((&beside["mode"], &beside["default"]), (&"by-cost".into(), &"on".into()));
    let pays = |plan: &&Value| {
        let mut choices = list(plan, "choices").iter();
        choices.any(|choice| choice["name"] == "fuse.beside" && choice["pays"] == true)
    };
    let plans = list(&report, "plans").iter().filter(pays).count();
    assert!(plans > 0, "fewer kernels are fewer launches");
    assert_eq!(beside["pays"], plans);
    let text = explain(&["--set", "fuse.beside=by-cost"]).ok();
    let all = list(&report, "plans").len();
    assert!(text.contains(&format!("by cost: taken in {plans} of {all} plans")), "{text}");
}

#[test]
fn a_prompt_is_another_step() {
    let (decode, prefill) =
        (explain(&["--json", "--step", "decode"]).json(), explain(&["--json", "--step", "prefill"]).json());
    assert_eq!(decode, explain(&["--json"]).json());
    assert_eq!((&decode["step"]["tokens"], &prefill["step"]["tokens"]), (&1.into(), &512.into()));
    let multiplications = |report: &Value| report["total"]["multiplications"].as_u64().unwrap();
    assert!(multiplications(&prefill) > 256 * multiplications(&decode));
    let text = explain(&["--step", "prefill"]).ok();
    assert!(text.contains("a step of 512 tokens (prefill): "), "{text}");
}

#[test]
fn plans_are_shown_as_they_are() {
    let text = explain(&["--layer", "0", "--plan"]).ok();
    for part in ["before rewriting\ngraph mla_dense_layer {", "after rewriting\ngraph ", "\nplan ", "\ncall "]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let report = explain(&["--layer", "0", "--plan", "--json"]).json();
    let plan = &list(&report, "plans")[0];
    for key in ["before", "after", "plan"] {
        assert!(text.contains(plan[key].as_str().unwrap()), "{key}");
    }
}

/// The strings between quotes, and the rest.
fn unquoted(dot: &str) -> (Vec<String>, String) {
    let (mut texts, mut rest, mut inside) = (Vec::new(), String::new(), None::<String>);
    let mut chars = dot.chars();
    while let Some(c) = chars.next() {
        match (&mut inside, c) {
            (Some(text), '\\') => text.extend(chars.next()),
            (Some(_), '"') => texts.extend(inside.take()),
            (Some(text), c) => text.push(c),
            (None, '"') => inside = Some(String::new()),
            (None, c) => rest.push(c),
        }
    }
    assert_eq!(inside, None, "an unterminated string");
    (texts, rest)
}

/// Checks that the edges of a drawing connect nodes of the same graph. Returns its strings.
#[track_caller]
fn assert_drawn(dot: &str) -> Vec<String> {
    let (texts, rest) = unquoted(dot);
    assert_eq!(rest.matches('{').count(), rest.matches('}').count());
    let statements = || rest.lines().map(str::trim).filter(|line| line.ends_with(';'));
    let nodes: BTreeSet<&str> =
        statements().filter_map(|line| Some(line.split_once(" [label=")?.0)).collect();
    let edges: Vec<(&str, &str)> =
        statements().filter_map(|line| line.strip_suffix(';')?.split_once(" -> ")).collect();
    assert!(edges.len() > nodes.len() / 2 && nodes.len() > 100, "{} {}", edges.len(), nodes.len());
    for (from, to) in edges {
        assert!(nodes.contains(from) && nodes.contains(to), "{from} -> {to}");
        let before = |node: &str| node.starts_with('b');
        assert_eq!(before(from), before(to), "{from} -> {to} leads from one graph to the other");
    }
    texts
}

#[test]
fn a_drawing_is_a_graph_with_all_its_nodes() {
    let folder = Folder::new();
    let path = folder.join("layer.dot");
    assert_eq!(explain(&["--layer", "1", "--dot", path.to_str().unwrap()]).ok(), "");
    let dot = fs::read_to_string(&path).unwrap();
    assert_eq!(explain(&["--layer", "1", "--dot", "-"]).ok(), dot);
    assert_eq!(folder.files(), ["layer.dot"]);

    let texts = assert_drawn(&dot);
    for (op, name) in [("before rewriting", ""), ("kernels", ""), ("dot %", " attn_q_a"), ("store %", " kv")]
    {
        assert!(texts.iter().any(|text| text.starts_with(op) && text.ends_with(name)), "{op} {name}: {dot}");
    }
    // All kernels are drawn.
    let report = explain(&["--layer", "1", "--json"]).json();
    for kernel in list(&list(&report, "plans")[0], "kernels") {
        let name = format!("{}  {}", kernel["number"], kernel["kernel"].as_str().unwrap());
        assert!(texts.contains(&name), "{name}");
    }
    // Kernels that only move values are drawn as well.
    let moving = explain(&["--layer", "1", "--dot", "-", "--set", "fuse.round=off"]).ok();
    assert!(assert_drawn(&moving).iter().any(|text| text == "moves or rounds values"), "{moving}");
    // Without --layer, the plan that most layers share is drawn.
    let texts = assert_drawn(&explain_file("ds2-tiny-q4_0", &["--dot", "-"]).ok());
    assert_eq!(texts.first().unwrap(), "mla_moe_layer (layer 1 to layer 26, 26 in all)");
}

#[test]
fn a_page_is_complete_and_has_no_external_resources() {
    let folder = Folder::new();
    // The file's name must be escaped. On Windows, it can have two of these characters only.
    let (name, escaped) = if cfg!(windows) {
        ("a &'.gguf", "a &amp;&#39;.gguf")
    } else {
        ("a <b>&\"'.gguf", "a &lt;b&gt;&amp;&quot;&#39;.gguf")
    };
    let (file, page) = (folder.join(name), folder.join("page.html"));
    fs::copy(model("glm-tiny-q4_k_m"), &file).unwrap();
    fs::write(&page, "old").unwrap();
    let call = ["explain", file.to_str().unwrap(), "--threads", "2", "--html", page.to_str().unwrap()];
    assert_eq!(weft(call).run().ok(), "");
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.starts_with("<!doctype html>") && html.ends_with("</html>\n"));
    assert!(html.contains(&format!("<title>Kernels of {escaped}</title>")), "{html}");
    assert_eq!(html.matches("<script").count(), 1, "the search, which the policy names by its hash");
    assert!(html.contains("script-src 'sha256-") && !html.contains("nothing in the graph matches it"));
    // Every kernel is in the contents' plans and in both bars, and every link leads somewhere.
    let ids: Vec<&str> = html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    for link in html.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(ids.contains(&link), "#{link} leads nowhere");
    }
    assert!(html.contains(">Weights read: ") && html.contains(">Time, estimated: "));
    assert!(html.contains("<p class=\"legend soft\">") && html.contains("<p>A step of 1 token"), "{html}");
    for outside in ["<link", "<img", "<iframe", "http:", "https:", "//", "url(", "@import", "src="] {
        let wherever = html.find(outside);
        assert_eq!(wherever, None, "{outside}: {:?}", wherever.map(|at| &html[at.saturating_sub(40)..]));
    }
    assert_closed(&html);
    let report = explain(&["--json"]).json();
    for kernel in list(&report, "plans").iter().flat_map(|plan| list(plan, "kernels")) {
        let name = kernel["kernel"].as_str().unwrap().replace('&', "&amp;");
        assert!(html.contains(&format!(">{name}<")), "{name}");
        for reader in list(kernel, "hands_on").iter().flat_map(|value| list(value, "readers")) {
            let nodes: Vec<&str> = list(reader, "nodes").iter().map(|node| node.as_str().unwrap()).collect();
            let (number, why) = (&reader["kernel"], reader["why"].as_str().unwrap());
            let line = format!("read by kernel {number}, {}: {why}", nodes.join(", "));
            // Reasons are shown as tooltips and in lists.
            assert!(
                html.contains(&format!("\n{line}")) && html.contains(&format!("<li>{line}</li>")),
                "{line}"
            );
        }
    }
}

/// Checks that elements are closed in order, except those without an end tag.
#[track_caller]
fn assert_closed(html: &str) {
    let mut open = Vec::new();
    for (at, _) in html.match_indices('<') {
        let tag = &html[at + 1..at + html[at..].find('>').expect("a tag has an end")];
        let name = tag.split_whitespace().next().unwrap();
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "at {}", &html[at..(at + 80).min(html.len())]),
            None if ["!doctype", "meta", "input"].contains(&name) || tag.ends_with('/') => {}
            None => open.push(name),
        }
    }
    assert_eq!(open, [""; 0]);
}

#[test]
fn unknown_names_are_refused() {
    let error = explain(&["--set", "fuse.tale=off"]).failed(2);
    assert!(error.contains("there is no decision `fuse.tale`; did you mean fuse.tail?"), "{error}");
    let error = explain(&["--set", "nothing=off"]).failed(2);
    assert!(error.contains("there is no decision `nothing`; the decisions are tidy."), "{error}");
    let error = explain(&["--set", "fuse.tail=maybe"]).failed(2);
    assert!(error.contains("there is no mode `maybe`; expected one of on, off, by-cost"), "{error}");
    let error = explain(&["--step", "prefil"]).failed(2);
    assert!(error.contains("[possible values: decode, prefill]"), "{error}");
    let error = explain(&["--layer", "99"]).failed(1);
    assert!(error.contains("there is no layer 99: the model has layers 0 to 2"), "{error}");
}

#[test]
fn files_that_cannot_be_written_are_refused_at_once() {
    let (model, folder) = (model("glm-tiny-q4_k_m"), Folder::new());
    let error = explain(&["--dot", model.to_str().unwrap()]).failed(1);
    assert!(error.contains("is a file of the model itself"), "{error}");
    let nowhere = folder.join("none").join("page.html");
    let error = explain(&["--html", nowhere.to_str().unwrap()]).failed(1);
    assert!(error.contains("there is no folder"), "{error}");
    let error = explain(&["--html", "-", "--dot", "-"]).failed(2);
    assert!(error.contains("cannot write to the same file"), "{error}");
    let error = explain(&["--html", "-", "--json"]).failed(2);
    assert!(error.contains("--json has no effect with"), "{error}");
}

/// Only a profile of the same step on the same device counts.
#[test]
fn measured_times_are_shown_beside_estimates() {
    let folder = Folder::new();
    let path = model("glm-tiny-q4_0");
    let run = |args: &[&str]| {
        let (command, rest) = args.split_first().unwrap();
        let call = [&[command, path.to_str().unwrap(), "--no-cache"], rest].concat();
        weft(call).env("WEFT_JOURNAL", folder.join("journal.db")).run()
    };
    let explained = |args: &[&str]| run(&[&["explain", "--json", "-t", "2"], args].concat()).json();
    assert_eq!(explained(&[])["profile"], Value::Null);

    run(&["profile", "-n", "1", "-d", "5", "-t", "2"]).ok();
    let report = explained(&[]);
    assert_eq!((&report["profile"]["run"], &report["step"]["depth"]), (&1.into(), &5.into()));
    for plan in list(&report, "plans") {
        let all: u64 = list(plan, "kernels").iter().map(|k| k["measured_ns"].as_u64().unwrap()).sum();
        let (sum, kernels) = (plan["total"]["measured_ns"].as_u64().unwrap(), list(plan, "kernels").len());
        assert!(all > 0 && all.abs_diff(sum) <= kernels as u64, "{all} and {sum}");
    }
    assert!(report["total"]["measured_ns"].as_u64() > Some(0));
    let text = run(&["explain", "-t", "2"]).ok();
    assert!(text.contains("measured times are from run 1 in the journal") && text.contains("µs  measured "));

    assert_eq!(explained(&["--step", "prefill"])["profile"], Value::Null);
    assert_eq!(explained(&["--kv", "f32"])["profile"], Value::Null);
    let threads = run(&["explain", "--json", "-t", "1"]).json();
    assert_eq!((&threads["profile"], &threads["total"]["measured_ns"]), (&Value::Null, &Value::Null));
}
