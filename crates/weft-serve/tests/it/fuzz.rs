//! Request bodies of any bytes: the corpus of the fuzzer, and on demand more.

use serde_json::Value;
use weft_serve::fuzz_request_body;

#[path = "../../../../fuzz/for_a_while.rs"]
mod for_a_while;

/// Bodies that are read, of each API.
const SEEDS: &[(u8, &str)] = &[
    (0, r#"{"messages": [{"role": "user", "content": "Hi"}]}"#),
    (
        0,
        r##"{"model": "m", "messages": [{"role": "system", "content": [{"type": "text", "text": "S"}]},
            {"role": "assistant", "content": null, "reasoning_content": "r", "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\": [1, null]}"}}]},
            {"role": "tool", "tool_call_id": "a", "content": "4"}],
            "tools": [{"type": "function", "function": {"name": "f", "description": "d", "strict": true, "parameters":
                {"type": "object", "properties": {"x": {"anyOf": [{"$ref": "#/$defs/X"}, {"type": ["string", "null"]}]}},
                 "$defs": {"X": {"type": "array", "items": {"enum": [1, "a"]}}}}}}],
            "tool_choice": {"type": "function", "function": {"name": "f"}}, "parallel_tool_calls": false}"##,
    ),
    (
        0,
        r#"{"messages": [{"role": "user", "content": "Hi"}], "temperature": 0.5, "top_p": 0.9, "top_k": 40, "min_p": 0.1,
            "seed": 7, "n": 2, "stop": ["a", "b"], "logit_bias": {"5": -100}, "presence_penalty": 1,
            "frequency_penalty": -1.5, "logprobs": true, "top_logprobs": 3, "max_completion_tokens": 9, "stream": true,
            "stream_options": {"include_usage": true}, "chat_template_kwargs": {"enable_thinking": false},
            "response_format": {"type": "json_schema", "json_schema": {"name": "j", "schema": {"type": "object"}}}}"#,
    ),
    (
        1,
        r#"{"input": "Hi", "instructions": "S", "stream": true, "reasoning": {"effort": "low"}, "store": false}"#,
    ),
    (
        1,
        r#"{"input": [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "4"}],
            "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}], "tool_choice": "auto"}"#,
    ),
    (
        2,
        r#"{"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], "system": "S", "stop_sequences": ["a"]}"#,
    ),
    (
        2,
        r#"{"max_tokens": 9, "system": [{"type": "text", "text": "S"}], "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": "s"},
                {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "4"}]}],
            "tools": [{"name": "f", "input_schema": {"type": "object"}}], "tool_choice": {"type": "any"}}"#,
    ),
    (3, r#"{"prompt": "Hi", "max_tokens": 4, "echo": true, "n": 2, "best_of": 2, "user": "u"}"#),
    (3, r#"{"prompt": [[1, 2], [3]], "logprobs": 2, "stop": "\n", "suffix": null, "stream": false}"#),
    (3, r#"{"prompt": ["a", "b"], "temperature": 1e-3, "repetition_penalty": 1.1, "ignore_eos": true}"#),
    (
        4,
        r#"{"model": "m", "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "", "thinking": "t", "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]},
            {"role": "tool", "tool_name": "f", "content": "4"}],
            "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
            "options": {"temperature": 0.5, "num_predict": 9, "num_ctx": 4096, "stop": ["a"]}, "keep_alive": "5m"}"#,
    ),
    (
        5,
        r#"{"prompt": "Hi", "system": "S", "format": {"type": "object"}, "think": "low", "keep_alive": -1, "stream": false}"#,
    ),
    (
        6,
        r#"{"input_prefix": "a", "input_suffix": "b", "prompt": "c", "input_extra": [{"filename": "f", "text": "t"}], "n_predict": 3}"#,
    ),
    (
        3,
        r#"{"prompt": "Hi", "suffix": "b", "dry_multiplier": 0.8, "dry_sequence_breakers": ["\\n"], "mirostat": 2, "xtc_probability": 0.5}"#,
    ),
    (
        0,
        r#"{"messages": [{"role": "assistant", "content": "Hi"}], "continue_final_message": true, "reasoning_budget": 5, "grammar": "a"}"#,
    ),
    (
        5,
        r#"{"prompt": "Hi", "raw": true, "options": {"seed": 7, "repeat_last_n": -1}, "logprobs": true, "top_logprobs": 2}"#,
    ),
];

