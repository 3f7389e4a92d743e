//! Downloading a file from the hub, with retries.

use std::io;
use std::time::Duration;

use ureq::Body;
use ureq::http::{Response, StatusCode, header};

use super::download::Download;
use super::remote::{Remote, check_status};
use crate::error::Error;
use crate::event::{Event, OnEvent, notify};

/// The number of connections in a row without any bytes after which a download fails.
const TRIES: u32 = 3;
/// The pause after the first such connection. It grows linearly.
const PAUSE: Duration = Duration::from_secs(1);

/// Downloads the rest of a file, without checking it.
///
/// # Errors
/// If the hub cannot be reached or returns an error, connections break without any progress, or `on` cancels. Bytes that
/// arrived are kept.
pub(crate) fn fill(
    download: &mut Download,
    remote: &Remote,
    address: &str,
    on: OnEvent<'_>,
) -> Result<(), Error> {
    let (mut tries, mut connected) = (0, false);
    while download.len() < download.total() {
        let before = download.len();
        let total = download.total();
        let broken = |source| Error::Broken { host: remote.host().into(), done: before, total, source };
        let response = match remote.get(address, before).and_then(refuse_busy) {
            Ok(response) => response,
            // Bytes that have arrived are kept, so the user should know that it is worth trying again.
            Err(error @ (Error::Unreachable { .. } | Error::Status(_))) if before > 0 => {
                let reason = io::Error::other(error.in_one_line());
                tries += 1;
                if !connected || tries == TRIES {
                    return Err(broken(reason));
                }
                notify(on, Event::Retrying { reason: &reason, done: before })?;
                std::thread::sleep(PAUSE * tries);
                continue;
            }
            Err(error) => return Err(error),
        };
        connected = true;
        let Some(mut body) = position(download, response)? else { continue };
        let received = download.append(&mut body.as_reader(), on)?;
        let (done, total) = (download.len(), download.total());
        if done == total {
            break;
        }
        tries = if done > before { 0 } else { tries + 1 };
        let reason = received.err().unwrap_or_else(|| io::Error::other("it was closed too early"));
        if tries == TRIES {
            return Err(Error::Broken { host: remote.host().into(), done, total, source: reason });
        }
        notify(on, Event::Retrying { reason: &reason, done })?;
        std::thread::sleep(PAUSE * tries);
    }
    Ok(())
}

/// Refuses the answer of a server that has too much to do or fails, which may pass.
fn refuse_busy(response: Response<Body>) -> Result<Response<Body>, Error> {
    match response.status().as_u16() {
        status @ (429 | 500..) => Err(Error::Status(status)),
        _ => Ok(response),
    }
}

/// Returns the body of a response, after restarting the download if the body begins at byte 0. Returns `None` if the
/// download was restarted and has to be requested again.
fn position(download: &mut Download, response: Response<Body>) -> Result<Option<Body>, Error> {
    let status = response.status();
    match status {
        StatusCode::PARTIAL_CONTENT if range_start(&response) == Some(download.len()) => {}
        StatusCode::PARTIAL_CONTENT => {
            return Err(Error::Response("it has a different part of the file than requested".into()));
        }
        // The bytes so far are not the beginning of the hub's file.
        StatusCode::RANGE_NOT_SATISFIABLE if download.len() > 0 => {
            download.restart()?;
            return Ok(None);
        }
        _ => {
            check_status(status.as_u16())?;
            // The whole file, from a server without ranges.
            if download.len() > 0 {
                download.restart()?;
            }
        }
    }
    Ok(Some(response.into_body()))
}

/// The first byte of the body, from `Content-Range: bytes 100-199/200`.
fn range_start(response: &Response<Body>) -> Option<u64> {
    let range = response.headers().get(header::CONTENT_RANGE)?.to_str().ok()?;
    range.strip_prefix("bytes ")?.split_once('-')?.0.parse().ok()
}
