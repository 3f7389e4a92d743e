//! Support that the tests of grammars share: models' tokenizers, and replies fed and sampled token by token.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use weft_engine::{EncodeOptions, LogitProcessor, Tokenizer};
use weft_gguf::Gguf;
use weft_random::Random;

use crate::{
    CallForm, CallSpec, Callable, GrammarError, GrammarSpec, Grammars, Reasoning, TextSpec, ToolChoice,
};

/// A model of the fixtures with its grammars.
pub(super) struct Model {
    pub(super) tokenizer: Arc<Tokenizer>,
    pub(super) grammars: Grammars,
}

/// The model of a fixture.
pub(super) fn model(name: &str) -> Model {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name).with_extension("gguf");
    of_file(&path)
}

pub(super) fn of_file(path: &Path) -> Model {
    let file = Gguf::open(path).unwrap();
    let tokenizer = Arc::new(weft_engine::tokenizer(file.metadata()).unwrap());
    Model { grammars: Grammars::new(tokenizer.clone()), tokenizer }
}

pub(super) const GLM: &str = "glm-tiny-q4_0";
pub(super) const QWEN: &str = "qwen3-tiny-q4_0";
pub(super) const GPT_OSS: &str = "gpt-oss-tiny-mxfp4";
pub(super) const DEEPSEEK: &str = "ds2-tiny-q4_0";

/// The result of feeding a reply to a grammar.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fed {
    /// All of it was allowed, and it may end here.
    Complete,
    /// All of it was allowed, but it may not end here.
    Incomplete,
    /// The text after this many bytes was not allowed.
    Refused(usize),
}

impl Model {
    pub(super) fn compile(&self, spec: &GrammarSpec) -> Result<Box<dyn LogitProcessor>, GrammarError> {
        Ok(self.grammars.compile(spec)?.expect("the specification constrains the reply"))
    }

    /// Feeds a reply, cut into tokens as the tokenizer does.
    pub(super) fn feed(&self, spec: &GrammarSpec, text: &str) -> Fed {
        let mut processor = self.compile(spec).unwrap();
        self.feed_to(&mut *processor, text)
    }

    pub(super) fn feed_to(&self, processor: &mut dyn LogitProcessor, text: &str) -> Fed {
        let options = EncodeOptions { parse_special: true, add_special: false };
        let tokens = self.tokenizer.encode(text, options);
        assert_eq!(self.tokenizer.decode(&tokens, false), text, "the tokenizer can spell the text");
        // The prompt is not read.
        let mut so_far = vec![0, 1, 2];
        let mut bytes = 0;
        for &token in &tokens {
            if self.allowed(processor, &so_far)[token as usize] == f32::NEG_INFINITY {
                return Fed::Refused(bytes);
            }
            // Both ways in which the engine reports a token.
            if so_far.len() % 2 == 0 {
                processor.chosen(token);
            }
            so_far.push(token);
            bytes += self.tokenizer.token_bytes(token).len();
        }
        let end = self
            .tokenizer
            .end_of_generation()
            .iter()
            .map(|&end| self.allowed(processor, &so_far)[end as usize]);
        let ends: Vec<bool> = end.map(|logit| logit == 0.0).collect();
        assert!(ends.windows(2).all(|pair| pair[0] == pair[1]), "all ends are allowed, or none");
        if ends[0] { Fed::Complete } else { Fed::Incomplete }
    }

    /// Logits of 0, and of −∞ for tokens that are not allowed.
    fn allowed(&self, processor: &mut dyn LogitProcessor, tokens: &[u32]) -> Vec<f32> {
        // As models have them: more rows than tokens.
        let mut logits = vec![0.0; self.tokenizer.vocab_len() + 5];
        processor.process(tokens, 3, &mut logits).unwrap();
        assert!(logits[self.tokenizer.vocab_len()..].iter().all(|&logit| logit == f32::NEG_INFINITY));
        logits
    }

    /// Samples a reply at random. `None` if it has not ended after `most` tokens.
    ///
    /// Tokens with marks of JSON and markup are preferred now and then: otherwise strings would hardly ever end.
    pub(super) fn sample(&self, spec: &GrammarSpec, random: &mut Random, most: usize) -> Option<String> {
        let mut processor = self.compile(spec).unwrap();
        let mut tokens = vec![0, 1, 2];
        let marks = |&id: &u32| {
            self.tokenizer.is_end_of_generation(id)
                || matches!(self.tokenizer.token_bytes(id), [b'"' | b'}' | b']' | b'<', ..])
        };
        for _ in 0..most {
            let logits = self.allowed(&mut *processor, &tokens);
            let all: Vec<u32> =
                (0..self.tokenizer.vocab_len() as u32).filter(|&id| logits[id as usize] == 0.0).collect();
            let preferred: Vec<u32> = all.iter().copied().filter(marks).collect();
            let from = if !preferred.is_empty() && random.below(2) == 0 { &preferred } else { &all };
            let token = from[random.below(from.len())];
            if self.tokenizer.is_end_of_generation(token) {
                return Some(self.tokenizer.decode(&tokens[3..], false));
            }
            if random.below(2) == 0 {
                processor.chosen(token);
            }
            tokens.push(token);
        }
        None
    }
}

/// The reply is JSON by this schema.
pub(super) fn schema(schema: Value) -> GrammarSpec {
    GrammarSpec { reasoning: Reasoning::None, text: TextSpec::JsonSchema(schema), calls: None }
}

/// The reply may or must call tools.
pub(super) fn calls(form: CallForm, tools: &[(&str, Value)], choice: ToolChoice) -> GrammarSpec {
    let tools = tools
        .iter()
        .map(|(name, parameters)| Callable {
            name: (*name).into(),
            parameters: parameters.clone(),
            strict: true,
        })
        .collect();
    let calls = Some(CallSpec { form, tools, choice, parallel: true });
    GrammarSpec { reasoning: Reasoning::None, text: TextSpec::Free, calls }
}
