//! The common part of embeddings and reranking: inputs become tokens, and a model computes values of each, all in one batch.

use std::sync::Arc;

use serde_json::Value;
use weft_engine::{Adapted, EncodeOptions, Event, Finish, Head, Request, Tokenizer};

use super::dialogue::check_length;
use super::sampling::token_ids;
use super::submit::queue;
use crate::app::App;
use crate::error::{ApiError, Kind};
use crate::json::expected_at;
use crate::models::Loaded;
use crate::tenant::Tenant;
use crate::worker::Signal;

/// A text, or its tokens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Input {
    /// A text, to which the tokenizer adds what the model wants at the beginning and the end. It contains no control tokens.
    Text(String),
    /// Tokens, as they are.
    Tokens(Vec<u32>),
}

/// Reads inputs in the forms of OpenAI: a text, texts, the tokens of a text, or lists of these.
///
/// # Errors
/// If they have another form, there are none, or more than `most`.
pub(super) fn inputs(path: &str, value: &Value, most: usize, vocab: usize) -> Result<Vec<Input>, ApiError> {
    const EXPECTED: &str = "a string, an array of strings, an array of token ids, or an array of such arrays";
    let items = match value {
        Value::String(text) => return Ok(vec![Input::Text(text.clone())]),
        Value::Array(items) => items,
        other => return Err(expected_at(path, EXPECTED, other)),
    };
    if matches!(items.first(), Some(Value::Number(_))) {
        return Ok(vec![Input::Tokens(token_ids(path, items, vocab)?)]);
    }
    check_count(path, items.len(), most)?;
    let one = |(i, item): (usize, &Value)| {
        let path = format!("{path}[{i}]");
        match item {
            Value::String(text) => Ok(Input::Text(text.clone())),
            Value::Array(ids) => Ok(Input::Tokens(token_ids(&path, ids, vocab)?)),
            other => Err(expected_at(&path, "a string or an array of token ids", other)),
        }
    };
    items.iter().enumerate().map(one).collect()
}

/// Checks the number of inputs of a request.
///
/// # Errors
/// If there are none, or more than `most`.
pub(super) fn check_count(path: &str, count: usize, most: usize) -> Result<(), ApiError> {
    if count == 0 {
        return Err(ApiError::invalid(path, format!("{path} is empty: expected at least one text")));
    }
    if count > most {
        let message = format!(
            "{path}: expected at most {most} texts, found {count}; send them in several requests, or start the server with a larger \
             --max-inputs"
        );
        return Err(ApiError::invalid(path, message));
    }
    Ok(())
}

/// The tokens of an input. With `cut`, those that do not fit the context are left out, except for the one that ends a text.
///
/// # Errors
/// If there are none, or more than the context has room for. `path` is the field at fault.
pub(super) fn tokens(model: &Loaded, path: &str, input: Input, cut: bool) -> Result<Vec<u32>, ApiError> {
    let (tokenizer, context) = (&*model.facts.tokenizer, model.facts.context);
    let tokens = match input {
        Input::Tokens(tokens) => tokens,
        Input::Text(text) if cut => beginning(tokenizer, &text, context),
        Input::Text(text) => {
            check_length(tokenizer, &text, context).map_err(|error| at(error, path))?;
            encode(tokenizer, &text)
        }
    };
    if tokens.is_empty() {
        return Err(ApiError::invalid(path, format!("{path} has no tokens: expected at least one")));
    }
    check_tokens(path, &tokens, context)?;
    Ok(tokens)
}

/// Checks the number of tokens of an input.
///
/// # Errors
/// If there are more than the context has room for.
pub(super) fn check_tokens(path: &str, tokens: &[u32], context: usize) -> Result<(), ApiError> {
    if tokens.len() > context { Err(at(ApiError::context(tokens.len(), context), path)) } else { Ok(()) }
}

/// Says at which field an error is.
pub(super) fn at(error: ApiError, path: &str) -> ApiError {
    ApiError { param: Some(path.to_string()), ..error }
}

fn encode(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
    tokenizer.encode(text, EncodeOptions { parse_special: false, add_special: true })
}

/// The first `most` tokens of a text; the last of them is the one that the tokenizer adds at the end, if it does.
fn beginning(tokenizer: &Tokenizer, text: &str, most: usize) -> Vec<u32> {
    /// No token of a text has more bytes on average.
    const LONGEST: usize = 256;
    let text = &text[..text.floor_char_boundary(most.saturating_mul(LONGEST))];
    let mut tokens = encode(tokenizer, text);
    if tokens.len() > most {
        tokens.truncate(most);
        let added = encode(tokenizer, "");
        let end = added.get(usize::from(tokenizer.added_bos().is_some()));
        if let (Some(end), Some(last)) = (end, tokens.last_mut()) {
            *last = *end;
        }
    }
    tokens
}

/// The tokens of the inputs of a request so far.
#[derive(Debug)]
pub(super) struct Budget {
    most: usize,
    used: usize,
}

impl Budget {
    /// As many as may wait.
    pub(super) fn new(app: &App) -> Budget {
        Budget { most: app.limits.queue_tokens, used: 0 }
    }

