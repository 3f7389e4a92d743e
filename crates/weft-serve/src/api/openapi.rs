//! `/openapi.json`: what the routes take and answer, for tools that read it.

use axum::http::header;
use axum::response::{IntoResponse, Response};

const FILE: &str = include_str!("../openapi.json");

/// Answers the file.
pub(crate) async fn show() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], FILE).into_response()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};
    use weft_engine::GenerateOptions;

    use super::FILE;
    use crate::api::chat::ChatRequest;
    use crate::api::completions::CompletionRequest;
    use crate::api::embeddings::EmbeddingRequest;
    use crate::api::fim::InfillRequest;
    use crate::api::messages::MessageRequest;
    use crate::api::models::{Asked, ModelRequest};
    use crate::api::ollama::{self, EmbedRequest, OllamaRequest};
    use crate::api::rerank::RerankRequest;
    use crate::api::responses::ResponseRequest;
    use crate::ignored::Ignored;
    use crate::json::recorded;

    /// The fields that reading these bodies asks for, by their paths: `messages[].role`. Every body must be a good one.
    fn known<T>(
        bodies: &[Value],
        read: impl Fn(&Value) -> Result<T, crate::error::ApiError>,
    ) -> BTreeSet<String> {
        let one = |body| {
            let (result, paths) = recorded(|| read(body));
            assert!(result.is_ok(), "{:?} of {body}", result.err());
            paths
        };
        bodies.iter().flat_map(one).map(|path| without_numbers(&path)).collect()
    }

    fn without_numbers(path: &str) -> String {
        let mut parts = path.split('[');
        let first = parts.next().unwrap_or_default().to_string();
        parts.fold(first, |path, part| path + "[" + part.trim_start_matches(|c: char| c.is_ascii_digit()))
    }

    /// The fields that a schema documents, by their paths. Objects whose fields are not all documented are in `open`; the others
    /// say that they take additional ones.
    fn documented(
        file: &Value,
        schema: &Value,
        path: &str,
        all: &mut BTreeSet<String>,
        open: &mut BTreeSet<String>,
    ) {
        if let Some(name) = schema["$ref"].as_str() {
            let target = file.pointer(name.trim_start_matches('#')).expect("a reference leads somewhere");
            return documented(file, target, path, all, open);
        }
        for way in ["anyOf", "oneOf", "allOf"] {
            for schema in schema[way].as_array().into_iter().flatten() {
                documented(file, schema, path, all, open);
            }
        }
        if schema["items"].is_object() {
            documented(file, &schema["items"], &format!("{path}[]"), all, open);
        }
        if let Some(properties) = schema["properties"].as_object() {
            if schema["additionalProperties"] != true {
                open.insert(path.to_string());
            }
            for (name, schema) in properties {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                all.insert(path.clone());
                documented(file, schema, &path, all, open);
            }
        }
    }

    fn check<T>(schema: &str, bodies: &[Value], read: impl Fn(&Value) -> Result<T, crate::error::ApiError>) {
        let file: Value = serde_json::from_str(FILE).unwrap();
        let (mut written, mut open) = (BTreeSet::new(), BTreeSet::new());
        documented(&file, &file["components"]["schemas"][schema], "", &mut written, &mut open);
        let known = known(bodies, read);
        let parent =
            |path: &str| path.rsplit_once('.').map_or(String::new(), |(parent, _)| parent.to_string());
        let missing: Vec<&String> =
            known.difference(&written).filter(|path| !open.contains(&parent(path))).collect();
        assert!(missing.is_empty(), "openapi.json does not have these fields of {schema}: {missing:?}");
        let unknown: Vec<&String> =
            written.difference(&known).filter(|path| !open.contains(&parent(path))).collect();
        assert!(unknown.is_empty(), "openapi.json has fields that {schema} does not: {unknown:?}");
    }

    fn defaults() -> GenerateOptions {
        GenerateOptions::default()
    }

    #[test]
    fn the_fields_of_a_chat_are_those_of_the_file() {
        let function = json!({ "name": "f", "parameters": {} });
        let call = json!({ "id": "a", "type": "function", "function": { "name": "f", "arguments": "{}" } });
        let messages = json!([
            { "role": "user", "content": [{ "type": "text", "text": "Hi" }] },
            { "role": "assistant", "tool_calls": [call] },
            { "role": "tool", "content": "4", "tool_call_id": "a" }
        ]);
        let schema = json!({ "type": "json_schema", "json_schema": { "name": "a", "schema": {} } });
        let bodies = [
            json!({
                "messages": messages,
                "tools": [{ "type": "function", "function": function }],
                "tool_choice": { "type": "function", "function": { "name": "f" } },
                "response_format": schema,
                "stream_options": {},
                "chat_template_kwargs": {}
            }),
            json!({ "messages": messages, "structured_outputs": {} }),
            json!({ "messages": messages, "response_format": { "type": "json_object", "schema": {} } }),
        ];
        check("ChatRequest", &bodies, |body| ChatRequest::read(body, &defaults(), 100, &Ignored::default()));
    }

    #[test]
    fn the_fields_of_a_completion_are_those_of_the_file() {
        let bodies = [json!({ "prompt": "Hi", "stream_options": {}, "structured_outputs": {} })];
        check("CompletionRequest", &bodies, |body| {
            CompletionRequest::read(body, &defaults(), 100, &Ignored::default())
        });
    }

    #[test]
    fn the_fields_of_a_response_are_those_of_the_file() {
        let bodies = [
            json!({
                "input": "Hi",
                "tools": [{ "type": "function", "name": "f" }],
                "text": { "format": { "type": "json_schema", "name": "a", "schema": {} } },
                "reasoning": {}
            }),
            json!({ "input": "Hi", "structured_outputs": {} }),
        ];
        check("ResponseRequest", &bodies, |body| {
            ResponseRequest::read(body, &defaults(), 100, &Ignored::default())
        });
    }

    #[test]
    fn the_fields_of_a_message_are_those_of_the_file() {
        let format = json!({ "type": "json_schema", "schema": {} });
        let bodies = [
            json!({
                "messages": [{ "role": "user", "content": "Hi" }],
                "output_config": { "format": format },
                "output_format": format,
                "thinking": { "type": "disabled" }
            }),
            json!({ "messages": [{ "role": "user", "content": "Hi" }], "structured_outputs": {} }),
        ];
        check("CountTokensRequest", &bodies, |body| {
            MessageRequest::read(body, &defaults(), 100, true, &Ignored::default())
        });
    }

    #[test]
    fn the_fields_of_infill_are_those_of_the_file() {
        let bodies =
            [json!({ "input_prefix": "a", "input_extra": [{ "text": "b" }], "structured_outputs": {} })];
        check("InfillRequest", &bodies, |body| {
            InfillRequest::read(body, &defaults(), 100, &Ignored::default())
        });
    }

    #[test]
    fn the_fields_of_embeddings_and_ranks_are_those_of_the_file() {
        check("EmbeddingRequest", &[json!({ "input": "Hi" })], |body| {
            EmbeddingRequest::read(body, 1, [100, 8], &Ignored::default())
        });
        check("RerankRequest", &[json!({ "query": "Hi", "documents": ["a", { "text": "b" }] })], |body| {
            RerankRequest::read(body, 2, &Ignored::default())
        });
    }

    #[test]
    fn the_fields_of_ollama_are_those_of_the_file() {
        let function = json!({ "name": "f", "parameters": {} });
        let bodies = [
            json!({
                "messages": [
                    { "role": "assistant", "content": "Hi", "tool_calls": [{ "function": { "name": "f", "arguments": {} } }] },
                { "role": "user", "content": "Hi" }
                ],
                "tools": [{ "type": "function", "function": function }],
                "tool_choice": { "type": "function", "function": { "name": "f" } },
                "options": { "num_predict": 5, "structured_outputs": {} }
            }),
            json!({ "structured_outputs": {} }),
        ];
        check("OllamaChatRequest", &bodies, |body| {
            OllamaRequest::read_chat(body, &defaults(), 100, &Ignored::default())
        });
        let bodies =
            [json!({ "prompt": "Hi", "options": { "structured_outputs": {} }, "structured_outputs": {} })];
        check("OllamaGenerateRequest", &bodies, |body| {
            OllamaRequest::read_generate(body, &defaults(), 100, &Ignored::default())
        });
        check("OllamaEmbedRequest", &[json!({ "input": "Hi", "options": {} })], |body| {
            EmbedRequest::read(body, 1, 8, &Ignored::default())
        });
        check("OllamaEmbedOneRequest", &[json!({ "prompt": "Hi", "options": {} })], |body| {
            EmbedRequest::read_one(body, &Ignored::default())
        });
        check("OllamaShowRequest", &[json!({})], |body| ollama::read_show(body, &Ignored::default()));
        check("OllamaPullRequest", &[json!({})], |body| ollama::read_pull(body, &Ignored::default()));
    }

    #[test]
    fn the_fields_of_requests_about_models_are_those_of_the_file() {
        for (schema, what) in [
            ("LoadModelRequest", Asked::Load),
            ("UnloadModelRequest", Asked::Unload),
            ("PinModelRequest", Asked::Pin),
        ] {
            check(schema, &[json!({ "model": "a" })], |body| {
                ModelRequest::read(body, what, &Ignored::default())
            });
        }
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_route_is_there() {
        let file: Value = serde_json::from_str(FILE).unwrap();
        let mut rest = FILE;
        while let Some((_, after)) = rest.split_once("\"$ref\": \"#") {
            let (path, after) = after.split_once('"').unwrap();
            assert!(file.pointer(path).is_some(), "{path}");
            rest = after;
        }
        let routes = [include_str!("route.rs"), include_str!("ollama.rs")].concat();
        for route in routes.split(".route(\"").skip(1).filter_map(|text| text.split('"').next()) {
            let path = route.replace("{*name}", "{name}");
            let never = ["create", "copy", "delete", "push", "blobs/{*digest}"];
            let answers_never = route == "/v1/responses/{*id}"
                || route.strip_prefix("/api/").is_some_and(|route| never.contains(&route));
            assert!(answers_never || file["paths"][&path].is_object(), "openapi.json does not have {path}");
        }
    }
}
