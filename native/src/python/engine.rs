//! States one can execute on, and the execution.

use std::sync::Arc;

use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use revm_inspectors::tracing::TransactionContext;

use super::account::Account;
use super::convert::{PyAddress, PyData, PyHash, PyWord};
use super::errors::{UnknownTracer, failed, source_failed};
use super::gil;
use super::message::{BlockEnv, Checks, Limits, Rules, TxEnv};
use super::outcome::{Changes, ExecutionResult, word};
use super::source::PySource;
use crate::evm;
use crate::job::{self, Job};
use crate::overlay;
use crate::snapshot;
use crate::state::{self, SourceError, State};
use crate::tracer;

/// The state after one block, read through a cache over a source.
#[pyclass(frozen, module = "entresol._native")]
pub struct Snapshot(Arc<snapshot::Snapshot>);

#[pymethods]
impl Snapshot {
    #[new]
    #[pyo3(signature = (source, *, cache_entries = 1_000_000))]
    fn new(source: &Bound<'_, PyAny>, cache_entries: usize) -> PyResult<Self> {
        let source = Arc::new(PySource::new(source)?);
        Ok(Self(Arc::new(snapshot::Snapshot::new(source, cache_entries))))
    }

    /// Return the account at `address`, or None.
    fn account(&self, py: Python<'_>, address: PyAddress) -> PyResult<Option<Account>> {
        read(py, || self.0.account(address.0)).map(|account| account.map(Account))
    }

    /// Return the code whose Keccak-256 is `code_hash`.
    fn code(&self, py: Python<'_>, code_hash: PyHash) -> PyResult<PyData> {
        read(py, || self.0.code(code_hash.0)).map(|code| PyData(code.original_bytes()))
    }

    /// Return the 32 bytes in a slot.
    fn slot<'py>(
        &self,
        py: Python<'py>,
        address: PyAddress,
        slot: PyHash,
    ) -> PyResult<Bound<'py, PyBytes>> {
        read(py, || self.0.slot(address.0, slot.0.into())).map(|value| word(py, value))
    }

    /// How many accounts and slots the cache holds.
    #[getter]
    fn cached(&self) -> usize {
        self.0.cached()
    }
}

/// Changes laid over a snapshot: a block under construction, or a what-if question.
///
/// Whoever reads takes a reference and lets go of the lock, so that an execution does not hold it;
/// a change made meanwhile goes to a copy.
#[pyclass(frozen, module = "entresol._native")]
pub struct Overlay(Mutex<Arc<overlay::Overlay>>);

#[pymethods]
impl Overlay {
    #[new]
    fn new(snapshot: &Bound<'_, Snapshot>) -> Self {
        Self(Mutex::new(Arc::new(overlay::Overlay::new(Arc::clone(&snapshot.get().0)))))
    }

    /// Return the account at `address`, or None.
    fn account(&self, py: Python<'_>, address: PyAddress) -> PyResult<Option<Account>> {
        self.read(py, |state| state.account(address.0)).map(|account| account.map(Account))
    }

    /// Return the code whose Keccak-256 is `code_hash`.
    fn code(&self, py: Python<'_>, code_hash: PyHash) -> PyResult<PyData> {
        self.read(py, |state| state.code(code_hash.0)).map(|code| PyData(code.original_bytes()))
    }

