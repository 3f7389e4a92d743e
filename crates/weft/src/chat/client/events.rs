//! Server-sent events: the data of each, from bytes that arrive in any pieces.

/// The longest event, in bytes.
const MAX: usize = 64 << 20;

/// Reads a stream of events. See <https://html.spec.whatwg.org/multipage/server-sent-events.html>.
#[derive(Default)]
pub(super) struct Events {
    /// The line that has begun.
    line: Vec<u8>,
    /// The data of the event that has begun, if it has any.
    data: Option<String>,
    /// Whether the last byte was a carriage return: a line feed after it belongs to the same line end.
    after_return: bool,
    /// Whether a line has ended already.
    begun: bool,
}

impl Events {
    /// Takes more bytes; returns the data of the events that they complete.
    ///
    /// # Errors
    /// If an event is too long.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, &'static str> {
        let mut complete = Vec::new();
        for &byte in bytes {
            let after_return = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => complete.extend(self.end_line()),
                _ => self.line.push(byte),
            }
        }
        if self.line.len() + self.data.as_ref().map_or(0, String::len) > MAX {
            return Err("an event is longer than 64 MiB");
        }
        Ok(complete)
    }

    /// Ends the line; returns the data of the event that this completes.
    fn end_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        let mut line = &line[..];
        if !std::mem::replace(&mut self.begun, true) {
            // A byte order mark may come first.
            line = line.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            return self.data.take();
        }
        let (name, value) = match line.iter().position(|&byte| byte == b':') {
            // Without a name, it is a comment.
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        if name == b"data" {
            let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
            match &mut self.data {
                Some(data) => data.extend(["\n", &value]),
                None => self.data = Some(value.into_owned()),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The events of a stream that arrives in these pieces.
    fn read(pieces: &[&[u8]]) -> Vec<String> {
        let mut events = Events::default();
        pieces.iter().flat_map(|piece| events.push(piece).unwrap()).collect()
    }

    #[test]
    fn the_same_events_wherever_the_stream_is_cut() {
        let cases: [(&str, &[&str]); 8] = [
            ("data: a\n\ndata:b\n\n", &["a", "b"]),
            ("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
            ("data: a\r\rdata: b\r\r", &["a", "b"]),
            ("\u{FEFF}: comment\n\nevent: x\nid: 7\ndata: 日本 é😀\n\n\n\n", &["日本 é😀"]),
            ("data: {\"a\":\ndata:  \"b:c\"}\n\n", &["{\"a\":\n \"b:c\"}"]),
            ("data\n\ndata:\n\n", &["", ""]),
            ("datax: no\nretry: 3\n\n", &[]),
            ("data: unfinished\n", &[]),
        ];
        for (stream, expected) in cases {
            let bytes = stream.as_bytes();
            assert_eq!(read(&[bytes]), expected, "{stream:?}");
            for first in 0..=bytes.len() {
                for second in first..=bytes.len() {
                    let pieces = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                    assert_eq!(read(&pieces), expected, "{stream:?} cut at {first} and {second}");
                }
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(read(&single), expected, "{stream:?} byte by byte");
        }
    }

    #[test]
    fn an_endless_line_is_an_error() {
        let mut events = Events::default();
        let piece = vec![b'x'; 1 << 20];
        let failed = (0..=65).find(|_| events.push(&piece).is_err());
        assert_eq!(failed, Some(64));
    }
}
