//! The thread that runs the engine: takes requests, computes steps, hands on tokens.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dynamo_backend_common::{ComponentSnapshot, KvEventPublisher, SnapshotPublisher};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tracing::{error, warn};
use weft_engine::{Engine, Event, Finish, Generation, Request, Stats, Token, Usage};

use crate::events;

/// The least time between two reports of how full the cache is, while it changes.
const REPORT: Duration = Duration::from_millis(100);

/// Something that happens to a reply.
pub enum Item {
    /// A token was sampled.
    Token(Token),
    /// The reply has ended, with this token if it is not the last one that came. Nothing follows.
    End(Finish, Usage, Option<Token>),
    /// The engine does not take the request, for this reason. Nothing follows.
    Refused(String),
}

enum Message {
    Reply { request: Box<Request>, items: UnboundedSender<Item> },
    Events(Arc<KvEventPublisher>),
    Reports(Arc<SnapshotPublisher>),
}

/// A thread that runs an engine until it is stopped or dropped.
pub struct EngineThread {
    messages: Mutex<Option<Sender<Message>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    replies: Arc<AtomicUsize>,
}

/// A reply that has not ended. The thread cancels it, within a step, when it is dropped.
pub struct Reply {
    items: UnboundedReceiver<Item>,
    replies: Arc<AtomicUsize>,
}

impl Reply {
    /// The next item; `None` if the engine has stopped.
    pub async fn next(&mut self) -> Option<Item> {
        self.items.recv().await
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.replies.fetch_sub(1, Ordering::AcqRel);
    }
}

impl EngineThread {
    /// Moves an engine to a thread of its own.
    ///
    /// # Errors
    /// If the system starts no thread.
    pub fn start(engine: Engine) -> std::io::Result<EngineThread> {
        let (messages, received) = channel();
        let run = move || {
            let mut running = Running { engine, replies: Vec::new(), events: None, reports: None };
            // A bug must not leave clients waiting: their channels close with the thread.
            if catch_unwind(AssertUnwindSafe(|| running.run(&received))).is_err() {
                error!("the engine panicked; this worker takes no more requests");
            }
        };
        let thread = std::thread::Builder::new().name("engine".into()).spawn(run)?;
        let (messages, thread) = (Mutex::new(Some(messages)), Mutex::new(Some(thread)));
        Ok(EngineThread { messages, thread, replies: Arc::default() })
    }

    /// Adds a request; `None` if the engine has stopped.
    pub fn reply(&self, request: Request) -> Option<Reply> {
        let (items, received) = unbounded_channel();
        self.replies.fetch_add(1, Ordering::AcqRel);
        let reply = Reply { items: received, replies: Arc::clone(&self.replies) };
        self.send(Message::Reply { request: Box::new(request), items }).then_some(reply)
    }

    /// The number of replies that have not ended.
    pub fn replies(&self) -> usize {
        self.replies.load(Ordering::Acquire)
    }

    /// Publishes what the prefix cache holds, now and from now on.
    pub fn publish_events(&self, publisher: Arc<KvEventPublisher>) {
        self.send(Message::Events(publisher));
    }

    /// Reports how full the cache is, now and from now on.
    pub fn publish_reports(&self, publisher: Arc<SnapshotPublisher>) {
        self.send(Message::Reports(publisher));
    }

    /// Stops the engine after the step it computes, and waits for that. Replies end without an [`Item::End`].
    pub fn stop(&self) {
        drop(lock(&self.messages).take());
        if let Some(thread) = lock(&self.thread).take()
            && thread.join().is_err()
        {
            warn!("the engine's thread had panicked");
        }
    }

    fn send(&self, message: Message) -> bool {
        lock(&self.messages).as_ref().is_some_and(|messages| messages.send(message).is_ok())
    }
}

