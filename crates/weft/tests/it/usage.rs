//! Tests of usage errors and environment variables.

use std::process::Stdio;

use crate::support::{Folder, model, weft};

/// The message of a usage error.
#[track_caller]
fn wrong(args: &[&str]) -> String {
    weft(args).run().failed(2)
}

#[test]
fn without_a_command_the_help_is_shown() {
    assert!(wrong(&[]).contains("Usage: weft <COMMAND>"));
}

#[test]
fn similar_names_are_suggested() {
    assert!(wrong(&["inspct", "x"]).contains("'inspect'"));
    assert!(wrong(&["run", "--temprature", "1", "hi"]).contains("'--temperature'"));
    assert!(
        wrong(&["run", "--kv", "f61", "hi"]).contains("[possible values: f16, bf16, f32, q8_0, q5_1, q4_0]")
    );
}

#[test]
fn values_out_of_range_are_refused() {
    for (args, said) in [
        (["run", "--threads", "0", "hi"], "expected an integer from 1 to 1024"),
        (["run", "--top-p", "1.5", "hi"], "expected a number from 0 to 1"),
        (["run", "--temperature", "nan", "hi"], "expected a number from 0 to 100"),
        (
            ["run", "--seed", "-2", "hi"],
            "expected an integer from 0 to 18446744073709551615, or -1 for a random seed",
        ),
        (["run", "-n", "-2", "hi"], "expected an integer from 1 to 4294967295, or -1 for no limit"),
        (["run", "-c", "-1", "hi"], "expected an integer from 1 to 2147483648, or max for the model's limit"),
        (["logits", "x", "--tokens", "1,x"], "`x` is not a token id"),
        (["logits", "x", "--tokens", "-1"], "`-1` is not a token id"),
        (["logits", "x", "--tokens", "-1,2"], "`-1` is not a token id"),
    ] {
        let error = wrong(&args);
        assert!(error.contains(said) && !error.contains("tip:"), "{args:?}: {error}");
    }
}

#[test]
fn choices_ignore_case() {
    let error = weft(["run", "--kv", "F32", "none.gguf", "hi"]).run().failed(1);
    assert!(error.contains("none.gguf"), "{error}");
    let error = weft(["quantize", "--quant", "Q4_K_M", "none.gguf", "out.gguf"]).run().failed(1);
    assert!(error.contains("none.gguf"), "{error}");
}

#[test]
fn arguments_without_effect_are_refused() {
    for (args, said) in [
        (&["run", "--raw", "--system", "x", "hi"][..], "--system has no effect with --raw"),
        (&["run", "--raw", "--no-think", "hi"], "--no-think has no effect with --raw"),
        (
            &["logits", "x", "--tokens", "1", "--out", "y", "--oracle", "--kv", "f32"],
            "--kv has no effect with --oracle",
        ),
        (
            &["serve", "none.gguf", "--no-ollama", "--ollama-port", "11434"],
            "--ollama-port has no effect with --no-ollama",
        ),
    ] {
        let error = wrong(args);
        assert!(error.contains(said), "{args:?}: {error}");
    }
    // Environment variables are not about this call.
    let error = weft(["run", "--raw", "none.gguf", "hi"]).env("WEFT_SYSTEM", "x").run().failed(1);
    assert!(error.contains("none.gguf"), "{error}");
}

#[test]
fn logits_names_missing_arguments() {
    let model = model("glm-tiny-q4_0");
    let model = model.to_str().unwrap();
    assert!(wrong(&["logits", model, "--tokens", "1"]).contains("--out FILE"));
    assert!(wrong(&["logits", model, "--out", "x"]).contains("--tokens 1,2,3"));
    assert!(
        wrong(&["logits", model, "--out", "x", "--tokens", "1", "--text", "a"]).contains("exactly one of")
    );
}

