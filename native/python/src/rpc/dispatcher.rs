//! `NativeDispatcher` for Python.

use std::time::Instant;

use alloy_primitives::map::HashMap;
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3::{PyTraverseError, PyVisit};

use entresol_rpc::latency::Latencies;
use entresol_rpc::request::{Request, plain_text};
use entresol_rpc::response_cache::ResponseCache;
use entresol_rpc::{account_read, read};

use super::account_reads::AccountReads;
use super::bridge_estimates::BridgeEstimates;
use super::fee_history::FeeHistory;
use super::getter::{Getter, rendered};
use super::response::{joined, written};
use super::state_reads::StateReads;

/// A dictionary of Python by names.
type Dict<T> = std::collections::HashMap<String, T>;
/// Calls by latency, their seconds, and how many failed with each code.
type Taken = (Vec<u64>, f64, Vec<(i32, u64)>);

/// Responds to requests that need no Python dispatcher: cached results, getters, plain reads of the state.
#[pyclass(frozen, module = "entresol._native")]
pub struct NativeDispatcher {
    cache: Mutex<ResponseCache>,
    methods: HashMap<String, Method>,
    reads: Option<Py<StateReads>>,
    bounds: Vec<f64>,
    limits: PlainLimits,
    max_bytes: usize,
}

/// The longest parameters and results that are cached, and the longest parameters that are read here: longer ones are
/// left to Python, which may decode them on a thread.
#[derive(Clone, Copy, FromPyObject)]
struct PlainLimits {
    cached_params: usize,
    cached_result: usize,
    read_params: usize,
}

/// A method that is not cached.
struct Method {
    kind: Kind,
    latencies: Mutex<Latencies>,
}

enum Kind {
    /// A function in Python.
    Getter(Py<Getter>),
    /// A read of an account or a slot.
    Account(Py<AccountReads>),
    /// A call.
    Read(Py<StateReads>),
    /// `eth_feeHistory`.
    FeeHistory(Py<FeeHistory>),
    /// `zks_estimateGasL1ToL2`.
    Bridge(Py<BridgeEstimates>),
}

#[pymethods]
impl NativeDispatcher {
    #[new]
    #[pyo3(signature = (
        *, capacity, batch, bounds, limits, max_bytes, getters = None, accounts = None, reads = None,
        fee_history = None, bridge = None, read_methods = None
    ))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn new(
        py: Python<'_>,
        capacity: usize,
        batch: usize,
        bounds: Vec<f64>,
        limits: PlainLimits,
        max_bytes: usize,
        getters: Option<Dict<Py<Getter>>>,
        accounts: Option<Py<AccountReads>>,
        reads: Option<Py<StateReads>>,
        fee_history: Option<Py<FeeHistory>>,
        bridge: Option<Py<BridgeEstimates>>,
        read_methods: Option<Vec<String>>,
    ) -> Self {
        let kind_of = |name: &str| {
            if name == "eth_feeHistory" {
                return fee_history.as_ref().map(|it| Kind::FeeHistory(it.clone_ref(py)));
            }
            if name == "zks_estimateGasL1ToL2" {
                return bridge.as_ref().map(|it| Kind::Bridge(it.clone_ref(py)));
            }
            if account_read::METHODS.contains(&name) {
                return accounts.as_ref().map(|it| Kind::Account(it.clone_ref(py)));
            }
            let reads = reads.as_ref().filter(|_| read::METHODS.contains(&name))?;
            Some(Kind::Read(reads.clone_ref(py)))
        };
        let names = read_methods.into_iter().flatten();
        let kinds = names.filter_map(|name| kind_of(&name).map(|kind| (name, kind)));
        let getters = getters.into_iter().flatten().map(|(name, it)| (name, Kind::Getter(it)));
        let method = |(name, kind)| (name, Method { kind, latencies: Mutex::default() });
        let methods = kinds.chain(getters).map(method).collect();
        let cache = Mutex::new(ResponseCache::new(capacity, batch));
        Self { cache, methods, reads, bounds, limits, max_bytes }
    }

    /// Show to the garbage collector what leads to the chain that owns this.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.reads)?;
        self.methods.values().try_for_each(|method| match &method.kind {
            Kind::Getter(getter) => visit.call(getter),
            Kind::Account(accounts) => visit.call(accounts),
            Kind::Read(reads) => visit.call(reads),
            Kind::FeeHistory(fees) => visit.call(fees),
            Kind::Bridge(bridge) => visit.call(bridge),
        })
    }

    /// Return the response to a request or a batch; None leaves it to Python.
    ///
    /// What a getter returned that the crate does not render, or that is too long, is handed over: the
    /// name of the method, the id and the result.
    #[pyo3(signature = (body, /))]
    fn response<'py>(&self, py: Python<'py>, body: &[u8]) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(text) = plain_text(body) else { return Ok(None) };
        if text.starts_with('[') {
            let cache = self.cache.lock();
            let response = cache.batch(text).filter(|it| it.size() <= self.max_bytes);
            return response.map(|it| Ok(written(py, &it)?.into_any())).transpose();
        }
        Request::parse(text).map_or(Ok(None), |request| self.respond(py, &request))
    }

    /// Return what `response` does for a request whose parts were read from a batch.
    #[pyo3(signature = (request_id, method, params, /))]
    fn item<'py>(
        &self,
        py: Python<'py>,
        request_id: &[u8],
        method: &str,
        params: &[u8],
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let request = Request::of_parts(request_id, method, params);
        request.map_or(Ok(None), |request| self.respond(py, &request))
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
    fn hits(&self) -> Dict<u64> {
        let mut hits = hits_of(&self.cache.lock());
        hits.extend(self.reads.iter().flat_map(|reads| hits_of(&reads.get().calls.lock())));
        hits
    }

    /// Return calls by latency, their seconds and their errors by code since the last time, by method.
    fn take_latencies(&self) -> Dict<Taken> {
        let taken = self
            .methods
            .iter()
            .map(|(name, method)| (name.clone(), std::mem::take(&mut *method.latencies.lock())));
        let used = taken.filter(|(_, it)| !it.buckets.is_empty());
        used.map(|(name, it)| (name, (it.buckets, it.seconds, it.errors))).collect()
    }
}