/// No reply outlives its thread.
impl Drop for EngineThread {
    fn drop(&mut self) {
        self.stop();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // The values behind these are valid whoever panics.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state of the thread.
struct Running {
    engine: Engine,
    replies: Vec<(Generation, UnboundedSender<Item>)>,
    events: Option<Arc<KvEventPublisher>>,
    reports: Option<Reports>,
}

/// The values that were reported last.
struct Reports {
    publisher: Arc<SnapshotPublisher>,
    last: Option<(ComponentSnapshot, Instant)>,
    /// Prompt tokens looked up in the prefix cache and found there, at that time.
    looked_up: (u64, u64),
}

impl Running {
    /// Runs until nobody can send messages any more.
    fn run(&mut self, messages: &Receiver<Message>) {
        let mut busy = false;
        loop {
            // Waits if there is nothing to do.
            let mut message = match busy {
                true => messages.try_recv(),
                false => messages.recv().map_err(|_| TryRecvError::Disconnected),
            };
            while let Ok(received) = message {
                self.take(received);
                message = messages.try_recv();
            }
            if matches!(message, Err(TryRecvError::Disconnected)) {
                return;
            }
            // Dropped generations are cancelled.
            self.replies.retain(|(_, items)| !items.is_closed());
            busy = match self.engine.step() {
                Ok(busy) => busy,
                // Its generations say so themselves.
                Err(failure) => {
                    warn!(%failure, "a step failed");
                    true
                }
            };
            if let Some(publisher) = &self.events {
                events::publish(publisher, self.engine.cache_events());
            }
            if let Some(reports) = &mut self.reports {
                reports.report(&self.engine.stats(), !busy);
            }
            self.replies.retain_mut(|(generation, items)| !hand_on(generation, items));
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Reply { request, items } => match self.engine.push(*request) {
                Ok(generation) => self.replies.push((generation, items)),
                Err(why) => drop(items.send(Item::Refused(why.to_string()))),
            },
            Message::Events(publisher) => {
                self.engine.watch_cache();
                self.events = Some(publisher);
            }
            Message::Reports(publisher) => {
                self.reports = Some(Reports { publisher, last: None, looked_up: (0, 0) });
            }
        }
    }
}

/// Hands on what has happened to a reply. Returns whether it has ended.
fn hand_on(generation: &mut Generation, items: &UnboundedSender<Item>) -> bool {
    // The last token is sent with the end, because a front end that recognises the end of the turn in it reads no further, and would
    // miss the usage.
    let mut last = None;
    // Nobody may be listening any more.
    let send = |item: Option<Item>| item.into_iter().for_each(|item| drop(items.send(item)));
    while let Some(event) = generation.poll() {
        match event {
            Event::Token(token) => send(last.replace(token).map(Item::Token)),
            Event::Finished(finish) => {
                send(Some(Item::End(finish, generation.usage(), last)));
                return true;
            }
            _ => {}
        }
    }
    send(last.map(Item::Token));
    false
}

impl Reports {
    /// Reports how full the cache is if that has changed, and not too often unless there is nothing more to come.
    fn report(&mut self, stats: &Stats, last: bool) {
        let (queries, hits) = (stats.prefix_queries - self.looked_up.0, stats.prefix_hits - self.looked_up.1);
        let snapshot = ComponentSnapshot {
            kv_used_blocks: stats.pages_held as u64,
            kv_total_blocks: stats.pages as u64,
            gpu_cache_usage: stats.pages_held as f32 / stats.pages.max(1) as f32,
            kv_cache_hit_rate: (queries > 0).then(|| hits as f32 / queries as f32),
            dp_rank: 0,
        };
        let now = Instant::now();
        let is_due = match self.last {
            Some((reported, at)) => reported != snapshot && (last || now - at >= REPORT),
            None => true,
        };
        if is_due {
            self.publisher.publish(0, snapshot);
            self.last = Some((snapshot, now));
            self.looked_up = (stats.prefix_queries, stats.prefix_hits);
        }
    }
}
