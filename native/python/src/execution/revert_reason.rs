//! What an execution reverted with, for Python.

use pyo3::prelude::*;

use entresol_core::evm::revert_reason as reason;

/// Return the text for what an execution reverted with, in anvil's wording; None if it is empty.
#[pyfunction]
#[pyo3(signature = (data, /))]
pub fn describe_revert(data: &[u8]) -> Option<String> {
    reason::describe_revert(data)
}

/// Decode `Error(string)` or `Panic(uint256)`; return None for a custom error or malformed data.
#[pyfunction]
#[pyo3(signature = (data, /))]
pub fn revert_reason(data: &[u8]) -> Option<String> {
    reason::revert_reason(data)
}
