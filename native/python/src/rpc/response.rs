//! Responses as `bytes` of Python, written in place.

use std::slice;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use entresol_rpc::response_cache::Response;

/// Join the parts of a response.
pub fn joined<'py>(py: Python<'py>, parts: [&[u8]; 5]) -> PyResult<Bound<'py, PyBytes>> {
    let size = parts.iter().map(|part| part.len()).sum();
    PyBytes::new_with(py, size, |mut out| {
        for part in parts {
            let (head, rest) = out.split_at_mut(part.len());
            head.copy_from_slice(part);
            out = rest;
        }
        Ok(())
    })
}

/// Return a cached response as bytes.
pub fn written<'py>(py: Python<'py>, response: &Response<'_>) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, response.size(), |out| {
        response.write(out);
        Ok(())
    })
}

/// Return the slices as one byte string; the GIL is released while they are copied.
#[allow(unsafe_code, reason = "pyo3 would clear the byte string first, and with the GIL")]
pub fn concatenate<'py>(py: Python<'py>, slices: &[&[u8]]) -> PyResult<Bound<'py, PyBytes>> {
    let size: usize = slices.iter().map(|slice| slice.len()).sum();
    let size = ffi::Py_ssize_t::try_from(size)?;
    // SAFETY: without a text to copy, Python returns a new byte string of this size, which no other code
    // can reach before this function returns; or null, with an exception set.
    let bytes = unsafe {
        let new = ffi::PyBytes_FromStringAndSize(std::ptr::null(), size);
        Bound::from_owned_ptr_or_err(py, new)?.cast_into_unchecked::<PyBytes>()
    };
    // SAFETY: the byte string is alive until the end of this function, and has this many bytes.
    let target = unsafe {
        let start = ffi::PyBytes_AsString(bytes.as_ptr()).cast::<std::mem::MaybeUninit<u8>>();
        std::slice::from_raw_parts_mut(start, size as usize)
    };
    py.detach(|| {
        let mut rest = target;
        for slice in slices {
            let (part, after) = rest.split_at_mut(slice.len());
            part.write_copy_of_slice(slice);
            rest = after;
        }
    });
    Ok(bytes)
}

/// Return parts as one byte string; other threads run while they are copied.
#[pyfunction]
#[pyo3(signature = (parts, /))]
#[allow(unsafe_code, reason = "pyo3 has no slice of a buffer that may be read without the GIL")]
pub fn concatenated<'py>(
    py: Python<'py>,
    parts: Vec<PyBuffer<u8>>,
) -> PyResult<Bound<'py, PyBytes>> {
    if parts.iter().any(|part| !part.readonly() || !part.is_c_contiguous()) {
        return Err(PyValueError::new_err("a part is expected that cannot be changed"));
    }
    let slice = |part: &PyBuffer<u8>| {
        let start = part.buf_ptr().cast::<u8>().cast_const();
        // SAFETY: the buffer is held until the end of this function, has this many bytes, and is not written to.
        if part.item_count() == 0 {
            &[]
        } else {
            unsafe { slice::from_raw_parts(start, part.item_count()) }
        }
    };
    let slices: Vec<&[u8]> = parts.iter().map(slice).collect();
    concatenate(py, &slices)
}
