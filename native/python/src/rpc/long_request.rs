//! Long requests for Python, read without the GIL.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use entresol_rpc::long_request;

use super::response::concatenate;

/// The method of a request, where its id and its parameters are in the body, and its data.
type Parts<'py> = (String, (usize, usize), (usize, usize), Option<Bound<'py, PyBytes>>);

/// Return the bytes of `0x` and hex digits, decoded without the GIL; None if they are something else.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub fn decode_long_hex<'py>(py: Python<'py>, text: &str) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let data = py.detach(|| long_request::data(text));
    data.map(|data| concatenate(py, &[&data])).transpose()
}

/// Read the requests of a long body, and whether they are a batch, without the GIL.
#[pyfunction]
#[pyo3(signature = (body, /))]
pub fn read_long_requests<'py>(
    py: Python<'py>,
    body: &[u8],
) -> PyResult<Option<(bool, Vec<Parts<'py>>)>> {
    let Some((is_batch, requests)) = py.detach(|| long_request::read_long(body)) else {
        return Ok(None);
    };
    let parts = requests.into_iter().map(|it| {
        let data = it.data.map(|data| concatenate(py, &[&data])).transpose()?;
        Ok((it.method, (it.id.start, it.id.end), (it.params.start, it.params.end), data))
    });
    Ok(Some((is_batch, parts.collect::<PyResult<_>>()?)))
}
