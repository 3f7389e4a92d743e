//! What the prefix caches of a server's models hold, published over ZeroMQ for routers that send a prompt to the server
//! that has its beginning.
//!
//! The form is vLLM's, which llm-d's router reads. A message has three frames: the topic `kv@SERVER@MODEL`; a number that
//! counts the messages of the topic, 64 bits, the highest first; and in MessagePack `[time, [event, …], rank]`. Events are
//!
//! ```text
//! ["BlockStored", [hash], parent hash, [token, …], tokens of a block, LoRA id, medium, LoRA name, extra keys]
//! ["BlockRemoved", [hash]]
//! ["AllBlocksCleared"]
//! ```
//!
//! Sources: `distributed/kv_events.py` of vLLM, `pkg/kvevents/engineadapter` of llm-d's KV-cache library. A subscriber that
//! comes late does not know what was stored before.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use rmp::encode::{self, ValueWriteError};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tracing::warn;
use weft_engine::CacheEvent;
use zeromq::{PubSocket, Socket as _, SocketSend as _, ZmqMessage};

/// A socket that events are published on.
#[derive(Clone)]
pub(crate) struct KvEvents {
    server: String,
    messages: UnboundedSender<ZmqMessage>,
}

/// The events of one model.
pub(crate) struct ModelEvents {
    topic: String,
    /// The number of messages so far.
    count: u64,
    messages: UnboundedSender<ZmqMessage>,
}

impl KvEvents {
    /// Opens the socket. `server` is the name of this server in topics.
    ///
    /// # Errors
    /// If the address cannot be used.
    pub(crate) async fn bind(address: SocketAddr, server: String) -> Result<KvEvents, String> {
        let mut socket = PubSocket::new();
        socket.bind(&format!("tcp://{address}")).await.map_err(|error| error.to_string())?;
        let (messages, mut received) = unbounded_channel();
        // A publisher waits for nobody: subscribers that are too slow miss messages.
        tokio::spawn(async move {
            while let Some(message) = received.recv().await {
                if let Err(error) = socket.send(message).await {
                    warn!(%error, "an event of the prefix cache was not published");
                }
            }
        });
        Ok(KvEvents { server, messages })
    }

    /// The events of a model.
    pub(crate) fn of_model(&self, name: &str) -> ModelEvents {
        let topic = format!("kv@{}@{name}", self.server);
        ModelEvents { topic, count: 0, messages: self.messages.clone() }
    }
}

