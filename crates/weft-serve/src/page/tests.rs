//! What a browser gets, and what the files may not contain.

use std::fs;
use std::path::{Path, PathBuf};

use axum::body::to_bytes;
use axum::http::{Method, Request};
use tower::ServiceExt as _;

use super::*;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/page")
}

/// The files that this project wrote, as text.
fn own() -> impl Iterator<Item = (&'static str, &'static str)> {
    let own = FILES.iter().filter(|file| !file.name.starts_with("vendor/"));
    own.map(|file| (file.name, str::from_utf8(file.bytes).expect("text")))
}

async fn get_with(path: &str, method: Method, known: Option<&str>) -> (Response, Vec<u8>) {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(known) = known {
        request = request.header(header::IF_NONE_MATCH, known);
    }
    let request = request.body(Body::empty()).expect("a request");
    let response = routes::<()>().oneshot(request).await.expect("an answer");
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.expect("a body").to_vec();
    (Response::from_parts(parts, Body::empty()), bytes)
}

fn text<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

#[tokio::test]
async fn every_file_is_served_with_its_type_and_the_same_headers() {
    for file in FILES {
        assert!(is_page(file.path));
        let (response, body) = get_with(file.path, Method::GET, None).await;
        assert_eq!(response.status(), StatusCode::OK, "{}", file.path);
        assert_eq!(body, fs::read(folder().join(file.name)).expect("the file"), "{}", file.path);
        let kind = match file.path.rsplit_once('.') {
            None => "text/html; charset=utf-8",
            Some((_, "css")) => "text/css; charset=utf-8",
            Some((_, "js")) => "text/javascript; charset=utf-8",
            Some((_, "svg")) => "image/svg+xml",
            Some((_, other)) => panic!("no type for .{other}"),
        };
        assert_eq!(text(&response, "content-type"), kind);
        assert_eq!(
            text(&response, "content-security-policy"),
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri \
             'none'; form-action 'none'; frame-ancestors 'none'"
        );
        assert_eq!(text(&response, "x-content-type-options"), "nosniff");
        assert_eq!(text(&response, "referrer-policy"), "no-referrer");
        assert_eq!(text(&response, "x-frame-options"), "DENY");
        assert_eq!(text(&response, "cross-origin-opener-policy"), "same-origin");
        assert_eq!(text(&response, "cross-origin-resource-policy"), "same-origin");
        assert_eq!(text(&response, "cache-control"), "no-cache");
    }
}

#[tokio::test]
async fn a_browser_that_has_the_file_is_told_so() {
    let (first, body) = get_with("/page/app.js", Method::GET, None).await;
    let tag = text(&first, "etag").to_string();
    assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() == 34, "{tag}");
    for known in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".into()] {
        let (response, body) = get_with("/page/app.js", Method::GET, Some(&known)).await;
        assert_eq!((response.status(), body.len()), (StatusCode::NOT_MODIFIED, 0), "{known}");
        assert_eq!(text(&response, "etag"), tag);
    }
    for known in ["\"other\"".to_string(), tag.trim_matches('"').to_string()] {
        let (response, again) = get_with("/page/app.js", Method::GET, Some(&known)).await;
        assert_eq!((response.status(), again), (StatusCode::OK, body.clone()), "{known}");
    }
    let (other, _) = get_with("/page/api.js", Method::GET, None).await;
    assert_ne!(text(&other, "etag"), tag);
}

#[tokio::test]
async fn other_methods_and_paths_are_not_the_pages() {
    let (head, body) = get_with("/", Method::HEAD, None).await;
    assert_eq!((head.status(), body.len()), (StatusCode::OK, 0));
    assert_eq!(get_with("/", Method::POST, None).await.0.status(), StatusCode::METHOD_NOT_ALLOWED);
    for path in
        ["/page", "/page/", "/page/page.html", "/page/tests.rs", "/page/vendor/README.md", "/page/../page.rs"]
    {
        assert!(!is_page(path));
        assert_eq!(get_with(path, Method::GET, None).await.0.status(), StatusCode::NOT_FOUND, "{path}");
    }
}

