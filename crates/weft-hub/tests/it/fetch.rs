//! Fetching: what is told, what cancelling leaves behind, and threads that want the same file.

use std::fs;
use std::ops::ControlFlow;

use weft_hub::{Error, Event};

use crate::server;
use crate::support::TestCache;

const FILE: &str = "org/repo/a-Q8_0.gguf";
const NAME: &str = "hf:org/repo:Q8_0";

/// A megabyte that is not the same everywhere.
fn bytes() -> Vec<u8> {
    (0..1_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

fn server(bytes: &[u8]) -> server::Hub {
    server::Hub::new(&[("a-Q8_0.gguf", bytes)])
}

/// An event in a word or two, with no more of the progress than where it begins and ends.
fn word(event: &Event<'_>) -> String {
    match event {
        Event::Fetching { file, part, bytes, .. } => format!("fetching {file} {part:?} {bytes}"),
        Event::Waiting { .. } => "waiting".into(),
        Event::Checking { file, done, total } => format!("checking {file} {done}/{total}"),
        Event::Downloading { file, done, total } if done == total => format!("downloaded {file} {total}"),
        Event::Downloading { .. } => "…".into(),
        Event::Retrying { done, .. } => format!("retrying at {done}"),
        other => format!("{other:?}"),
    }
}

#[test]
fn events_tell_what_happens_in_order() {
    let bytes = bytes();
    let (server, cache) = (server(&bytes), TestCache::new());
    server.state().cuts = vec![400_000];
    let mut told = Vec::new();
    let path = cache.hub(&server.url()).pull(NAME, &mut |event| {
        told.push(word(&event));
        ControlFlow::Continue(())
    });
    assert_eq!(path.unwrap(), cache.join("models").join(FILE));
    told.dedup();
    assert_eq!(
        told,
        [
            "fetching a-Q8_0.gguf (1, 1) 1000000",
            "…",
            "retrying at 400000",
            "…",
            "downloaded a-Q8_0.gguf 1000000"
        ]
    );
    assert!(fs::read(cache.join("models").join(FILE)).unwrap() == bytes);
    // What is there is fetched no more, and there is nothing to tell.
    cache.hub(&server.url()).pull(NAME, &mut |event| panic!("{event:?}")).unwrap();
}

#[test]
fn what_was_cancelled_is_continued() {
    let bytes = bytes();
    let (server, cache) = (server(&bytes), TestCache::new());
    let hub = cache.hub(&server.url());
    let mut arrived = 0;
    let cancelled = hub.pull(NAME, &mut |event| match event {
        Event::Downloading { done, .. } if done >= 300_000 => {
            arrived = done;
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    assert!(matches!(cancelled, Err(Error::Cancelled)), "{cancelled:?}");
    let left = cache.models();
    assert!(left.len() == 1 && left[0].starts_with(FILE) && left[0].ends_with(".part"), "{left:?}");
    assert!(hub.cache().list().unwrap().is_empty());
    let mut told = Vec::new();
    hub.find(NAME, &mut |event| {
        told.push(word(&event));
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(told.contains(&format!("checking a-Q8_0.gguf {arrived}/{arrived}")), "{told:?}");
    assert_eq!(server.starts(), [0, arrived as usize]);
    assert_eq!(cache.models(), [FILE]);
    assert!(fs::read(cache.join("models").join(FILE)).unwrap() == bytes);
}

#[test]
fn cancelling_at_the_first_event_leaves_nothing_wrong() {
    let bytes = bytes();
    let (server, cache) = (server(&bytes), TestCache::new());
    let cancelled = cache.hub(&server.url()).pull(NAME, &mut |_| ControlFlow::Break(()));
    assert!(matches!(cancelled, Err(Error::Cancelled)), "{cancelled:?}");
    cache.hub(&server.url()).pull(NAME, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(cache.models(), [FILE]);
}

#[test]
fn threads_that_want_the_same_file_fetch_it_once_and_may_stop_waiting() {
    let bytes = bytes();
    let (server, cache) = (server(&bytes), TestCache::new());
    let (go, hold) = std::sync::mpsc::channel();
    server.state().hold = Some(hold);
    let hub = cache.hub(&server.url());
    std::thread::scope(|scope| {
        let (begun, wait) = std::sync::mpsc::channel();
        let first = scope.spawn({
            let hub = &hub;
            move || {
                hub.pull(NAME, &mut |event| {
                    let _ = matches!(event, Event::Downloading { .. }).then(|| begun.send(()));
                    ControlFlow::Continue(())
                })
            }
        });
        wait.recv().unwrap();
        let impatient = hub.pull(NAME, &mut |event| match event {
            Event::Waiting { .. } => ControlFlow::Break(()),
            other => panic!("{other:?}"),
        });
        assert!(matches!(impatient, Err(Error::Cancelled)), "{impatient:?}");
        let patient = hub.pull(NAME, &mut |event| {
            assert!(matches!(event, Event::Waiting { .. }), "{event:?}");
            let _ = go.send(());
            ControlFlow::Continue(())
        });
        assert_eq!(patient.unwrap(), first.join().unwrap().unwrap());
    });
    assert_eq!(server.starts(), [0]);
    assert_eq!(cache.models(), [FILE]);
}

#[test]
fn a_hub_may_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<weft_hub::Hub>();
    shared::<weft_hub::Error>();
}
