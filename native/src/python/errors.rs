//! The errors of `entresol.errors` that this crate raises.

use pyo3::import_exception;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyString};

use crate::crypto::CryptoError;
use crate::rlp::RlpError;
use crate::transaction::DecodeError;

import_exception!(entresol.errors, InvalidSignature);
import_exception!(entresol.errors, MalformedTransaction);
import_exception!(entresol.errors, MalformedValue);
import_exception!(entresol.errors, UnsupportedType);

impl From<RlpError> for PyErr {
    fn from(error: RlpError) -> Self {
        MalformedValue::new_err(error.to_string())
    }
}

impl From<CryptoError> for PyErr {
    fn from(error: CryptoError) -> Self {
        match error {
            CryptoError::Secret | CryptoError::PublicKey => {
                MalformedValue::new_err(error.to_string())
            }
            _ => InvalidSignature::new_err(error.to_string()),
        }
    }
}

/// Return the exception that stands for `error`.
pub fn decode_error(py: Python<'_>, error: DecodeError) -> PyErr {
    match error {
        DecodeError::Signature(problem) => InvalidSignature::new_err(problem),
        DecodeError::Unsupported(transaction_type) => UnsupportedType::new_err(transaction_type),
        DecodeError::Malformed { field, problem } => malformed_transaction(py, problem, field)
            .map_or_else(|failure| failure, PyErr::from_value),
    }
}

fn malformed_transaction(
    py: Python<'_>,
    problem: String,
    field: Option<String>,
) -> PyResult<Bound<'_, PyAny>> {
    let field = field.map(|field| PyString::new(py, &field));
    let keywords = [("field", field)].into_py_dict(py)?;
    py.get_type::<MalformedTransaction>()
        .call((problem,), Some(&keywords))
}
