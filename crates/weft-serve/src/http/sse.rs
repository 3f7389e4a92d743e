//! A reply as a stream: server-sent events, or lines of JSON.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;

use crate::error::ApiError;
use crate::reply::{Replies, Update};

/// Silence after which a client is told that the server is alive. Some proxies close connections that are silent for 30 s.
const PING: Duration = Duration::from_secs(15);

/// The events of an API as text, each in the form of a server-sent event or as a line of JSON.
#[derive(Default, Debug)]
pub(crate) struct Frames(String);

impl Frames {
    /// Adds an event without a name.
    pub(crate) fn data(&mut self, value: &Value) {
        // Writing to a string cannot fail. JSON text has no line ends outside strings, and escapes those inside.
        let _ = write!(self.0, "data: {value}\n\n");
    }

    /// Adds an event with a name.
    pub(crate) fn event(&mut self, name: &str, value: &Value) {
        let _ = write!(self.0, "event: {name}\ndata: {value}\n\n");
    }

    /// Adds text that is not JSON, as `[DONE]`.
    pub(crate) fn raw(&mut self, text: &str) {
        let _ = write!(self.0, "data: {text}\n\n");
    }

    /// Adds a line of JSON.
    pub(crate) fn line(&mut self, value: &Value) {
        let _ = writeln!(self.0, "{value}");
    }

    /// Adds a comment, which clients skip.
    pub(crate) fn comment(&mut self, text: &str) {
        let _ = write!(self.0, ": {text}\n\n");
    }

    /// The text so far.
    #[cfg(test)]
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

/// How an API streams a reply: a state machine from updates to events.
pub(crate) trait Events: Send + 'static {
    /// The content type of its stream.
    const MEDIA: &str = "text/event-stream; charset=utf-8";

    /// The events before the first update.
    fn begin(&mut self, out: &mut Frames);
    /// The events of an update of reply number `choice`.
    fn update(&mut self, choice: usize, update: Update, out: &mut Frames);
    /// The events after all replies have ended.
    fn end(&mut self, out: &mut Frames);
    /// The events of a request that ended with an error. They are the last.
    fn error(&mut self, error: &ApiError, out: &mut Frames);
    /// Writes a comment, which keeps a silent connection open.
    fn ping(&mut self, out: &mut Frames) {
        out.comment("ping");
    }
}

/// Feeds replies to a state machine without streaming them.
///
/// # Errors
/// If the request ends before its replies have.
pub(crate) async fn fold(mut replies: Replies, events: &mut impl Events) -> Result<(), ApiError> {
    while let Some((choice, update)) = replies.next().await? {
        events.update(choice, update, &mut Frames::default());
    }
    Ok(())
}

/// Streams replies. When the client goes away, they are cancelled.
pub(crate) fn stream<E: Events>(mut replies: Replies, mut events: E) -> Response {
    let (send, receive) = mpsc::channel::<Result<Bytes, Infallible>>(64);
    tokio::spawn(async move {
        let mut frames = Frames::default();
        events.begin(&mut frames);
        let mut going = true;
        let mut spoken = Instant::now();
        while going {
            if !frames.0.is_empty() {
                spoken = Instant::now();
                let text = Bytes::from(std::mem::take(&mut frames.0));
                if send.send(Ok(text)).await.is_err() {
                    return;
                }
            }
            tokio::select! {
                // The client has gone; dropping the replies cancels them.
                () = send.closed() => return,
                // Not every update is an event: a long reply can be silent too.
                next = tokio::time::timeout_at(spoken + PING, replies.next()) => match next {
                    Err(_) => events.ping(&mut frames),
                    Ok(Ok(Some((choice, update)))) => events.update(choice, update, &mut frames),
                    Ok(Ok(None)) => {
                        events.end(&mut frames);
                        going = false;
                    }
                    Ok(Err(error)) => {
                        events.error(&error, &mut frames);
                        going = false;
                    }
                },
            }
        }
        let _ = send.send(Ok(Bytes::from(frames.0))).await;
    });
    let mut response = Response::new(Body::from_stream(ReceiverStream::new(receive)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(E::MEDIA));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Else nginx collects events before it passes them on.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
