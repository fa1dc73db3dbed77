//! Accounts as Python sees them.

use alloy_primitives::{KECCAK256_EMPTY, U256};
use pyo3::prelude::*;

use entresol_core::state;

use crate::convert::{PyHash, PyWord};

/// An account: nonce, balance and code hash.
#[pyclass(frozen, eq, hash, module = "entresol._native")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Account(pub state::Account);

#[pymethods]
impl Account {
    #[new]
    #[pyo3(signature = (
        nonce = 0, balance = PyWord(U256::ZERO), code_hash = PyHash(KECCAK256_EMPTY)
    ))]
    fn new(nonce: u64, balance: PyWord, code_hash: PyHash) -> Self {
        Self(state::Account { nonce, balance: balance.0, code_hash: code_hash.0 })
    }

    #[getter]
    fn nonce(&self) -> u64 {
        self.0.nonce
    }

    #[getter]
    fn balance(&self) -> PyWord {
        PyWord(self.0.balance)
    }

    #[getter]
    fn code_hash(&self) -> PyHash {
        PyHash(self.0.code_hash)
    }

    fn __repr__(&self) -> String {
        let state::Account { nonce, balance, code_hash } = self.0;
        format!("Account(nonce={nonce}, balance={balance}, code_hash={code_hash})")
    }
}
