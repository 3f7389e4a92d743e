//! The grammar of a whole reply: reasoning, text, calls.

use serde_json::Value;
use weft_text::Tokenizer;

use crate::calls::{self, Calls, Opening};
use crate::error::{GrammarError, Place};
use crate::gbnf;
use crate::given;
use crate::harmony;
use crate::lark::{Lark, mark, quoted};
use crate::limits;
use crate::schema::{Mode, Schemas, check, whole};
use crate::spec::{Begun, CallForm, GrammarSpec, Reasoning, TextSpec, ToolChoice};
use crate::vocabulary::Mark;

/// Writes the grammar of a reply.
///
/// # Errors
/// If a schema or tool cannot be expressed.
pub(super) fn grammar(spec: &GrammarSpec, tokenizer: &Tokenizer) -> Result<String, GrammarError> {
    if let GrammarSpec { reasoning: Reasoning::None, text: TextSpec::Grammar(text), calls: None } = spec {
        return in_lark(text);
    }
    let mut lark = Lark::new();
    let text = text(&mut lark, &spec.text)?;
    let calls = spec.calls.as_ref().map(|calls| calls::rules(&mut lark, tokenizer, calls)).transpose()?;
    let choice = spec.calls.as_ref().map(|calls| &calls.choice);
    let begun = match spec.reasoning {
        Reasoning::Messages { begun } => Some(begun),
        _ => spec.calls.as_ref().filter(|calls| calls.form == CallForm::Harmony).map(|_| Begun::Header),
    };
    if let Some(begun) = begun {
        let reply = harmony::reply(&mut lark, tokenizer, begun, &spec.text, text, calls.as_ref().zip(choice));
        return lark.finish(&reply);
    }
    let never: Vec<&Mark> = match calls.as_ref().map(|calls| &calls.opening) {
        Some(Opening::Mark { begin, never }) => never.iter().chain([begin]).collect(),
        _ => Vec::new(),
    };
    // Where the text is exact, whitespace is allowed only after reasoning.
    let (space, after) = match &spec.text {
        TextSpec::Pattern(_) | TextSpec::Choice(_) | TextSpec::Grammar(_) => ("", "WS? "),
        _ => ("WS? ", ""),
    };
    let reply = match (text, &calls, choice) {
        (Some(text), None, _) => format!("{space}{text}"),
        (Some(text), Some(calls), Some(ToolChoice::Auto)) => format!("{space}({text} | {})", complete(calls)),
        (None, Some(calls), Some(ToolChoice::Auto)) => {
            let free = match &calls.opening {
                Opening::Mark { begin, .. } => {
                    let before = lark.text_until(begin, &never);
                    format!("{} | {before} {}", lark.text(&never), calls.calls)
                }
                Opening::Brace { text } => format!("{text} | WS? {}", calls.calls),
                Opening::Header => calls.calls.clone(),
            };
            // A reply may be empty.
            format!("({free})?")
        }
        (_, Some(calls), _) => format!("WS? {}", complete(calls)),
        (None, None, _) => lark.text(&[]) + "?",
    };
    let of = |text: &str| Mark::of(text, tokenizer);
    let start = match &spec.reasoning {
        Reasoning::None | Reasoning::Messages { .. } => reply,
        Reasoning::Open { end } => {
            let until = lark.text_until(&of(end), &never);
            let required = spec.text != TextSpec::Free || choice != Some(&ToolChoice::Auto);
            // A reply that may be free text may also end before its reasoning does.
            if required {
                format!("{until} {after}{}", lark.rule(&reply))
            } else {
                format!("({until})? {}", lark.rule(&reply))
            }
        }
        Reasoning::Optional { begin, end } => {
            let until = lark.text_until(&of(end), &never);
            format!("(WS? {} {until} {after})? {}", mark(&of(begin)), lark.rule(&reply))
        }
    };
    lark.finish(&start)
}

/// The calls with the mark that opens them.
fn complete(calls: &Calls) -> String {
    match &calls.opening {
        Opening::Mark { begin, .. } => format!("{} {}", mark(begin), calls.calls),
        Opening::Brace { .. } | Opening::Header => calls.calls.clone(),
    }
}

/// The rule of the reply's text, unless that is free.
fn text(lark: &mut Lark, spec: &TextSpec) -> Result<Option<String>, GrammarError> {
    let object = serde_json::json!({"type": "object"});
    let schema: &Value = match spec {
        TextSpec::Free => return Ok(None),
        TextSpec::JsonObject => &object,
        TextSpec::JsonSchema(schema) => schema,
        TextSpec::Pattern(pattern) => {
            let refused = |why: String| GrammarError::new(Place::Request, "", why);
            let whole = whole(pattern).ok_or_else(|| {
                refused("the pattern is not supported: expected anchors only at its ends".to_owned())
            })?;
            check(pattern).map_err(refused)?;
            return Ok(Some(lark.rule(&format!("/{whole}/"))));
        }
        TextSpec::Choice(texts) => return choice(lark, texts).map(Some),
        TextSpec::Grammar(text) => return Ok(Some(lark.nested(&in_lark(text)?))),
    };
    let mut schemas = Schemas::new();
    let reduced = schemas.add(schema, Place::Schema, Mode::Exact)?;
    Ok(Some(lark.json(|| schemas.document(&reduced))))
}

/// A grammar of a request in Lark.
fn in_lark(text: &str) -> Result<String, GrammarError> {
    if text.len() > limits::SCHEMA_BYTES {
        let (most, found) = (limits::SCHEMA_BYTES, text.len());
        let message = format!("expected a grammar of at most {most} bytes, found {found}");
        return Err(GrammarError::new(Place::Request, "", message));
    }
    if gbnf::is_gbnf(text) {
        return gbnf::to_lark(text);
    }
    given::check(text)?;
    Ok(text.to_string())
}

/// The rule for one of a few texts.
fn choice(lark: &mut Lark, texts: &[String]) -> Result<String, GrammarError> {
    let refused = |why: String| GrammarError::new(Place::Request, "", why);
    let most = limits::ENUM_VALUES;
    if texts.is_empty() || texts.len() > most {
        return Err(refused(format!("expected 1 to {most} texts to choose from, found {}", texts.len())));
    }
    let most = limits::NAME_BYTES;
    if let Some(long) = texts.iter().find(|text| text.len() > most) {
        return Err(refused(format!(
            "expected texts of at most {most} bytes to choose from, found one of {}",
            long.len()
        )));
    }
    let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    Ok(lark.rule(&texts.join(" | ")))
}
