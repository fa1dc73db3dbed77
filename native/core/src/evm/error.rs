//! Why an execution has no result.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use revm::context_interface::result::{EVMError, InvalidTransaction};

use super::account::rejection::Rejection;
use super::limits::LimitReached;
use super::trace::TraceError;
use crate::state::ProviderError;

/// Why an execution has no result.
#[derive(Debug, thiserror::Error)]
pub enum ExecutionError {
    /// The transaction is not valid on this state or in this block.
    #[error("{0}")]
    Invalid(InvalidTransaction),
    /// An account or a paymaster does not agree to the transaction, or cannot.
    #[error("{0:?}")]
    Rejected(Rejection),
    /// The state could not be read.
    #[error("{0}")]
    Provider(ProviderError),
    /// A limit was reached.
    #[error("limit reached: {0:?}")]
    LimitReached(LimitReached),
    /// The tracer is unknown, or failed.
    #[error("{0}")]
    Trace(String),
    /// The engine panicked, which is a bug.
    #[error("{0}")]
    Panicked(String),
}

impl ExecutionError {
    /// Return why the engine failed: it says so in other words if it has `reached` a limit.
    pub(super) fn of_engine(error: EVMError<ProviderError>, reached: Option<LimitReached>) -> Self {
        match (error, reached) {
            (_, Some(limit)) => Self::LimitReached(limit),
            (EVMError::Transaction(invalid), None) => Self::Invalid(invalid),
            (EVMError::Database(error), None) => Self::Provider(error),
            (other, None) => Self::Panicked(other.to_string()),
        }
    }
}

impl From<Rejection> for ExecutionError {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<TraceError> for ExecutionError {
    fn from(error: TraceError) -> Self {
        match error {
            TraceError::Provider(error) => Self::Provider(error),
            TraceError::Tracer(text) => Self::Trace(text),
        }
    }
}

/// Return the result of `work`, also if it panics.
pub(super) fn catch_panic<T>(
    work: impl FnOnce() -> Result<T, ExecutionError>,
) -> Result<T, ExecutionError> {
    // A panic leaves nothing half-written: locks are held only around map operations, and an overlay
    // changes only when a result is applied to it.
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|payload| Err(ExecutionError::Panicked(panic_text(payload.as_ref()))))
}

fn panic_text(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| String::from("panic"))
}
