//! Kept answers for Python.

use std::collections::HashMap;

use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::kept::Kept;

/// Answers that are kept with the question, and given again with another id.
#[pyclass(frozen)]
pub struct ResponseCache(Mutex<Kept>);

#[pymethods]
impl ResponseCache {
    #[new]
    #[pyo3(signature = (*, capacity, batch))]
    fn new(capacity: usize, batch: usize) -> Self {
        Self(Mutex::new(Kept::new(capacity, batch)))
    }

    /// Return the answer to a request or a whole batch, or None.
    #[pyo3(signature = (body, /))]
    fn answer<'py>(&self, py: Python<'py>, body: &[u8]) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let kept = self.0.lock();
        let Some(answer) = kept.answer(body) else { return Ok(None) };
        let bytes = PyBytes::new_with(py, answer.size(), |out| {
            answer.write(out);
            Ok(())
        });
        bytes.map(Some)
    }

    /// Keep the result of a call.
    #[pyo3(signature = (method, params, result, /))]
    fn keep(&self, method: &str, params: &[u8], result: &[u8]) {
        self.0.lock().keep(method.as_bytes(), params, result);
    }

    /// Forget all results.
    fn forget(&self) {
        self.0.lock().forget();
    }

    /// Return how many results were given again, by method.
    fn given(&self) -> HashMap<String, u64> {
        let kept = self.0.lock();
        kept.given().map(|(name, count)| (String::from_utf8_lossy(name).into(), count)).collect()
    }
}
