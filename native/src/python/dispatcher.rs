//! `NativeDispatcher` for Python.

use std::collections::HashMap;
use std::time::Instant;

use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyInt, PyList, PyString};

use super::convert::PyWord;
use super::fee_history::FeeHistory;
use super::state_reads::StateReads;
use crate::jsonrpc::latency::Latencies;
use crate::jsonrpc::read;
use crate::jsonrpc::request::{Request, plain_text};
use crate::jsonrpc::response_cache::{Response, ResponseCache};

/// Responds to requests that need no Python dispatcher: cached results, getters, plain reads of the state.
#[pyclass(frozen, module = "entresol._native")]
pub struct NativeDispatcher {
    cache: Mutex<ResponseCache>,
    methods: HashMap<String, Method>,
    reads: Option<Py<StateReads>>,
    bounds: Vec<f64>,
}

/// A method that is not cached.
struct Method {
    kind: Kind,
    latencies: Mutex<Latencies>,
}

enum Kind {
    /// A function without parameters.
    Getter(Py<PyAny>),
    /// A read of the state.
    Read(Py<StateReads>),
    /// `eth_feeHistory`.
    FeeHistory(Py<FeeHistory>),
}

#[pymethods]
impl NativeDispatcher {
    #[new]
    #[pyo3(signature = (
        *, capacity, batch, bounds, getters = None, reads = None, fee_history = None,
        read_methods = None
    ))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn new(
        py: Python<'_>,
        capacity: usize,
        batch: usize,
        bounds: Vec<f64>,
        getters: Option<HashMap<String, Py<PyAny>>>,
        reads: Option<Py<StateReads>>,
        fee_history: Option<Py<FeeHistory>>,
        read_methods: Option<Vec<String>>,
    ) -> Self {
        let kind_of = |name: &str| {
            if name == "eth_feeHistory" {
                return fee_history.as_ref().map(|it| Kind::FeeHistory(it.clone_ref(py)));
            }
            let reads = reads.as_ref().filter(|_| read::METHODS.contains(&name))?;
            Some(Kind::Read(reads.clone_ref(py)))
        };
        let names = read_methods.into_iter().flatten();
        let kinds = names.filter_map(|name| kind_of(&name).map(|kind| (name, kind)));
        let getters = getters.into_iter().flatten().map(|(name, it)| (name, Kind::Getter(it)));
        let method = |(name, kind)| (name, Method { kind, latencies: Mutex::default() });
        let methods = kinds.chain(getters).map(method).collect();
        Self { cache: Mutex::new(ResponseCache::new(capacity, batch)), methods, reads, bounds }
    }

    /// Return the response to a request or a batch, or None.
    #[pyo3(signature = (body, /))]
    fn response<'py>(&self, py: Python<'py>, body: &[u8]) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let Some(text) = plain_text(body) else { return Ok(None) };
        if text.starts_with('[') {
            return self.cache.lock().batch(text).map(|it| written(py, &it)).transpose();
        }
        let Some(request) = Request::parse(text) else { return Ok(None) };
        // Released before a read may release the GIL.
        if let Some(response) = self.cache.lock().single(&request) {
            return written(py, &response).map(Some);
        }
        match self.methods.get(request.method) {
            Some(method) if request.is_plain() => self.call(py, method, &request),
            _ => Ok(None),
        }
    }

    /// Insert the result of a call.
    #[pyo3(signature = (method, params, result, /))]
    fn insert(&self, method: &str, params: &[u8], result: &[u8]) {
        self.cache.lock().insert(method.as_bytes(), params, result);
    }

    /// Remove all cached results.
    fn clear(&self) {
        self.cache.lock().clear();
    }

    /// Return the size of what is cached, in bytes.
    #[getter]
    fn size(&self) -> usize {
        self.cache.lock().size()
    }

    /// Return the number of responses from the cache, by method.
    fn hits(&self) -> HashMap<String, u64> {
        let mut hits = hits_of(&self.cache.lock());
        hits.extend(self.reads.iter().flat_map(|reads| hits_of(&reads.get().calls.lock())));
        hits
    }

    /// Return calls by latency and their seconds since the last time, by method.
    fn take_latencies(&self) -> HashMap<String, (Vec<u64>, f64)> {
        let taken = self
            .methods
            .iter()
            .map(|(name, method)| (name.clone(), std::mem::take(&mut *method.latencies.lock())));
        let used = taken.filter(|(_, it)| !it.buckets.is_empty());
        used.map(|(name, it)| (name, (it.buckets, it.seconds))).collect()
    }
}

impl NativeDispatcher {
    fn call<'py>(
        &self,
        py: Python<'py>,
        method: &Method,
        request: &Request<'_>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let start = Instant::now();
        let response = match &method.kind {
            Kind::Getter(function) => get(py, function, request),
            Kind::Read(reads) => reads.get().response(py, request)?,
            Kind::FeeHistory(history) => history.get().response(py, request),
        };
        if response.is_some() {
            method.latencies.lock().observe(&self.bounds, start.elapsed());
        }
        Ok(response)
    }
}

/// Return the response of a getter; None if it fails, which Python reports when it fails again.
fn get<'py>(
    py: Python<'py>,
    function: &Py<PyAny>,
    request: &Request<'_>,
) -> Option<Bound<'py, PyBytes>> {
    let params = request.params();
    let has_none =
        params.is_empty() || params[1..].trim_start_matches([' ', '\t', '\r', '\n']) == "]";
    let value = has_none.then(|| function.bind(py).call0().ok()).flatten()?;
    Some(PyBytes::new(py, &request.response(&rendered(&value)?)))
}

/// Return the JSON of a result: null, a boolean, a number, bytes or a list of them.
fn rendered(value: &Bound<'_, PyAny>) -> Option<Vec<u8>> {
    if value.is_none() {
        return Some(b"null".to_vec());
    }
    if let Ok(boolean) = value.cast_exact::<PyBool>() {
        return Some(if boolean.is_true() { b"true".to_vec() } else { b"false".to_vec() });
    }
    if value.cast::<PyInt>().is_ok() {
        return value.extract::<PyWord>().ok().map(|word| read::render(word.0));
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Some(read::render_data(bytes.as_bytes()));
    }
    if let Ok(text) = value.cast_exact::<PyString>() {
        return serde_json::to_vec(&text.to_cow().ok()?).ok();
    }
    let items: Option<Vec<_>> =
        value.cast::<PyList>().ok()?.iter().map(|it| rendered(&it)).collect();
    Some([b"[", items?.join(&b","[..]).as_slice(), b"]"].concat())
}

fn hits_of(cache: &ResponseCache) -> HashMap<String, u64> {
    cache.hits().map(|(name, count)| (String::from_utf8_lossy(name).into(), count)).collect()
}

/// Return a cached response as bytes.
pub fn written<'py>(py: Python<'py>, response: &Response<'_>) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, response.size(), |out| {
        response.write(out);
        Ok(())
    })
}
