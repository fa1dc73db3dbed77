//! Calls for Python, which has decoded the call object: the same that the dispatcher executes for plain ones.

use std::sync::Arc;

use alloy_eips::eip2930::AccessListItem;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use entresol_core::call::{self, CallRequest, EstimateOptions, L1Bounds};
use entresol_core::evm::console::ConsoleCalls;
use entresol_core::evm::env::ExecutionEnv;
use entresol_core::state::State;
use entresol_rpc::call::render_access_list;

use super::call_request::call_request;
use super::head::Head;
use crate::convert::{PyAddress, PyData, PyHash};
use crate::errors::call_error;
use crate::execution::evm::Tracer;
use crate::execution::execution_result::ExecutionResult;
use crate::execution::limits::Limits;

/// Return the output of a call; `console` is called with what it logged, if it did.
#[pyfunction]
#[pyo3(signature = (evm_env, request, gas_cap, *, limits = None, console = None))]
pub fn call_output<'py>(
    evm_env: &Bound<'py, PyAny>,
    request: &Bound<'py, PyAny>,
    gas_cap: u64,
    limits: Option<&Bound<'py, Limits>>,
    console: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = evm_env.py();
    let logged = run(evm_env, request, limits, |state, env, request| {
        call::call(state, env, request, gas_cap)
    })?;
    report(console, logged.console)?;
    let called = logged.result.map_err(|error| call_error(py, error))?;
    Ok(PyBytes::new(py, &called.output))
}

/// Execute a call and return its result, a success or a failure.
#[pyfunction]
#[pyo3(signature = (evm_env, request, gas_cap, *, limits = None, tracer = None))]
pub fn run_call(
    evm_env: &Bound<'_, PyAny>,
    request: &Bound<'_, PyAny>,
    gas_cap: u64,
    limits: Option<&Bound<'_, Limits>>,
    tracer: Option<&Bound<'_, Tracer>>,
) -> PyResult<ExecutionResult> {
    let tracer = tracer.map(|tracer| &tracer.get().0);
    let result = run(evm_env, request, limits, |state, env, request| {
        call::run_call(state, env, request, gas_cap, tracer)
    })?;
    result.map(ExecutionResult).map_err(|error| call_error(evm_env.py(), error))
}

/// Execute a call with its trace; what has fields of type 0x71 runs in the steps that such a transaction has.
#[pyfunction]
#[pyo3(signature = (evm_env, request, gas_cap, *, tracer, limits = None))]
pub fn trace_call(
    evm_env: &Bound<'_, PyAny>,
    request: &Bound<'_, PyAny>,
    gas_cap: u64,
    tracer: &Bound<'_, Tracer>,
    limits: Option<&Bound<'_, Limits>>,
) -> PyResult<ExecutionResult> {
    let tracer = &tracer.get().0;
    let result = run(evm_env, request, limits, |state, env, request| {
        call::trace_call(state, env, request, gas_cap, tracer)
    })?;
    result.map(ExecutionResult).map_err(|error| call_error(evm_env.py(), error))
}

/// Return the gas limit that a call needs as a transaction, and how many runs it took to find it.
#[pyfunction]
#[pyo3(signature = (
    evm_env, request, gas_cap, *, limits = None, unfunded_transfers = false,
    unfunded_estimates = false, console = None
))]
pub fn estimate_gas<'py>(
    evm_env: &Bound<'py, PyAny>,
    request: &Bound<'py, PyAny>,
    gas_cap: u64,
    limits: Option<&Bound<'py, Limits>>,
    unfunded_transfers: bool,
    unfunded_estimates: bool,
    console: Option<&Bound<'py, PyAny>>,
) -> PyResult<(u64, u32)> {
    let options = EstimateOptions { gas_cap, unfunded_transfers, unfunded: unfunded_estimates };
    let logged = run(evm_env, request, limits, |state, env, request| {
        call::estimate_gas(state, env, request, options)
    })?;
    report(console, logged.console)?;
    let estimate = logged.result.map_err(|error| call_error(evm_env.py(), error))?;
    Ok((estimate.gas, estimate.runs))
}

