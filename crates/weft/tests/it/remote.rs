//! `chat --server` and `bench-serve`, with a server in the test.

use serde_json::{Value, json};

use crate::server::{Answer, Asked, Server, delta, end, events, models, serve, usage};
use crate::support::{Folder, Ran, weft};

/// A server that lists its models and answers chats with this.
fn chats(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Server {
    serve(move |asked| if asked.what == "GET /v1/models" { models() } else { answer(asked) })
}

fn chat(server: &Server, args: &[&str], lines: &str) -> Ran {
    weft([&["chat", "--server", &server.url()], args].concat()).input(lines).run()
}

/// A reply that says how many messages it got.
fn counting(asked: &Asked) -> Answer {
    let count = asked.body["messages"].as_array().unwrap().len();
    let text = format!("{count} messages\u{1F642}");
    Answer::Stream(events(&[
        delta(json!({"role": "assistant", "content": null, "reasoning_content": "hm"})),
        delta(json!({"content": text})),
        end("stop"),
        usage(7, 5),
    ]))
}

#[test]
fn a_conversation_with_a_server() {
    let server = chats(counting);
    let ran = chat(&server, &["--system", "S", "--verbose"], "Hello\n/system\nAgain\n/clear\nNew\n");
    assert_eq!(ran.out, "2 messages🙂\nS\n4 messages🙂\n2 messages🙂\n", "{ran:?}");
    assert!(ran.err.contains("the server offers a, b; --model chooses one"), "{ran:?}");
    assert!(
        ran.err.contains("prompt: 7 tokens (3 cached)") && ran.err.contains("reply: 5 tokens"),
        "{ran:?}"
    );
    let asked = server.asked();
    assert!(asked.iter().all(|asked| asked.what == "POST /v1/chat/completions"));
    let expected = json!([
        {"role": "system", "content": "S"},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "2 messages🙂", "reasoning_content": "hm"},
        {"role": "user", "content": "Again"},
    ]);
    assert_eq!(asked[1].body["messages"], expected);
    // Only what was set is sent.
    let fields: Vec<&str> = asked[0].body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["model", "messages", "stream", "stream_options"]);
    assert_eq!(asked[0].body["model"], "a");
    assert!(!asked[0].headers.contains("authorization"));
}

#[test]
fn options_and_the_key_are_sent() {
    let server = chats(counting);
    let args = [
        "--model",
        "b",
        "--temperature",
        "0",
        "--top-k",
        "5",
        "--seed",
        "9",
        "-n",
        "3",
        "--stop",
        "x",
        "--no-think",
    ];
    let url = server.url();
    let call = [&["chat", "--server", &url], &args[..]].concat();
    weft(call).env("WEFT_API_KEY", "secret").env("WEFT_TOP_P", "0.5").input("Hi\n").run().ok();
    let asked = &server.asked()[0];
    assert!(asked.headers.contains("authorization: bearer secret"), "{}", asked.headers);
    let mut body = asked.body.clone();
    for known in ["messages", "stream", "stream_options"] {
        body.as_object_mut().unwrap().remove(known);
    }
    let expected = json!({
        "model": "b",
        "temperature": 0.0,
        "top_k": 5,
        "top_p": 0.5,
        "seed": 9,
        "max_tokens": 3,
        "stop": ["x"],
        "chat_template_kwargs": {"enable_thinking": false},
    });
    assert_eq!(body, expected);
}

#[test]
fn only_settings_of_chat_are_sent() {
    let server = chats(counting);
    let folder = Folder::new();
    let file = folder.join("config.toml");
    // Settings of `run` are the defaults of `chat`.
    std::fs::write(&file, "top-k = 40\n[run]\ntemperature = 0.6\n[chat]\ntop-p = 0.95\n").unwrap();
    weft(["chat", "--server", &server.url()]).env("WEFT_CONFIG", &file).input("Hi\n").run().ok();
    let body = &server.asked()[0].body;
    assert_eq!((&body["top_p"], &body["top_k"]), (&json!(0.95), &json!(40)), "{body}");
    assert!(body.get("temperature").is_none(), "{body}");
}

