//! Fetching a file: resumed, checked, and never half there.
//!
//! Whatever the source, a file goes through one [`Download`](download::Download): bytes are appended to its part file and
//! hashed on the way, and only a file of the expected size and SHA-256 takes its name.

pub(crate) mod download;
pub(crate) mod remote;
pub(crate) mod transfer;
pub(crate) mod wheel;
