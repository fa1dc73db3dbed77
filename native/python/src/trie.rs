//! `Trie` for Python.

use std::borrow::Cow;

use alloy_primitives::{Address, B256};
use alloy_trie::{EMPTY_ROOT_HASH, TrieAccount};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use entresol_core::state::changes;
use entresol_core::trie::state_trie::SlotProof;
use entresol_core::trie::{self, Change, Error, NodeProvider, Updated};

use super::convert::{PyAddress, PyData, PyHash, PyWord};
use super::errors::{InvalidProof, TrieError, unavailable};
use crate::execution::execution_result::Changes;

/// An Ethereum trie over nodes that `provider` returns by hash.
#[pyclass(name = "Trie", module = "entresol._native", frozen)]
pub struct PyTrie {
    trie: trie::Trie<PyNodeProvider>,
}

/// A Python callable that returns the node of a hash.
struct PyNodeProvider(Py<PyAny>);

impl NodeProvider for PyNodeProvider {
    type Error = PyErr;

    fn nodes(&self, hashes: &[B256], found: &mut dyn FnMut(&B256, &[u8])) -> PyResult<()> {
        Python::attach(|py| {
            for hash in hashes {
                let node = self.0.bind(py).call1((PyHash(*hash),))?;
                if !node.is_none() {
                    found(hash, node.cast::<PyBytes>()?.as_bytes());
                }
            }
            Ok(())
        })
    }
}

#[pymethods]
impl PyTrie {
    #[new]
    #[pyo3(signature = (provider, cache_bytes = 64 << 20))]
    fn new(provider: Py<PyAny>, cache_bytes: usize) -> Self {
        Self { trie: trie::Trie::new(PyNodeProvider(provider), cache_bytes) }
    }

    /// Return the value of `key` under `root`.
    fn get(&self, py: Python<'_>, root: PyHash, key: PyBackedBytes) -> PyResult<Option<PyData>> {
        let value = py.detach(|| self.trie.get(root.0, &key));
        Ok(value.map_err(|error| raised(py, error))?.map(PyData))
    }

    /// Return the root after `changes` (`None` deletes) and the new nodes, by hash.
    fn update<'py>(
        &self,
        py: Python<'py>,
        root: PyHash,
        changes: &Bound<'py, PyAny>,
    ) -> PyResult<(PyHash, Bound<'py, PyList>)> {
        let changes = changes.try_iter()?.map(|change| extract_change(&change?));
        let changes = changes.collect::<PyResult<Vec<_>>>()?;
        let updated = py.detach(|| {
            let updated = self.trie.update(root.0, &changes);
            // A large batch takes a while to drop.
            drop(changes);
            updated
        });
        listed(py, updated)
    }

    /// Return the state root after `changes`, and the new nodes, by hash.
    fn update_state<'py>(
        &self,
        py: Python<'py>,
        root: PyHash,
        changes: &Bound<'py, Changes>,
    ) -> PyResult<(PyHash, Bound<'py, PyList>)> {
        let changes = &changes.get().0;
        let updated = py.detach(|| self.trie.update_state(root.0, changes));
        listed(py, updated)
    }

    /// Return the proof of the value of `key` under `root`, the root node first.
    fn prove<'py>(
        &self,
        py: Python<'py>,
        root: PyHash,
        key: PyBackedBytes,
    ) -> PyResult<PyNodes<'py>> {
        let proof = py.detach(|| self.trie.prove(root.0, &key));
        Ok(nodes_of(py, &proof.map_err(|error| raised(py, error))?))
    }

    /// Return an account under the state root `root`: nonce, balance, storage root and code hash; or None.
    fn account(
        &self,
        py: Python<'_>,
        root: PyHash,
        address: PyAddress,
    ) -> PyResult<Option<AccountFields>> {
        let account = py.detach(|| self.trie.account(root.0, address.0));
        Ok(account.map_err(|error| raised(py, error))?.map(fields_of))
    }

    /// Return up to `count` accounts under the state root `root`, by the hashes of their addresses from `start` on.
    fn accounts(
        &self,
        py: Python<'_>,
        root: PyHash,
        start: PyBackedBytes,
        count: usize,
    ) -> PyResult<Vec<(PyHash, AccountFields)>> {
        let accounts = py.detach(|| self.trie.accounts(root.0, &start, count));
        let accounts = accounts.map_err(|error| raised(py, error))?;
        Ok(accounts.into_iter().map(|(key, it)| (PyHash(key), fields_of(it))).collect())
    }

    /// Return up to `count` slots under the storage root `root`, by their hashes from `start` on.
    fn slots(
        &self,
        py: Python<'_>,
        root: PyHash,
        start: PyBackedBytes,
        count: usize,
    ) -> PyResult<Vec<(PyHash, PyWord)>> {
        let slots = py.detach(|| self.trie.slots(root.0, &start, count));
        let slots = slots.map_err(|error| raised(py, error))?;
        Ok(slots.into_iter().map(|(key, value)| (PyHash(key), PyWord(value))).collect())
    }

    /// Return an account or None, the proof of it, and the value and the proof of each slot.
    #[allow(clippy::type_complexity, reason = "a tuple in Python")]
    fn prove_account<'py>(
        &self,
        py: Python<'py>,
        root: PyHash,
        address: PyAddress,
        slots: Vec<PyHash>,
    ) -> PyResult<(Option<AccountFields>, PyNodes<'py>, Vec<(PyWord, PyNodes<'py>)>)> {
        let slots: Vec<_> = slots.into_iter().map(|slot| slot.0).collect();
        let proof = py.detach(|| self.trie.prove_account(root.0, address.0, &slots));
        let proof = proof.map_err(|error| raised(py, error))?;
        let slot = |it: SlotProof| (PyWord(it.value), nodes_of(py, &it.nodes));
        let slots = proof.slots.into_iter().map(slot).collect();
        Ok((proof.account.map(fields_of), nodes_of(py, &proof.nodes), slots))
    }

    /// Show the provider to the garbage collector: it is often a method of the owner of the trie.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.trie.provider().0)
    }
}

