//! A server in this process, and a client that knows no more HTTP than it needs.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::thread::JoinHandle;

use serde_json::Value;
use tokio::sync::oneshot;
use weft_engine::EngineOptions;
use weft_serve::{ModelSource, ServeOptions, Server};

/// A fixture's path.
pub(crate) fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

/// Options of a server of a fixture, on a port that the system chooses.
pub(crate) fn options(name: &str) -> ServeOptions {
    let mut options = ServeOptions::new([ModelSource::new("test", fixture(name))]);
    options.address = SocketAddr::from(([127, 0, 0, 1], 0));
    options.engine = EngineOptions::default().sequences(4).threads(2).context(256);
    options
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
                    .await;
            });
        });
        let address = receive.recv().expect("the server starts");
        Running { address, end: Some(end), thread: Some(thread) }
    }

    /// A server of this fixture.
    pub(crate) fn of(name: &str) -> Running {
        Running::start(options(name))
    }

    /// Sends bytes, and returns the whole answer.
    pub(crate) fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(request).unwrap();
        Answer::read(stream)
    }

    /// Sends a request with these headers besides those that every client sends.
    pub(crate) fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address);
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.raw(text.as_bytes())
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
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the server panicked");
        }
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The status.
    pub(crate) status: u16,
    /// The headers, with names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// The body.
    pub(crate) body: String,
}

impl Answer {
    /// Reads an answer to its end.
    pub(crate) fn read(stream: TcpStream) -> Answer {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let status =
            line.split(' ').nth(1).unwrap_or_else(|| panic!("no status in {line:?}")).parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_ascii_lowercase(), value.to_string()));
        }
        let header =
            |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let mut body = Vec::new();
        if header("transfer-encoding") == Some("chunked") {
            loop {
                let mut size = String::new();
                reader.read_line(&mut size).unwrap();
                let Ok(size) = usize::from_str_radix(size.trim(), 16) else { break };
                let mut chunk = vec![0; size + 2];
                if reader.read_exact(&mut chunk).is_err() || size == 0 {
                    break;
                }
                body.extend_from_slice(&chunk[..size]);
            }
        } else if let Some(length) = header("content-length") {
            body.resize(length.parse().unwrap(), 0);
            reader.read_exact(&mut body).unwrap();
        }
        Answer { status, headers, body: String::from_utf8(body).unwrap() }
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
