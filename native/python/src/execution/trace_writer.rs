//! `TraceWriter` for Python.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::execution_result::ExecutionResult;

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

/// Return the slices as one byte string; the GIL is released while they are copied.
#[allow(unsafe_code, reason = "pyo3 would clear the byte string first, and with the GIL")]
fn concatenate<'py>(py: Python<'py>, slices: &[&[u8]]) -> PyResult<Bound<'py, PyBytes>> {
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
