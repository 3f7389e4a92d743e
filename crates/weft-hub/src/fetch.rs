//! Downloading files, with resumption and checksums.
//!
//! Files from every source go through a [`Download`](download::Download): it appends bytes to a part file and hashes
//! them, and renames the file only if its size and SHA-256 are right.

pub(crate) mod download;
pub(crate) mod remote;
pub(crate) mod transfer;
pub(crate) mod wheel;
