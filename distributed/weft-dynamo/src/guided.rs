//! Guided decoding: replies of a form that the client asks for, as the engine's masks over the next token.

use dynamo_backend_common::{DynamoError, GuidedDecodingOptions};
use serde_json::Value;
use weft_engine::{LogitProcessor, Tokenizer};
use weft_grammar::{ReplyForm, ReplyForms};

use crate::{failed, refused};

/// The tokens at the end of a prompt that say whether it begins the reply's reasoning.
const END: usize = 64;

/// Compiles the form that a request asks for; `None` if replies are free. Takes up to seconds.
///
/// `reasons` is whether the front end takes reasoning out of replies. Then the form begins after it.
///
/// # Errors
/// If the form cannot be enforced. Nothing is ignored.
pub fn processor(
    asked: &GuidedDecodingOptions,
    prompt: &[u32],
    forms: &ReplyForms,
    tokenizer: &Tokenizer,
    reasons: bool,
) -> Result<Option<Box<dyn LogitProcessor>>, DynamoError> {
    let Some(form) = form(asked)? else { return Ok(None) };
    let template = tokenizer.chat_template().filter(|_| reasons);
    let end = tokenizer.decode(&prompt[prompt.len().saturating_sub(END)..], false);
    let processor = forms.processor(&form, template.map(|template| (template, &*end)));
    let processor = processor.map_err(|why| {
        let message = format!("guided decoding: {why}");
        if why.server { failed(message) } else { refused(message) }
    })?;
    Ok(Some(processor))
}

/// The form that the options name. Which library enforces it (`backend`) is this engine's own choice.
fn form(asked: &GuidedDecodingOptions) -> Result<Option<ReplyForm>, DynamoError> {
    asked.validate().map_err(refused)?;
    let GuidedDecodingOptions { json, regex, choice, grammar, whitespace_pattern, structural_tag, .. } =
        asked;
    if structural_tag.is_some() {
        return Err(refused(
            "guided decoding: this worker has no structural tags; use a schema, regex or grammar",
        ));
    }
    if whitespace_pattern.is_some() {
        return Err(refused("guided decoding: whitespace_pattern cannot be set; use a regex or grammar"));
    }
    let json = json.as_ref().filter(|json| !json.is_null());
    let choice = choice.as_ref().filter(|texts| !texts.is_empty());
    Ok(match (json, regex, choice, grammar) {
        // The schema, or its text.
        (Some(Value::String(text)), ..) => {
            let schema = serde_json::from_str(text);
            let schema =
                schema.map_err(|why| refused(format!("guided decoding: json is not JSON: {why}")))?;
            Some(ReplyForm::Schema(schema))
        }
        (Some(schema), ..) => Some(ReplyForm::Schema(schema.clone())),
        (_, Some(regex), ..) => Some(ReplyForm::Pattern(regex.clone())),
        (_, _, Some(texts), _) => Some(ReplyForm::Choice(texts.clone())),
        (.., Some(grammar)) => Some(ReplyForm::Grammar(grammar.clone())),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(asked: Value) -> Result<Option<ReplyForm>, String> {
        form(&serde_json::from_value(asked).unwrap()).map_err(|why| why.to_string())
    }

    #[test]
    fn each_option_is_a_form() {
        let schema = json!({ "type": "object" });
        assert_eq!(read(json!({ "json": schema })), Ok(Some(ReplyForm::Schema(schema.clone()))));
        assert_eq!(read(json!({ "json": schema.to_string() })), Ok(Some(ReplyForm::Schema(schema))));
        assert_eq!(
            read(json!({ "regex": "a+", "backend": "any" })),
            Ok(Some(ReplyForm::Pattern("a+".into())))
        );
        let texts = vec!["a".to_string(), "b".to_string()];
        assert_eq!(read(json!({ "choice": texts })), Ok(Some(ReplyForm::Choice(texts))));
        assert_eq!(
            read(json!({ "grammar": "start: /a/" })),
            Ok(Some(ReplyForm::Grammar("start: /a/".into())))
        );
        assert_eq!(read(json!({ "choice": [] })), Ok(None));
        assert_eq!(read(json!({})), Ok(None));
    }

    #[test]
    fn what_cannot_be_enforced_is_refused_by_name() {
        for (asked, why) in [
            (json!({ "structural_tag": {} }), "no structural tags"),
            (json!({ "json": {}, "whitespace_pattern": " " }), "whitespace_pattern"),
            (json!({ "json": "{" }), "not JSON"),
            (json!({ "json": {}, "regex": "a" }), "Only one"),
        ] {
            let error = read(asked).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
