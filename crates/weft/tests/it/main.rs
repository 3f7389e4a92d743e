//! The program from the outside: what a person types, sees and finds on the disk. No test needs the network, or a model
//! that is not in the checkout.

mod ablate;
mod cache;
mod compute;
mod damaged;
mod devices;
mod explain;
mod help;
#[path = "../../../weft-hub/tests/it/server.rs"]
mod hub;
mod inspect;
mod journal;
mod make;
mod measure;
mod packed;
mod pull;
mod quality;
mod report;
mod support;
mod talk;
mod tune;
mod usage;
