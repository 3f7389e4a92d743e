//! A server in this process, and a client that knows no more HTTP than it needs.

use std::io::{ErrorKind, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::oneshot;
use weft_engine::EngineOptions;
use weft_gguf::{Gguf, Writer};
use weft_serve::{ModelSource, ServeOptions, Server};

/// A fixture's path.
pub(crate) fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

/// A copy of a fixture with this chat template, for one test.
pub(crate) fn with_template(name: &str, test: &str, template: &str) -> PathBuf {
    let model = Gguf::open(&fixture(name)).unwrap();
    let mut metadata = model.metadata().clone();
    metadata.insert("tokenizer.chat_template", template);
    let mut writer = Writer::new(metadata).unwrap();
    for tensor in model.tensors() {
        writer.declare(&tensor.name, tensor.ty, &tensor.shape).unwrap();
    }
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}.gguf"));
    let mut data = writer.create(&path).unwrap();
    for tensor in model.tensors() {
        data.write(&tensor.name, model.data(tensor)).unwrap();
    }
    data.finish().unwrap();
    path
}

/// Options of a server of a fixture, on a port that the system chooses.
pub(crate) fn options(name: &str) -> ServeOptions {
    let mut options = ServeOptions::new([ModelSource::new("test", fixture(name))]);
    options.address = SocketAddr::from(([127, 0, 0, 1], 0));
    options.engine = EngineOptions::default().sequences(4).threads(2).context(256);
    options
}

/// A request for one token.
pub(crate) fn one_token() -> Value {
    json!({ "prompt": [1, 2, 3], "max_tokens": 1, "temperature": 0 })
}

/// The bytes of a request with these headers besides those that every client sends. The connection ends with the answer.
pub(crate) fn request_bytes(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
    text.into_bytes()
}

/// A server that runs until it is dropped.
pub(crate) struct Running {
    /// Its address.
    pub(crate) address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Starts a server.
    pub(crate) fn start(options: ServeOptions) -> Running {
        let (send, receive) = std::sync::mpsc::channel();
        let (end, ended) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                let server = Server::bind(options).await.unwrap();
                send.send(server.address().unwrap()).unwrap();
                server
                    .run(async {
                        let _ = ended.await;
                    })
                    .await
                    .unwrap();
            });
        });
        let address = receive.recv().expect("the server starts");
        Running { address, end: Some(end), thread: Some(thread) }
    }

    /// A server of this fixture.
    pub(crate) fn of(name: &str) -> Running {
        Running::start(options(name))
    }

    /// Tells the server to end, as SIGTERM does, and does not wait for it.
    pub(crate) fn end(&mut self) {
        drop(self.end.take());
    }

    /// Waits until the server has ended.
    pub(crate) fn join(mut self) {
        self.end();
        self.thread.take().unwrap().join().unwrap();
    }

    /// A new connection.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        stream
    }

    /// Sends bytes, and returns the whole answer.
    pub(crate) fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect();
        // A server that has answered before it has read everything may close the connection.
        let _ = stream.write_all(request);
        Answer::read(stream)
    }

    /// Sends a request with these headers besides those that every client sends.
    pub(crate) fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.raw(&request_bytes(method, path, headers, body))
    }

    /// Posts JSON.
    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.request("POST", path, &[("Content-Type", "application/json")], &body.to_string())
    }

    /// Gets a path.
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.request("GET", path, &[], "")
    }

    /// Waits until the server takes requests.
    pub(crate) fn ready(self) -> Running {
        while self.get("/ready").status != 200 {
            std::thread::sleep(Duration::from_millis(10));
        }
        self
    }

    /// The value of a metric of the model.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        metric(&self.get("/metrics").body, name)
    }

    /// Waits until a metric has a value for which this holds.
    pub(crate) fn wait_for(&self, name: &str, holds: impl Fn(f64) -> bool) {
        let begun = Instant::now();
        while !holds(self.metric(name)) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{name} stays {}", self.metric(name));
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the server panicked");
        }
    }
}

/// A metric's value in the text of `/metrics`, 0 if it has none yet.
pub(crate) fn metric(text: &str, name: &str) -> f64 {
    let line =
        text.lines().find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' '])));
    let value = |line: &str| line.rsplit(' ').next().and_then(|value| value.parse().ok());
    line.map_or(0.0, |line| value(line).unwrap_or_else(|| panic!("no number in {line:?}")))
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The status; 0 if the server closed the connection without an answer.
    pub(crate) status: u16,
    /// The headers, with names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// The body.
    pub(crate) body: String,
}

impl Answer {
    /// Reads an answer to the end of the connection.
    pub(crate) fn read(mut stream: impl Read) -> Answer {
        let mut bytes = Vec::new();
        let mut some = vec![0; 1 << 16];
        loop {
            match stream.read(&mut some) {
                Ok(0) => break,
                Ok(n) => bytes.extend_from_slice(&some[..n]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
                Err(error) => panic!("{error} after {} bytes", bytes.len()),
            }
        }
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            assert!(bytes.is_empty(), "half an answer: {:?}", String::from_utf8_lossy(&bytes));
            return Answer { status: 0, headers: Vec::new(), body: String::new() };
        };
        let head = std::str::from_utf8(&bytes[..end]).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|word| word.parse().ok());
        let header = |line: &str| line.split_once(": ").map(|(n, v)| (n.to_ascii_lowercase(), v.to_string()));
        let headers = lines.filter_map(header).collect();
        let mut answer = Answer { status: status.expect("a status"), headers, body: String::new() };
        let body = match answer.header("transfer-encoding") {
            Some("chunked") => unchunk(&bytes[end + 4..]),
            _ => bytes[end + 4..].to_vec(),
        };
        answer.body = String::from_utf8(body).unwrap();
        answer
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// A header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The data of all server-sent events, without the last `[DONE]`.
    pub(crate) fn events(&self) -> Vec<Value> {
        let data = self
            .body
            .split("\n\n")
            .filter_map(|event| event.lines().find_map(|line| line.strip_prefix("data: ")));
        data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
    }
}

/// The bytes of a chunked body, as far as they came.
fn unchunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(line) = bytes.windows(2).position(|two| two == b"\r\n") {
        let size =
            std::str::from_utf8(&bytes[..line]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let data = &bytes[line + 2..];
        match size {
            Some(size @ 1..) if data.len() >= size + 2 => {
                body.extend_from_slice(&data[..size]);
                bytes = &data[size + 2..];
            }
            _ => break,
        }
    }
    body
}