#[test]
fn servers_that_do_not_answer_as_expected() {
    let failed = |server: &Server, key: &str| {
        let url = server.url();
        weft(["chat", "--server", &url]).env("WEFT_API_KEY", key).input("Hi\n").run().failed(1)
    };
    let status = |status, headers, body: &'static str| {
        serve(move |_| Answer::Status(status, headers, body.to_string()))
    };
    let error = weft(["chat", "--server", "127.0.0.1:9"]).input("Hi\n").run().failed(1);
    assert!(
        error.contains("no server answers at http://127.0.0.1:9") && error.contains("weft serve"),
        "{error}"
    );
    let error = weft(["chat", "--server", "no address"]).input("Hi\n").run().failed(1);
    assert!(error.contains("expected one such as http://127.0.0.1:8090"), "{error}");
    let error = failed(&status(401, "", "{}"), "");
    assert!(error.contains("wants a key") && error.contains("WEFT_API_KEY"), "{error}");
    let error = failed(&status(401, "", "{}"), "wrong");
    assert!(error.contains("does not accept this key"), "{error}");
    let busy = r#"{"error": {"message": "the queue is full"}}"#;
    let error = failed(&status(429, "retry-after: 7\r\n", busy), "");
    assert!(error.contains("busy (the queue is full): try again in 7 s"), "{error}");
    let error = failed(&status(200, "", "<html></html>"), "");
    assert!(error.contains("is not part of a server with OpenAI's API"), "{error}");

    let begun = || events(&[delta(json!({"content": "begun"}))])[..1].to_vec();
    let with = |answer: fn(Vec<String>) -> Answer, pieces: Vec<String>| {
        let server = chats(move |_| answer(pieces.clone()));
        chat(&server, &[], "Hi\n")
    };
    let ran = with(Answer::Broken, begun());
    assert!(ran.code == Some(1) && ran.err.contains("the server's reply broke off"), "{ran:?}");
    let ran = with(Answer::Stream, begun());
    assert!(ran.code == Some(1) && ran.out == "begun\n" && ran.err.contains("it ended early"), "{ran:?}");
    let error = "data: {\"error\": {\"message\": \"the device is gone\"}}\n\n".to_string();
    let ran = with(Answer::Stream, [begun(), vec![error]].concat());
    assert!(ran.code == Some(1) && ran.err.contains("stopped with an error: the device is gone"), "{ran:?}");
    // A server without a list of models.
    let server = serve(|asked| match asked.what.as_str() {
        "GET /v1/models" => Answer::Status(404, "", "not here".to_string()),
        _ => counting(asked),
    });
    assert_eq!(chat(&server, &[], "Hi\n").ok(), "1 messages🙂\n");
    assert_eq!(server.asked()[0].body.get("model"), None);
}

#[test]
fn a_full_context_of_a_server() {
    let server = chats(|asked| {
        if asked.body["messages"].as_array().unwrap().len() == 1 {
            return counting(asked);
        }
        let error = json!({"error": {"message": "9 of 8 tokens", "code": "context_length_exceeded"}});
        Answer::Status(400, "", error.to_string())
    });
    let ran = chat(&server, &[], "One\nTwo\n/clear\nThree\n");
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "1 messages🙂\n1 messages🙂\n"));
    assert!(ran.err.contains("/clear starts a new conversation"), "{ran:?}");
    let cut = |args: &[&str]| {
        let server = chats(|_| Answer::Stream(events(&[delta(json!({"content": "x"})), end("length")])));
        chat(&server, args, "Hi\n").err.contains("the server's context, or its limit for a reply, is reached")
    };
    assert!(cut(&[]) && !cut(&["-n", "1"]));
}

#[test]
fn options_that_have_no_effect_are_refused() {
    let server = chats(counting);
    let url = server.url();
    for (args, expected) in [
        (&["--server", &url, "--threads", "1"][..], "--threads has no effect with --server"),
        (&["--server", &url, "model.gguf"], "MODEL has no effect with --server"),
        (&["--model", "a"], "--model has no effect without --server"),
    ] {
        let error = weft([&["chat"], args].concat()).input("Hi\n").run().failed(2);
        assert!(error.contains(expected), "{error}");
    }
}

/// Ctrl-C closes the connection while the server replies, and while it is silent.
#[cfg(unix)]
#[test]
fn ctrl_c_hangs_up() {
    use std::io::{Read as _, Write as _};
    use std::process::{Command, Stdio};

    if !crate::support::signals_work() {
        return;
    }
    for silent in [false, true] {
        let begun = events(&[delta(json!({"content": "begun"}))])[..1].to_vec();
        let server = chats(move |_| if silent { Answer::Silence } else { Answer::Endless(begun.clone()) });
        let mut call = weft(["chat", "--server", &server.url()]);
        let mut child = call
            .command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"Hello\n").unwrap();
        let mut out = child.stdout.take().unwrap();
        let mut text = vec![0; if silent { 0 } else { 5 }];
        out.read_exact(&mut text).unwrap();
        server.wait_until_asked(1);
        let kill = format!("kill -INT {}", child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        server.wait_until_gone(1);
        out.read_to_end(&mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), if silent { "" } else { "begun\n" });
        assert_eq!(child.wait().unwrap().code(), Some(130));
    }
}

