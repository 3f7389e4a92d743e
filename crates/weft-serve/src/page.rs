//! The pages for a browser: a chat at `/` and the server's status at `/status`.
//!
//! Their files are in the folder `page`, and in the binary as they are: there is no build step. They use only the public
//! routes. The content security policy lets them run their own scripts and talk to this server, and nothing else.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::get;
use sha2::{Digest, Sha256};

/// The rights of the pages: load their own files and call this server. No inline script or style, no other site, no frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A file of the pages.
#[derive(Clone, Copy, Debug)]
struct File {
    /// The path of its address.
    path: &'static str,
    /// Its name in the folder `page`.
    name: &'static str,
    bytes: &'static [u8],
}

macro_rules! files {
    ($($path:literal: $name:literal),* $(,)?) => {
        &[$(File { path: $path, name: $name, bytes: include_bytes!(concat!("page/", $name)) }),*]
    };
}

/// All files. A test compares the list with the folder.
const FILES: &[File] = files! {
    "/": "page.html",
    "/status": "status.html",
    "/page/announce.js": "announce.js",
    "/page/api.js": "api.js",
    "/page/app.js": "app.js",
    "/page/ask.js": "ask.js",
    "/page/base.css": "base.css",
    "/page/charts.js": "charts.js",
    "/page/chat.css": "chat.css",
    "/page/chat.js": "chat.js",
    "/page/dom.js": "dom.js",
    "/page/formula.css": "formula.css",
    "/page/history.js": "history.js",
    "/page/icon.svg": "icon.svg",
    "/page/languages.js": "languages.js",
    "/page/markdown.js": "markdown.js",
    "/page/math.js": "math.js",
    "/page/message.css": "message.css",
    "/page/message.js": "message.js",
    "/page/meter.js": "meter.js",
    "/page/metrics.js": "metrics.js",
    "/page/models.js": "models.js",
    "/page/prose.css": "prose.css",
    "/page/run.js": "run.js",
    "/page/scroll.js": "scroll.js",
    "/page/settings.css": "settings.css",
    "/page/settings.js": "settings.js",
    "/page/sidebar.css": "sidebar.css",
    "/page/sidebar.js": "sidebar.js",
    "/page/status.css": "status.css",
    "/page/status.js": "status.js",
    "/page/stream.js": "stream.js",
    "/page/syntax.js": "syntax.js",
    "/page/tex-symbols.js": "tex-symbols.js",
    "/page/tex-tables.js": "tex-tables.js",
    "/page/tex.js": "tex.js",
    "/page/theme.js": "theme.js",
    "/page/thread.js": "thread.js",
    "/page/transfer.js": "transfer.js",
    "/page/vendor/markdown-it.umd.min.js": "vendor/markdown-it.umd.min.js",
    "/page/vendor/purify.min.js": "vendor/purify.min.js",
};

/// Returns whether a path belongs to the pages. They are the same for everyone, so they need no key.
pub(crate) fn is_page(path: &str) -> bool {
    FILES.iter().any(|file| file.path == path)
}

/// The routes of the pages.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    FILES.iter().fold(Router::new(), |router, file| {
        let tag: Arc<str> = file.tag().into();
        router.route(file.path, get(async move |headers: HeaderMap| file.respond(&tag, &headers)))
    })
}

impl File {
    /// The file's entity tag: its content's hash, quoted as in `ETag`.
    fn tag(&self) -> String {
        let hash = Sha256::digest(self.bytes);
        let hex: String = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        format!("\"{hex}\"")
    }

    fn content_type(&self) -> &'static str {
        match self.name.rsplit_once('.') {
            Some((_, "html")) => "text/html; charset=utf-8",
            Some((_, "css")) => "text/css; charset=utf-8",
            Some((_, "js")) => "text/javascript; charset=utf-8",
            Some((_, "svg")) => "image/svg+xml",
            _ => "application/octet-stream",
        }
    }

    /// The file, or only the news that the browser has it.
    fn respond(&self, tag: &str, request: &HeaderMap) -> Response {
        let known = request.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
        let fresh = known.flat_map(|tags| tags.split(',')).any(|known| matches(known.trim(), tag));
        let mut response = Response::new(if fresh { Body::empty() } else { Body::from(self.bytes) });
        if fresh {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        let headers = response.headers_mut();
        let fixed = [
            (header::CONTENT_TYPE, self.content_type()),
            // The browser may keep a file but asks whether it is still the same, so that a new version is used at once.
            (header::CACHE_CONTROL, "no-cache"),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
            // For browsers that do not know `frame-ancestors`.
            (header::X_FRAME_OPTIONS, "DENY"),
        ];
        headers.extend(fixed.map(|(name, value)| (name, HeaderValue::from_static(value))));
        headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
        headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
        if let Ok(tag) = HeaderValue::from_str(tag) {
            headers.insert(header::ETAG, tag);
        }
        response
    }
}

/// Returns whether a tag of `If-None-Match` is a file's.
fn matches(known: &str, tag: &str) -> bool {
    known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag
}

#[cfg(test)]
mod tests;
