//! `ExecutionResult` and `Changes` for Python.

use alloy_primitives::U256;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use revm::context_interface::result::{ExecutionResult as RevmResult, SuccessReason};

use entresol_core::evm;
use entresol_core::state::changes;

use super::account::Account;
use crate::convert::{PyAddress, PyData, PyHash};

/// The result of an execution, with its state changes and trace.
#[pyclass(frozen, module = "entresol._native")]
pub struct ExecutionResult(pub evm::ExecutionResult);

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

    /// Why the execution ended that way.
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

    /// What the execution took of a limit on its gas.
    #[getter]
    fn budget_spent(&self) -> u64 {
        self.0.budget_spent()
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
        // One that runs in steps may have failed and still have logs, of the steps before and after.
        let logs = self.0.result.logs().iter().map(|log| {
            let topics = PyTuple::new(py, log.topics().iter().copied().map(PyHash))?;
            (PyAddress(log.address), topics, PyData(log.data.data.clone())).into_pyobject(py)
        });
        PyList::new(py, logs.collect::<PyResult<Vec<_>>>()?)
    }

    #[getter]
    fn changes(&self) -> Changes {
        Changes(self.0.changes.clone())
    }

    /// Every account that was accessed, with the slots accessed.
    #[getter]
    fn reads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let reads = PyDict::new(py);
        for (address, account) in &self.0.touched {
            let slots = account.storage.keys().map(|slot| word(py, *slot));
            reads.set_item(PyAddress(*address), PyList::new(py, slots.collect::<Vec<_>>())?)?;
        }
        Ok(reads)
    }

    /// The data of each call of `console.log`, in order, those of failed frames too.
    #[getter]
    fn console_calls<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.console.recorded.iter().cloned().map(PyData))
    }

    /// How many further calls of `console.log` were not recorded.
    #[getter]
    fn console_calls_dropped(&self) -> u64 {
        self.0.console.dropped
    }

    #[getter]
    fn trace<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.0.trace.as_ref().map(|trace| PyBytes::new(py, trace))
    }
}

/// State changes of a transaction or a block.
#[pyclass(frozen, module = "entresol._native")]
pub struct Changes(pub changes::Changes);

#[pymethods]
impl Changes {
    /// Changed accounts, by address in ascending order.
    #[getter]
    fn accounts(&self) -> Vec<AccountChange> {
        self.0.accounts.iter().cloned().map(AccountChange).collect()
    }

    /// New code, by hash.
    #[getter]
    fn codes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let codes = PyDict::new(py);
        for (hash, code) in &self.0.codes {
            codes.set_item(PyHash(*hash), PyData(code.original_bytes()))?;
        }
        Ok(codes)
    }
}

/// The change of one account.
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

    /// Whether all previous storage was cleared, including slots that `storage` does not list.
    #[getter]
    fn destroyed(&self) -> bool {
        self.0.destroyed
    }

    /// Changed slots, each with the value before and after.
    #[getter]
    fn storage<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let storage = PyDict::new(py);
        for (slot, values) in &self.0.storage {
            let before = values.before.map(|it| word(py, it));
            storage.set_item(word(py, *slot), (before, word(py, values.after)))?;
        }
        Ok(storage)
    }
}

/// Return a slot or its value as 32 bytes.
pub fn word(py: Python<'_>, value: U256) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &value.to_be_bytes::<32>())
}