#[test]
fn the_list_is_the_folder() {
    let mut names: Vec<String> = Vec::new();
    for prefix in ["", "vendor/"] {
        for entry in fs::read_dir(folder().join(prefix)).expect("the folder") {
            let entry = entry.expect("an entry");
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            // Read by people, not by browsers.
            let kept = [".md", ".LICENSE", ".rs"].iter().any(|end| name.ends_with(end));
            if entry.file_type().expect("its type").is_file() && !kept {
                names.push(name);
            }
        }
    }
    names.sort();
    let mut listed: Vec<_> = FILES.iter().map(|file| file.name).collect();
    listed.sort_unstable();
    assert_eq!(listed, names);
}

/// The quoted strings after each occurrence of `before`.
fn quoted_after<'t>(text: &'t str, before: &str) -> Vec<&'t str> {
    let starts = text.match_indices(before).map(|(at, found)| at + found.len());
    starts.filter_map(|at| text[at..].split('"').next()).collect()
}

#[test]
fn what_a_file_refers_to_is_served() {
    let mut found = 0;
    for (name, text) in own() {
        for before in ["src=\"", "href=\"/", "from \"", "import \""] {
            for target in quoted_after(text, before) {
                let path = match (before, target.strip_prefix("./")) {
                    ("href=\"/", _) => format!("/{target}"),
                    (_, Some(local)) => format!("/page/{local}"),
                    (_, None) => target.to_string(),
                };
                assert!(is_page(&path) || path == "/metrics", "{name} refers to {path}");
                found += 1;
            }
        }
    }
    assert!(found > 50, "only {found}");
}

#[test]
fn nothing_is_inline_and_nothing_is_remote() {
    for (name, text) in own() {
        let names = ["http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"];
        let spaces = names.iter().fold(text.to_string(), |text, name| text.replace(name, ""));
        for word in [
            "http://",
            "https://",
            "url(",
            "@import",
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "eval(",
        ] {
            assert!(!spaces.contains(word), "{name} contains {word}");
        }
        for word in [
            "new Function",
            "document.write",
            "srcdoc",
            ".cssText",
            "setAttribute(\"style\"",
            "location.search",
        ] {
            assert!(!text.contains(word), "{name} contains {word}");
        }
        if !name.ends_with(".html") {
            continue;
        }
        assert!(!text.contains("<style") && !text.contains(" style="), "{name} has an inline style");
        for script in text.split("<script").skip(1) {
            let (tag, rest) = script.split_once('>').expect("the end of the tag");
            assert!(tag.contains(" src=\"/page/") && rest.starts_with("</script>"), "{name}: <script{tag}>");
        }
        for tag in text.split('<').skip(1) {
            let tag = tag.split('>').next().unwrap_or_default();
            assert!(
                !tag.split_whitespace().any(|word| word.starts_with("on") && word.contains('=')),
                "{name}: a listener in <{tag}>"
            );
        }
    }
}

#[test]
fn files_are_short_and_begin_by_saying_what_they_are() {
    for (name, text) in own() {
        assert!(text.lines().count() <= 600, "{name}");
        let begin = match name.rsplit_once('.') {
            Some((_, "js")) => "// ",
            Some((_, "css")) => "/* ",
            Some((_, "html")) => "<!doctype html>",
            _ => "<svg",
        };
        assert!(text.starts_with(begin), "{name}");
    }
}

#[test]
fn vendored_files_are_those_of_the_table() {
    let table = include_str!("vendor/README.md");
    let vendored = FILES.iter().filter(|file| file.name.starts_with("vendor/"));
    let mut count = 0;
    for file in vendored {
        let hash: String = Sha256::digest(file.bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let name = file.name.trim_start_matches("vendor/");
        let row = table.lines().find(|line| line.starts_with(&format!("| `{name}`"))).expect(name);
        assert!(row.contains(&hash), "{name} is {hash}");
        let text = str::from_utf8(file.bytes).expect("text");
        for word in ["eval(", "new Function", "XMLHttpRequest", "fetch(", "style="] {
            assert!(!text.contains(word), "{name} contains {word}");
        }
        count += 1;
    }
    assert_eq!(count, 2);
}
