//! Serves models over HTTP.
#![forbid(unsafe_code)]
