//! Filling a file from the hub, over as many connections as it takes.

use std::io;
use std::time::Duration;

use ureq::Body;
use ureq::http::{Response, StatusCode, header};

use super::download::Download;
use super::remote::{Remote, check_status};
use crate::error::Error;
use crate::event::{Event, OnEvent, tell};

/// Connections in a row that may bring nothing.
const TRIES: u32 = 3;
/// Time before the next of them.
const PAUSE: Duration = Duration::from_secs(1);

/// Fetches what a file still lacks. Afterwards it has its length, and is still to be checked.
///
/// # Errors
/// If the hub cannot be reached or refuses, connections break without bringing anything, or `on` cancels. What came is kept.
pub(crate) fn fill(
    download: &mut Download,
    remote: &Remote,
    address: &str,
    on: OnEvent<'_>,
) -> Result<(), Error> {
    let mut tries = 0;
    while download.len() < download.total() {
        let before = download.len();
        let answer = remote.get(address, before)?;
        let Some(mut body) = position(download, answer)? else { continue };
        let broke = download.take(&mut body.as_reader(), on)?;
        let (done, total) = (download.len(), download.total());
        if done == total {
            break;
        }
        tries = if done > before { 0 } else { tries + 1 };
        let reason = broke.err().unwrap_or_else(|| io::Error::other("it was closed too early"));
        if tries == TRIES {
            return Err(Error::Broken { host: remote.host().into(), done, total, source: reason });
        }
        tell(on, Event::Retrying { reason: &reason, done })?;
        std::thread::sleep(PAUSE * tries);
    }
    Ok(())
}

/// The body of an answer, with the file at the byte it begins with; `None` if the file had to be begun anew.
fn position(download: &mut Download, answer: Response<Body>) -> Result<Option<Body>, Error> {
    let status = answer.status();
    match status {
        StatusCode::PARTIAL_CONTENT if range_start(&answer) == Some(download.len()) => {}
        StatusCode::PARTIAL_CONTENT => {
            return Err(Error::Answer("it sent another part of the file than was asked for".into()));
        }
        // What is there cannot be the beginning of what the hub has.
        StatusCode::RANGE_NOT_SATISFIABLE if download.len() > 0 => {
            download.restart()?;
            return Ok(None);
        }
        _ => {
            check_status(status.as_u16())?;
            // All of it, from a server that has no ranges.
            if download.len() > 0 {
                download.restart()?;
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
