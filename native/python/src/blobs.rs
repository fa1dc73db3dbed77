//! Sidecars of blob transactions, and the price of blob gas, for Python.

use std::sync::Arc;

use alloy_eips::eip4844::{BYTES_PER_BLOB, Blob, BlobTransactionSidecar, Bytes48};
use alloy_eips::eip7594::{
    BlobTransactionSidecarEip7594, BlobTransactionSidecarVariant as Sidecar, Encodable7594,
};
use alloy_primitives::B256;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyTuple};

use entresol_core::blobs;

use super::convert::PyHash;
use super::errors::{InvalidSidecar, malformed_value};
use super::gil;
use crate::execution::env::Rules;

/// Blobs with their commitments and proofs.
#[pyclass(frozen, module = "entresol._native")]
pub struct BlobSidecar(pub Arc<Sidecar>);

#[pymethods]
impl BlobSidecar {
    #[new]
    #[pyo3(signature = (*, blobs, commitments, proofs, has_cell_proofs = false))]
    fn new(
        py: Python<'_>,
        blobs: Vec<PyBackedBytes>,
        commitments: Vec<PyBackedBytes>,
        proofs: Vec<PyBackedBytes>,
        has_cell_proofs: bool,
    ) -> PyResult<Self> {
        let blobs = fixed::<BYTES_PER_BLOB, Blob>(py, &blobs, "blobs")?;
        let commitments = fixed::<48, Bytes48>(py, &commitments, "commitments")?;
        let proofs = fixed::<48, Bytes48>(py, &proofs, "proofs")?;
        let sidecar = match has_cell_proofs {
            true => BlobTransactionSidecarEip7594::new(blobs, commitments, proofs).into(),
            false => BlobTransactionSidecar::new(blobs, commitments, proofs).into(),
        };
        Ok(Self(Arc::new(sidecar)))
    }

    #[getter]
    fn blobs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.blobs().iter().map(|blob| PyBytes::new(py, blob.as_slice())))
    }

    #[getter]
    fn commitments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.commitments().iter().map(|it| PyBytes::new(py, it.as_slice())))
    }

    #[getter]
    fn proofs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let proofs = match self.0.as_ref() {
            Sidecar::Eip4844(sidecar) => &sidecar.proofs,
            Sidecar::Eip7594(sidecar) => &sidecar.cell_proofs,
        };
        PyTuple::new(py, proofs.iter().map(|it| PyBytes::new(py, it.as_slice())))
    }

    /// The hashes by which a transaction names the blobs.
    #[getter]
    fn hashes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.versioned_hashes().map(PyHash).collect::<Vec<_>>())
    }

    /// The bytes that the sidecar takes in memory.
    #[getter]
    fn size(&self) -> usize {
        self.0.rlp_encoded_fields_length()
    }

    /// Return the blob with this versioned hash.
    #[pyo3(signature = (hash, /))]
    fn blob<'py>(&self, py: Python<'py>, hash: PyHash) -> Option<Bound<'py, PyBytes>> {
        self.0.blob_by_versioned_hash(&hash.0).map(|blob| PyBytes::new(py, blob.as_slice()))
    }

    /// Raise `InvalidSidecar` unless the blobs are those with these hashes, and all proofs hold.
    fn verify(&self, py: Python<'_>, hashes: Vec<PyHash>) -> PyResult<()> {
        let hashes: Vec<B256> = hashes.into_iter().map(|hash| hash.0).collect();
        gil::release(py, || blobs::verify(&self.0, &hashes)).map_err(InvalidSidecar::new_err)
    }

    /// Return the encoding of a bare blob transaction with this sidecar.
    fn wrap<'py>(&self, py: Python<'py>, bare: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let Some((3, body)) = bare.split_first() else {
            return Err(malformed_value(py, String::from("not a blob transaction"), None));
        };
        let payload_length = body.len() + self.0.encode_7594_len();
        let mut encoded = Vec::with_capacity(payload_length + 10);
        encoded.push(3);
        alloy_rlp::Header { list: true, payload_length }.encode(&mut encoded);
        encoded.extend_from_slice(body);
        self.0.encode_7594(&mut encoded);
        Ok(PyBytes::new(py, &encoded))
    }

    fn __repr__(&self) -> String {
        format!("<BlobSidecar blobs={}>", self.0.blobs().len())
    }
}

/// Return the base fee per blob gas of a block with this excess; None before Cancun.
#[pyfunction]
#[pyo3(signature = (rules, excess_blob_gas, /))]
pub fn blob_base_fee(rules: &Bound<'_, Rules>, excess_blob_gas: u64) -> Option<u128> {
    blobs::params(rules.get().0.fork).map(|params| blobs::base_fee(&params, excess_blob_gas))
}

/// Return the excess blob gas of the block after one with these values; None before Cancun.
#[pyfunction]
#[pyo3(signature = (rules, *, excess_blob_gas, blob_gas_used, base_fee))]
pub fn next_excess_blob_gas(
    rules: &Bound<'_, Rules>,
    excess_blob_gas: u64,
    blob_gas_used: u64,
    base_fee: u64,
) -> Option<u64> {
    let params = blobs::params(rules.get().0.fork)?;
    Some(blobs::next_excess(&params, excess_blob_gas, blob_gas_used, base_fee))
}

fn fixed<const N: usize, T: for<'a> TryFrom<&'a [u8]>>(
    py: Python<'_>,
    items: &[PyBackedBytes],
    field: &str,
) -> PyResult<Vec<T>> {
    let read = |(index, item): (usize, &PyBackedBytes)| {
        T::try_from(item.as_ref()).map_err(|_| {
            let problem = format!("should be {N} bytes, got {}", item.len());
            malformed_value(py, problem, Some(format!("{field}[{index}]")))
        })
    };
    items.iter().enumerate().map(read).collect()
}
