//! Requests that wait for their model to be loaded, and what they are told meanwhile.
//!
//! An answer says in a header how long it waited. A stream begins after two seconds without its model: it says how far loading has come,
//! in comments or whatever its API has for that, and continues with the answer.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;

use crate::error::{ApiError, Kind};
use crate::ignored::HEADER as IGNORED;
use crate::stage::{Progress, Step};
use crate::time::{self, timestamp};

/// The header of an answer that says how many milliseconds it waited for its model.
const HEADER: &str = "x-weft-model-wait-ms";
/// How long a stream waits for its model before it begins.
const GRACE: Duration = Duration::from_secs(2);
/// The time between two events that say how far loading has come.
const EVERY: Duration = Duration::from_secs(1);

tokio::task_local! {
    static PATIENCE: Arc<Patience>;
}

/// How long a request has waited for its model.
#[derive(Default)]
pub(super) struct Patience {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// The form of the stream that the request asks for.
    form: Option<Form>,
    /// The model that it waits for, since when.
    model: Option<(String, Arc<Progress>, Instant)>,
    /// How long it has waited in all, if it had to.
    waited: Option<Duration>,
}

/// The form of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// Events of OpenAI's chat or completions.
    Chat,
    /// Events of OpenAI's responses.
    Responses,
    /// Events of Anthropic's messages.
    Messages,
    /// Lines of Ollama's chat.
    OllamaChat,
    /// Lines of Ollama's generate.
    OllamaGenerate,
}

/// Ends the wait for a model when it is dropped.
pub(crate) struct Waiting(Option<Arc<Patience>>);

/// Records that the current request waits for a model.
pub(crate) fn waiting(name: &str, progress: &Arc<Progress>) -> Waiting {
    let patience = PATIENCE.try_with(Arc::clone).ok();
    if let Some(patience) = &patience {
        patience.state().model = Some((name.to_string(), Arc::clone(progress), Instant::now()));
        patience.changed.notify_one();
    }
    Waiting(patience)
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let Some(patience) = &self.0 else { return };
        let mut state = patience.state();
        if let Some((.., since)) = state.model.take() {
            state.waited = Some(state.waited.unwrap_or_default() + since.elapsed());
        }
    }
}

/// Records that the current request asks for a stream.
pub(super) fn streams(form: Form) {
    let _ = PATIENCE.try_with(|patience| patience.state().form = Some(form));
}

impl Patience {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a handler so that it can say what it waits for.
    pub(super) fn scope<F: Future>(
        self: &Arc<Patience>,
        handler: F,
    ) -> impl Future<Output = F::Output> + use<F> {
        PATIENCE.scope(Arc::clone(self), handler)
    }

    /// Waits until a stream has waited too long for its model. Otherwise it never ends.
    pub(super) async fn is_over(&self) -> Form {
        loop {
            let since = self.state().model.as_ref().map(|(.., since)| *since);
            let Some(since) = since else {
                self.changed.notified().await;
                continue;
            };
            tokio::time::sleep_until(since + GRACE).await;
            match self.since(since) {
                Some(form) => return form,
                // It is no stream, and will be none; or it has its model, and may wait for another.
                None => self.changed.notified().await,
            }
        }
    }

    /// The form of the stream that has waited since this moment.
    fn since(&self, moment: Instant) -> Option<Form> {
        let state = self.state();
        let (.., since) = state.model.as_ref()?;
        state.form.filter(|_| *since == moment)
    }

    /// Adds the header to an answer, if it had to wait.
    pub(super) fn mark(&self, response: &mut Response) {
        if let Some(waited) = self.state().waited {
            let value = HeaderValue::from(u64::try_from(waited.as_millis()).unwrap_or(u64::MAX));
            response.headers_mut().insert(HEADER, value);
        }
    }

    /// The model that is waited for, and how far it has come.
    fn told(&self) -> Option<(String, String)> {
        let state = self.state();
        let (name, progress, since) = state.model.as_ref()?;
        let step = progress.get().map_or("loading".to_string(), Step::text);
        Some((name.clone(), format!("{step} ({} s)", since.elapsed().as_secs())))
    }
}

impl Form {
    /// The form of the stream that a body asks for at this path, if it does.
    pub(super) fn of(path: &str, body: &Value) -> Option<Form> {
        let stream = body.get("stream").and_then(Value::as_bool);
        match path {
            "/v1/chat/completions" | "/v1/completions" | "/infill" if stream == Some(true) => {
                Some(Form::Chat)
            }
            "/v1/responses" if stream == Some(true) => Some(Form::Responses),
            "/v1/messages" if stream == Some(true) => Some(Form::Messages),
            "/api/chat" if stream != Some(false) => Some(Form::OllamaChat),
            "/api/generate" if stream != Some(false) => Some(Form::OllamaGenerate),
            _ => None,
        }
    }

