//! `/v1/rerank`, in the forms of Jina and Cohere: documents in the order of how relevant they are to a query.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json};
use weft_engine::{Ranking, Request};

use super::dialogue::check_length;
use super::lora;
use super::pooled::{Budget, at, check_count, check_tokens, compute, number};
use super::submit::model;
use crate::app::App;
use crate::error::{ApiError, Kind};
use crate::http::{JsonBody, answer, new_id};
use crate::ignored::Ignored;
use crate::json::{Fields, expected_at};
use crate::models::Loaded;
use crate::tenant::Tenant;

/// A request of `/v1/rerank`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RerankRequest {
    query: String,
    documents: Vec<String>,
    /// The most documents of the answer.
    top: usize,
    /// Whether the answer has the texts of documents.
    texts: bool,
}

impl RerankRequest {
    /// Reads a request of at most `most` documents.
    ///
    /// # Errors
    /// If a field is missing, wrong or not supported.
    pub(crate) fn read(body: &Value, most: usize, ignored: &Ignored) -> Result<RerankRequest, ApiError> {
        let mut fields = Fields::of(body, "", ignored)?;
        fields.text("model")?;
        let query = fields.required_text("query")?.to_string();
        let documents = fields.required("documents", "an array of strings, or of objects with a `text`")?;
        let Value::Array(items) = documents else {
            return Err(expected_at(
                "documents",
                "an array of strings, or of objects with a `text`",
                documents,
            ));
        };
        check_count("documents", items.len(), most)?;
        let documents = items.iter().enumerate().map(|(i, item)| document(i, item, ignored));
        let documents = documents.collect::<Result<Vec<_>, ApiError>>()?;
        let top = fields.count("top_n", 1..=usize::MAX)?.unwrap_or(usize::MAX);
        let texts = fields.flag("return_documents")?.unwrap_or(false);
        let only = [json!(["text"]), json!([])];
        fields.refuse(
            "rank_fields",
            &only,
            "documents are ranked by their `text`; join other fields to it",
        )?;
        fields.refuse("lora", &[json!([])], lora::BY_NAME)?;
        fields.end()?;
        Ok(RerankRequest { query, documents, top, texts })
    }
}

fn document(i: usize, item: &Value, ignored: &Ignored) -> Result<String, ApiError> {
    let path = format!("documents[{i}]");
    match item {
        Value::String(text) => Ok(text.clone()),
        Value::Object(_) => {
            let mut fields = Fields::of(item, path, ignored)?;
            let text = fields.required_text("text")?.to_string();
            fields.end()?;
            Ok(text)
        }
        other => Err(expected_at(&path, "a string or an object with a `text`", other)),
    }
}

/// How the model ranks.
///
/// # Errors
/// If it does not.
fn ranking(model: &Loaded) -> Result<&Ranking, ApiError> {
    model.facts.ranking.as_ref().ok_or_else(|| {
        let message = format!(
            "`{}` ranks no documents: name a reranker, such as Qwen3-Reranker, which the server must have been started with (--model \
             NAME=MODEL)",
            model.name
        );
        ApiError::invalid("model", message).code("model_not_supported")
    })
}

/// Ranks documents.
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Extension(tenant): Extension<Tenant>,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let model = model(&app, &body).await?;
    let ranking = ranking(&model)?;
    let ignored = Ignored::new(app.strict);
    let request = RerankRequest::read(&body, app.limits.inputs, &ignored)?;
    let (top, texts) = (request.top, request.texts);
    let (theirs, budget) = (Arc::clone(&model), Budget::new(&app));
    let encoded = tokio::task::spawn_blocking(move || {
        let (requests, count) = requests(&theirs, &request, budget)?;
        Ok::<_, ApiError>((requests, count, request.documents))
    });
    let panicked = |_| ApiError::new(Kind::Internal, "the tokenizer panicked");
    let (requests, count, documents) = encoded.await.map_err(panicked)??;
    let outputs = compute(&app, &tenant, &model, requests, count).await?;
    let mut scores: Vec<(usize, f32)> =
        outputs.iter().map(|values| ranking.score(values)).enumerate().collect();
    scores.sort_by(|(i, a), (j, b)| b.total_cmp(a).then(i.cmp(j)));
    scores.truncate(top);
    let result = |(index, score): (usize, f32)| {
        let mut result = json!({ "index": index, "relevance_score": number(score) });
        if texts {
            result["document"] = json!({ "text": documents[index] });
        }
        result
    };
    Ok(ignored.mark(answer(&json!({
        "id": new_id("rerank-"),
        "object": "list",
        "model": model.name,
        "results": scores.into_iter().map(result).collect::<Vec<_>>(),
        "usage": { "prompt_tokens": count, "total_tokens": count },
        "meta": { "tokens": { "input_tokens": count } },
    }))))
}

/// The requests of all documents, and the number of their tokens.
fn requests(
    model: &Loaded,
    request: &RerankRequest,
    mut budget: Budget,
) -> Result<(Vec<Request>, usize), ApiError> {
    let (tokenizer, context) = (&*model.facts.tokenizer, model.facts.context);
    let ranking = ranking(model)?;
    check_length(tokenizer, &request.query, context).map_err(|error| at(error, "query"))?;
    let one = |(i, document): (usize, &String)| {
        let path = format!("documents[{i}]");
        check_length(tokenizer, document, context).map_err(|error| at(error, &path))?;
        let tokens = ranking.prompt(tokenizer, &request.query, document);
        if tokens.is_empty() {
            return Err(ApiError::invalid(
                &path,
                format!("{path} and the query have no tokens: expected a text"),
            ));
        }
        check_tokens(&path, &tokens, context)?;
        budget.add(&path, tokens.len())?;
        Ok(Request::ranked(ranking, tokens))
    };
    let requests = request.documents.iter().enumerate().map(one).collect::<Result<Vec<_>, ApiError>>()?;
    Ok((requests, budget.used()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_strings_or_objects() {
        let read =
            |body: Value| RerankRequest::read(&body, 2, &Ignored::default()).map_err(|error| error.message);
        let request = read(json!({ "query": "q", "documents": ["a", { "text": "b" }], "top_n": 1 })).unwrap();
        let expected = RerankRequest {
            query: "q".into(),
            documents: vec!["a".into(), "b".into()],
            top: 1,
            texts: false,
        };
        assert_eq!(request, expected);
        for (body, why) in [
            (json!({ "documents": ["a"] }), "query is missing: expected a string"),
            (json!({ "query": "q", "documents": [] }), "documents is empty: expected at least one text"),
            (
                json!({ "query": "q", "documents": [1] }),
                "documents[0]: expected a string or an object with a `text`, found 1",
            ),
            (json!({ "query": "q", "documents": [{}] }), "documents[0].text is missing: expected a string"),
            (
                json!({ "query": "q", "documents": "a" }),
                "documents: expected an array of strings, or of objects with a `text`, found \"a\"",
            ),
            (
                json!({ "query": "q", "documents": ["a"], "top_n": 0 }),
                "top_n: expected an integer of at least 1, found 0",
            ),
        ] {
            assert_eq!(read(body), Err(why.to_string()));
        }
    }
}
