//! RLP for Python: byte strings are `bytes`, lists are lists.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use entresol_core::rlp::{Item, MAX_DEPTH, Problem, Reader, close_list, encode_bytes};

use super::errors::{MalformedValue, rlp_error};

/// Return the encoding of `item`.
#[pyfunction]
#[pyo3(signature = (item, /))]
pub fn rlp_encode<'py>(item: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let mut out = Vec::new();
    encode(item, 0, &mut out)?;
    Ok(PyBytes::new(item.py(), &out))
}

/// Return the one item that `data` encodes.
#[pyfunction]
#[pyo3(signature = (data, /))]
pub fn rlp_decode<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let mut reader = Reader::new(data);
    let item = reader.next().map_err(rlp_error)?;
    reader.finish().map_err(rlp_error)?;
    decode(py, item)
}

fn encode(item: &Bound<'_, PyAny>, depth: usize, out: &mut Vec<u8>) -> PyResult<()> {
    if let Ok(bytes) = item.cast::<PyBytes>() {
        encode_bytes(bytes.as_bytes(), out);
        return Ok(());
    }
    if depth == MAX_DEPTH {
        return Err(MalformedValue::new_err(Problem::TooDeep.to_string()));
    }
    let start = out.len();
    if let Ok(items) = item.cast::<PyList>() {
        for item in items.iter() {
            encode(&item, depth + 1, out)?;
        }
    } else if let Ok(items) = item.cast::<PyTuple>() {
        for item in items.iter() {
            encode(&item, depth + 1, out)?;
        }
    } else {
        let found = item.get_type().name()?;
        return Err(PyTypeError::new_err(format!("an rlp item is bytes or a list, got {found}")));
    }
    close_list(start, out);
    Ok(())
}

/// Recursion ends with [`MAX_DEPTH`], which the reader enforces.
fn decode<'py>(py: Python<'py>, item: Item<'_>) -> PyResult<Bound<'py, PyAny>> {
    let mut items = match item {
        Item::Bytes(bytes) => return Ok(PyBytes::new(py, bytes).into_any()),
        Item::List(items) => items,
    };
    let list = PyList::empty(py);
    while !items.is_empty() {
        list.append(decode(py, items.next().map_err(rlp_error)?)?)?;
    }
    Ok(list.into_any())
}
