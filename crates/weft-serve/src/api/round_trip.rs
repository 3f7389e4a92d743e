//! Whatever a reply contains is accepted when the client sends it back: in every API, through every chat template that is known.
//!
//! Replies are made at random in the form of a template's model: reasoning, text, calls in the native form, any of them broken or
//! cut off. They are read by the parser of replies, become the messages of an API as a client gets them, and come back in its next
//! request, with results of tools or without. The template must write the conversation, and the user's words and the results of
//! tools must be in the prompt.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use weft_engine::{ChatTemplate, Finish, GenerateOptions, Tokenizer};
use weft_random::Random;
use weft_text::TokenizerSpec;
use weft_text::reply::{ReplyFormat, ReplyParser, ReplyPiece, ToolSyntax};

use super::chat::{self, ChatRequest};
use super::dialogue::Dialogue;
use super::messages::{self, MessageRequest};
use super::ollama::{self, OllamaRequest};
use super::responses::{self, ResponseRequest};
use super::scripted::finished;
use crate::error::ApiError;
use crate::ignored::Ignored;
use crate::reply::{Collected, Reading, Update};

#[derive(Clone, Copy, Debug)]
enum Api {
    Chat,
    Responses,
    Messages,
    Ollama,
}

/// A template, and its known properties.
struct Model {
    name: String,
    template: ChatTemplate,
    format: ReplyFormat,
}

/// The names of the tools, some of them odd.
const TOOLS: [&str; 4] = ["look", "look_up", "get-weather.v2", "a--_b"];
const TEXTS: [&str; 12] = [
    "",
    "Rome",
    " \n",
    "ä 𝄞 名\u{200d}",
    "\"quoted\" \\d",
    "</tool_call>",
    "<|im_end|>",
    "{\"a\": 1}",
    "null",
    "{{ x }}",
    "[ARGS]",
    "line\nline\n",
];

fn templates() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../weft-text/tests/templates");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    // The first is no conversation. The second writes not even a question without variables of its own program.
    let others = ["features.jinja", "fireworks-ai-llama-3-firefunction-v2.jinja"];
    files.retain(|file| {
        file.extension().is_some_and(|kind| kind == "jinja")
            && !others.iter().any(|name| file.ends_with(name))
    });
    assert!(files.len() > 60, "{} templates", files.len());
    files.sort();
    files
}

/// A tokenizer of single bytes.
fn tokenizer() -> Tokenizer {
    let printable = |byte: u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    let spelling = |byte: u8| {
        let before = (0..byte).filter(|&byte| !printable(byte)).count();
        let code = if printable(byte) { u32::from(byte) } else { 256 + before as u32 };
        char::from_u32(code).unwrap().to_string()
    };
    let mut tokens: Vec<String> = (0..=u8::MAX).map(spelling).collect();
    tokens.extend(["<s>", "</s>"].map(str::to_owned));
    let types = (0..tokens.len()).map(|id| if id < 256 { 1 } else { 3 }).collect();
    Tokenizer::new(&TokenizerSpec {
        model: "gpt2",
        pre: "gpt-2",
        tokens: tokens.iter().map(String::as_bytes).collect(),
        token_types: Some(types),
        merges: Some(Vec::new()),
        bos: Some(256),
        eos: Some(257),
        ..TokenizerSpec::default()
    })
    .unwrap()
}

fn one_of<'a, T>(random: &mut Random, list: &'a [T]) -> &'a T {
    &list[random.below(list.len())]
}

fn text(random: &mut Random) -> &'static str {
    TEXTS[random.below(TEXTS.len())]
}

fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 5 } else { 7 }) {
        0 => random.below(1000).into(),
        1 => json!(-2.5e3),
        2 => Value::Null,
        3 => true.into(),
        4 => text(random).into(),
        5 => (0..random.below(3)).map(|_| value(random, depth - 1)).collect(),
        _ => Value::Object(object(random, depth - 1)),
    }
}