    /// Return the 32 bytes in a slot.
    fn slot<'py>(
        &self,
        py: Python<'py>,
        address: PyAddress,
        slot: PyHash,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.read(py, |state| state.slot(address.0, slot.0.into())).map(|value| word(py, value))
    }

    /// Lay the changes of an execution on this overlay on top of it.
    fn apply(&self, py: Python<'_>, outcome: &Bound<'_, ExecutionResult>) -> PyResult<()> {
        let changes = &outcome.get().0.changes;
        self.write(py, |state| state.apply(changes))
    }

    /// Replace nonce, balance and code hash, keeping the storage; None removes all of it.
    fn set_account(
        &self,
        py: Python<'_>,
        address: PyAddress,
        account: Option<&Bound<'_, Account>>,
    ) -> PyResult<()> {
        let account = account.map(|account| account.get().0);
        self.write(py, |state| state.set_account(address.0, account))
    }

    /// Set the balance, creating the account if there is none.
    fn set_balance(&self, py: Python<'_>, address: PyAddress, balance: PyWord) -> PyResult<()> {
        self.edit(py, address, |account| account.balance = balance.0)
    }

    /// Set the nonce, creating the account if there is none.
    fn set_nonce(&self, py: Python<'_>, address: PyAddress, nonce: u64) -> PyResult<()> {
        self.edit(py, address, |account| account.nonce = nonce)
    }

    /// Set the code, creating the account if there is none, and return its hash.
    fn set_code(&self, py: Python<'_>, address: PyAddress, code: PyData) -> PyResult<PyHash> {
        self.write(py, |state| state.set_code(address.0, code.0)).map(PyHash)
    }

    /// Write one slot.
    fn set_slot(
        &self,
        py: Python<'_>,
        address: PyAddress,
        slot: PyHash,
        value: PyHash,
    ) -> PyResult<()> {
        self.write(py, |state| state.set_slot(address.0, slot.0.into(), value.0.into()))
    }

    /// Replace the whole storage of an account.
    fn replace_storage(
        &self,
        py: Python<'_>,
        address: PyAddress,
        storage: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        let storage: Vec<(PyHash, PyHash)> = storage
            .iter()
            .map(|(k, v)| Ok((k.extract()?, v.extract()?)))
            .collect::<PyResult<_>>()?;
        let slots = storage.into_iter().map(|(slot, value)| (slot.0.into(), value.0.into()));
        self.write(py, |state| state.replace_storage(address.0, slots))
    }

    /// Return what differs from the snapshot below.
    fn changes(&self, py: Python<'_>) -> PyResult<Changes> {
        self.read(py, overlay::Overlay::changes).map(Changes)
    }

    /// Return a copy that goes its own way.
    fn fork(&self, py: Python<'_>) -> Self {
        Self(Mutex::new(py.detach(|| self.current())))
    }

    /// Return the snapshot that follows, now that `source` knows the changes.
    fn seal(&self, py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<Snapshot> {
        let source = Arc::new(PySource::new(source)?);
        self.read(py, |state| state.seal(source)).map(|snapshot| Snapshot(Arc::new(snapshot)))
    }
}

// A lock is only waited for without the GIL: its holder may need the GIL to ask the source.
impl Overlay {
    fn current(&self) -> Arc<overlay::Overlay> {
        Arc::clone(&self.0.lock())
    }

    fn read<T: Send>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&overlay::Overlay) -> Result<T, SourceError> + Send,
    ) -> PyResult<T> {
        read(py, || ask(&self.current()))
    }

    fn write<T: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut overlay::Overlay) -> Result<T, SourceError> + Send,
    ) -> PyResult<T> {
        read(py, || change(Arc::make_mut(&mut self.0.lock())))
    }

    fn edit(
        &self,
        py: Python<'_>,
        address: PyAddress,
        edit: impl FnOnce(&mut state::Account) + Send,
    ) -> PyResult<()> {
        self.write(py, |state| {
            let mut account = state.account(address.0)?.unwrap_or_default();
            edit(&mut account);
            state.set_account(address.0, Some(account))
        })
    }
}

fn read<T: Send>(
    py: Python<'_>,
    ask: impl FnOnce() -> Result<T, SourceError> + Send,
) -> PyResult<T> {
    py.detach(ask).map_err(|error| source_failed(py, &error))
}

/// A tracer with its options, and where the traced transaction stands.
#[pyclass(frozen, module = "entresol._native")]
pub struct Tracer(tracer::Tracer);

