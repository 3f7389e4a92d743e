//! Filling a file from the hub, over as many connections as it takes.

use std::io;
use std::time::Duration;

use anyhow::{Context as _, bail};
use ureq::Body;
use ureq::http::{Response, StatusCode, header};

use super::hub::{Hub, check_status};
use super::part::Part;
use crate::out::note;

/// Connections in a row that may bring nothing.
const TRIES: u32 = 3;
/// Time before the next of them.
const PAUSE: Duration = Duration::from_secs(1);

/// Fetches what a file still lacks. The result has its length, and is still to be checked.
///
/// # Errors
/// If the hub cannot be reached or refuses, or connections break without bringing anything. What came is kept.
pub(super) fn fill(part: &mut Part, hub: &Hub, address: &str) -> anyhow::Result<()> {
    let mut tries = 0;
    while part.len() < part.total() {
        let before = part.len();
        let answer = hub.get(address, before)?;
        let Some(mut body) = position(part, answer)? else { continue };
        let broke = part.take(&mut body.as_reader())?;
        if part.len() == part.total() {
            break;
        }
        tries = if part.len() > before { 0 } else { tries + 1 };
        let reason = broke.err().unwrap_or_else(|| io::Error::other("it was closed too early"));
        if tries == TRIES {
            let (len, total) = (part.len(), part.total());
            return Err(reason).with_context(|| {
                format!(
                    "the connection to {} broke after {len} of {total} bytes; run it again to go on",
                    hub.host()
                )
            });
        }
        note!("the connection broke ({reason}); going on from byte {}", part.len());
        std::thread::sleep(PAUSE * tries);
    }
    Ok(())
}

/// The body of an answer, with the file at the byte it begins with; `None` if the file had to be begun anew first.
fn position(part: &mut Part, answer: Response<Body>) -> anyhow::Result<Option<Body>> {
    let status = answer.status();
    match status {
        StatusCode::PARTIAL_CONTENT if range_start(&answer) == Some(part.len()) => {}
        StatusCode::PARTIAL_CONTENT => bail!("the hub sent another part of the file than was asked for"),
        // What is there cannot be the beginning of what the hub has.
        StatusCode::RANGE_NOT_SATISFIABLE if part.len() > 0 => {
            part.restart()?;
            return Ok(None);
        }
        _ => {
            check_status(status.as_u16())?;
            // All of it, from a server that cannot do less.
            if part.len() > 0 {
                part.restart()?;
            }
        }
    }
    Ok(Some(answer.into_body()))
}

/// Where the body begins: `Content-Range: bytes 100-199/200`.
fn range_start(answer: &Response<Body>) -> Option<u64> {
    let range = answer.headers().get(header::CONTENT_RANGE)?.to_str().ok()?;
    range.strip_prefix("bytes ")?.split_once('-')?.0.parse().ok()
}