fn object(random: &mut Random, depth: usize) -> Map<String, Value> {
    let keys = ["city", "days", "b b", "名", "a\"b", "<x>", ""];
    let key = |random: &mut Random| (*one_of(random, &keys)).to_owned();
    (0..random.below(4)).map(|_| (key(random), value(random, depth))).collect()
}

/// A call as the model writes it; of a model whose template has no calls, in the form that Weft explains to it.
fn call(random: &mut Random, syntax: ToolSyntax, number: usize) -> String {
    let name = if random.below(10) == 0 { "nope" } else { *one_of(random, &TOOLS) };
    let arguments = object(random, 2);
    let json = Value::Object(arguments.clone());
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match syntax {
        ToolSyntax::Glm => {
            let pair = |(key, value): (&String, &Value)| {
                format!("<arg_key>{key}</arg_key><arg_value>{}</arg_value>", plain(value))
            };
            format!("<tool_call>{name}{}</tool_call>", arguments.iter().map(pair).collect::<String>())
        }
        ToolSyntax::Qwen3Coder => {
            let pair = |(key, value): (&String, &Value)| {
                format!("<parameter={key}>\n{}\n</parameter>\n", plain(value))
            };
            let pairs: String = arguments.iter().map(pair).collect();
            format!("<tool_call>\n<function={name}>\n{pairs}</function>\n</tool_call>")
        }
        ToolSyntax::DeepSeekV3 => format!(
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{json}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
        ),
        ToolSyntax::DeepSeekV31 => format!(
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{json}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
        ),
        ToolSyntax::KimiK2 => format!(
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.{name}:{number}<|tool_call_argument_begin|>{json}<|tool_call_end|><|tool_calls_section_end|>"
        ),
        // Arguments as JSON, which is read in the place of Gemma's spelling.
        ToolSyntax::Gemma4 => format!("<|tool_call>call:{name}{json}<tool_call|>"),
        ToolSyntax::Mistral => format!("[TOOL_CALLS]{name}[ARGS]{json}"),
        ToolSyntax::MistralList => {
            format!("[TOOL_CALLS][{{\"name\": {}, \"arguments\": {json}}}]", json!(name))
        }
        ToolSyntax::Llama3 if number == 0 => json!({"name": name, "parameters": arguments}).to_string(),
        ToolSyntax::Llama3 => format!("; {}", json!({"name": name, "parameters": arguments})),
        ToolSyntax::Harmony => format!(
            "<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{json}<|end|><|start|>assistant"
        ),
        _ => format!("<tool_call>\n{}\n</tool_call>", json!({"name": name, "arguments": arguments})),
    }
}

/// A reply of such a model.
fn reply(random: &mut Random, format: &ReplyFormat) -> String {
    let tags = format.reasoning.map_or(("<think>", "</think>"), |tags| (tags.begin, tags.end));
    let syntax = format.tools.unwrap_or(ToolSyntax::Hermes);
    let mut reply = String::new();
    for number in 0..random.below(6) {
        match random.below(7) {
            0 if format.harmony => reply += "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant",
            0 => reply += &format!("{}\nHm {}\n{}\n\n", tags.0, text(random), tags.1),
            1 => reply += tags.1,
            2 => reply.push_str(text(random)),
            3 => reply += "Let me look.",
            _ => reply += &call(random, syntax, number),
        }
    }
    let at = |random: &mut Random, reply: &str| reply.floor_char_boundary(random.below(reply.len() + 1));
    if random.below(4) == 0 {
        reply.truncate(at(random, &reply));
    }
    if random.below(5) == 0 {
        let from = at(random, &reply);
        let to = reply.floor_char_boundary((from + random.below(4)).min(reply.len()));
        reply.replace_range(from..to, text(random));
    }
    reply
}

