//! `ResponseCache` for Python.

use std::collections::HashMap;

use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::response_cache;

/// Cache of JSON-RPC results by method and parameters.
#[pyclass(frozen, module = "entresol._native")]
pub struct ResponseCache(Mutex<response_cache::ResponseCache>);

#[pymethods]
impl ResponseCache {
    #[new]
    #[pyo3(signature = (*, capacity, batch))]
    fn new(capacity: usize, batch: usize) -> Self {
        Self(Mutex::new(response_cache::ResponseCache::new(capacity, batch)))
    }

    /// Return the response to a request or a batch, or None.
    #[pyo3(signature = (body, /))]
    fn response<'py>(&self, py: Python<'py>, body: &[u8]) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let cache = self.0.lock();
        let Some(response) = cache.response(body) else { return Ok(None) };
        let bytes = PyBytes::new_with(py, response.size(), |out| {
            response.write(out);
            Ok(())
        });
        bytes.map(Some)
    }

    /// Insert the result of a call.
    #[pyo3(signature = (method, params, result, /))]
    fn insert(&self, method: &str, params: &[u8], result: &[u8]) {
        self.0.lock().insert(method.as_bytes(), params, result);
    }

    /// Remove all results.
    fn clear(&self) {
        self.0.lock().clear();
    }

    /// Return the size of what is cached, in bytes.
    #[getter]
    fn size(&self) -> usize {
        self.0.lock().size()
    }

    /// Return the number of hits, by method.
    fn hits(&self) -> HashMap<String, u64> {
        let cache = self.0.lock();
        cache.hits().map(|(name, count)| (String::from_utf8_lossy(name).into(), count)).collect()
    }
}
