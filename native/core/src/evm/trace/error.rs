//! Why there is no trace.

use crate::state::ProviderError;

/// An error of a tracer.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The tracer is unknown, or does not take these options.
    #[error("{0}")]
    Tracer(String),
    /// The state could not be read.
    #[error("{0}")]
    Provider(ProviderError),
}