/// The parser's updates for a reply to this prompt.
fn updates(random: &mut Random, reading: &Reading, reply: &str) -> Vec<Update> {
    let Reading::Chat { format, tools, prompt } = reading else { panic!("a chat") };
    let mut parser = ReplyParser::new(format, tools, prompt);
    let mut pieces: Vec<ReplyPiece> = Vec::new();
    parser.push(reply, &mut pieces);
    parser.finish(&mut pieces);
    let ends = [Finish::EndOfTurn, Finish::EndOfTurn, Finish::Length, Finish::Stop("x".into())];
    let finish = one_of(random, &ends).clone();
    pieces.into_iter().map(Update::Piece).chain([finished(finish)]).collect()
}

/// A conversation in an API, as its client keeps it.
struct Client {
    api: Api,
    turns: Vec<Value>,
    tools: bool,
    /// The texts that must be in the prompt.
    said: Vec<String>,
    count: usize,
}

impl Client {
    fn new(random: &mut Random, api: Api) -> Client {
        let mut client =
            Client { api, turns: Vec::new(), tools: random.below(6) > 0, said: Vec::new(), count: 0 };
        if random.below(2) == 0 && !matches!(api, Api::Messages) {
            client.turns.push(json!({"role": "system", "content": "Be brief."}));
        }
        client.say();
        client
    }

    fn word(&mut self, what: &str) -> String {
        self.count += 1;
        let word = format!("weft-{what}-{}", self.count);
        self.said.push(word.clone());
        word
    }

    fn say(&mut self) {
        let word = self.word("question");
        self.turns.push(json!({"role": "user", "content": word}));
    }

    fn dialogue(&self) -> Result<Dialogue, ApiError> {
        let schema =
            json!({"type": "object", "properties": {"city": {"type": "string", "description": "c"}}});
        let function = |name: &&str| json!({"name": name, "description": "d", "parameters": schema});
        let tools: Vec<Value> = TOOLS.iter().filter(|_| self.tools).map(function).collect();
        let (defaults, ignored) = (GenerateOptions::default(), Ignored::default());
        match self.api {
            Api::Chat => {
                let tools = tools.into_iter().map(|tool| json!({"type": "function", "function": tool}));
                let mut body = json!({"messages": self.turns});
                if self.tools {
                    body["tools"] = tools.collect();
                }
                Ok(ChatRequest::read(&body, &defaults, 258, &ignored)?.dialogue)
            }
            Api::Responses => {
                let tools = tools.into_iter().map(|mut tool| {
                    tool["type"] = "function".into();
                    tool
                });
                let body = json!({"input": self.turns, "tools": tools.collect::<Value>()});
                Ok(ResponseRequest::read(&body, &defaults, 258, &ignored)?.dialogue)
            }
            Api::Messages => {
                let tools = tools.into_iter().map(|mut tool| {
                    let schema = tool.as_object_mut().unwrap().remove("parameters");
                    tool["input_schema"] = schema.unwrap();
                    tool
                });
                let body =
                    json!({"messages": self.turns, "max_tokens": 9, "tools": tools.collect::<Value>()});
                Ok(MessageRequest::read(&body, &defaults, 258, false, &ignored)?.dialogue)
            }
            Api::Ollama => {
                let tools = tools.into_iter().map(|tool| json!({"type": "function", "function": tool}));
                let body = json!({"messages": self.turns, "tools": tools.collect::<Value>()});
                let request = OllamaRequest::read_chat(&body, &defaults, 258, &ignored)?;
                Ok(request.into_dialogue().expect("messages"))
            }
        }
    }