#[test]
fn environment_variables_are_checked_and_overridden_by_arguments() {
    let error = weft(["run", "hi"]).env("WEFT_KV", "q8").run().failed(2);
    assert!(error.contains("'q8'") && error.contains("--kv"), "{error}");
    assert!(error.contains("environment variable WEFT_KV"), "{error}");
    let error = weft(["run", "hi", "-n0"]).env("WEFT_MAX_TOKENS", "0").run().failed(2);
    assert!(!error.contains("environment variable"), "{error}");
    let error = weft(["run", "hi"]).env("WEFT_THREADS", "many").run().failed(2);
    assert!(error.contains("environment variable WEFT_THREADS"), "{error}");
    let error = weft(["run", "hi"]).env("WEFT_SET", "fuse.tail=off,fuse.tale=off").run().failed(2);
    assert!(error.contains("environment variable WEFT_SET"), "{error}");
    // An empty variable counts as unset.
    let error = weft(["run", "none.gguf", "hi"]).env("WEFT_KV", "").env("WEFT_SEED", "").run().failed(1);
    assert!(error.contains("none.gguf"), "{error}");
    // The argument wins, so the command gets as far as the model.
    let error = weft(["run", "--kv", "f16", "none.gguf", "hi"]).env("WEFT_KV", "q8").run().failed(1);
    assert!(error.contains("none.gguf"), "{error}");
}

#[test]
fn the_error_for_a_missing_model_says_where_it_was_looked_for() {
    let cache = Folder::new();
    let error = weft(["inspect", "nowhere"]).env("WEFT_CACHE", cache.path()).run().failed(1);
    assert!(error.starts_with("weft: there is no model `nowhere`"), "{error}");
    for place in [cache.path().to_str().unwrap(), "is empty", "`weft list --all`", "hf:ORG/REPO:QUANT"] {
        assert!(error.contains(place), "{place}: {error}");
    }
    assert!(weft(["inspect"]).run().failed(2).contains("<MODEL>"));
    let error = weft(["inspect", cache.path().to_str().unwrap()]).run().failed(1);
    assert!(error.contains("is a folder"), "{error}");
    let error = weft(["inspect", "hf:nowhere"]).run().failed(1);
    assert!(error.contains("expected hf:ORG/REPO:QUANT"), "{error}");
}

#[test]
fn a_missing_file_is_named_as_such() {
    let folder = Folder::new();
    std::fs::write(folder.join("model-Q4_0.gguf"), "").unwrap();
    for name in ["model-Q4.gguf", "./model-Q4.gguf"] {
        let mut call = weft(["inspect", name]);
        call.command().current_dir(folder.path());
        let error = call.run().failed(1);
        assert!(error.contains(&format!("cannot open {name}: no such file (did you mean `")), "{error}");
        assert!(error.contains("model-Q4_0.gguf"), "{error}");
    }
    let error = weft(["inspect", "org/repo"]).run().failed(1);
    assert!(error.contains("did you mean `hf:org/repo`?"), "{error}");
}

#[test]
fn a_switch_in_the_environment_is_on_or_off() {
    let error = weft(["run", "none.gguf", "hi"]).env("WEFT_VERBOSE", "maybe").run().failed(2);
    assert!(error.contains("expected 1 or 0") && error.contains("WEFT_VERBOSE"), "{error}");
    for value in ["1", "off", "Yes", ""] {
        let error = weft(["run", "none.gguf", "hi"]).env("WEFT_VERBOSE", value).run().failed(1);
        assert!(error.contains("none.gguf"), "{error}");
    }
}

#[test]
fn arguments_of_other_programs_are_answered_with_the_word_to_use() {
    for (args, said) in [
        (&["run", "--temp", "1", "hi"][..], "instead of '--temp', use --temperature"),
        (&["run", "-ngl", "99", "hi"], "instead of '-ngl', use --device gpu"),
        (&["run", "-m", "x.gguf", "-p", "hi"], "the model is the first argument"),
        (&["chat", "--ctx-size", "1"], "instead of '--ctx-size', use --context"),
        (&["run", "--jinja", "hi"], "'--jinja' can be left out"),
    ] {
        let error = wrong(args);
        assert!(error.contains(said), "{args:?}: {error}");
    }
}

