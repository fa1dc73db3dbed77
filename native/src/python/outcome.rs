//! What came of an execution.

use alloy_primitives::U256;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use revm::context_interface::result::{ExecutionResult as RevmResult, SuccessReason};

use super::account::Account;
use super::convert::{PyAddress, PyData, PyHash};
use crate::changes;
use crate::evm;

/// How an execution ended, and what it did.
#[pyclass(frozen, module = "entresol._native")]
pub struct ExecutionResult(pub evm::Outcome);

#[pymethods]
impl ExecutionResult {
    /// `success`, `revert` or `halt`.
    #[getter]
    fn status(&self) -> &'static str {
        match &self.0.result {
            RevmResult::Success { .. } => "success",
            RevmResult::Revert { .. } => "revert",
            RevmResult::Halt { .. } => "halt",
        }
    }

    /// Why it ended that way.
    #[getter]
    fn reason(&self) -> String {
        match &self.0.result {
            RevmResult::Success { reason: SuccessReason::Stop, .. } => "stop".into(),
            RevmResult::Success { reason: SuccessReason::Return, .. } => "return".into(),
            RevmResult::Success { reason: SuccessReason::SelfDestruct, .. } => {
                "self-destruct".into()
            }
            RevmResult::Revert { .. } => "execution reverted".into(),
            RevmResult::Halt { reason, .. } => reason.to_string(),
        }
    }

    #[getter]
    fn gas_used(&self) -> u64 {
        self.0.result.tx_gas_used()
    }

    #[getter]
    fn gas_refunded(&self) -> u64 {
        self.0.result.gas().final_refunded()
    }

    #[getter]
    fn gas_spent(&self) -> u64 {
        self.0.result.gas().total_gas_spent()
    }

    #[getter]
    fn output(&self) -> PyData {
        PyData(self.0.result.output().cloned().unwrap_or_default())
    }

    #[getter]
    fn created(&self) -> Option<PyAddress> {
        self.0.result.created_address().map(PyAddress)
    }

    #[getter]
    fn logs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let logs = match &self.0.result {
            RevmResult::Success { logs, .. } => logs.as_slice(),
            _ => &[],
        };
        let logs = logs.iter().map(|log| {
            let topics = PyTuple::new(py, log.topics().iter().copied().map(PyHash))?;
            (PyAddress(log.address), topics, PyData(log.data.data.clone())).into_pyobject(py)
        });
        PyList::new(py, logs.collect::<PyResult<Vec<_>>>()?)
    }

    #[getter]
    fn changes(&self) -> Changes {
        Changes(self.0.changes.clone())
    }

    /// Every account that was looked at, with its slots that were.
    #[getter]
    fn reads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let reads = PyDict::new(py);
        for (address, account) in &self.0.touched {
            let slots = account.storage.keys().map(|slot| word(py, *slot));
            reads.set_item(PyAddress(*address), PyList::new(py, slots.collect::<Vec<_>>())?)?;
        }
        Ok(reads)
    }

    #[getter]
    fn trace<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.0.trace.as_ref().map(|trace| PyBytes::new(py, trace))
    }
}

/// Everything that an execution, or a block of them, changed.
#[pyclass(frozen, module = "entresol._native")]
pub struct Changes(pub changes::Changes);

#[pymethods]
impl Changes {
    /// The changed accounts, in the order of their addresses.
    #[getter]
    fn accounts(&self) -> Vec<AccountChange> {
        self.0.accounts.iter().cloned().map(AccountChange).collect()
    }

    /// The codes that are new, by hash.
    #[getter]
    fn codes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let codes = PyDict::new(py);
        for (hash, code) in &self.0.codes {
            codes.set_item(PyHash(*hash), PyData(code.original_bytes()))?;
        }
        Ok(codes)
    }
}

/// What became of one account.
#[pyclass(frozen, module = "entresol._native")]
pub struct AccountChange(changes::AccountChange);

#[pymethods]
impl AccountChange {
    #[getter]
    fn address(&self) -> PyAddress {
        PyAddress(self.0.address)
    }

    #[getter]
    fn before(&self) -> Option<Account> {
        self.0.before.map(Account)
    }

    #[getter]
    fn after(&self) -> Option<Account> {
        self.0.after.map(Account)
    }

    /// Whether all storage from before is gone, also the slots that `storage` does not name.
    #[getter]
    fn destroyed(&self) -> bool {
        self.0.destroyed
    }

    /// The changed slots, each with the value before and after.
    #[getter]
    fn storage<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let storage = PyDict::new(py);
        for (slot, values) in &self.0.storage {
            storage.set_item(word(py, *slot), (word(py, values.before), word(py, values.after)))?;
        }
        Ok(storage)
    }
}

/// Return the 32 bytes that stand for a slot, or for its value, in Python.
pub fn word(py: Python<'_>, value: U256) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &value.to_be_bytes::<32>())
}
