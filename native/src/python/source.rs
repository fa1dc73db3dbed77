//! State that Python stores.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::account;
use super::convert::{PyAddress, PyData, PyHash};
use super::gil;
use crate::state::{Account, Source, SourceError};

/// An object of Python's that has the four methods of the protocol `StateSource`.
///
/// The methods are bound once, because every miss of a cache calls one of them.
pub struct PySource {
    account: Py<PyAny>,
    code: Py<PyAny>,
    slot: Py<PyAny>,
    block_hash: Py<PyAny>,
}

impl PySource {
    /// Bind the methods of `source`.
    pub fn new(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let method = |name: &str| source.getattr(name).map(Bound::unbind);
        Ok(Self {
            account: method("account")?,
            code: method("code")?,
            slot: method("slot")?,
            block_hash: method("block_hash")?,
        })
    }
}

impl Source for PySource {
    fn account(&self, address: Address) -> Result<Option<Account>, SourceError> {
        ask(|py| {
            let answer = self.account.bind(py).call1((PyAddress(address),))?;
            if answer.is_none() {
                return Ok(None);
            }
            Ok(Some(answer.cast::<account::Account>()?.get().0))
        })
    }

    fn code(&self, hash: B256) -> Result<Bytes, SourceError> {
        ask(|py| {
            let PyData(code) = self.code.bind(py).call1((PyHash(hash),))?.extract()?;
            Ok(code)
        })
    }

    fn slot(&self, address: Address, slot: U256) -> Result<U256, SourceError> {
        ask(|py| {
            let slot = PyBytes::new(py, &slot.to_be_bytes::<32>());
            let answer = self.slot.bind(py).call1((PyAddress(address), slot))?;
            let value = answer.cast::<PyBytes>()?.as_bytes();
            U256::try_from_be_slice(value).ok_or_else(|| {
                PyValueError::new_err(format!("a slot holds 32 bytes, got {}", value.len()))
            })
        })
    }

    fn block_hash(&self, number: u64) -> Result<B256, SourceError> {
        ask(|py| {
            let PyHash(hash) = self.block_hash.bind(py).call1((number,))?.extract()?;
            Ok(hash)
        })
    }
}

fn ask<T>(question: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T, SourceError> {
    gil::ask(|py| question(py).map_err(|error| SourceError(Arc::new(error))))
}
