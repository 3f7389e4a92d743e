//! A tiny HTTP server that answers as a test tells it to.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A request that arrived.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Such as `POST /v1/completions`.
    pub(crate) what: String,
    /// The headers, in lower case.
    pub(crate) headers: String,
    pub(crate) body: Value,
}

/// An answer.
pub(crate) enum Answer {
    /// A status, more headers, and a body.
    Status(u16, &'static str, String),
    /// A stream of these bytes, in these pieces.
    Stream(Vec<String>),
    /// The same, but it never ends.
    Endless(Vec<String>),
    /// The same, but the connection breaks at its end.
    Broken(Vec<String>),
    /// Not even a status.
    Silence,
}

/// A running server. It runs until the test ends.
pub(crate) struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    gone: Arc<AtomicUsize>,
}

/// Starts a server.
pub(crate) fn serve(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server =
        Server { address: listener.local_addr().unwrap(), asked: Arc::default(), gone: Arc::default() };
    let (asked, gone, answer) = (server.asked.clone(), server.gone.clone(), Arc::new(answer));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (asked, gone, answer) = (asked.clone(), gone.clone(), answer.clone());
            thread::spawn(move || {
                let Some(request) = read(&stream) else { return };
                asked.lock().unwrap().push(request.clone());
                // The client may have gone.
                let _ = write(stream, answer(&request), &gone);
            });
        }
    });
    server
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head += &line;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (first, headers) = head.split_once("\r\n").unwrap();
    let what = first.rsplit_once(' ').unwrap().0.to_string();
    let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).unwrap() };
    Some(Asked { what, headers: headers.to_ascii_lowercase(), body })
}

fn write(mut stream: TcpStream, answer: Answer, gone: &AtomicUsize) -> std::io::Result<()> {
    let (pieces, ends) = match answer {
        Answer::Status(status, headers, body) => {
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n"
            );
            return stream.write_all((head + &body).as_bytes());
        }
        Answer::Silence => (None, false),
        Answer::Stream(pieces) => (Some(pieces), true),
        Answer::Endless(pieces) => (Some(pieces), false),
        Answer::Broken(pieces) => {
            stream_pieces(&mut stream, &pieces)?;
            return Ok(());
        }
    };
    if let Some(pieces) = pieces {
        stream_pieces(&mut stream, &pieces)?;
    }
    if ends {
        return stream.write_all(b"0\r\n\r\n");
    }
    // Until the client closes the connection.
    while stream.read(&mut [0; 1024]).is_ok_and(|count| count > 0) {}
    gone.fetch_add(1, Ordering::SeqCst);
    Ok(())
}

fn stream_pieces(stream: &mut TcpStream, pieces: &[String]) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    stream.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
    )?;
    for piece in pieces {
        write!(stream, "{:x}\r\n{piece}\r\n", piece.len())?;
        stream.flush()?;
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

impl Server {
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far, except those for models and metrics.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|asked| asked.what.starts_with("POST")).cloned().collect()
    }

    /// Waits until `clients` clients have closed their connections early.
    pub(crate) fn wait_until_gone(&self, clients: usize) {
        let started = Instant::now();
        while self.gone.load(Ordering::SeqCst) < clients {
            assert!(started.elapsed() < Duration::from_secs(30), "the client keeps its connection");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until `count` requests have arrived.
    pub(crate) fn wait_until_asked(&self, count: usize) {
        let started = Instant::now();
        while self.asked().len() < count {
            assert!(started.elapsed() < Duration::from_secs(30), "there is no request");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The list of the models `a` and `b`.
pub(crate) fn models() -> Answer {
    Answer::Status(200, "", json!({"object": "list", "data": [{"id": "a"}, {"id": "b"}]}).to_string())
}

/// Events with this data, and the last one.
pub(crate) fn events(data: &[Value]) -> Vec<String> {
    let events = data.iter().map(|data| format!("data: {data}\n\n"));
    events.chain(["data: [DONE]\n\n".to_string()]).collect()
}

/// A piece of a chat's reply.
pub(crate) fn delta(delta: Value) -> Value {
    json!({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

/// The end of a chat's reply.
pub(crate) fn end(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

/// The token counts.
pub(crate) fn usage(prompt: u64, reply: u64) -> Value {
    let details = json!({"cached_tokens": 3});
    json!({"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": reply, "prompt_tokens_details": details}})
}