impl NativeDispatcher {
    fn respond<'py>(
        &self,
        py: Python<'py>,
        request: &Request<'_>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        // Released before a read may release the GIL.
        if let Some(response) = self.cache.lock().single(request)
            && response.size() <= self.max_bytes
        {
            return Ok(Some(written(py, &response)?.into_any()));
        }
        let Some(method) = self.methods.get(request.method).filter(|_| request.is_plain()) else {
            return Ok(None);
        };
        let start = Instant::now();
        let response = match &method.kind {
            Kind::Getter(getter) => return self.get(py, method, getter.get(), request),
            _ if request.params().len() > self.limits.read_params => return Ok(None),
            Kind::Account(accounts) => accounts.get().response(py, request)?.map(|it| (it, 0)),
            Kind::Read(reads) => reads.get().response(py, request)?,
            Kind::FeeHistory(history) => history.get().response(py, request).map(|it| (it, 0)),
            Kind::Bridge(bridge) => bridge.get().response(py, request)?,
        };
        let response = response.filter(|(it, _)| it.as_bytes().len() <= self.max_bytes);
        Ok(response.map(|(body, code)| {
            method.latencies.lock().observe(&self.bounds, start.elapsed(), code);
            body.into_any()
        }))
    }

    /// Call a getter; None if its parameters are not plain, or if it fails.
    fn get<'py>(
        &self,
        py: Python<'py>,
        method: &Method,
        getter: &Getter,
        request: &Request<'_>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let start = Instant::now();
        let Some(arguments) = getter.arguments(py, request.params()) else { return Ok(None) };
        let Some(value) = getter.call(&arguments) else { return Ok(None) };
        let size =
            |result: &Vec<u8>| request.response(result).iter().map(|it| it.len()).sum::<usize>();
        let Some(result) = rendered(&value).filter(|it| size(it) <= self.max_bytes) else {
            let handed_over = (request.method, PyBytes::new(py, request.id()), value);
            return Ok(Some(handed_over.into_pyobject(py)?.into_any()));
        };
        if getter.is_cached && arguments.are_fixed && !value.is_none() {
            self.insert_short(request, &result);
        }
        method.latencies.lock().observe(&self.bounds, start.elapsed(), 0);
        Ok(Some(joined(py, request.response(&result))?.into_any()))
    }

    fn insert_short(&self, request: &Request<'_>, result: &[u8]) {
        let params = request.params().as_bytes();
        if params.len() <= self.limits.cached_params && result.len() <= self.limits.cached_result {
            self.cache.lock().insert(request.method.as_bytes(), params, result);
        }
    }
}

fn hits_of(cache: &ResponseCache) -> Dict<u64> {
    cache.hits().map(|(name, count)| (String::from_utf8_lossy(name).into(), count)).collect()
}
