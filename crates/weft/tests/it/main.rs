//! The program from the outside: what a person types, sees and finds on the disk. No test needs the network, or a model
//! that is not in the checkout.

mod cache;
mod compute;
mod damaged;
mod explain;
mod help;
mod hub;
mod inspect;
mod make;
mod measure;
mod packed;
mod pull;
mod support;
mod talk;
mod usage;