    /// Takes a reply, and says what comes next: results of tools, or something else.
    fn take(&mut self, random: &mut Random, updates: &[Update]) {
        let answer = random.below(5) > 0;
        let goes_on = random.below(3) == 0;
        let mut results = Vec::new();
        match self.api {
            Api::Chat => {
                let mut collected = Collected::default();
                updates.iter().for_each(|update| collected.add(update.clone()));
                let message = chat::message_of(&collected);
                for call in message["tool_calls"].as_array().into_iter().flatten().filter(|_| answer) {
                    let word = self.word("result");
                    results.push(json!({"role": "tool", "tool_call_id": call["id"], "content": word}));
                }
                self.turns.push(message);
            }
            Api::Responses => {
                let output = responses::answered(updates)["output"].as_array().unwrap().clone();
                for item in output.iter().filter(|item| answer && item["type"] == "function_call") {
                    let word = self.word("result");
                    let call_id = &item["call_id"];
                    results.push(json!({"type": "function_call_output", "call_id": call_id, "output": word}));
                }
                self.turns.extend(output);
            }
            Api::Messages => {
                let content = messages::answered(updates)["content"].clone();
                let mut blocks = Vec::new();
                for block in
                    content.as_array().unwrap().iter().filter(|block| answer && block["type"] == "tool_use")
                {
                    let word = self.word("result");
                    blocks.push(json!({"type": "tool_result", "tool_use_id": block["id"], "content": word}));
                }
                self.turns.push(json!({"role": "assistant", "content": content}));
                if !blocks.is_empty() {
                    results.push(json!({"role": "user", "content": blocks}));
                }
            }
            Api::Ollama => {
                let message = ollama::answered(updates)["message"].clone();
                for call in message["tool_calls"].as_array().into_iter().flatten().filter(|_| answer) {
                    let word = self.word("result");
                    let name = &call["function"]["name"];
                    results.push(json!({"role": "tool", "tool_name": name, "content": word}));
                }
                self.turns.push(message);
            }
        }
        let answered = !results.is_empty();
        self.turns.extend(results);
        if !answered || goes_on {
            self.say();
        }
    }
}

/// Makes so many conversations with each template and API. Returns how many replies and calls there were, and what went wrong.
fn check(rounds: usize) -> (usize, usize, BTreeMap<String, usize>) {
    let tokenizer = tokenizer();
    let (mut replies, mut calls, mut wrong) = (0, 0, BTreeMap::new());
    for file in templates() {
        let source = fs::read_to_string(&file).unwrap();
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let template =
            ChatTemplate::new(&source, &tokenizer).unwrap_or_else(|error| panic!("{name}: {error}"));
        let model = Model { format: ReplyFormat::of(&source), name, template };
        for api in [Api::Chat, Api::Responses, Api::Messages, Api::Ollama] {
            let mut random = Random::named(7, &format!("{} {api:?}", model.name));
            let mut made = 0;
            while made < rounds {
                let mut client = Client::new(&mut random, api);
                // Also if the first prompt is refused.
                made += 1;
                for _ in 0..4 {
                    let prompt = client.dialogue().and_then(|dialogue| {
                        dialogue.render_for(Ok(&model.template), &tokenizer, &model.format, None)
                    });
                    let prompt = match prompt {
                        Ok(prompt) => prompt,
                        Err(error) => {
                            let line = format!(
                                "{} {api:?}: {}\n   {}",
                                model.name,
                                error.message,
                                Value::from(client.turns)
                            );
                            *wrong.entry(line).or_default() += 1;
                            break;
                        }
                    };
                    if let Some(lost) = client.said.iter().find(|word| !prompt.text.contains(word.as_str())) {
                        let line = format!(
                            "{} {api:?}: {lost} is lost\n   {}",
                            model.name,
                            Value::from(client.turns)
                        );
                        *wrong.entry(line).or_default() += 1;
                        break;
                    }
                    let Reading::Chat { format, .. } = &prompt.reading else { panic!("a chat") };
                    let text = reply(&mut random, format);
                    let updates = updates(&mut random, &prompt.reading, &text);
                    calls += updates
                        .iter()
                        .filter(|u| matches!(u, Update::Piece(ReplyPiece::ToolCall { .. })))
                        .count();
                    client.take(&mut random, &updates);
                    replies += 1;
                }
            }
        }
    }
    (replies, calls, wrong)
}

