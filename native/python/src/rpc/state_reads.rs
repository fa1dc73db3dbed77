//! `StateReads` for Python.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use pyo3::{PyTraverseError, PyVisit};

use entresol_core::call::{CallRequest, EstimateOptions};
use entresol_core::evm::env::ExecutionEnv;
use entresol_core::record::{decode_header, header_hash};
use entresol_core::state::remote::rounds;
use entresol_rpc::call::{self, Outcome};
use entresol_rpc::fill::{Filling, fill};
use entresol_rpc::read::{CallKind, Read};
use entresol_rpc::request::Request;
use entresol_rpc::response_cache;
use entresol_rpc::simulate::{Base, FailureTexts, Simulation};

use super::call_errors::{CallErrors, Reported};
use super::head::{Head, HeadState, Parent};
use super::response::{joined, written};
use super::simulations::{self, PyChain, PyFailureTexts};
use crate::convert::PyHash;
use crate::execution::limits::Limits;
use crate::gil;
use crate::trie::PyTrie;

/// The seconds between simulated blocks.
const INTERVAL: u64 = 1;

/// Responds to plain calls without Python.
///
/// Remembers: the environment of the last block as Python gave it, and results of calls in it.
#[pyclass(frozen, module = "entresol._native")]
pub struct StateReads {
    latest: Py<PyAny>,
    state_root: Py<PyAny>,
    head_header: Py<PyAny>,
    filling: Py<PyAny>,
    next_block: Py<PyAny>,
    has_fork_fields: bool,
    failure_texts: FailureTexts,
    trie: Py<PyTrie>,
    limits: Py<Limits>,
    errors: Option<Py<CallErrors>>,
    estimates: EstimateOptions,
    simulated_items: usize,
    /// The gas from which on the result of a call is cached.
    cached_gas: u64,
    head: Mutex<Option<Head>>,
    pending: Mutex<Option<Head>>,
    /// Results of long calls on the last block.
    pub calls: Mutex<response_cache::ResponseCache>,
    is_budget_spent: AtomicBool,
}

#[pymethods]
impl StateReads {
    #[new]
    #[pyo3(signature = (
        *, latest, state_root, head_header, filling, next_block, has_fork_fields, failure_texts,
        trie, limits, gas_cap, simulated_items, cache_bytes, cached_gas, errors = None,
        unfunded_transfers = false,
        unfunded_estimates = false
    ))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn new(
        latest: Py<PyAny>,
        state_root: Py<PyAny>,
        head_header: Py<PyAny>,
        filling: Py<PyAny>,
        next_block: Py<PyAny>,
        has_fork_fields: bool,
        failure_texts: PyFailureTexts,
        trie: Py<PyTrie>,
        limits: Py<Limits>,
        gas_cap: u64,
        simulated_items: usize,
        cache_bytes: usize,
        cached_gas: u64,
        errors: Option<Py<CallErrors>>,
        unfunded_transfers: bool,
        unfunded_estimates: bool,
    ) -> Self {
        let unfunded = unfunded_estimates;
        Self {
            latest,
            state_root,
            head_header,
            filling,
            next_block,
            has_fork_fields,
            failure_texts: simulations::failure_texts(failure_texts),
            trie,
            limits,
            errors,
            estimates: EstimateOptions { gas_cap, unfunded_transfers, unfunded },
            simulated_items,
            cached_gas,
            head: Mutex::new(None),
            pending: Mutex::new(None),
            calls: Mutex::new(response_cache::ResponseCache::new(cache_bytes, 0)),
            is_budget_spent: AtomicBool::new(false),
        }
    }

    /// Show to the garbage collector what is a part of the chain that owns this.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        [&self.latest, &self.state_root, &self.head_header, &self.filling, &self.next_block]
            .into_iter()
            .try_for_each(|it| visit.call(it))?;
        visit.call(&self.trie)?;
        // What is locked is in use.
        for block in [&self.head, &self.pending].into_iter().filter_map(Mutex::try_lock) {
            block.as_ref().map_or(Ok(()), |it| it.traverse(&visit))?;
        }
        Ok(())
    }

    /// Return whether the last request needed more gas than it may use here; forget it.
    fn take_budget_spent(&self) -> bool {
        self.is_budget_spent.swap(false, Ordering::Relaxed)
    }

    /// The size of the cached results of calls, in bytes.
    #[getter]
    fn size(&self) -> usize {
        self.calls.lock().size()
    }
}

