//! Tests of the whole program: what it prints and writes. No test needs the network, or a model outside the repository.

mod ablate;
#[path = "../../../weft-serve/tests/it/adapter.rs"]
mod adapter;
mod arguments;
mod built_in;
mod cache;
mod compute;
mod convert;
mod damaged;
mod devices;
mod embed;
mod explain;
mod help;
#[path = "../../../weft-hub/tests/it/server.rs"]
mod hub;
mod inspect;
mod journal;
mod kept_packed;
mod kernels;
mod make;
mod measure;
mod optimize;
mod packed;
mod ps;
#[cfg(unix)]
mod pty;
mod pull;
mod quality;
mod reasoning;
mod remote;
mod report;
mod server;
mod serving;
mod support;
mod talk;
#[cfg(unix)]
mod terminal;
mod texts;
mod tune;
mod usage;
