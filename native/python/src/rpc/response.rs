//! Responses as `bytes` of Python, written in place.

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