#[test]
fn commands_of_other_programs_are_answered_with_ours() {
    for (args, said) in [
        (&["show", "x"][..], "tip: `weft inspect MODEL`"),
        (&["stop"], "tip: `weft ps`"),
        (&["models"], "tip: `weft list`"),
        (&["version"], "tip: `weft --version`"),
        (&["-v"], "tip: `weft --version`"),
        (&["create"], "tip: `weft config set"),
        (&["run", "--modle", "x", "hi"], "tip: leave out '--modle': the model is the first argument"),
    ] {
        let error = wrong(args);
        assert!(
            error.contains(said) && !error.contains("similar") && !error.contains("-- --"),
            "{args:?}: {error}"
        );
    }
    // A word close to one of our commands is still taken for a misspelling of it.
    assert!(wrong(&["lst"]).contains("'list'"));
}

#[test]
fn the_usage_names_only_what_must_be_given() {
    for (command, usage) in
        [("rm", "rm [OPTIONS] <MODEL>..."), ("quantize", "quantize [OPTIONS] <MODEL> <OUT>")]
    {
        let error = weft([command]).env("WEFT_THREADS", "2").run().failed(2);
        assert!(error.contains(&format!("Usage: weft {usage}\n")), "{error}");
    }
}

#[test]
fn a_context_can_be_as_long_as_the_model_allows() {
    let path = model("glm-tiny-q4_0");
    let context = |value: &str| {
        let args = ["inspect", path.to_str().unwrap(), "--device", "cpu", "--json", "-c", value];
        weft(args).run().json()["memory"]["context"].as_u64().unwrap()
    };
    let whole = context("max");
    assert_eq!(context("0"), whole);
    assert_eq!(context(&whole.to_string()), whole, "one more is refused:");
    let more = (whole + 1).to_string();
    let args = ["inspect", path.to_str().unwrap(), "--device", "cpu", "-c", &more];
    assert!(weft(args).run().failed(1).contains("trained for"));
}

#[test]
fn names_as_other_programs_write_them_are_understood_or_explained() {
    let error = weft(["inspect", "https://example.com/x.gguf"]).run().failed(1);
    assert!(error.contains("expected an address of a model on huggingface.co"), "{error}");
    let error = weft(["pull", "https://example.com/x.gguf"]).run().failed(1);
    assert!(error.contains("expected an address of a model on huggingface.co"), "{error}");
    let error = weft(["inspect", "smollm2:135m"]).run().failed(1);
    assert!(error.contains("did you mean `smollm2`?"), "{error}");
    // The hub cannot be reached, and the model is known.
    let error = weft(["inspect", "smollm2:latest"]).env("PATH", "").run().failed(1);
    assert!(error.contains("cannot download smollm2"), "{error}");
}

#[test]
fn the_model_can_come_from_the_environment() {
    let fixture = model("glm-tiny-q4_0");
    let reply = weft(["run", "Hello", "-n", "2", "--json"]).env("WEFT_MODEL", &fixture).run().json();
    assert!(reply["model"].as_str().unwrap().ends_with("glm-tiny-q4_0.gguf"));
    let error = weft(["run", "none.gguf", "hi"]).env("WEFT_MODEL", &fixture).run().failed(1);
    assert!(error.contains("none.gguf"), "{error}");
}