impl ModelEvents {
    /// Publishes what has changed, in order; nothing if nothing has.
    pub(crate) fn publish(&mut self, changes: &[CacheEvent]) {
        if changes.is_empty() {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        match self.message(now.as_secs_f64(), changes) {
            Ok(message) => drop(self.messages.send(message)),
            Err(error) => warn!(%error, "an event of the prefix cache cannot be written"),
        }
    }

    fn message(&mut self, time: f64, changes: &[CacheEvent]) -> Result<ZmqMessage, ValueWriteError> {
        let mut message = ZmqMessage::from(batch(time, changes)?);
        message.push_front(self.count.to_be_bytes().to_vec().into());
        message.push_front(self.topic.clone().into_bytes().into());
        self.count += 1;
        Ok(message)
    }
}

/// Events as MessagePack.
fn batch(time: f64, changes: &[CacheEvent]) -> Result<Vec<u8>, ValueWriteError> {
    let mut out = Vec::new();
    encode::write_array_len(&mut out, 3)?;
    encode::write_f64(&mut out, time)?;
    encode::write_array_len(&mut out, len(changes.len()))?;
    for change in changes {
        event(&mut out, change)?;
    }
    encode::write_uint(&mut out, 0)?;
    Ok(out)
}

fn event(out: &mut Vec<u8>, change: &CacheEvent) -> Result<(), ValueWriteError> {
    let hashes = |out: &mut Vec<u8>, page: u64| -> Result<(), ValueWriteError> {
        encode::write_array_len(out, 1)?;
        encode::write_uint(out, page).map(drop)
    };
    match change {
        CacheEvent::Stored { page, before, tokens } => {
            encode::write_array_len(out, 9)?;
            encode::write_str(out, "BlockStored")?;
            hashes(out, *page)?;
            match before {
                Some(before) => drop(encode::write_uint(out, *before)?),
                None => encode::write_nil(out).map_err(ValueWriteError::InvalidMarkerWrite)?,
            }
            encode::write_array_len(out, len(tokens.len()))?;
            for token in tokens {
                encode::write_uint(out, (*token).into())?;
            }
            encode::write_uint(out, tokens.len() as u64)?;
            for _ in ["LoRA id", "medium", "LoRA name", "extra keys"] {
                encode::write_nil(out).map_err(ValueWriteError::InvalidMarkerWrite)?;
            }
        }
        CacheEvent::Removed { page } => {
            encode::write_array_len(out, 2)?;
            encode::write_str(out, "BlockRemoved")?;
            hashes(out, *page)?;
        }
        _ => {
            encode::write_array_len(out, 1)?;
            encode::write_str(out, "AllBlocksCleared")?;
        }
    }
    Ok(())
}

fn len(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::sleep;
    use zeromq::{SocketRecv as _, SubSocket};

    use super::*;

    /// Byte for byte as `msgspec.msgpack.encode` writes vLLM's classes.
    #[test]
    fn events_are_arrays() {
        let stored =
            |page, before, tokens: [u32; 2]| CacheEvent::Stored { page, before, tokens: tokens.into() };
        let changes = [
            stored(300, None, [1, 200]),
            stored(5, Some(300), [70_000, 2]),
            CacheEvent::Removed { page: 5 },
            CacheEvent::Cleared,
        ];
        let mut expected = vec![0x93, 0xcb];
        expected.extend(1.5f64.to_be_bytes());
        expected.push(0x94);
        expected.extend(b"\x99\xabBlockStored\x91\xcd\x01\x2c\xc0\x92\x01\xcc\xc8\x02\xc0\xc0\xc0\xc0");
        expected.extend(
            b"\x99\xabBlockStored\x91\x05\xcd\x01\x2c\x92\xce\x00\x01\x11\x70\x02\x02\xc0\xc0\xc0\xc0",
        );
        expected.extend(b"\x92\xacBlockRemoved\x91\x05\x91\xb0AllBlocksCleared\x00");
        assert_eq!(batch(1.5, &changes).unwrap(), expected);
    }

    #[tokio::test]
    async fn subscribers_get_topic_number_and_events() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let events = KvEvents::bind(free, "127.0.0.1:8090".into()).await.unwrap();
        assert!(KvEvents::bind(free, String::new()).await.is_err(), "the address is taken");
        let mut model = events.of_model("glm");
        let mut subscriber = SubSocket::new();
        subscriber.connect(&format!("tcp://{free}")).await.unwrap();
        subscriber.subscribe("kv@").await.unwrap();
        model.publish(&[]);
        // Until the subscription has come, messages are lost.
        let publishing = async {
            loop {
                model.publish(&[CacheEvent::Cleared]);
                sleep(Duration::from_millis(5)).await;
            }
        };
        let receiving = async {
            let mut numbers = Vec::new();
            for _ in 0..2 {
                let frames = subscriber.recv().await.unwrap().into_vec();
                let [topic, number, batch] = &frames[..] else { panic!("{} frames", frames.len()) };
                assert_eq!(&topic[..], b"kv@127.0.0.1:8090@glm");
                assert!(batch.ends_with(b"AllBlocksCleared\x00"));
                numbers.push(u64::from_be_bytes(number[..].try_into().unwrap()));
            }
            assert_eq!(numbers[1], numbers[0] + 1);
        };
        tokio::select! {
            () = publishing => {}
            () = receiving => {}
        }
    }
}