/// An account and some of its slots.
type PyAccess<'py> = (PyAddress, Bound<'py, PyTuple>);

/// An access list, the gas that a transaction uses with it, and why it fails, if it does.
#[pyclass(frozen, module = "entresol._native")]
pub struct CreatedAccessList {
    created: call::CreatedAccessList,
    failure: Option<Py<PyAny>>,
}

#[pymethods]
impl CreatedAccessList {
    /// Accounts in ascending order, each with its slots.
    #[getter]
    fn access_list<'py>(&self, py: Python<'py>) -> PyResult<Vec<PyAccess<'py>>> {
        let item = |item: &AccessListItem| {
            let slots = PyTuple::new(py, item.storage_keys.iter().copied().map(PyHash))?;
            Ok((PyAddress(item.address), slots))
        };
        self.created.access_list.0.iter().map(item).collect()
    }

    #[getter]
    fn gas_used(&self) -> u64 {
        self.created.gas_used
    }

    /// The text of why it fails, or None.
    #[getter]
    fn error(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.failure.as_ref().map(|failure| Ok(failure.bind(py).str()?.to_string())).transpose()
    }

    /// Return the result of `eth_createAccessList`.
    fn json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let error = self.error(py)?;
        Ok(PyBytes::new(py, &render_access_list(&self.created, error.as_deref())))
    }
}

/// Return what a call touches beside sender, target and precompiles.
#[pyfunction]
#[pyo3(signature = (evm_env, request, gas_cap, *, limits = None))]
pub fn create_access_list(
    evm_env: &Bound<'_, PyAny>,
    request: &Bound<'_, PyAny>,
    gas_cap: u64,
    limits: Option<&Bound<'_, Limits>>,
) -> PyResult<CreatedAccessList> {
    let py = evm_env.py();
    let mut created = run(evm_env, request, limits, |state, env, request| {
        call::create_access_list(state, env, request, gas_cap)
    })?
    .map_err(|error| call_error(py, error))?;
    let failure = created.failure.take();
    let failure = failure.map(|failure| call_error(py, failure).into_value(py).into_any());
    Ok(CreatedAccessList { created, failure })
}

/// Return a gas limit with which L1 accepts a priority transaction and with which it succeeds on L2.
#[pyfunction]
#[pyo3(signature = (evm_env, request, *, gas_price, minimum, maximum, limits = None))]
pub fn estimate_l1_to_l2(
    evm_env: &Bound<'_, PyAny>,
    request: &Bound<'_, PyAny>,
    gas_price: u128,
    minimum: u64,
    maximum: u64,
    limits: Option<&Bound<'_, Limits>>,
) -> PyResult<u64> {
    let bounds = L1Bounds { gas_price, minimum, maximum };
    let result = run(evm_env, request, limits, |state, env, request| {
        call::estimate_l1_to_l2(state, env, request, bounds)
    })?;
    result.map_err(|error| call_error(evm_env.py(), error))
}

fn run<T: Send>(
    evm_env: &Bound<'_, PyAny>,
    request: &Bound<'_, PyAny>,
    limits: Option<&Bound<'_, Limits>>,
    work: impl Fn(&dyn State, ExecutionEnv, &CallRequest) -> T + Send + Sync,
) -> PyResult<T> {
    let request = call_request(request)?;
    let Head { state, env, .. } = Head::of(evm_env)?;
    let limits = limits.map_or_else(Limits::none, |limits| limits.get().start());
    let env = ExecutionEnv { limits, ..Arc::unwrap_or_clone(env) };
    Ok(state.run(evm_env.py(), env, |state, env| work(state, env, &request)))
}

fn report(receiver: Option<&Bound<'_, PyAny>>, console: ConsoleCalls) -> PyResult<()> {
    let Some(receiver) = receiver else { return Ok(()) };
    if console.recorded.is_empty() && console.dropped == 0 {
        return Ok(());
    }
    let recorded = PyTuple::new(receiver.py(), console.recorded.into_iter().map(PyData))?;
    receiver.call1((recorded, console.dropped)).map(|_| ())
}
