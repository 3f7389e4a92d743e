//! What every request passes: a request id, the checks of host, origin and key, and the log.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use tracing::{debug, info};

use super::ids::{CURRENT, RequestId, new_id};
use super::patience::{self, Patience};
use super::unwind::CatchUnwind;
use crate::app::App;
use crate::error::{ApiError, Dialect, Kind, beginning};
use crate::ignored::HEADER;
use crate::tenant::Tenant;

/// Routes that need no key: they say nothing about models or users.
const OPEN: &[&str] = &["/health", "/ready", "/livez", "/readyz"];

/// Routes that supervisors and the status page ask again and again. Their answers are logged only if they are errors.
const QUIET: &[&str] = &["/health", "/ready", "/metrics", "/props"];

/// Checks a request, passes it on, and logs the answer.
pub(crate) async fn guard(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let id = request_id(request.headers());
    let method = request.method().clone();
    let path = request.uri().path().to_string();
    let route = request.extensions().get::<MatchedPath>().map_or("other", |matched| matched.as_str());
    let route = route.to_string();
    request.extensions_mut().insert(RequestId(id.clone()));
    let checked = check(&app, &method, &path, request.headers());
    let mut response = match checked {
        Err(error) => Dialect::of(&path).respond(&error, &id),
        Ok(tenant) => {
            request.extensions_mut().insert(tenant);
            let patience = Arc::new(Patience::default());
            let answer = CURRENT.scope(id.clone(), CatchUnwind::new(next.run(request)));
            let answer = Box::pin(patience.scope(answer));
            answered(answer, patience, &path, &id).await
        }
    };
    if let Some(error) = response.extensions().get::<ApiError>().cloned()
        && Dialect::of(&path) != Dialect::OpenAi
    {
        response = Dialect::of(&path).respond(&error, &id);
    }
    let headers = response.headers_mut();
    let id_value = HeaderValue::from_str(&id).unwrap_or(HeaderValue::from_static("invalid"));
    if Dialect::of(&path) == Dialect::Anthropic {
        headers.insert("request-id", id_value.clone());
    }
    headers.insert("x-request-id", id_value);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let status = response.status().as_u16();
    app.metrics.response(&route, status);
    let milliseconds = begun.elapsed().as_millis() as u64;
    // Probes come every few seconds, and a page has many files.
    if status < 400 && (QUIET.contains(&route.as_str()) || crate::page::is_page(&path)) {
        debug!(request = %id, %method, %route, status, milliseconds, "answered");
    } else {
        let ignored = response.headers().get(HEADER).and_then(|list| list.to_str().ok());
        info!(request = %id, %method, %route, status, milliseconds, ignored, "answered");
    }
    response
}

/// The answer of a handler. If it is a stream whose model takes long to load, the stream begins without it.
async fn answered(
    mut answer: Pin<Box<dyn Future<Output = Option<Response>> + Send>>,
    patience: Arc<Patience>,
    path: &str,
    id: &str,
) -> Response {
    let answered = tokio::select! {
        biased;
        answered = &mut answer => answered,
        form = patience.is_over() => return patience::stream(answer, patience, form, id),
    };
    let mut response = answered.unwrap_or_else(|| Dialect::of(path).respond(&ApiError::bug(), id));
    patience.mark(&mut response);
    response
}

/// The id that a client gives its request, if it is a plain word, or else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get("x-request-id").and_then(|id| id.to_str().ok());
    let plain = |id: &&str| {
        (1..=64).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    given.filter(plain).map_or_else(|| new_id("req_"), str::to_string)
}

