//! `Snapshot` and `Overlay` for Python.

use std::sync::Arc;

use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use entresol_core::state::remote::provider::fetch_missed;
use entresol_core::state::remote::{mode, rounds};
use entresol_core::state::{self, ProviderError, State, overlay, snapshot};

use super::account::Account;
use super::execution_result::{Changes, ExecutionResult, word};
use super::state_provider;
use crate::convert::{PyAddress, PyData, PyHash, PyWord};
use crate::errors::provider_error;
use crate::gil;

/// The state after one block, read from a provider through a cache.
#[pyclass(frozen, module = "entresol._native")]
pub struct Snapshot(pub Arc<snapshot::Snapshot>);

#[pymethods]
impl Snapshot {
    #[new]
    #[pyo3(signature = (provider, *, cache_entries = 1_000_000))]
    fn new(provider: &Bound<'_, PyAny>, cache_entries: usize) -> PyResult<Self> {
        let provider = state_provider::bind(provider)?;
        Ok(Self(Arc::new(snapshot::Snapshot::new(provider, cache_entries))))
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

    /// Number of accounts and slots in the cache.
    #[getter]
    fn cached(&self) -> usize {
        self.0.cached()
    }
}

/// Uncommitted changes over a snapshot: a block being built, or state overrides.
///
/// A reader clones the `Arc` and releases the lock, so that an execution does not hold it; a change
/// made meanwhile is made to a copy.
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

    /// Apply the changes of an execution on this overlay.
    fn apply(&self, py: Python<'_>, result: &Bound<'_, ExecutionResult>) -> PyResult<()> {
        let changes = &result.get().0.changes;
        self.write(py, |state| state.apply(changes))
    }

    /// Replace the account but not its storage; None removes both.
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
        self.write(py, |state| state.set_code(address.0, code.0.clone())).map(PyHash)
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
        self.write(py, |state| {
            let slots = storage.iter().map(|(slot, value)| (slot.0.into(), value.0.into()));
            state.replace_storage(address.0, slots)
        })
    }

    /// Return the changes since the snapshot.
    fn changes(&self, py: Python<'_>) -> PyResult<Changes> {
        self.read(py, overlay::Overlay::changes).map(Changes)
    }

    /// Return an independent copy.
    fn fork(&self, py: Python<'_>) -> Self {
        Self(Mutex::new(py.detach(|| self.current())))
    }

    /// Return the next snapshot; `provider` already contains the changes.
    fn seal(&self, py: Python<'_>, provider: &Bound<'_, PyAny>) -> PyResult<Snapshot> {
        let provider = state_provider::bind(provider)?;
        self.read(py, |state| state.seal(Arc::clone(&provider)))
            .map(|snapshot| Snapshot(Arc::new(snapshot)))
    }
}

// Wait for the lock only without the GIL: its holder may need the GIL to read from the provider.
impl Overlay {
    /// Return the current state; later changes do not affect it.
    pub fn current(&self) -> Arc<overlay::Overlay> {
        Arc::clone(&self.0.lock())
    }

    /// Return the current state, with the GIL unless something changes it at the moment.
    pub fn current_for(&self, py: Python<'_>) -> Arc<overlay::Overlay> {
        let current = self.0.try_lock().map(|it| Arc::clone(&it));
        current.unwrap_or_else(|| py.detach(|| self.current()))
    }

    fn read<T: Send>(
        &self,
        py: Python<'_>,
        work: impl Fn(&overlay::Overlay) -> Result<T, ProviderError> + Send + Sync,
    ) -> PyResult<T> {
        read(py, || work(&self.current()))
    }

    /// Change the current state; what fails has changed nothing, and nothing waits with the lock.
    pub fn write<T: Send>(
        &self,
        py: Python<'_>,
        work: impl Fn(&mut overlay::Overlay) -> Result<T, ProviderError> + Send + Sync,
    ) -> PyResult<T> {
        loop {
            let written = py.detach(|| {
                mode::without_waiting(|| work(overlay::Overlay::make_mut(&mut self.0.lock())))
            });
            match written {
                Ok(value) => return Ok(value),
                Err(error) => fetch(py, error)?,
            }
        }
    }

    fn edit(
        &self,
        py: Python<'_>,
        address: PyAddress,
        edit: impl Fn(&mut state::Account) + Send + Sync,
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
    work: impl Fn() -> Result<T, ProviderError> + Send + Sync,
) -> PyResult<T> {
    let read = match mode::patience() {
        None => py.detach(work),
        Some(_) => gil::release(py, || rounds::run(None, work)),
    };
    read.map_err(|error| provider_error(py, &error))
}

/// Wait without the GIL for the value that an error says was missed, if this thread waits; otherwise raise the error.
pub fn fetch(py: Python<'_>, error: ProviderError) -> PyResult<()> {
    let fetched = match mode::patience() {
        None => Err(error),
        Some(_) => gil::release(py, || fetch_missed(error)),
    };
    fetched.map_err(|error| provider_error(py, &error))
}