/// Replies of as many tokens as asked for; a word has two tokens.
fn completions(asked: &Asked) -> Answer {
    let tokens = asked.body["max_tokens"].as_u64().unwrap();
    let words = asked.body["prompt"].as_str().unwrap().split(' ').count() as u64;
    let mut data: Vec<Value> = (0..tokens)
        .map(|n| json!({"choices": [{"index": 0, "text": format!("t{n} "), "finish_reason": null}]}))
        .collect();
    data.push(json!({"choices": [{"index": 0, "text": "", "finish_reason": "length"}]}));
    data.push(usage(2 * words, tokens));
    Answer::Stream(events(&data))
}

fn bench(server: &Server, args: &[&str]) -> Ran {
    weft([&["bench-serve", &server.url()], args].concat()).run()
}

#[test]
fn a_server_is_measured() {
    let server = serve(|asked| match asked.what.as_str() {
        "GET /v1/models" => models(),
        "GET /metrics" => Answer::Status(200, "", "vllm:num_requests_waiting 2\n".to_string()),
        _ => completions(asked),
    });
    let args =
        ["--clients", "1,3", "--requests", "6", "--prefill", "20", "--decode", "4", "--shared-prefix", "10"];
    let json = bench(&server, &[&args[..], &["--json"]].concat()).json();
    assert_eq!(
        (&json["model"], &json["prompt_tokens"], &json["reply_tokens"]),
        (&json!("a"), &json!(20), &json!(4))
    );
    for (level, clients) in json["levels"].as_array().unwrap().iter().zip([1, 3]) {
        assert_eq!((&level["clients"], &level["completed"]), (&json!(clients), &json!(6)));
        assert_eq!((&level["errors"], &level["short_replies"]), (&json!({}), &json!(0)));
        // The first request showed that a word has two tokens.
        assert_eq!((&level["prompt_tokens"], &level["reply_tokens"]), (&json!(120), &json!(24)));
        assert_eq!(level["cached_tokens"], 18);
        let counts = [("time_to_first_token", 6), ("inter_token_latency", 18), ("end_to_end", 6)];
        for (name, count) in counts {
            let times = &level[name];
            assert_eq!(times["count"], count, "{name}");
            let [p50, p99, max] = ["p50", "p99", "max"].map(|q| times[q].as_f64().unwrap());
            assert!(0.0 < p50 && p50 <= p99 && p99 <= max, "{name}: {times}");
        }
        assert!(level["reply_tokens_per_second"].as_f64().unwrap() > 0.0);
        assert_eq!(level["most_waiting"], 2.0);
    }
    // The prompts of 10 words share 5.
    let asked = server.asked();
    assert_eq!(asked.len(), 13);
    let prompts: Vec<Vec<&str>> =
        asked[1..].iter().map(|asked| asked.body["prompt"].as_str().unwrap().split(' ').collect()).collect();
    assert!(prompts.iter().all(|prompt| prompt.len() == 10 && prompt[..5] == prompts[0][..5]));
    assert!((1..12).all(|i| prompts[i][5..] != prompts[0][5..]));
    assert_eq!(asked[1].body["ignore_eos"], true);

    let table = bench(&server, &args).ok();
    assert!(table.starts_with("a at http://127.0.0.1:"), "{table}");
    assert!(table.contains("prompts of 20 tokens, the first 10 shared; replies of 4 tokens"), "{table}");
    let rows: Vec<&str> = table.lines().filter(|line| line.trim_start().starts_with(['1', '3'])).collect();
    assert_eq!(rows.len(), 2, "{table}");
}

#[test]
fn requests_that_fail_are_counted() {
    let number = std::sync::atomic::AtomicUsize::new(0);
    let server = serve(move |asked| {
        if asked.what.starts_with("GET") {
            return Answer::Status(404, "", String::new());
        }
        match number.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            2 => Answer::Status(429, "retry-after: 0\r\n", "{}".to_string()),
            3 => Answer::Status(500, "", "oops".to_string()),
            4 => Answer::Stream(events(&[json!({"choices": [{"text": "x"}]}), usage(2, 1)])),
            5 => Answer::Stream(events(&[])),
            _ => completions(asked),
        }
    });
    let ran =
        bench(&server, &["--clients", "1", "--requests", "6", "--prefill", "2", "--decode", "3", "--json"]);
    assert!(ran.err.contains("1 requests failed (busy), for example: the server is busy"), "{ran:?}");
    let level = ran.json()["levels"][0].clone();
    assert_eq!((&level["completed"], &level["short_replies"]), (&json!(3), &json!(1)));
    assert_eq!(level["errors"], json!({"broken stream": 1, "busy": 1, "status 500": 1}));
    assert_eq!(level["most_waiting"], json!(null));

    let refusing = serve(|_| Answer::Status(401, "", "{}".to_string()));
    let error = bench(&refusing, &["--clients", "1"]).failed(1);
    assert!(error.contains("wants a key"), "{error}");
    let error = bench(&refusing, &["--prefill", "5", "--shared-prefix", "5", "--model", "a"]).failed(1);
    assert!(error.contains("leaves nothing of a prompt"), "{error}");
}