impl StateReads {
    /// Return the response to a request with the code of its error or 0, or None if it is left to Python.
    pub fn response<'py>(
        &self,
        py: Python<'py>,
        request: &Request<'_>,
    ) -> PyResult<Option<(Bound<'py, PyBytes>, i32)>> {
        let Some(read) = Read::parse(request.method, request.params()) else { return Ok(None) };
        // Python raises an error once more, where it is reported.
        let Ok(found) = self.find(py, request, &read) else { return Ok(None) };
        let outcome = match (found, &read, &self.errors) {
            (Found::Cached(response), ..) => return Ok(Some((response, 0))),
            (Found::Outcome(Outcome::Failure(failure)), Read::Call(kind, _), Some(errors)) => {
                match errors.get().report(*kind, &failure) {
                    Reported::Error(error, code) => {
                        let response = joined(py, request.error_response(&error))?;
                        return Ok(Some((response, code)));
                    }
                    Reported::Outcome(outcome) => outcome,
                }
            }
            (Found::Outcome(Outcome::Listed(created)), _, Some(errors)) => {
                errors.get().listed(&created)
            }
            (Found::Outcome(outcome), ..) => outcome,
        };
        match outcome {
            Outcome::Result(result, gas) => {
                if gas >= self.cached_gas && matches!(read, Read::Call(CallKind::Output, _)) {
                    let params = request.params().as_bytes();
                    self.calls.lock().insert(request.method.as_bytes(), params, &result);
                }
                joined(py, request.response(&result)).map(|it| Some((it, 0)))
            }
            Outcome::BudgetSpent => {
                self.is_budget_spent.store(true, Ordering::Relaxed);
                Ok(None)
            }
            Outcome::Failure(_) | Outcome::Listed(_) | Outcome::Other => Ok(None),
        }
    }

    fn find<'py>(
        &self,
        py: Python<'py>,
        request: &Request<'_>,
        read: &Read,
    ) -> PyResult<Found<'py>> {
        match read {
            Read::Call(kind, call) => self.call(py, request, *kind, &call.0),
            Read::Fill(call) => self.fill(py, &call.0).map(Found::Outcome),
            Read::Simulation(simulation) => self.simulate(py, simulation).map(Found::Outcome),
        }
    }

    fn call<'py>(
        &self,
        py: Python<'py>,
        request: &Request<'_>,
        kind: CallKind,
        call: &CallRequest,
    ) -> PyResult<Found<'py>> {
        let (state, env) = self.head(py)?;
        if let Some(response) = self.calls.lock().single(request) {
            return written(py, &response).map(Found::Cached);
        }
        let limits = self.limits.get().start();
        let env = ExecutionEnv { limits, ..env.as_ref().clone() };
        let estimates = self.estimates;
        Ok(Found::Outcome(state.run(py, env, |state, env| match kind {
            CallKind::Output => call::call(state, env, call, estimates.gas_cap),
            CallKind::EstimateGas => call::estimate_gas(state, env, call, estimates),
            CallKind::AccessList => call::create_access_list(state, env, call, estimates.gas_cap),
        })))
    }

    fn fill(&self, py: Python<'_>, call: &CallRequest) -> PyResult<Outcome> {
        let sender = PyBytes::new(py, call.from.as_slice());
        let (evm_env, nonce, max_fee_per_gas, max_priority_fee_per_gas) =
            self.filling.bind(py).call1((sender,))?.extract::<(Bound<'_, PyAny>, _, _, _)>()?;
        let filling = Filling { nonce, max_fee_per_gas, max_priority_fee_per_gas };
        let (state, env) = Head::cached(&mut self.pending.lock(), &evm_env)?.parts(py);
        let env = ExecutionEnv { limits: self.limits.get().start(), ..env.as_ref().clone() };
        let gas_cap = self.estimates.gas_cap;
        Ok(state.run(py, env, |state, env| fill(state, env, call, &filling, gas_cap)))
    }

    fn simulate(&self, py: Python<'_>, simulation: &Simulation) -> PyResult<Outcome> {
        if simulation.items() > self.simulated_items {
            return Ok(Outcome::Other);
        }
        let (state, env) = self.head(py)?;
        let parent = self.parent(py)?;
        let asks = simulation.validation || self.has_fork_fields;
        let chain = PyChain {
            trie: self.trie.get(),
            root: parent.state_root,
            next_block: asks.then_some(&self.next_block),
        };
        let limits = self.limits.get().start();
        let result = gil::release(py, || {
            rounds::run_on(limits, |limits| {
                let env = ExecutionEnv { limits, ..env.as_ref().clone() };
                let Parent { header, hash, .. } = parent.as_ref().clone();
                let overlay = state.overlay();
                let base = Base { header, hash, overlay, env, interval: INTERVAL, chain: &chain };
                simulation.run(base, self.estimates.gas_cap, &self.failure_texts)
            })
        });
        Ok(match result {
            Ok(json) => Outcome::Result(json, 0),
            Err(error) if error.is_budget_spent() => Outcome::BudgetSpent,
            // Python runs it once more, and reports what is wrong.
            Err(_) => Outcome::Other,
        })
    }

    /// Return the header and the state root of the last block, which `head` has just returned.
    fn parent(&self, py: Python<'_>) -> PyResult<Arc<Parent>> {
        if let Some(parent) = self.head.lock().as_ref().and_then(|head| head.parent.clone()) {
            return Ok(parent);
        }
        let encoded: PyBackedBytes = self.head_header.bind(py).call0()?.extract()?;
        let header = decode_header(&encoded)
            .ok_or_else(|| PyRuntimeError::new_err("a header of London or later is expected"))?;
        let hash = header_hash(&encoded);
        let PyHash(state_root) = self.state_root.bind(py).call0()?.extract()?;
        let parent = Arc::new(Parent { header, hash, state_root });
        if let Some(head) = self.head.lock().as_mut() {
            head.parent = Some(Arc::clone(&parent));
        }
        Ok(parent)
    }

    /// Return the state and the environment of the last block.
    fn head(&self, py: Python<'_>) -> PyResult<(HeadState, Arc<ExecutionEnv>)> {
        let evm_env = self.latest.bind(py).call0()?;
        let mut cached = self.head.lock();
        if !cached.as_ref().is_some_and(|head| head.evm_env.is(&evm_env)) {
            self.calls.lock().clear();
        }
        Ok(Head::cached(&mut cached, &evm_env)?.parts(py))
    }
}

/// What a read came to.
enum Found<'py> {
    Cached(Bound<'py, PyBytes>),
    Outcome(Outcome),
}
