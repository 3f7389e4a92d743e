//! Ids of requests and of what they create.

use std::time::{SystemTime, UNIX_EPOCH};

/// The id of a request, in logs and in the header `x-request-id`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RequestId(pub(crate) String);

tokio::task_local! {
    /// The id of the request that a task answers.
    pub(super) static CURRENT: String;
}

/// The id of the request that is being answered; empty outside of one.
pub(crate) fn request_id() -> String {
    CURRENT.try_with(String::clone).unwrap_or_default()
}

/// A new id: the prefix and 24 random characters.
pub(crate) fn new_id(prefix: &str) -> String {
    let mut id = String::with_capacity(prefix.len() + 24);
    id.push_str(prefix);
    for byte in random::<12>() {
        id.push_str(&format!("{byte:02x}"));
    }
    id
}

/// A random seed. Clients that read numbers as floats can represent it.
pub(crate) fn new_seed() -> u64 {
    u64::from(u32::from_le_bytes(random::<4>()))
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    if getrandom::fill(&mut bytes).is_err() {
        // Ids need to differ, not to be secret.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        bytes.iter_mut().zip(now.to_le_bytes()).for_each(|(byte, time)| *byte = time);
    }
    bytes
}