impl PyTrie {
    /// Return the state root after `changes` that nobody makes.
    pub fn state_root_after(&self, root: B256, changes: &changes::Changes) -> PyResult<B256> {
        let root = self.trie.state_root_after(root, changes);
        root.map_err(|error| Python::attach(|py| raised(py, error)))
    }

    /// Return the storage root of an account under the state root `root`: that of no storage if it has no leaf.
    pub fn storage_root(&self, py: Python<'_>, root: B256, address: Address) -> PyResult<B256> {
        let account = py.detach(|| self.trie.account(root, address));
        let account = account.map_err(|error| raised(py, error))?;
        Ok(account.map_or(EMPTY_ROOT_HASH, |account| account.storage_root))
    }
}

/// Nonce, balance, storage root and code hash.
type AccountFields = (u64, PyWord, PyHash, PyHash);
/// Nodes of a proof.
type PyNodes<'py> = Vec<Bound<'py, PyBytes>>;

const fn fields_of(account: TrieAccount) -> AccountFields {
    let (storage_root, code_hash) = (PyHash(account.storage_root), PyHash(account.code_hash));
    (account.nonce, PyWord(account.balance), storage_root, code_hash)
}

fn nodes_of<'py>(py: Python<'py>, nodes: &[Vec<u8>]) -> PyNodes<'py> {
    nodes.iter().map(|node| PyBytes::new(py, node)).collect()
}

/// Verify that `key` has `value` under `root`; `None` is no value.
#[pyfunction]
pub fn verify_proof(
    py: Python<'_>,
    root: PyHash,
    key: PyBackedBytes,
    value: Option<PyBackedBytes>,
    proof: Vec<PyBackedBytes>,
) -> PyResult<()> {
    py.detach(|| trie::verify_proof(root.0, &key, value.as_deref(), &proof))
        .map_err(|error| InvalidProof::new_err(error.to_string()))
}

/// Return the root of the trie of `values`, each under its RLP-encoded index.
#[pyfunction]
pub fn ordered_root(py: Python<'_>, values: Vec<PyBackedBytes>) -> PyResult<PyHash> {
    if values.iter().any(|value| value.is_empty()) {
        return Err(PyValueError::new_err("a trie cannot hold an empty value"));
    }
    Ok(PyHash(py.detach(|| alloy_trie::root::ordered_trie_root_encoded(&values))))
}

fn listed<'py>(
    py: Python<'py>,
    updated: Result<Updated, Error<PyErr>>,
) -> PyResult<(PyHash, Bound<'py, PyList>)> {
    let updated = updated.map_err(|error| raised(py, error))?;
    let pair = |(hash, node)| {
        PyTuple::new(py, [PyBytes::new(py, B256::as_slice(&hash)), PyBytes::new(py, node)])
    };
    let nodes = updated.nodes.iter().map(pair).collect::<PyResult<Vec<_>>>()?;
    Ok((PyHash(updated.root), PyList::new(py, nodes)?))
}

fn extract_change(change: &Bound<'_, PyAny>) -> PyResult<Change> {
    let (key, value): (Cow<'_, [u8]>, Option<PyData>) = change.extract()?;
    Change::new(&key, value.map(|value| value.0))
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

fn raised(py: Python<'_>, error: Error<PyErr>) -> PyErr {
    match error {
        Error::Missing(hash) => TrieError::new_err(format!("trie node {hash} is missing")),
        Error::Provider(cause) => unavailable(py, "the trie node provider", cause),
        corrupt => TrieError::new_err(corrupt.to_string()),
    }
}