#[test]
fn a_configuration_file_sets_defaults() {
    let folder = Folder::new();
    let file = folder.join("config.toml");
    let call = |args: &[&str]| weft(args).env("WEFT_CONFIG", &file);
    let fixture = std::path::absolute(model("glm-tiny-q4_0")).unwrap().display().to_string();
    call(&["config", "set", "model", &fixture]).run().ok();
    let told = call(&["config", "set", "max-tokens", "3"]).run();
    assert_eq!(told.err.trim_end(), format!("set max-tokens = 3 in {}", file.display()));
    call(&["config", "set", "run.temperature", "0"]).run().ok();
    assert_eq!(
        call(&["config"]).run().ok(),
        format!("max-tokens = 3\nmodel = {fixture:?}\nrun.temperature = 0\n")
    );
    let tokens = |call: crate::support::Weft| call.run().json()["tokens"].as_u64();
    assert_eq!(tokens(call(&["run", "Hello", "--json"])), Some(3));
    assert_eq!(tokens(call(&["run", "Hello", "--json"]).env("WEFT_MAX_TOKENS", "2")), Some(2));
    assert_eq!(tokens(call(&["run", "Hello", "--json", "-n", "1"])), Some(1));
    // Greedy, so every seed gives the same.
    let said = |seed| call(&["run", "Hello", "--seed", seed]).run().ok();
    assert_eq!(said("1"), said("2"));
    for said in ["removed max-tokens from ", "max-tokens was not set in "] {
        let told = call(&["config", "unset", "max-tokens"]).run();
        assert!(told.code == Some(0) && told.err.starts_with(said), "{told:?}");
    }
    let all = call(&["config", "list", "--all"]).run().ok();
    for line in [&format!("model = {fixture:?}"), "# max-tokens = N", "[run]"] {
        assert!(all.lines().any(|found| found == line), "{line}: {all}");
    }
    // The file applies in every folder, so a path is kept from the root.
    let mut there = call(&["config", "set", "run.speculate", "draft.gguf"]);
    std::fs::copy(&fixture, folder.join("draft.gguf")).unwrap();
    there.command().current_dir(folder.path());
    assert!(there.run().err.contains(&format!("{}draft.gguf", std::path::MAIN_SEPARATOR)));
    call(&["config", "unset", "run.speculate"]).run().ok();
    assert!(!call(&["config"]).run().ok().contains("max-tokens"));
    for (args, said) in [
        (&["config", "set", "temprature", "1"][..], "did you mean temperature?"),
        (&["config", "set", "nothing", "1"], "`weft config list --all` shows them"),
        (&["config", "set", "model", "smolm2"], "did you mean `smollm2`?"),
        (&["config", "set", "chat.speculate", "nosuch"], "there is no model `nosuch`"),
        (
            &["config", "set", "hub", "huggingface.co"],
            "the hub's address is `huggingface.co`: expected https://HOST",
        ),
        (&["config", "set", "hub", "https://"], "expected https://HOST"),
        (&["config", "set", "hub", "https://a b"], "expected https://HOST"),
        (&["config", "set", "serve.models", "none.toml"], "there is no such file"),
        (&["config", "set", "temperature", "hot"], "expected a number from 0 to 100"),
        (&["config", "set", "tokens", "1"], "makes sense for one call only"),
        (&["config", "set", "serve.system", "x"], "system is no option of `weft serve`"),
    ] {
        let error = call(args).run().failed(1);
        assert!(error.contains(said), "{args:?}: {error}");
    }
    std::fs::write(&file, "threads = 2\nkv = \"q8\"\n").unwrap();
    let error = call(&["run", "hi"]).run().failed(2);
    assert!(
        error.contains("'q8'") && error.contains("the value comes from ") && error.contains("config.toml"),
        "{error}"
    );
    std::fs::write(&file, "threads: 2\n").unwrap();
    let error = call(&["run", "hi"]).run().failed(2);
    assert!(error.contains("config.toml:1: expected NAME = VALUE"), "{error}");
}

#[test]
fn a_closed_standard_output_is_not_an_error() {
    let fixture = model("ds2-tiny-q4_0");
    let mut call = weft(["inspect".as_ref(), "--tensors".as_ref(), fixture.as_os_str()]);
    let mut child =
        call.command().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}
