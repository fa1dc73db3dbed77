//! `BridgeEstimates` for Python.

use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3::{PyTraverseError, PyVisit};

use entresol_core::call::{CallRequest, L1Bounds};
use entresol_core::evm::env::ExecutionEnv;
use entresol_rpc::call::{Outcome, PlainCall, estimate_l1_to_l2};
use entresol_rpc::request::Request;

use super::call_errors::{CallErrors, Reported};
use super::head::Head;
use super::response::joined;
use crate::convert::{PyData, PyWord};
use crate::execution::limits::Limits;

/// Responds to plain requests of `zks_estimateGasL1ToL2`.
///
/// Remembers: the environment of the pending block as Python gave it.
#[pyclass(frozen, module = "entresol._native")]
pub struct BridgeEstimates {
    bounds: Py<PyAny>,
    limits: Py<Limits>,
    errors: Py<CallErrors>,
    pending: Mutex<Option<Head>>,
}

#[pymethods]
impl BridgeEstimates {
    #[new]
    #[pyo3(signature = (*, bounds, limits, errors))]
    fn new(bounds: Py<PyAny>, limits: Py<Limits>, errors: Py<CallErrors>) -> Self {
        Self { bounds, limits, errors, pending: Mutex::new(None) }
    }

    /// Show to the garbage collector what leads to the chain that owns this.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.bounds)?;
        // What is locked is in use.
        match self.pending.try_lock().as_deref() {
            Some(Some(block)) => block.traverse(&visit),
            _ => Ok(()),
        }
    }
}

impl BridgeEstimates {
    /// Return the response to a request with the code of its error or 0, or None if it is left to Python.
    pub fn response<'py>(
        &self,
        py: Python<'py>,
        request: &Request<'_>,
    ) -> PyResult<Option<(Bound<'py, PyBytes>, i32)>> {
        let Ok([PlainCall(call)]) = serde_json::from_str::<[PlainCall; 1]>(request.params()) else {
            return Ok(None);
        };
        // Python raises an error once more, where it is reported.
        match self.estimate(py, &call) {
            Ok(Outcome::Result(result, _)) => {
                joined(py, request.response(&result)).map(|it| Some((it, 0)))
            }
            Ok(Outcome::Failure(failure)) => match self.errors.get().error(&failure) {
                Reported::Error(error, code) => {
                    joined(py, request.error_response(&error)).map(|it| Some((it, code)))
                }
                Reported::Outcome(_) => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn estimate(&self, py: Python<'_>, call: &CallRequest) -> PyResult<Outcome> {
        let arguments = (PyWord(call.value), PyData(call.data.clone()));
        let (evm_env, gas_price, minimum, maximum) =
            self.bounds.bind(py).call1(arguments)?.extract::<(Bound<'_, PyAny>, _, _, _)>()?;
        let bounds = L1Bounds { gas_price, minimum, maximum };
        let (state, env) = Head::cached(&mut self.pending.lock(), &evm_env)?.parts(py);
        let env = ExecutionEnv { limits: self.limits.get().start(), ..env.as_ref().clone() };
        Ok(state.run(py, env, |state, env| estimate_l1_to_l2(state, env, call, bounds)))
    }
}
