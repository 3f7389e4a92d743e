//! Downloads: events, cancelling, and threads that want the same file.

use std::fs;
use std::ops::ControlFlow;

use weft_hub::{Error, Event};

use crate::server;
use crate::support::TestCache;

const FILE: &str = "org/repo/a-Q8_0.gguf";
const NAME: &str = "hf:org/repo:Q8_0";

/// A megabyte of varied bytes.
fn bytes() -> Vec<u8> {
    (0..1_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

fn server(bytes: &[u8]) -> server::Hub {
    server::Hub::new(&[("a-Q8_0.gguf", bytes)])
}

/// An event in a few words, without the progress in between.
fn describe(event: &Event<'_>) -> String {
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
fn events_are_reported_in_order() {
    let bytes = bytes();
    let (server, cache) = (server(&bytes), TestCache::new());
    server.state().cuts = vec![400_000];
    let mut events = Vec::new();
    let path = cache.hub(&server.url()).pull(NAME, &mut |event| {
        events.push(describe(&event));
        ControlFlow::Continue(())
    });
    assert_eq!(path.unwrap(), cache.join("models").join(FILE));
    events.dedup();
    assert_eq!(
        events,
        [
            "fetching a-Q8_0.gguf (1, 1) 1000000",
            "…",
            "retrying at 400000",
            "…",
            "downloaded a-Q8_0.gguf 1000000"
        ]
    );
    assert!(fs::read(cache.join("models").join(FILE)).unwrap() == bytes);
    // A complete file is not downloaded again, and causes no events.
    cache.hub(&server.url()).pull(NAME, &mut |event| panic!("{event:?}")).unwrap();
}

#[test]
fn a_cancelled_download_is_resumed() {
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
    let mut events = Vec::new();
    hub.find(NAME, &mut |event| {
        events.push(describe(&event));
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(events.contains(&format!("checking a-Q8_0.gguf {arrived}/{arrived}")), "{events:?}");
    assert_eq!(server.starts(), [0, arrived as usize]);
    assert_eq!(cache.models(), [FILE]);
    assert!(fs::read(cache.join("models").join(FILE)).unwrap() == bytes);
}

#[test]
fn cancelling_at_the_first_event_does_no_harm() {
    let bytes = bytes();
    let (server, cache) = (server(&bytes), TestCache::new());
    let cancelled = cache.hub(&server.url()).pull(NAME, &mut |_| ControlFlow::Break(()));
    assert!(matches!(cancelled, Err(Error::Cancelled)), "{cancelled:?}");
    cache.hub(&server.url()).pull(NAME, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(cache.models(), [FILE]);
}

#[test]
fn what_cannot_fit_on_the_disk_is_not_downloaded() {
    let parts: [(&str, &[u8]); 2] =
        [("a-Q8_0-00001-of-00002.gguf", b"1234"), ("a-Q8_0-00002-of-00002.gguf", b"5")];
    let (server, cache) = (server::Hub::new(&parts), TestCache::new());
    // The first part alone would fit.
    server.state().sizes.insert(parts[1].0.into(), 1 << 62);
    let refused = cache.hub(&server.url()).pull(NAME, &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(matches!(refused, Error::NoRoom { needed, .. } if needed == (1 << 62) + 4), "{refused}");
    assert_eq!(server.starts(), [0; 0], "nothing was requested");
}

#[test]
fn threads_download_a_file_once_and_can_stop_waiting() {
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
fn a_hub_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<weft_hub::Hub>();
    shared::<weft_hub::Error>();
}
