//! Catches a panic of a handler, which then ends one request and not the connection.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A future that catches panics of another. It then ends with `None`.
pub(super) struct CatchUnwind<F>(Pin<Box<F>>);

impl<F: Future> CatchUnwind<F> {
    pub(super) fn new(future: F) -> CatchUnwind<F> {
        CatchUnwind(Box::pin(future))
    }
}

impl<F: Future> Future for CatchUnwind<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<F::Output>> {
        // A future that panicked is not polled again.
        let polled = catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(context)));
        match polled {
            Ok(polled) => polled.map(Some),
            Err(_) => Poll::Ready(None),
        }
    }
}
