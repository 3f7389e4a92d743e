//! Finding a model by name.

use std::fs;
use std::ops::ControlFlow;

use weft_hub::{Cache, Error, Event, Hub, HubOptions};

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
fn a_model_that_is_kept_packed_only_is_found_by_all_its_names() {
    let cache = TestCache::new();
    let folder = cache.join("models/org/repo");
    let own = [1, 2].map(|n| folder.join(format!("a-Q8_0-0000{n}-of-00002.gguf")));
    let packed = folder.join("a-Q8_0-00001-of-00002.gguf.weft");
    fs::create_dir_all(&folder).unwrap();
    own.iter().for_each(|path| fs::write(path, "12").unwrap());
    let hub = cache.hub(NOWHERE);
    let only = || {
        let models = hub.cache().list().unwrap();
        assert_eq!(models.len(), 1, "{models:?}");
        models[0].clone()
    };
    let model = only();
    assert_eq!(
        (model.packed, &model.path, model.original(), model.packed_path()),
        (false, &own[0], own[0].clone(), packed.clone())
    );
    assert!(hub.cache().keep_packed(&model).is_err() && own[0].exists(), "there is no packed form yet");
    fs::write(&packed, "123").unwrap();
    // Until its own files are gone, they are the model.
    assert_eq!(only(), model);
    let checked = folder.join("a-Q8_0-00001-of-00002.gguf.weft.checked");
    fs::write(&checked, "note").unwrap();
    // As if removing them was cut short.
    fs::remove_file(&own[0]).unwrap();
    hub.cache().keep_packed(&model).unwrap();
    assert!(!own[1].exists());
    let kept = only();
    assert_eq!((kept.packed, &kept.path, kept.bytes), (true, &packed, 3));
    assert_eq!((kept.name.as_str(), kept.original()), (model.name.as_str(), own[0].clone()));
    let paths = [&own[0], &packed].map(|path| path.to_str().unwrap());
    for name in ["hf:org/repo:Q8_0", "hf:org/repo", "a-Q8_0", paths[0], paths[1]] {
        assert_eq!(found(&hub, name).unwrap(), packed, "{name}");
        assert_eq!(hub.cache().find_any(name).unwrap(), Some(kept.clone()), "{name}");
    }
    let pulled = |name| hub.pull(name, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(pulled("hf:org/repo:Q8_0"), packed);
    // Files that were restored in part do not count.
    fs::write(&own[0], "12").unwrap();
    assert_eq!(only(), kept);
    assert!(hub.cache().keep_original(&kept).is_err() && packed.exists());
    fs::write(&own[1], "12").unwrap();
    hub.cache().keep_original(&kept).unwrap();
    assert!(!packed.exists() && !checked.exists());
    assert_eq!(only(), model);
    fs::write(&packed, "123").unwrap();
    hub.cache().remove(&model).unwrap();
    assert!(cache.models().is_empty(), "{:?}", cache.models());
}

#[test]
fn a_packed_model_is_not_downloaded_again() {
    let cache = TestCache::new();
    let server = server::Hub::new(&[("a-Q8_0.gguf", b"1234")]);
    let hub = cache.hub(&server.url());
    let pulled = || hub.pull("hf:org/repo", &mut |_| ControlFlow::Continue(())).unwrap();
    let own = pulled();
    let model = hub.cache().list().unwrap().remove(0);
    fs::write(model.packed_path(), "packed").unwrap();
    hub.cache().keep_packed(&model).unwrap();
    assert_eq!(pulled(), weft_hub::packed_path(&own));
    assert!(!own.exists());
}

#[test]
fn a_packed_model_is_downloaded_again_if_the_hub_has_another() {
    let cache = TestCache::new();
    let server = server::Hub::new(&[("a-Q8_0.gguf", b"1234")]);
    // The fake packed form is the checksum of what it was packed from.
    let hub = cache.hub(&server.url()).with_packed_sums(|path| Some(vec![fs::read_to_string(path).ok()?]));
    let pulled = || {
        let mut outdated = 0;
        let path = hub.pull("hf:org/repo", &mut |event| {
            outdated += usize::from(matches!(event, Event::Outdated { .. }));
            ControlFlow::Continue(())
        });
        (path.unwrap(), outdated)
    };
    let (own, _) = pulled();
    let model = hub.cache().list().unwrap().remove(0);
    let packed = weft_hub::packed_path(&own);
    fs::write(&packed, "03ac674216f3e15c761ee1a5e255f067953623c8b388b4459e13f978d7c846f4").unwrap();
    hub.cache().keep_packed(&model).unwrap();
    assert_eq!(pulled(), (packed.clone(), 0));
    assert_eq!(server.starts().len(), 1);
    server.state().files.insert("a-Q8_0.gguf".into(), b"5678".to_vec());
    // Other commands take what there is.
    assert_eq!(found(&hub, "hf:org/repo").unwrap(), packed);
    assert_eq!(pulled(), (own.clone(), 1));
    assert!(fs::read(&own).unwrap() == b"5678" && packed.exists());
}

#[test]
fn errors_say_what_is_wrong() {
    let cache = TestCache::new();
    let hub = cache.hub(NOWHERE);
    let error = found(&hub, "smolm2").unwrap_err();
    assert!(matches!(&error, Error::NotFound { near, .. } if near == &["smollm2"]), "{error:?}");
    assert!(error.to_string().contains("did you mean `smollm2`?"), "{error}");
    for name in ["hf:org/repo", "glm-4.7-flash", "smollm2", "https://hf.co/org/repo"] {
        hub.check_name(name).unwrap();
    }
    for name in ["smolm2", "hf:org", "no-such.gguf", "https://example.org/a.gguf"] {
        assert!(hub.check_name(name).is_err(), "{name}");
    }
    let error = hub.pull("llama3.2", &mut |_| ControlFlow::Continue(())).unwrap_err().to_string();
    assert!(error.contains("did you mean `llama-3.2-3b` or `llama-3.2-1b`?"), "{error}");
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
