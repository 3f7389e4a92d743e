//! Distributing items of work over threads, while the calling thread also reports progress.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Why work was not completed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stop<E> {
    /// The callback interrupted it.
    Interrupted,
    /// An item failed. This is the first error.
    Failed(E),
}

/// Works on all `items`, on `threads` threads with a `scratch` each. Items are begun in order.
///
/// The calling thread calls `progress` with the number of finished items, between items of its own.
pub(crate) fn each<T: Send, S, E: Send>(
    threads: usize,
    items: impl Iterator<Item = T> + Send,
    scratch: impl Fn() -> S + Sync,
    work: impl Fn(T, &mut S) -> Result<(), E> + Sync,
    progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<(), Stop<E>> {
    let told = |go_on: ControlFlow<()>| if go_on.is_break() { Err(Stop::Interrupted) } else { Ok(()) };
    told(progress(0))?;
    let items = Mutex::new(items.fuse());
    let (done, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let failed = Mutex::new(None);
    // If a thread panics, the others continue until the scope joins them and passes the panic on.
    let next =
        || items.lock().unwrap_or_else(|e| e.into_inner()).next().filter(|_| !stop.load(Ordering::Relaxed));
    let take = |scratch: &mut S| -> bool {
        let Some(item) = next() else { return false };
        match work(item, scratch) {
            Ok(()) => {
                done.fetch_add(1, Ordering::Relaxed);
                true
            }
            Err(error) => {
                stop.store(true, Ordering::Relaxed);
                failed.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(error);
                false
            }
        }
    };
    let interrupted = thread::scope(|scope| {
        for _ in 1..threads {
            // If the system has no more threads, fewer are enough.
            let spawned = thread::Builder::new().spawn_scoped(scope, || {
                let mut own = scratch();
                while take(&mut own) {}
            });
            if spawned.is_err() {
                break;
            }
        }
        let mut own = scratch();
        while take(&mut own) {
            if progress(done.load(Ordering::Relaxed)).is_break() {
                stop.store(true, Ordering::Relaxed);
                return true;
            }
        }
        false
    });
    match failed.into_inner().unwrap_or_else(|e| e.into_inner()) {
        Some(error) => Err(Stop::Failed(error)),
        None if interrupted => Err(Stop::Interrupted),
        None => told(progress(done.into_inner())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_done_once() {
        for threads in [0, 1, 2, 5] {
            let mut sums = vec![0; 100];
            let mut told = 0;
            let mut progress = |done| {
                assert!(done >= told && done <= 100);
                told = done;
                ControlFlow::Continue(())
            };
            let work = |(i, sum): (usize, &mut usize), _: &mut ()| {
                *sum += i;
                Ok::<_, ()>(())
            };
            each(threads, sums.iter_mut().enumerate(), || (), work, &mut progress).unwrap();
            assert_eq!(sums, (0..100).collect::<Vec<_>>());
            assert_eq!(told, 100);
        }
    }

    #[test]
    fn failures_and_interruptions_stop_the_rest() {
        for threads in [1, 3] {
            let begun = AtomicUsize::new(0);
            let fail = |i: usize, _: &mut ()| {
                begun.fetch_add(1, Ordering::Relaxed);
                if i == 3 { Err("three") } else { Ok(()) }
            };
            let go_on = &mut |_| ControlFlow::Continue(());
            assert_eq!(each(threads, 0..1_000_000, || (), fail, go_on), Err(Stop::Failed("three")));
            assert!(begun.into_inner() < 1_000_000);
            let begun = AtomicUsize::new(0);
            let count = |_: usize, _: &mut ()| {
                begun.fetch_add(1, Ordering::Relaxed);
                Ok::<_, ()>(())
            };
            let until_ten =
                &mut |done| if done < 10 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
            assert_eq!(each(threads, 0..100_000_000, || (), count, until_ten), Err(Stop::Interrupted));
            assert!(begun.into_inner() < 100_000_000);
        }
    }
}
