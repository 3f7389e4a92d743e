//! The chat templates of many models compared with Python's Jinja, by the hashes of their prompts.
//!
//! The messages go to the templates as they are: what `adapt` changes is tested elsewhere. `expect.py MODEL NUMBER` prints
//! what Python makes of a conversation.

use serde_json::Value;
use weft_text::{ChatTemplate, Message, RenderOptions};

use crate::support::{CONTROL, bytes_and};
use crate::template::{message, object, read};

/// Templates and the numbers of conversations whose prompts differ, and why.
const DIFFERENT: &[(&str, &[usize], &str)] = &[];

fn fnv(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3));
    format!("{hash:016x}")[..12].to_owned()
}

#[test]
fn conversations_render_as_in_python() {
    let conversations: Vec<Value> = serde_json::from_str(&read("conversations.json")).unwrap();
    let expected = read("conversations.txt");
    let expected: Vec<(&str, &str)> = expected.lines().filter_map(|line| line.split_once(": ")).collect();
    assert_eq!(expected.len(), 68);
    let special = [("<|im_start|>", CONTROL), ("[INST]", CONTROL)];
    let tokenizer = bytes_and(&special, Some("<s>"), Some("</s>"), None);
    let mut wrong = Vec::new();
    for (names, hashes) in expected {
        // Identical templates are stored once.
        let first = names.split(' ').next().unwrap();
        let template = ChatTemplate::new(&read(&format!("{first}.jinja")), &tokenizer)
            .unwrap_or_else(|error| panic!("{names}: {error}"));
        let hashes: Vec<&str> = hashes.split(' ').collect();
        assert_eq!(hashes.len(), conversations.len());
        for (number, (conversation, expected)) in conversations.iter().zip(hashes).enumerate() {
            let messages: Vec<Message> =
                conversation["messages"].as_array().unwrap().iter().map(message).collect();
            let mut extra = object(&conversation["extra"]);
            let options = RenderOptions {
                add_generation_prompt: extra
                    .remove("add_generation_prompt")
                    .is_none_or(|value| value.as_bool().unwrap()),
                now: Some(1_709_210_096),
                extra,
            };
            let found = template.render(&messages, &options);
            let hash = found.as_ref().map_or_else(|_| "-".to_owned(), |prompt| fnv(prompt.text()));
            // Templates for conversations with tools get an empty list where there are none.
            let expected = expected.trim_start_matches('~');
            let listed =
                DIFFERENT.iter().any(|(name, numbers, _)| *name == names && numbers.contains(&number));
            if (hash == expected) == listed {
                let found = found.map_or_else(|error| error.to_string(), |prompt| prompt.text().to_owned());
                wrong.push(format!("--- {names}, {number}: expected {expected}, found {hash}\n{found}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
