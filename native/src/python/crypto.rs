//! Keccak-256 and ECDSA for Python.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::convert::{PyAddress, PyHash};
use super::errors::MalformedValue;
use crate::crypto;

/// Return the Keccak-256 hash of `data`.
#[pyfunction]
pub fn keccak256(data: &[u8]) -> PyHash {
    PyHash(alloy_primitives::keccak256(data))
}

/// Return the address that signed `digest`.
#[pyfunction]
#[pyo3(signature = (digest, signature, /))]
pub fn recover(digest: PyHash, signature: &[u8]) -> PyResult<PyAddress> {
    Ok(PyAddress(crypto::recover(&digest.0, signature)?))
}

/// Sign `digest` deterministically.
#[pyfunction]
#[pyo3(signature = (digest, secret, /))]
pub fn sign(py: Python<'_>, digest: PyHash, secret: PyHash) -> PyResult<Bound<'_, PyBytes>> {
    Ok(PyBytes::new(py, &crypto::sign(&digest.0, &secret.0)?))
}

/// Return the public key of `secret`.
#[pyfunction]
#[pyo3(signature = (secret, /))]
pub fn public_key(py: Python<'_>, secret: PyHash) -> PyResult<Bound<'_, PyBytes>> {
    Ok(PyBytes::new(py, &crypto::public_key(&secret.0)?))
}

/// Return the address of a public key.
#[pyfunction]
#[pyo3(signature = (public_key, /))]
pub fn address_of(public_key: &[u8]) -> PyResult<PyAddress> {
    let coordinates = public_key.try_into().map_err(|_| {
        MalformedValue::new_err(format!(
            "a public key is 64 bytes, got {}",
            public_key.len()
        ))
    })?;
    Ok(PyAddress(crypto::address_of(coordinates)?))
}
