//! Keccak-256 and ECDSA for Python.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use entresol_core::crypto;

use super::convert::{PyAddress, PyHash};
use super::errors::{MalformedValue, crypto_error};

/// The data that is hashed or decoded with the GIL: releasing it takes as long as some kilobytes.
pub const MAX_BYTES_WITH_GIL: usize = 16 << 10;

/// Return the Keccak-256 hash of `data`.
#[pyfunction]
#[pyo3(signature = (data, /))]
pub fn keccak256(py: Python<'_>, data: &[u8]) -> PyHash {
    if data.len() <= MAX_BYTES_WITH_GIL {
        return PyHash(alloy_primitives::keccak256(data));
    }
    PyHash(py.detach(|| alloy_primitives::keccak256(data)))
}

/// Return the address that signed `digest`.
#[pyfunction]
#[pyo3(signature = (digest, signature, /))]
pub fn recover(digest: &[u8], signature: &[u8]) -> PyResult<PyAddress> {
    let digest = exactly::<32>(digest, "a digest")?;
    Ok(PyAddress(crypto::recover(&digest.into(), signature).map_err(crypto_error)?))
}

/// Sign `digest` deterministically.
#[pyfunction]
#[pyo3(signature = (digest, secret, /))]
pub fn sign<'py>(py: Python<'py>, digest: &[u8], secret: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let digest = exactly::<32>(digest, "a digest")?;
    let secret = exactly::<32>(secret, "a secret key")?;
    Ok(PyBytes::new(py, &crypto::sign(&digest.into(), &secret.into()).map_err(crypto_error)?))
}

/// Return the public key of `secret`.
#[pyfunction]
#[pyo3(signature = (secret, /))]
pub fn public_key<'py>(py: Python<'py>, secret: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let secret = exactly::<32>(secret, "a secret key")?;
    Ok(PyBytes::new(py, &crypto::public_key(&secret.into()).map_err(crypto_error)?))
}

/// Return the address of a public key.
#[pyfunction]
#[pyo3(signature = (public_key, /))]
pub fn address_of(public_key: &[u8]) -> PyResult<PyAddress> {
    let coordinates = exactly::<64>(public_key, "a public key")?;
    Ok(PyAddress(crypto::address_of(&coordinates).map_err(crypto_error)?))
}

fn exactly<const N: usize>(bytes: &[u8], what: &str) -> PyResult<[u8; N]> {
    bytes
        .try_into()
        .map_err(|_| MalformedValue::new_err(format!("{what} is {N} bytes, got {}", bytes.len())))
}