/// What mutations insert: JSON's parts, and fields.
const WORDS: &str = r#"{ } [ ] : , "a" "\u0000" "\ud800" null true false 0 -1 1e999 18446744073709551616 0.5 "" {} [] [[[[
    "role": "user" "assistant" "tool" "system" "function" "content": "messages": "tools": "tool_choice": "required" "none"
    "auto" "type": "text" "image_url" "object" "strict": "parameters": "properties": "$ref": "name": "arguments": "{}" "id":
    "response_format": "json_object" "json_schema" "schema": "stop": "logit_bias": "n": "seed": "max_tokens": "stream":
    "prompt": "input": "input_text" "output": "call_id": "function_call" "function_call_output" "system": "tool_use"
    "tool_result" "tool_use_id": "thinking" "signature": "input_schema": "stop_sequences": "echo": "logprobs": "temperature": "top_logprobs": "chat_template_kwargs": "reasoning_effort": "minimal""#;

fn seeds() -> Vec<Vec<u8>> {
    SEEDS.iter().map(|(api, body)| [&[*api], body.as_bytes()].concat()).collect()
}

/// Values that a field may have instead of its own.
const VALUES: &str = r##"[null, true, -1, 0, 1, 7.5, 1e300, 18446744073709551615, "", "auto", "user", "tool", "function", "a",
    "text", "\u0000", [], [[]], {}, [null], {"type": "object"}, {"type": "text", "text": "a"}, {"$ref": "#/$defs/X"}]"##;

/// A body with one of its values changed, in valid JSON if it was that before.
fn vary(body: &[u8], other: &[u8], random: &mut dyn FnMut(usize) -> usize) -> Vec<u8> {
    let read = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes.get(1..)?).ok();
    let Some(mut value) = read(body) else { return other.to_vec() };
    let values: Value = serde_json::from_str(VALUES).unwrap();
    for _ in 0..=random(3) {
        let mut donor = read(other).unwrap_or_default();
        let new = match random(3) {
            0 => values[random(values.as_array().unwrap().len())].clone(),
            _ => at_random(&mut donor, random).clone(),
        };
        let how = random(4);
        match at_random(&mut value, random) {
            Value::Array(items) if how == 0 => items.push(new),
            Value::Array(items) if how == 1 && !items.is_empty() => {
                items.remove(random(items.len()));
            }
            Value::Object(map) if how == 0 => {
                let name = donor.as_object().and_then(|map| map.keys().nth(random(map.len()))).cloned();
                map.insert(name.unwrap_or_default(), new);
            }
            Value::Object(map) if how == 1 && !map.is_empty() => {
                let name = map.keys().nth(random(map.len())).cloned().unwrap();
                map.remove(&name);
            }
            place => *place = new,
        }
    }
    let api = if random(8) == 0 { random(4) as u8 } else { body[0] };
    [&[api], value.to_string().as_bytes()].concat()
}

/// A value within another, or that one.
fn at_random<'a>(value: &'a mut Value, random: &mut dyn FnMut(usize) -> usize) -> &'a mut Value {
    let inside = match value {
        Value::Array(items) => items.len(),
        Value::Object(map) => map.len(),
        _ => 0,
    };
    if inside == 0 || random(4) == 0 {
        return value;
    }
    let at = random(inside);
    let next = match value {
        Value::Array(items) => items.get_mut(at),
        Value::Object(map) => map.values_mut().nth(at),
        _ => None,
    };
    at_random(next.expect("one of so many"), random)
}

#[test]
fn the_corpus_of_the_fuzzer() {
    for bytes in seeds().into_iter().chain(for_a_while::corpus("request_body")) {
        fuzz_request_body(&bytes);
    }
}

/// `fuzz/for_a_while.rs` says for how long.
#[test]
#[ignore = "runs as long as WEFT_FUZZ_SECONDS says"]
fn fuzz_for_a_while() {
    let words = WORDS.split_whitespace().map(|word| word.as_bytes().to_vec()).collect();
    let target = for_a_while::Target {
        name: "request_body",
        seeds: seeds(),
        words,
        vary: Some(&vary),
        check: &fuzz_request_body,
    };
    for_a_while::fuzz(&target);
}
