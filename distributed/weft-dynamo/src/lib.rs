//! Weft as a worker of NVIDIA Dynamo: an engine behind Dynamo's seam for engines.
//!
//! Dynamo's front end writes prompts with the model's chat template, splits them into tokens, and chooses a worker. The worker
//! gets tokens and returns tokens. [`Worker`] is the seam; a thread of its own ([`thread`]) runs the engine; [`requests`],
//! [`guided`] and [`outputs`] translate; [`events`] tells the router which prefixes the worker has; [`card`] writes the files
//! that the front end needs of the model.

pub mod card;
pub mod events;
pub mod guided;
pub mod outputs;
pub mod requests;
pub mod thread;
mod worker;

pub use worker::Worker;

use dynamo_backend_common::{BackendError, DynamoError, ErrorType};

/// The error of a request or an option that the worker refuses.
pub(crate) fn refused(why: impl std::fmt::Display) -> DynamoError {
    let why = why.to_string();
    let kind = ErrorType::Backend(BackendError::InvalidArgument);
    // The front end keeps the other message to itself.
    DynamoError::builder().error_type(kind).public_message(&why).message(why).build()
}

/// An error that ends the worker's use. The front end sends the request to another worker, if it may.
pub(crate) fn down(why: impl std::fmt::Display) -> DynamoError {
    error(BackendError::EngineShutdown, why)
}

/// An error of a request that may be right, but that this worker cannot serve now.
pub(crate) fn failed(why: impl std::fmt::Display) -> DynamoError {
    error(BackendError::Unknown, why)
}

fn error(kind: BackendError, why: impl std::fmt::Display) -> DynamoError {
    DynamoError::builder().error_type(ErrorType::Backend(kind)).message(why.to_string()).build()
}
