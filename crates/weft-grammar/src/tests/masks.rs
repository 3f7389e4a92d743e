//! Masks: against brute force, in both ways of telling tokens, and after the end.

use serde_json::json;

use super::support::{Fed, GLM, QWEN, model, schema};

#[test]
fn masks_are_those_of_brute_force() {
    let model = model(QWEN);
    let document = json!({"type": "object", "properties": {"n": {"enum": ["ab", "abc", 12, 1]}}, "required": ["n"],
        "additionalProperties": false});
    let texts = ["{\"n\":\"ab\"}", "{\"n\":\"abc\"}", "{\"n\":12}", "{\"n\":1}"];
    // By definition: a token is allowed if the reply with it is the beginning of a valid text.
    let grows = |text: &[u8]| {
        let spaceless: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
        texts.iter().any(|whole| whole.as_bytes().starts_with(&spaceless))
    };
    let spec = schema(document);
    for reply in texts {
        let mut processor = model.compile(&spec).unwrap();
        let mut tokens = vec![];
        let mut bytes: Vec<u8> = vec![];
        for byte in reply.bytes() {
            let mut logits = vec![0.0; model.tokenizer.vocab_len()];
            processor.process(&tokens, 0, &mut logits).unwrap();
            for id in 0..model.tokenizer.vocab_len() as u32 {
                let token = model.tokenizer.token_bytes(id);
                // Where whitespace may be is another test's matter; numbers can also have a fraction.
                let other = |byte: &u8| {
                    byte.is_ascii_whitespace() || matches!(byte, b'.' | b'e' | b'E' | b'-' | b'+')
                };
                if token.iter().any(other) || model.tokenizer.is_control(id) {
                    continue;
                }
                let expected = !token.is_empty() && grows(&[&bytes, token].concat());
                assert_eq!(
                    logits[id as usize] == 0.0,
                    expected,
                    "{:?} + {token:?}",
                    String::from_utf8_lossy(&bytes)
                );
            }
            let token = model.tokenizer.find(&char::from(byte).to_string()).unwrap();
            tokens.push(token);
            bytes.push(byte);
        }
    }
}

#[test]
fn only_ends_follow_the_end() {
    let model = model(GLM);
    let ends = model.tokenizer.end_of_generation();
    assert!(ends.len() > 1, "GLM has several");
    let spec = schema(json!({"const": true}));
    let mut processor = model.compile(&spec).unwrap();
    assert_eq!(model.feed_to(&mut *processor, "true"), Fed::Complete);
    let tokens = [&[0, 1, 2], &*model.tokenizer.encode("true", Default::default())].concat();
    let mut logits = vec![0.0; model.tokenizer.vocab_len()];
    processor.process(&tokens, 3, &mut logits).unwrap();
    for (id, logit) in (0..).zip(&logits) {
        assert_eq!(*logit == 0.0, ends.contains(&id), "{id}");
    }
    // A generation that continues after its end gets no other.
    let tokens = [&*tokens, &ends[..1]].concat();
    let mut logits = vec![0.0; model.tokenizer.vocab_len()];
    processor.process(&tokens, 3, &mut logits).unwrap();
    assert_eq!(logits.iter().filter(|&&logit| logit == 0.0).count(), ends.len());
}

#[test]
fn a_foreign_token_fails_this_generation_only() {
    let model = model(QWEN);
    let spec = schema(json!({"type": "boolean"}));
    let [mut one, mut other] = [(); 2].map(|()| model.compile(&spec).unwrap());
    let x = model.tokenizer.find("x").unwrap();
    let mut logits = vec![0.0; model.tokenizer.vocab_len()];
    one.chosen(x);
    for _ in 0..2 {
        let why = one.process(&[x], 0, &mut logits).unwrap_err();
        assert!(why.contains("which the grammar does not allow"), "{why}");
    }
    assert_eq!(model.feed_to(&mut *other, "true"), Fed::Complete);
}

#[test]
fn masks_do_not_depend_on_how_tokens_are_told() {
    let model = model(QWEN);
    let spec = schema(json!({"type": "array", "items": {"type": "string"}}));
    let reply = model.tokenizer.encode("[\"a\", \"b c\"", Default::default());
    let masks = |told: usize| {
        let mut processor = model.compile(&spec).unwrap();
        let mut all = vec![];
        for end in 0..=reply.len() {
            if end > 0 && end % 3 < told {
                processor.chosen(reply[end - 1]);
            }
            // Not asked for every time, as when a step has no sampled token.
            if end % 4 != 1 || end == reply.len() {
                let mut logits = vec![0.0; model.tokenizer.vocab_len()];
                processor.process(&reply[..end], 0, &mut logits).unwrap();
                all.push((end, logits));
            }
        }
        all
    };
    let never = masks(0);
    assert_eq!(never, masks(3));
}
