//! Why the steps have no result.

use revm::context_interface::result::{EVMError, InvalidTransaction};

use crate::evm::account::rejection::Rejection;
use crate::state::ProviderError;

/// Why the steps have no result.
#[derive(Debug)]
pub enum StepError {
    /// The transaction cannot be included.
    Rejected(Rejection),
    /// The engine failed, or the transaction is invalid for a reason of every type.
    Evm(EVMError<ProviderError>),
}

impl From<Rejection> for StepError {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<InvalidTransaction> for StepError {
    fn from(invalid: InvalidTransaction) -> Self {
        Self::Evm(EVMError::Transaction(invalid))
    }
}

impl From<ProviderError> for StepError {
    fn from(error: ProviderError) -> Self {
        Self::Evm(EVMError::Database(error))
    }
}

impl From<EVMError<ProviderError>> for StepError {
    fn from(error: EVMError<ProviderError>) -> Self {
        Self::Evm(error)
    }
}
