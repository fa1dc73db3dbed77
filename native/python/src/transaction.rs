//! Transaction decoding for Python.

use alloy_consensus::{Transaction, Typed2718};
use alloy_primitives::U256;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyTuple};

use entresol_core::transaction::{self, AnyDecodeError, Decoded};

use super::blobs::BlobSidecar;
use super::convert::{PyAddress, PyData, PyHash, PyWord};
use super::errors::decode_error;
use super::gil;
use super::zk_transaction::{fields_of, zk_error};

/// A signed transaction.
#[pyclass(frozen, module = "entresol._native")]
pub struct DecodedTransaction(pub transaction::DecodedTransaction);

type Authorization = (PyWord, PyAddress, u64, u8, PyWord, PyWord);

#[pymethods]
impl DecodedTransaction {
    #[getter]
    fn r#type(&self) -> u8 {
        self.0.transaction.ty()
    }

    #[getter]
    fn chain_id(&self) -> Option<u64> {
        self.0.transaction.chain_id()
    }

    #[getter]
    fn nonce(&self) -> u64 {
        self.0.transaction.nonce()
    }

    #[getter]
    fn gas_price(&self) -> Option<PyWord> {
        self.0.transaction.gas_price().map(wei)
    }

    #[getter]
    fn max_fee_per_gas(&self) -> Option<PyWord> {
        self.has_fee_cap().then(|| wei(self.0.transaction.max_fee_per_gas()))
    }

    #[getter]
    fn max_priority_fee_per_gas(&self) -> Option<PyWord> {
        self.0.transaction.max_priority_fee_per_gas().map(wei)
    }

    #[getter]
    fn gas_limit(&self) -> u64 {
        self.0.transaction.gas_limit()
    }

    #[getter]
    fn to(&self) -> Option<PyAddress> {
        self.0.transaction.to().map(PyAddress)
    }

    #[getter]
    fn value(&self) -> PyWord {
        PyWord(self.0.transaction.value())
    }

    #[getter]
    fn data(&self) -> PyData {
        PyData(self.0.transaction.input().clone())
    }

    #[getter]
    fn access_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let Some(list) = self.0.transaction.access_list() else {
            return Ok(PyTuple::empty(py));
        };
        let entries: Vec<(PyAddress, Bound<'py, PyTuple>)> = list
            .iter()
            .map(|entry| {
                let slots = PyTuple::new(py, entry.storage_keys.iter().copied().map(PyHash))?;
                Ok((PyAddress(entry.address), slots))
            })
            .collect::<PyResult<_>>()?;
        PyTuple::new(py, entries)
    }

    #[getter]
    fn authorizations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let authorizations = self.0.transaction.authorization_list().unwrap_or_default();
        let entries = authorizations.iter().map(|entry| -> Authorization {
            (
                PyWord(entry.chain_id),
                PyAddress(entry.address),
                entry.nonce,
                entry.y_parity(),
                PyWord(entry.r()),
                PyWord(entry.s()),
            )
        });
        PyTuple::new(py, entries)
    }

    #[getter]
    fn max_fee_per_blob_gas(&self) -> Option<PyWord> {
        self.0.transaction.max_fee_per_blob_gas().map(wei)
    }

    #[getter]
    fn blob_hashes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let hashes = self.0.transaction.blob_versioned_hashes().unwrap_or_default();
        PyTuple::new(py, hashes.iter().copied().map(PyHash))
    }

    /// The transaction without its sidecar, if it came with one.
    #[getter]
    fn bare<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.0.sidecar.as_ref().map(|it| PyBytes::new(py, &it.raw))
    }

    /// The sidecar, if the transaction came with one.
    #[getter]
    fn sidecar(&self) -> Option<BlobSidecar> {
        self.0.sidecar.as_ref().map(|it| BlobSidecar(std::sync::Arc::clone(&it.sidecar)))
    }

    #[getter]
    fn y_parity(&self) -> u8 {
        self.0.y_parity.into()
    }

    #[getter]
    fn v(&self) -> PyWord {
        wei(self.0.v)
    }

    #[getter]
    fn r(&self) -> PyWord {
        PyWord(self.0.r)
    }

    #[getter]
    fn s(&self) -> PyWord {
        PyWord(self.0.s)
    }

    #[getter]
    fn hash(&self) -> PyHash {
        PyHash(self.0.hash)
    }

    #[getter]
    fn sender(&self) -> PyAddress {
        PyAddress(self.0.sender)
    }

    fn __repr__(&self) -> String {
        let transaction::DecodedTransaction { transaction, hash, sender, .. } = &self.0;
        format!("<DecodedTransaction type={} hash={hash:#x} sender={sender:#x}>", transaction.ty())
    }
}

impl DecodedTransaction {
    fn has_fee_cap(&self) -> bool {
        self.0.transaction.max_priority_fee_per_gas().is_some()
    }
}

/// Decode a transaction of type 0 to 4.
#[pyfunction]
#[pyo3(signature = (raw, /, *, sender = None))]
pub fn decode_transaction(
    py: Python<'_>,
    raw: &[u8],
    sender: Option<PyAddress>,
) -> PyResult<DecodedTransaction> {
    let sender = sender.map(|sender| sender.0);
    // Other types take less time than it takes to release the GIL.
    let decoded = match raw.first() {
        Some(3) => gil::release(py, || transaction::decode(raw, sender)),
        _ => transaction::decode(raw, sender),
    };
    decoded.map(DecodedTransaction).map_err(|error| decode_error(py, error))
}

/// Decode many transactions of type 0 to 4 or 0x71 on all cores.
#[pyfunction]
#[pyo3(signature = (raws, /))]
pub fn decode_transactions(
    py: Python<'_>,
    raws: Vec<PyBackedBytes>,
) -> PyResult<Vec<Bound<'_, PyAny>>> {
    let results = py.detach(|| transaction::decode_many(&raws));
    results
        .into_iter()
        .map(|result| match result {
            Ok(Decoded::Ethereum(decoded)) => {
                Ok(Bound::new(py, DecodedTransaction(*decoded))?.into_any())
            }
            Ok(Decoded::Zk(decoded)) => fields_of(py, *decoded).map(Bound::into_any),
            Err(error) => {
                let error = match error {
                    AnyDecodeError::Ethereum(error) => decode_error(py, error),
                    AnyDecodeError::Zk(error) => zk_error(py, error),
                };
                Ok(error.into_value(py).into_bound(py).into_any())
            }
        })
        .collect()
}

fn wei(amount: u128) -> PyWord {
    PyWord(U256::from(amount))
}
