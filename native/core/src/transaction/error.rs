//! Why bytes are not a signed transaction.

use thiserror::Error;

use crate::crypto::CryptoError;
use crate::rlp::RlpError;

/// Why bytes are not a signed transaction.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The bytes are not a transaction.
    #[error("{}{problem}", field.as_ref().map(|name| format!("{name}: ")).unwrap_or_default())]
    Malformed {
        /// The wire name of the field, where it is known.
        field: Option<String>,
        /// The problem.
        problem: String,
    },
    /// The signature is not valid.
    #[error("invalid signature: {0}")]
    Signature(String),
    /// The blobs are not those that the transaction names, or a proof does not hold.
    #[error("invalid blob sidecar: {0}")]
    Sidecar(String),
    /// The transaction type is not supported.
    #[error("transaction type not supported: {0:#x}")]
    Unsupported(u8),
}

impl From<RlpError> for DecodeError {
    fn from(error: RlpError) -> Self {
        Self::Malformed { field: None, problem: error.to_string() }
    }
}

impl From<CryptoError> for DecodeError {
    fn from(error: CryptoError) -> Self {
        Self::Signature(error.to_string())
    }
}

/// Return the error of a field, where it is known.
pub(super) fn malformed(field: Option<&str>, problem: impl Into<String>) -> DecodeError {
    DecodeError::Malformed { field: field.map(str::to_owned), problem: problem.into() }
}
