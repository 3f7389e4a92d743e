//! Finding a model by name.

use std::fs;
use std::ops::ControlFlow;

use weft_hub::{Cache, Error, Hub, HubOptions};

use crate::server;
use crate::support::TestCache;

/// An address that nothing listens on.
const NOWHERE: &str = "http://127.0.0.1:9";

fn found(hub: &Hub, name: &str) -> Result<std::path::PathBuf, Error> {
    hub.find(name, &mut |_| ControlFlow::Continue(()))
}

#[test]
fn a_cached_model_is_found_without_the_hub() {
    let cache = TestCache::new();
    let path = cache.join("models/org/repo/a-Q8_0.gguf");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "1").unwrap();
    let hub = cache.hub(NOWHERE);
    for name in ["hf:org/repo:Q8_0", "hf:org/repo:q8_0", "hf:org/repo", "a-Q8_0", path.to_str().unwrap()] {
        assert_eq!(found(&hub, name).unwrap(), path, "{name}");
    }
    let models = hub.cache().list().unwrap();
    assert_eq!((models.len(), models[0].name.as_str(), models[0].bytes), (1, "hf:org/repo:Q8_0", 1));
}

#[test]
fn errors_say_what_is_wrong() {
    let cache = TestCache::new();
    let hub = cache.hub(NOWHERE);
    let error = found(&hub, "smolm2").unwrap_err();
    assert!(matches!(&error, Error::NotFound { near, .. } if near == &["smollm2"]), "{error:?}");
    assert!(error.to_string().contains("did you mean `smollm2`?"), "{error}");
    let folder = std::env::temp_dir();
    assert!(matches!(found(&hub, folder.to_str().unwrap()), Err(Error::Folder(path)) if path == folder));
    assert!(matches!(found(&hub, "hf:org"), Err(Error::InvalidName { .. })));
    let error = found(&hub, "hf:org/repo").unwrap_err().in_one_line();
    assert!(error.starts_with("cannot look up hf:org/repo: cannot reach 127.0.0.1:9: "), "{error}");
    let server = server::Hub::new(&[("a-Q8_0.gguf", b"1"), ("a-Q2_K.gguf", b"2")]);
    let error = found(&cache.hub(&server.url()), "hf:org/repo:Q4_0").unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot choose a model from hf:org/repo: it has no Q4_0; it has Q2_K (0 MB), Q8_0 (0 MB)"
    );
    assert!(matches!(hub.pull("mine", &mut |_| ControlFlow::Continue(())), Err(Error::NotFetchable { .. })));
}

#[test]
fn an_address_is_checked_and_a_token_is_not_printed() {
    let mut options = HubOptions::default();
    options.token = Some("secret".into());
    let hub = Hub::new(Cache::new("cache".into()), &options).unwrap();
    assert!(!format!("{options:?} {hub:?}").contains("secret"));
    options.endpoint = "ftp://hub".into();
    let error = Hub::new(Cache::new("cache".into()), &options).unwrap_err();
    assert_eq!(error.to_string(), "the hub's address is `ftp://hub`: expected https://HOST");
}