#[pymethods]
impl Tracer {
    #[new]
    #[pyo3(signature = (
        options, *, transaction_hash = None, transaction_index = None, block_hash = None
    ))]
    fn new(
        options: &[u8],
        transaction_hash: Option<PyHash>,
        transaction_index: Option<usize>,
        block_hash: Option<PyHash>,
    ) -> PyResult<Self> {
        let context = TransactionContext {
            block_hash: block_hash.map(|hash| hash.0),
            tx_index: transaction_index,
            tx_hash: transaction_hash.map(|hash| hash.0),
        };
        tracer::Tracer::parse(options, context)
            .map(Self)
            .map_err(|error| UnknownTracer::new_err(error.to_string()))
    }
}

/// A snapshot or an overlay.
#[derive(FromPyObject)]
pub enum AnyState<'py> {
    Snapshot(Bound<'py, Snapshot>),
    Overlay(Bound<'py, Overlay>),
}

/// Run a transaction on `state`, which stays as it is until the outcome is applied to it.
#[pyfunction]
#[pyo3(signature = (state, rules, block, message, *, checks = None, limits = None, tracer = None))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
pub fn execute(
    py: Python<'_>,
    state: AnyState<'_>,
    rules: &Bound<'_, Rules>,
    block: &Bound<'_, BlockEnv>,
    message: &Bound<'_, TxEnv>,
    checks: Option<&Bound<'_, Checks>>,
    limits: Option<&Bound<'_, Limits>>,
    tracer: Option<&Bound<'_, Tracer>>,
) -> PyResult<ExecutionResult> {
    let checks = checks.map_or(job::Checks::ALL, |checks| checks.get().0);
    run(py, state, gather(rules, block, message, checks, limits), tracer)
}

/// Run a call on `state`: no fee, no check of balance, nonce, sender or gas cap.
#[pyfunction]
#[pyo3(signature = (state, rules, block, message, *, limits = None, tracer = None))]
pub fn call(
    py: Python<'_>,
    state: AnyState<'_>,
    rules: &Bound<'_, Rules>,
    block: &Bound<'_, BlockEnv>,
    message: &Bound<'_, TxEnv>,
    limits: Option<&Bound<'_, Limits>>,
    tracer: Option<&Bound<'_, Tracer>>,
) -> PyResult<ExecutionResult> {
    run(py, state, gather(rules, block, message, job::Checks::NONE, limits), tracer)
}

fn gather(
    rules: &Bound<'_, Rules>,
    block: &Bound<'_, BlockEnv>,
    message: &Bound<'_, TxEnv>,
    checks: job::Checks,
    limits: Option<&Bound<'_, Limits>>,
) -> Job {
    let mut message = message.get().0.clone();
    // No chain id means any chain.
    message.env.chain_id.get_or_insert(rules.get().0.chain_id);
    Job {
        rules: rules.get().0,
        block: block.get().env.clone(),
        block_hashes: block.get().block_hashes.clone(),
        precompiles: block.get().precompiles.clone(),
        message,
        checks,
        limits: limits.map_or_else(Limits::none, |limits| limits.get().start()),
    }
}

fn run(
    py: Python<'_>,
    state: AnyState<'_>,
    job: Job,
    tracer: Option<&Bound<'_, Tracer>>,
) -> PyResult<ExecutionResult> {
    let tracer = tracer.map(|tracer| &tracer.get().0);
    let outcome = match state {
        AnyState::Snapshot(snapshot) => {
            let snapshot = &snapshot.get().0;
            gil::release(py, || evm::run(snapshot.as_ref(), &job, tracer))
        }
        AnyState::Overlay(overlay) => {
            let overlay = overlay.get();
            gil::release(py, || evm::run(overlay.current().as_ref(), &job, tracer))
        }
    };
    outcome.map(ExecutionResult).map_err(|failure| failed(py, failure, &job))
}
