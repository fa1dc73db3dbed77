//! State providers that are written in Python.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use entresol_core::state::{Account, ProviderError, StateProvider};

use super::account;
use crate::convert::{PyAddress, PyData, PyHash};
use crate::gil;

/// A Python object that implements the protocol `StateProvider`.
///
/// The methods are bound once, because every cache miss calls one of them.
pub struct PyStateProvider {
    account: Py<PyAny>,
    code: Py<PyAny>,
    slot: Py<PyAny>,
    block_hash: Py<PyAny>,
}

impl PyStateProvider {
    /// Bind the methods of `provider`.
    pub fn new(provider: &Bound<'_, PyAny>) -> PyResult<Self> {
        let method = |name: &str| provider.getattr(name).map(Bound::unbind);
        Ok(Self {
            account: method("account")?,
            code: method("code")?,
            slot: method("slot")?,
            block_hash: method("block_hash")?,
        })
    }
}

impl StateProvider for PyStateProvider {
    fn account(&self, address: Address) -> Result<Option<Account>, ProviderError> {
        read(|py| {
            let value = self.account.bind(py).call1((PyAddress(address),))?;
            if value.is_none() {
                return Ok(None);
            }
            Ok(Some(value.cast::<account::Account>()?.get().0))
        })
    }

    fn code(&self, hash: B256) -> Result<Bytes, ProviderError> {
        read(|py| {
            let PyData(code) = self.code.bind(py).call1((PyHash(hash),))?.extract()?;
            Ok(code)
        })
    }

    fn slot(&self, address: Address, slot: U256) -> Result<U256, ProviderError> {
        read(|py| {
            let slot = PyBytes::new(py, &slot.to_be_bytes::<32>());
            let value = self.slot.bind(py).call1((PyAddress(address), slot))?;
            let value = value.cast::<PyBytes>()?.as_bytes();
            U256::try_from_be_slice(value).ok_or_else(|| {
                PyValueError::new_err(format!("a slot holds 32 bytes, got {}", value.len()))
            })
        })
    }

    fn block_hash(&self, number: u64) -> Result<B256, ProviderError> {
        read(|py| {
            let PyHash(hash) = self.block_hash.bind(py).call1((number,))?.extract()?;
            Ok(hash)
        })
    }
}

fn read<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T, ProviderError> {
    gil::attach(|py| work(py).map_err(|error| ProviderError(Arc::new(error))))
}