fn check(app: &App, method: &Method, path: &str, headers: &HeaderMap) -> Result<Tenant, ApiError> {
    let host = header_text(headers, header::HOST.as_str());
    if headers.get_all(header::HOST).iter().count() > 1 {
        return Err(ApiError::new(Kind::Invalid, "the header Host is there more than once"));
    }
    if !host.is_some_and(|host| app.hosts.allows(host)) {
        let found = host.map_or("none".to_string(), |host| format!("{:?}", beginning(host)));
        let message = format!(
            "the header Host is {found}: expected a name of this machine; to allow another, start the server with --allow-host"
        );
        return Err(ApiError::new(Kind::Permission, message));
    }
    // A link to the page may be on any site.
    let page = method == Method::GET && crate::page::is_page(path);
    if !page {
        check_origin(app, host.unwrap_or_default(), headers)?;
    }
    if app.keys.is_empty() || OPEN.contains(&path) || page {
        return Ok(Tenant::everyone());
    }
    if method == Method::OPTIONS {
        // CORS is off, so nobody has a reason to ask.
        return Err(ApiError::new(Kind::Method, "OPTIONS is not supported: this server does not use CORS"));
    }
    let bearer = header_text(headers, header::AUTHORIZATION.as_str()).and_then(|value| {
        let (scheme, key) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
    });
    let Some(key) = bearer.or_else(|| header_text(headers, "x-api-key")) else {
        let message = "an API key is required: send it as `Authorization: Bearer KEY` or `x-api-key: KEY`";
        return Err(ApiError::new(Kind::Authentication, message).code("missing_api_key"));
    };
    let unknown = || ApiError::new(Kind::Authentication, "the API key is not valid").code("invalid_api_key");
    app.keys.tenant(key).ok_or_else(unknown)
}

/// Refuses requests that a page of another site makes.
fn check_origin(app: &App, host: &str, headers: &HeaderMap) -> Result<(), ApiError> {
    let refuse = |found: &str| {
        let message = format!(
            "the request comes from another site ({:?}); this server answers its own page and programs only",
            beginning(found)
        );
        Err(ApiError::new(Kind::Permission, message))
    };
    if let Some(value) = headers.get(header::ORIGIN) {
        let origin = value.to_str().unwrap_or("null");
        let authority =
            origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")).unwrap_or_default();
        let ours = authority.eq_ignore_ascii_case(host)
            || matches!(&app.hosts, crate::app::Hosts::Only(more) if more.iter().any(|name| authority == name));
        if authority.is_empty() || !ours {
            return refuse(origin);
        }
    }
    match header_text(headers, "sec-fetch-site") {
        None | Some("same-origin" | "none") => Ok(()),
        Some(site) => refuse(site),
    }
}

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::{Body, to_bytes};
    use axum::middleware::from_fn_with_state;
    use axum::routing::get;
    use tower::ServiceExt as _;
    use weft_engine::EngineOptions;

    use super::*;
    use crate::app::{Hosts, Switches};
    use crate::metrics::Metrics;
    use crate::models::Models;
    use crate::options::Limits;
    use crate::tenant::Keys;

    async fn panics() -> &'static str {
        panic!("a secret")
    }

    #[tokio::test]
    async fn a_panic_ends_one_request() {
        let metrics = Metrics::new();
        let models =
            Models::new(Vec::new(), EngineOptions::default(), Limits::default(), metrics.clone(), None);
        let app = App::new(
            Arc::new(models),
            Keys::new(&[]),
            Hosts::Only(Vec::new()),
            Limits::default(),
            metrics,
            Switches { strict: false, ollama: true },
        );
        let app = Arc::new(app);
        let routes = Router::new()
            .route("/panic", get(panics))
            .route("/v1/messages/panic", get(panics))
            .route("/api/panic", get(panics))
            .route("/good", get(|| async { "good" }))
            .layer(from_fn_with_state(Arc::clone(&app), guard))
            .with_state(app);
        for (path, status, says) in [
            ("/panic", 500, r#""type":"server_error""#),
            ("/good", 200, "good"),
            ("/v1/messages/panic", 500, r#""type":"api_error""#),
            ("/api/panic", 500, r#"{"error":"the server has a bug"#),
            ("/good", 200, "good"),
        ] {
            let request =
                Request::builder().uri(path).header("host", "localhost").body(Body::empty()).unwrap();
            let response = routes.clone().oneshot(request).await.unwrap();
            assert_eq!(response.status().as_u16(), status, "{path}");
            assert!(response.headers().contains_key("x-request-id"), "{path}");
            let body = to_bytes(response.into_body(), 10_000).await.unwrap();
            let body = String::from_utf8(body.to_vec()).unwrap();
            assert!(body.contains(says) && !body.contains("secret"), "{path}: {body}");
        }
    }
}