    fn is_lines(self) -> bool {
        matches!(self, Form::OllamaChat | Form::OllamaGenerate)
    }

    /// The frame or line that reports a model's progress.
    fn progress(self, model: &str, text: &str) -> String {
        match self {
            Form::Chat | Form::Responses => format!(": loading {model}: {text}\n\n"),
            Form::Messages => {
                format!(": loading {model}: {text}\n\nevent: ping\ndata: {{\"type\":\"ping\"}}\n\n")
            }
            // The form has no comments. Clients add up texts, and skip what they do not know.
            Form::OllamaChat | Form::OllamaGenerate => {
                let mut line = json!({ "model": model, "created_at": now(), "done": false });
                match self {
                    Form::OllamaChat => line["message"] = json!({ "role": "assistant", "content": "" }),
                    _ => line["response"] = "".into(),
                }
                line["status"] = format!("loading: {text}").into();
                format!("{line}\n")
            }
        }
    }

    /// A comment or a line with the fields that were left out, because it is too late for a header.
    fn ignored(self, list: &str) -> String {
        match self.is_lines() {
            true => format!("{}\n", json!({ "status": format!("ignored: {list}"), "done": false })),
            false => format!(": {IGNORED}: {list}\n\n"),
        }
    }

    /// The end of a stream whose request failed.
    fn error(self, error: &ApiError, request_id: &str) -> String {
        match self {
            Form::Chat => format!("data: {}\n\ndata: [DONE]\n\n", error.openai()),
            Form::Responses => {
                let ApiError { message, param, code, .. } = error;
                let code = code.unwrap_or("server_error");
                let event = json!({ "type": "error", "sequence_number": 0, "code": code, "message": message, "param": param });
                format!("event: error\ndata: {event}\n\ndata: [DONE]\n\n")
            }
            Form::Messages => format!("event: error\ndata: {}\n\n", error.anthropic(request_id)),
            Form::OllamaChat | Form::OllamaGenerate => format!("{}\n", error.ollama()),
        }
    }
}

/// The time, for lines of Ollama.
fn now() -> String {
    timestamp(time::now())
}

/// Begins a stream whose model is still being loaded. When the client goes away, the request ends.
pub(super) fn stream(
    answer: Pin<Box<dyn Future<Output = Option<Response>> + Send>>,
    patience: Arc<Patience>,
    form: Form,
    request_id: &str,
) -> Response {
    let (send, receive) = mpsc::channel::<Result<Bytes, Infallible>>(64);
    let id = request_id.to_string();
    tokio::spawn(async move {
        let _ = told(answer, &patience, form, &id, &send).await;
    });
    let mut response = Response::new(Body::from_stream(ReceiverStream::new(receive)));
    let headers = response.headers_mut();
    let media = if form.is_lines() { "application/x-ndjson" } else { "text/event-stream; charset=utf-8" };
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Sends how far loading has come, and then the answer. `None` if the client has gone.
async fn told(
    mut answer: Pin<Box<dyn Future<Output = Option<Response>> + Send>>,
    patience: &Patience,
    form: Form,
    request_id: &str,
    send: &mpsc::Sender<Result<Bytes, Infallible>>,
) -> Option<()> {
    let say = async |text: String| send.send(Ok(Bytes::from(text))).await.ok();
    let mut tick = tokio::time::interval(EVERY);
    let response = loop {
        tokio::select! {
            biased;
            () = send.closed() => return None,
            response = &mut answer => break response,
            _ = tick.tick() => {
                if let Some((model, text)) = patience.told() {
                    say(form.progress(&model, &text)).await?;
                }
            }
        }
    };
    let error = match response {
        None => Some(ApiError::bug()),
        Some(response) if response.status().is_success() => {
            let list = response.headers().get(IGNORED).and_then(|list| list.to_str().ok());
            if let Some(text) = list.map(|list| form.ignored(list)) {
                say(text).await?;
            }
            let mut chunks = response.into_body().into_data_stream();
            loop {
                tokio::select! {
                    biased;
                    () = send.closed() => return None,
                    chunk = chunks.next() => match chunk {
                        Some(Ok(chunk)) => send.send(Ok(chunk)).await.ok()?,
                        _ => break None,
                    },
                }
            }
        }
        Some(response) => {
            let unknown =
                || ApiError::new(Kind::Internal, format!("the request failed: {}", response.status()));
            Some(response.extensions().get::<ApiError>().cloned().unwrap_or_else(unknown))
        }
    };
    if let Some(error) = error {
        tracing::info!(request = %request_id, status = error.status().as_u16(), "failed after its stream began");
        say(form.error(&error, request_id)).await?;
    }
    Some(())
}
