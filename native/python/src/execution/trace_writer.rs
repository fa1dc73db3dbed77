//! `TraceWriter` for Python.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::execution_result::ExecutionResult;
use crate::rpc::response::concatenate;

/// A JSON text of traces and what is between them.
///
/// Traces are long, so they are shared until the text is complete, and copied once, without the GIL.
#[pyclass(frozen, module = "entresol._native")]
pub struct TraceWriter(Mutex<Vec<Part>>);

#[derive(Clone)]
struct Part {
    text: Arc<Vec<u8>>,
    range: Range<usize>,
}

impl Part {
    fn bytes(&self) -> &[u8] {
        &self.text[self.range.clone()]
    }
}

#[pymethods]
impl TraceWriter {
    #[new]
    fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Write JSON.
    fn write(&self, text: &[u8]) {
        let range = 0..text.len();
        self.0.lock().push(Part { text: Arc::new(text.to_vec()), range });
    }

    /// Write the trace of `result`.
    fn write_trace(&self, result: &Bound<'_, ExecutionResult>) -> PyResult<()> {
        let text = trace_of(result)?;
        let range = 0..text.len();
        self.0.lock().push(Part { text, range });
        Ok(())
    }

    /// Write the items of the trace of `result`, a list or an object, into one that was begun before.
    fn write_items(&self, result: &Bound<'_, ExecutionResult>) -> PyResult<()> {
        let text = trace_of(result)?;
        let range = 1..text.len().saturating_sub(1).max(1);
        if range.is_empty() {
            return Ok(());
        }
        let mut parts = self.0.lock();
        let last = parts.last().and_then(|part| part.bytes().last());
        if last.is_some_and(|byte| !b"[{".contains(byte)) {
            parts.push(Part { text: Arc::new(b",".to_vec()), range: 0..1 });
        }
        parts.push(Part { text, range });
        Ok(())
    }

    /// The bytes written so far.
    fn __len__(&self) -> usize {
        self.0.lock().iter().map(|part| part.range.len()).sum()
    }

    /// Return the text between `head` and `tail`.
    #[pyo3(signature = (head = b"".as_slice(), tail = b"".as_slice()))]
    fn joined<'py>(
        &self,
        py: Python<'py>,
        head: &[u8],
        tail: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        let parts = self.0.lock().clone();
        let between = parts.iter().map(Part::bytes);
        let slices: Vec<&[u8]> = [head].into_iter().chain(between).chain([tail]).collect();
        concatenate(py, &slices)
    }
}

fn trace_of(result: &Bound<'_, ExecutionResult>) -> PyResult<Arc<Vec<u8>>> {
    let trace = result.get().0.trace.as_ref();
    trace.map(Arc::clone).ok_or_else(|| PyValueError::new_err("the execution was not traced"))
}
