//! Texts that a model continues as they are, without a conversation around them: for completions, `/infill` and Ollama's `raw`.

use std::sync::Arc;

use weft_engine::EncodeOptions;
use weft_grammar::{GrammarSpec, Reasoning};

use super::dialogue::{OutputFormat, check_length};
use super::gap::Gap;
use super::sampling::Parameters;
use super::submit::{Ask, constraints, submit};
use crate::app::App;
use crate::error::{ApiError, Kind};
use crate::models::Loaded;
use crate::reply::{Reading, Replies};
use crate::tenant::Tenant;

/// The text that a model continues.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Plain {
    /// A text, in which control tokens are parsed.
    Text(String),
    /// Tokens.
    Tokens(Vec<u32>),
    /// Texts before and after a gap. The last is the field that asks for it.
    Gap(Gap, &'static str),
}

/// How texts are continued.
pub(super) struct Continuation {
    /// The texts.
    pub(super) texts: Vec<Plain>,
    /// The number of replies to each.
    pub(super) n: usize,
    /// The form of the replies.
    pub(super) format: Option<OutputFormat>,
    /// How replies are generated.
    pub(super) parameters: Parameters,
    /// Where the text and the form are in the request, for errors.
    pub(super) fields: [&'static str; 2],
}

/// Continues texts.
///
/// # Errors
/// If one does not fit the context or has no tokens, the form cannot be enforced, or the server is busy.
pub(super) async fn continued(
    app: &App,
    tenant: &Tenant,
    model: &Arc<Loaded>,
    what: Continuation,
) -> Result<Replies, ApiError> {
    let Continuation { texts, n, format, parameters, fields } = what;
    let [text, form] = fields;
    let moved = |error: ApiError| error.moved(&[("messages", text), ("response_format", form)]);
    let theirs = Arc::clone(model);
    let encoded = tokio::task::spawn_blocking(move || {
        texts.into_iter().map(|text| tokens(&theirs, text)).collect::<Result<Vec<_>, ApiError>>()
    });
    let encoded = encoded.await.map_err(|_| ApiError::new(Kind::Internal, "the tokenizer panicked"))?;
    let prompts = encoded.map_err(moved)?;
    if prompts.iter().any(Vec::is_empty) {
        return Err(ApiError::invalid(text, format!("{text}: expected at least one token, found none")));
    }
    let spec =
        GrammarSpec { reasoning: Reasoning::None, text: OutputFormat::spec(format.as_ref()), calls: None };
    let count = prompts.len() * n;
    let constraints = constraints(model, spec, count, String::new()).await.map_err(moved)?;
    let Parameters { options, seeded } = parameters;
    let ask = Ask { prompts, n, options, seeded, constraints, budgets: Vec::new(), reading: Reading::Plain };
    submit(app, tenant, model, ask).map_err(moved)
}

/// The tokens of a text.
fn tokens(model: &Loaded, text: Plain) -> Result<Vec<u32>, ApiError> {
    let (tokenizer, context) = (&*model.facts.tokenizer, model.facts.context);
    match text {
        Plain::Text(text) => {
            check_length(tokenizer, &text, context)?;
            Ok(tokenizer.encode(&text, EncodeOptions { parse_special: true, add_special: true }))
        }
        Plain::Tokens(tokens) => Ok(tokens),
        Plain::Gap(gap, field) => {
            gap.check_length(tokenizer, context)?;
            gap.tokens(tokenizer, field)
        }
    }
}
