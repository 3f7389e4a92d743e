//! A local hub that misbehaves on demand.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, mpsc};

use sha2::{Digest as _, Sha256};

/// One repository, `org/repo`, served until the program ends.
pub(crate) struct Hub {
    address: String,
    state: Arc<Mutex<State>>,
}

/// The hub's files, its faults, and the requests it has seen.
#[derive(Default)]
pub(crate) struct State {
    /// By path in the repository.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// Wrong checksums for the listing.
    pub(crate) lies: BTreeMap<String, String>,
    /// Wrong sizes for the listing.
    pub(crate) sizes: BTreeMap<String, u64>,
    /// For each request of a file in order, the number of bytes of the body after which the connection ends.
    pub(crate) cuts: Vec<usize>,
    /// Whether ranges are ignored.
    pub(crate) whole_only: bool,
    /// An error status for all requests of files from this one on.
    pub(crate) status: Option<(usize, u16)>,
    /// The server that requests of files are redirected to.
    pub(crate) elsewhere: Option<String>,
    /// The next file waits for this in the middle of its body.
    pub(crate) hold: Option<mpsc::Receiver<()>>,
    /// Requests of files: the first byte, and the Authorization header.
    pub(crate) seen: Vec<(usize, Option<String>)>,
}

impl Hub {
    /// A hub with these files.
    pub(crate) fn new(files: &[(&str, &[u8])]) -> Hub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("127.0.0.1:{}", listener.local_addr().unwrap().port());
        let files = files.iter().map(|(path, bytes)| (path.to_string(), bytes.to_vec())).collect();
        let state = Arc::new(Mutex::new(State { files, ..State::default() }));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || answer(stream, &state));
            }
        });
        Hub { address, state }
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The same address with a host name.
    pub(crate) fn url_by_name(&self) -> String {
        self.url().replace("127.0.0.1", "localhost")
    }

    pub(crate) fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The first byte of each request of a file.
    pub(crate) fn starts(&self) -> Vec<usize> {
        self.state().seen.iter().map(|(start, _)| *start).collect()
    }
}

/// Answers one request and closes the connection.
fn answer(stream: TcpStream, state: &Mutex<State>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(path) = lines.next().and_then(|line| Some(line.split(' ').nth(1)?.to_string())) else { return };
    let headers: BTreeMap<String, String> = lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| {
            line.split_once(": ").map(|(name, value)| (name.to_ascii_lowercase(), value.to_string()))
        })
        .collect();
    // The client may close the connection early.
    let _ = match path.strip_prefix("/org/repo/resolve/abc123/") {
        Some(file) => send_file(stream, state, file, &headers),
        None if path == "/api/models/org/repo?blobs=true" => {
            let body = listing(&state.lock().unwrap());
            send(stream, "200 OK", "", body.as_bytes())
        }
        None => send(stream, "404 Not Found", "", b""),
    };
}

fn send_file(
    stream: TcpStream,
    state: &Mutex<State>,
    file: &str,
    headers: &BTreeMap<String, String>,
) -> std::io::Result<()> {
    let mut state = state.lock().unwrap();
    let range = headers.get("range").filter(|_| !state.whole_only);
    let start = range.map_or(0, |range| range["bytes=".len()..].trim_end_matches('-').parse().unwrap());
    let request = state.seen.len();
    state.seen.push((start, headers.get("authorization").cloned()));
    if let Some(elsewhere) = &state.elsewhere {
        return send(
            stream,
            "302 Found",
            &format!("Location: {elsewhere}/org/repo/resolve/abc123/{file}\r\n"),
            b"",
        );
    }
    if let Some((_, status)) = state.status.filter(|(from, _)| request >= *from) {
        return send(stream, &format!("{status} No"), "", b"");
    }
    let Some(bytes) = state.files.get(file).cloned() else { return send(stream, "404 Not Found", "", b"") };
    let cut = state.cuts.get(request).copied().unwrap_or(usize::MAX);
    let hold = state.hold.take();
    drop(state);
    let (status, extra) = match range {
        Some(_) => (
            "206 Partial Content",
            format!("Content-Range: bytes {start}-{}/{}\r\n", bytes.len() - 1, bytes.len()),
        ),
        None => ("200 OK", String::new()),
    };
    let body = &bytes[start..];
    head(&stream, status, &extra, body.len())?;
    let (first, second) = body[..body.len().min(cut)].split_at(body.len().min(cut) / 2);
    (&stream).write_all(first)?;
    if let Some(hold) = hold {
        // Until the test goes on or ends.
        let _ = hold.recv();
    }
    (&stream).write_all(second)
}

fn send(stream: TcpStream, status: &str, extra: &str, body: &[u8]) -> std::io::Result<()> {
    head(&stream, status, extra, body.len())?;
    (&stream).write_all(body)
}

fn head(mut stream: &TcpStream, status: &str, extra: &str, length: usize) -> std::io::Result<()> {
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{extra}Connection: close\r\n\r\n")
}

fn listing(state: &State) -> String {
    let file = |(path, bytes): (&String, &Vec<u8>)| {
        let sha256 = state.lies.get(path).cloned().unwrap_or_else(|| sha256(bytes));
        let size = state.sizes.get(path).copied().unwrap_or(bytes.len() as u64);
        format!(r#"{{"rfilename":"{path}","size":{size},"lfs":{{"size":{size},"sha256":"{sha256}"}}}}"#)
    };
    let files: Vec<String> = state.files.iter().map(file).collect();
    format!(r#"{{"sha":"abc123","siblings":[{}]}}"#, files.join(","))
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}