/// Arguments as models write them, and clients repeat them.
#[test]
fn history_with_arguments_that_are_no_object_is_accepted() {
    let tokenizer = tokenizer();
    let object = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}\
                  <tool_call>{\"name\": \"{{ c.function.name }}\"{% for k, v in c.function.arguments.items() %},{{ k }}={{ v }}{% endfor %}}\
                  </tool_call>{% endfor %}{% endfor %}{{ tools | tojson if tools }}";
    let text = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}\
                <tool_call>{\"name\": \"{{ c.function.name }}\",{{ '' + c.function.arguments }}}</tool_call>{% endfor %}{% endfor %}\
                {{ tools | tojson if tools }}";
    let cases = [
        (json!("{\"city\": \"Rome\", \"days\": "), ",city=Rome}", ",{\"city\": \"Rome\", \"days\": }"),
        (json!("Rome"), "}", ",Rome}"),
        (json!("[1]"), "}", ",[1]}"),
        (json!([1]), "}", ",[1]}"),
        (json!(4), "}", ",4}"),
        (json!(""), "}", ",{}}"),
        (json!("null"), "}", ",{}}"),
        (Value::Null, "}", ",{}}"),
        (json!({"city": "Rome"}), ",city=Rome}", ",{\"city\":\"Rome\"}}"),
    ];
    for (source, form) in [(object, 1), (text, 2)] {
        let template = ChatTemplate::new(source, &tokenizer).unwrap();
        for case in &cases {
            let (arguments, expected) = (&case.0, if form == 1 { case.1 } else { case.2 });
            let call =
                json!({"id": "c", "type": "function", "function": {"name": "look", "arguments": arguments}});
            let chat = [
                json!({"role": "assistant", "tool_calls": [call]}),
                json!({"role": "tool", "tool_call_id": "c", "content": "bad"}),
            ];
            let responses = [
                json!({"type": "function_call", "call_id": "c", "name": "look", "arguments": arguments}),
                json!({"type": "function_call_output", "call_id": "c", "output": "bad"}),
            ];
            let messages = [
                json!({"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "look", "input": arguments}]}),
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "bad"}]}),
            ];
            let ollama = [
                json!({"role": "assistant", "tool_calls": [{"function": {"name": "look", "arguments": arguments}}]}),
                json!({"role": "tool", "tool_name": "look", "content": "bad"}),
            ];
            let all = [
                (Api::Chat, chat),
                (Api::Responses, responses),
                (Api::Messages, messages),
                (Api::Ollama, ollama),
            ];
            for (api, turns) in all {
                let mut client = Client { api, turns: Vec::new(), tools: true, said: Vec::new(), count: 0 };
                client.say();
                client.turns.extend(turns);
                let dialogue =
                    client.dialogue().unwrap_or_else(|error| panic!("{arguments} {api:?}: {error:?}"));
                let prompt =
                    dialogue.render_for(Ok(&template), &tokenizer, &ReplyFormat::of(source), None).unwrap();
                let expected = format!("<tool_call>{{\"name\": \"look\"{expected}</tool_call><tool>bad");
                assert!(
                    prompt.text.contains(&expected),
                    "{arguments} {api:?}: {expected:?} in {:?}",
                    prompt.text
                );
            }
        }
    }
}

fn assert_accepted(rounds: usize) {
    let (replies, calls, wrong) = check(rounds);
    println!("{replies} replies with {calls} calls, {} refused", wrong.values().sum::<usize>());
    let shown: Vec<&str> = wrong.keys().map(String::as_str).take(25).collect();
    assert!(wrong.is_empty(), "{} of {replies} replies:\n{}", wrong.len(), shown.join("\n"));
    assert!(calls > replies / 3, "{calls} calls in {replies} replies");
}

#[test]
fn what_a_reply_contains_is_accepted_when_it_comes_back() {
    assert_accepted(1);
}

#[test]
#[ignore = "slow"]
fn what_ten_thousand_replies_contain_is_accepted() {
    // Four in each conversation.
    let each = 10_000_usize.div_ceil(4 * 4 * templates().len());
    assert_accepted(each);
}
