//! Reads of accounts and slots for Python: `AccountReads`, which responds to plain requests, and what it reads by.

use alloy_primitives::{Address, B256};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3::{PyTraverseError, PyVisit};

use entresol_rpc::account_read::AccountRead;
use entresol_rpc::block::Block;
use entresol_rpc::request::Request;

use super::response::joined;
use crate::convert::{PyAddress, PyHash, PyWord};
use crate::execution::evm::{AnyState, ReadError};
use crate::trie::PyTrie;

/// Responds to plain reads of accounts and slots without a dispatcher in Python.
#[pyclass(frozen, module = "entresol._native")]
pub struct AccountReads {
    state: Py<PyAny>,
    state_root: Py<PyAny>,
    trie: Py<PyTrie>,
}

#[pymethods]
impl AccountReads {
    #[new]
    #[pyo3(signature = (*, state, state_root, trie))]
    fn new(state: Py<PyAny>, state_root: Py<PyAny>, trie: Py<PyTrie>) -> Self {
        Self { state, state_root, trie }
    }

    /// Show to the garbage collector what is a part of the chain that owns this.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.state)?;
        visit.call(&self.state_root)?;
        visit.call(&self.trie)
    }
}

impl AccountReads {
    /// Return the response to a request, or None if it is left to Python, which also raises what failed once more.
    pub fn response<'py>(
        &self,
        py: Python<'py>,
        request: &Request<'_>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let Some((read, block)) = AccountRead::parse(request.method, request.params()) else {
            return Ok(None);
        };
        let Ok(result) = self.json(py, read, block) else { return Ok(None) };
        joined(py, request.response(&result)).map(Some)
    }

    fn json(&self, py: Python<'_>, read: AccountRead, block: Block) -> PyResult<Vec<u8>> {
        let number = match block {
            Block::Latest => None,
            Block::Number(number) => Some(number),
        };
        let state = self.state.bind(py).call1((number,))?.extract()?;
        json(py, state, read, |address| {
            let PyHash(root) = self.state_root.bind(py).call1((number,))?.extract()?;
            self.trie.get().storage_root(py, root, address)
        })
    }
}

/// Return the balance of an account, as JSON.
#[pyfunction]
#[pyo3(signature = (state, address, /))]
pub fn balance_json<'py>(
    py: Python<'py>,
    state: AnyState<'py>,
    address: PyAddress,
) -> PyResult<Bound<'py, PyBytes>> {
    read(py, state, AccountRead::Balance(address.0))
}

/// Return the nonce of the next transaction of an account, as JSON.
#[pyfunction]
#[pyo3(signature = (state, address, /))]
pub fn nonce_json<'py>(
    py: Python<'py>,
    state: AnyState<'py>,
    address: PyAddress,
) -> PyResult<Bound<'py, PyBytes>> {
    read(py, state, AccountRead::Nonce(address.0))
}

/// Return the code of an account, as JSON.
#[pyfunction]
#[pyo3(signature = (state, address, /))]
pub fn code_json<'py>(
    py: Python<'py>,
    state: AnyState<'py>,
    address: PyAddress,
) -> PyResult<Bound<'py, PyBytes>> {
    read(py, state, AccountRead::Code(address.0))
}

/// Return the value of a slot, as JSON.
#[pyfunction]
#[pyo3(signature = (state, address, slot, /))]
pub fn slot_json<'py>(
    py: Python<'py>,
    state: AnyState<'py>,
    address: PyAddress,
    slot: PyWord,
) -> PyResult<Bound<'py, PyBytes>> {
    read(py, state, AccountRead::Slot(address.0, slot.0))
}

/// Return balance, nonce and code of an account, as JSON.
#[pyfunction]
#[pyo3(signature = (state, address, /))]
pub fn account_info_json<'py>(
    py: Python<'py>,
    state: AnyState<'py>,
    address: PyAddress,
) -> PyResult<Bound<'py, PyBytes>> {
    read(py, state, AccountRead::Info(address.0))
}

/// Return an account as JSON, with its storage root under the state root `root` of `trie`; null if there is none.
#[pyfunction]
#[pyo3(signature = (state, address, trie, root, /))]
pub fn account_json<'py>(
    py: Python<'py>,
    state: AnyState<'py>,
    address: PyAddress,
    trie: &Bound<'py, PyTrie>,
    root: PyHash,
) -> PyResult<Bound<'py, PyBytes>> {
    let root_of = |address| trie.get().storage_root(py, root.0, address);
    json(py, state, AccountRead::Leaf(address.0), root_of).map(|text| PyBytes::new(py, &text))
}

fn read<'py>(
    py: Python<'py>,
    state: AnyState<'py>,
    read: AccountRead,
) -> PyResult<Bound<'py, PyBytes>> {
    let no_root = |_| unreachable!("only a leaf has a storage root");
    json(py, state, read, no_root).map(|text| PyBytes::new(py, &text))
}

fn json(
    py: Python<'_>,
    state: AnyState<'_>,
    read: AccountRead,
    storage_root: impl Fn(Address) -> PyResult<B256>,
) -> PyResult<Vec<u8>> {
    let storage_root = |address| storage_root(address).map_err(ReadError::Raised);
    state.read(py, |state| read.json(state, storage_root))
}
