//! Conversions of addresses, hashes, words and byte strings between Python and Rust.
//!
//! Each wrapper is named for what Python holds: an address is 20 `bytes`, a hash is 32 `bytes`, a
//! word is an `int` below 2^256. A value of another size raises `ValueError`.

use alloy_primitives::{Address, B256, Bytes, U256, U512};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyAnyMethods, PyBytes, PyInt, PyType};

/// An address: 20 `bytes`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PyAddress(pub Address);

/// A hash: 32 `bytes`.
#[derive(Clone, Copy)]
pub struct PyHash(pub B256);

/// A word: an `int` from 0 to 2^256 - 1.
#[derive(Clone, Copy)]
pub struct PyWord(pub U256);

/// An `int` that may be longer than a word.
pub struct PyLong(pub U512);

/// A byte string: `bytes`.
#[derive(Clone)]
pub struct PyData(pub Bytes);

impl<'py> FromPyObject<'_, 'py> for PyAddress {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        fixed_bytes(object, "an address").map(|bytes| Self(Address::from(bytes)))
    }
}

impl<'py> FromPyObject<'_, 'py> for PyHash {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        fixed_bytes(object, "a hash").map(|bytes| Self(B256::from(bytes)))
    }
}

impl<'py> FromPyObject<'_, 'py> for PyWord {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let int = object.cast::<PyInt>().map_err(|_| PyTypeError::new_err("a word is an int"))?;
        // Balances often exceed 64 bits; a failed extraction would raise an exception first.
        if let Ok(small) = int.extract::<u128>() {
            return Ok(Self(U256::from(small)));
        }
        let bytes = int
            .call_method1("to_bytes", (32, "big"))
            .map_err(|error| out_of_range(object.py(), error))?;
        Ok(Self(U256::from_be_slice(bytes.cast::<PyBytes>()?.as_bytes())))
    }
}

impl<'py> FromPyObject<'_, 'py> for PyData {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(Bytes::copy_from_slice(object.cast::<PyBytes>()?.as_bytes())))
    }
}

impl<'py> IntoPyObject<'py> for PyAddress {
    type Target = PyBytes;
    type Output = Bound<'py, PyBytes>;
    type Error = std::convert::Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Self::Error> {
        Ok(PyBytes::new(py, self.0.as_slice()))
    }
}

impl<'py> IntoPyObject<'py> for PyHash {
    type Target = PyBytes;
    type Output = Bound<'py, PyBytes>;
    type Error = std::convert::Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Self::Error> {
        Ok(PyBytes::new(py, self.0.as_slice()))
    }
}

impl<'py> IntoPyObject<'py> for PyData {
    type Target = PyBytes;
    type Output = Bound<'py, PyBytes>;
    type Error = std::convert::Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Self::Error> {
        Ok(PyBytes::new(py, &self.0))
    }
}

impl<'py> IntoPyObject<'py> for PyWord {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        match u64::try_from(self.0) {
            Ok(small) => Ok(small.into_pyobject(py)?.into_any()),
            Err(_) => int_of(py, &self.0.to_be_bytes::<32>()),
        }
    }
}

impl<'py> IntoPyObject<'py> for PyLong {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        int_of(py, &self.0.to_be_bytes::<64>())
    }
}

fn int_of<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    static FROM_BYTES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let from_bytes = FROM_BYTES.get_or_try_init(py, || {
        let int: Bound<'_, PyType> = py.get_type::<PyInt>();
        int.getattr("from_bytes").map(Bound::unbind)
    })?;
    from_bytes.bind(py).call1((PyBytes::new(py, bytes), "big"))
}

fn fixed_bytes<const N: usize>(object: Borrowed<'_, '_, PyAny>, what: &str) -> PyResult<[u8; N]> {
    let object =
        object.cast::<PyBytes>().map_err(|_| PyTypeError::new_err(format!("{what} is bytes")))?;
    let bytes = object.as_bytes();
    bytes
        .try_into()
        .map_err(|_| PyValueError::new_err(format!("{what} is {N} bytes, got {}", bytes.len())))
}

fn out_of_range(py: Python<'_>, error: PyErr) -> PyErr {
    if error.is_instance_of::<PyOverflowError>(py) {
        return PyValueError::new_err("a word is from 0 to 2^256 - 1");
    }
    error
}
