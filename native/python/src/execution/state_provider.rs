//! State providers that are written in Python.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use entresol_core::state::remote::provider::{LocalState, RemoteProvider};
use entresol_core::state::{Account, ProviderError, StateProvider};

use super::account;
use super::remote_table::RemoteTable;
use crate::convert::{PyAddress, PyData, PyHash};
use crate::gil;

/// A Python object that implements the protocol `StateProvider`.
///
/// The methods are bound once, because every cache miss calls one of them.
struct PyStateProvider {
    account: Py<PyAny>,
    code: Py<PyAny>,
    slot: Py<PyAny>,
    block_hash: Py<PyAny>,
}

/// A Python object whose answers may be `NotImplemented`: unknown, ask the remote chain below.
///
/// It keeps the object of the table, which errors name.
struct PyLocalState(PyStateProvider, #[expect(dead_code, reason = "keeps it")] Py<PyAny>);

/// Bind the methods of `provider`, above its remote chain if it has one.
pub fn bind(provider: &Bound<'_, PyAny>) -> PyResult<Arc<dyn StateProvider>> {
    let local = PyStateProvider::new(provider)?;
    let remote = provider.getattr_opt(intern!(provider.py(), "remote"))?;
    match remote.filter(|remote| !remote.is_none()) {
        None => Ok(Arc::new(local)),
        Some(remote) => {
            let table = Arc::clone(&remote.cast::<RemoteTable>()?.get().table);
            Ok(Arc::new(RemoteProvider::new(PyLocalState(local, remote.unbind()), table)))
        }
    }
}

impl PyStateProvider {
    fn new(provider: &Bound<'_, PyAny>) -> PyResult<Self> {
        let method = |name: &str| provider.getattr(name).map(Bound::unbind);
        Ok(Self {
            account: method("account")?,
            code: method("code")?,
            slot: method("slot")?,
            block_hash: method("block_hash")?,
        })
    }

    fn slot_in<'py>(
        &self,
        py: Python<'py>,
        address: Address,
        slot: U256,
    ) -> PyResult<Bound<'py, PyAny>> {
        let slot = PyBytes::new(py, &slot.to_be_bytes::<32>());
        self.slot.bind(py).call1((PyAddress(address), slot))
    }
}

impl StateProvider for PyStateProvider {
    fn account(&self, address: Address) -> Result<Option<Account>, ProviderError> {
        read(|py| account_of(&self.account.bind(py).call1((PyAddress(address),))?))
    }

    fn code(&self, hash: B256) -> Result<Bytes, ProviderError> {
        read(|py| code_of(&self.code.bind(py).call1((PyHash(hash),))?))
    }

    fn slot(&self, address: Address, slot: U256) -> Result<U256, ProviderError> {
        read(|py| slot_of(&self.slot_in(py, address, slot)?))
    }

    fn block_hash(&self, number: u64) -> Result<B256, ProviderError> {
        read(|py| hash_of(&self.block_hash.bind(py).call1((number,))?))
    }
}

impl LocalState for PyLocalState {
    fn account(&self, address: Address) -> Result<Option<Option<Account>>, ProviderError> {
        read(|py| known(self.0.account.bind(py).call1((PyAddress(address),))?, account_of))
    }

    fn code(&self, hash: B256) -> Result<Option<Bytes>, ProviderError> {
        read(|py| {
            let code = self.0.code.bind(py).call1((PyHash(hash),))?;
            if code.is_none() { Ok(None) } else { known(code, code_of) }
        })
    }

    fn slot(&self, address: Address, slot: U256) -> Result<Option<U256>, ProviderError> {
        read(|py| known(self.0.slot_in(py, address, slot)?, slot_of))
    }

    fn block_hash(&self, number: u64) -> Result<Option<B256>, ProviderError> {
        read(|py| known(self.0.block_hash.bind(py).call1((number,))?, hash_of))
    }
}

/// Return what a method returned, unless it is `NotImplemented`.
fn known<'py, T>(
    value: Bound<'py, PyAny>,
    convert: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Option<T>> {
    if value.is(value.py().NotImplemented()) {
        return Ok(None);
    }
    convert(&value).map(Some)
}

fn account_of(value: &Bound<'_, PyAny>) -> PyResult<Option<Account>> {
    if value.is_none() {
        return Ok(None);
    }
    Ok(Some(value.cast::<account::Account>()?.get().0))
}

fn code_of(value: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    let PyData(code) = value.extract()?;
    Ok(code)
}

fn slot_of(value: &Bound<'_, PyAny>) -> PyResult<U256> {
    let value = value.cast::<PyBytes>()?.as_bytes();
    U256::try_from_be_slice(value)
        .ok_or_else(|| PyValueError::new_err(format!("a slot holds 32 bytes, got {}", value.len())))
}

fn hash_of(value: &Bound<'_, PyAny>) -> PyResult<B256> {
    let PyHash(hash) = value.extract()?;
    Ok(hash)
}

fn read<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T, ProviderError> {
    gil::attach(|py| work(py).map_err(|error| ProviderError(Arc::new(error))))
}