    /// Adds those of an input.
    ///
    /// # Errors
    /// If they are too many.
    pub(super) fn add(&mut self, path: &str, tokens: usize) -> Result<(), ApiError> {
        self.used = self.used.saturating_add(tokens);
        if self.used <= self.most {
            return Ok(());
        }
        let most = self.most;
        let message = format!(
            "{path}: the inputs up to this one have {} tokens, and a request may have {most}; send them in several requests, or start \
             the server with a larger --queue-tokens",
            self.used
        );
        Err(ApiError::invalid(path, message))
    }

    /// Their number.
    pub(super) fn used(&self) -> usize {
        self.used
    }
}

/// Refuses a model that computes no embeddings.
///
/// # Errors
/// If it computes none.
pub(super) fn embeds(model: &Loaded) -> Result<(), ApiError> {
    let does = match model.facts.head {
        Head::Embedding(_) => return Ok(()),
        Head::Logits => "writes text",
        Head::Scores { .. } => "ranks documents",
    };
    let message = format!(
        "`{}` {does} and has no embeddings: name an embedding model, such as Qwen3-Embedding, which the server must have been started \
         with (--model NAME=MODEL)",
        model.name
    );
    Err(ApiError::invalid("model", message).code("model_not_supported"))
}

/// Has a model compute values of each request: many of them in each step, so that it reads its weights less often.
///
/// # Errors
/// If the server is busy, or the model fails.
pub(super) async fn compute(
    app: &App,
    tenant: &Tenant,
    model: &Arc<Loaded>,
    requests: Vec<Request>,
    prompt_tokens: usize,
) -> Result<Vec<Vec<f32>>, ApiError> {
    let mut left = requests.len();
    let mut outputs = vec![Vec::new(); left];
    let request = |request: Request| {
        let request = request.salt(tenant.salt());
        match &model.defaults.adapter {
            Some(Adapted { adapter, scale }) => request.adapter(adapter.clone(), *scale),
            None => request,
        }
    };
    let requests = requests.into_iter().map(request).collect();
    let mut signals = queue(app, tenant, model, requests, [prompt_tokens, 0])?;
    while left > 0 {
        match signals.recv().await {
            None => {
                let message = "the model stopped before it had computed all inputs";
                return Err(ApiError::new(Kind::Internal, message));
            }
            Some(Signal::Refused(error)) => return Err(error),
            Some(Signal::Event { choice, event: Event::Output(values) }) => outputs[choice] = values,
            Some(Signal::Event { .. }) => {}
            Some(Signal::Ended { finish: Finish::Failed(why), .. }) => {
                return Err(ApiError::new(Kind::Internal, why.to_string()));
            }
            Some(Signal::Ended { .. }) => left -= 1,
        }
    }
    Ok(outputs)
}

/// Values as JSON numbers with as few digits as tell them apart.
pub(super) fn numbers(values: &[f32]) -> Value {
    values.iter().map(|value| number(*value)).collect()
}

/// A value as a JSON number.
pub(super) fn number(value: f32) -> Value {
    value.to_string().parse::<f64>().unwrap_or(f64::from(value)).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn inputs_have_the_forms_of_openai() {
        let read = |value: Value| inputs("input", &value, 3, 10).map_err(|error| error.message);
        let text = |text: &str| Input::Text(text.into());
        assert_eq!(read(json!("a")), Ok(vec![text("a")]));
        assert_eq!(read(json!(["a", "b"])), Ok(vec![text("a"), text("b")]));
        assert_eq!(read(json!([1, 9, 2, 4])), Ok(vec![Input::Tokens(vec![1, 9, 2, 4])]));
        let lists = vec![Input::Tokens(vec![1]), Input::Tokens(Vec::new())];
        assert_eq!(read(json!([[1], []])), Ok(lists));
        for (wrong, why) in [
            (json!([]), "input is empty: expected at least one text"),
            (json!([1, 10]), "input[1]: expected a token id from 0 to 9, found 10"),
            (json!([[-1]]), "input[0][0]: expected a token id from 0 to 9, found -1"),
            (json!(["a", 3]), "input[1]: expected a string or an array of token ids, found 3"),
            (
                json!({}),
                "input: expected a string, an array of strings, an array of token ids, or an array of such arrays, found an object",
            ),
        ] {
            assert_eq!(read(wrong), Err(why.to_string()));
        }
        assert!(
            read(json!(["a", "b", "c", "d"]))
                .unwrap_err()
                .starts_with("input: expected at most 3 texts, found 4")
        );
    }

    #[test]
    fn numbers_are_written_with_few_digits_and_read_back_as_they_were() {
        let values = [0.1, -1.0 / 3.0, f32::MIN_POSITIVE, 0.0];
        let text = numbers(&values).to_string();
        assert!(text.starts_with("[0.1,-0.33333334,"), "{text}");
        let read: Vec<f64> = serde_json::from_str(&text).unwrap();
        assert_eq!(read.iter().map(|value| *value as f32).collect::<Vec<_>>(), values);
    }
}
