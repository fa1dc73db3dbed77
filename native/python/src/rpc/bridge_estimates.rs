//! `BridgeEstimates` for Python.

use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3::{PyTraverseError, PyVisit};

use entresol_core::evm::env::ExecutionEnv;
use entresol_rpc::bridge_estimate::{Bounds, estimate};
use entresol_rpc::call::{Call, Outcome};
use entresol_rpc::request::Request;

use super::head::Head;
use super::response::joined;
use crate::convert::{PyData, PyWord};
use crate::execution::limits::Limits;

/// Longer parameters are left to Python, which may decode them on a worker.
const MAX_PARAMS_BYTES: usize = 16 << 10;

/// Responds to plain requests of `zks_estimateGasL1ToL2`.
///
/// Remembers: the environment of the pending block as Python gave it.
#[pyclass(frozen, module = "entresol._native")]
pub struct BridgeEstimates {
    bounds: Py<PyAny>,
    limits: Py<Limits>,
    margin_percent: u64,
    pending: Mutex<Option<Head>>,
}

#[pymethods]
impl BridgeEstimates {
    #[new]
    #[pyo3(signature = (*, bounds, limits, margin_percent))]
    fn new(bounds: Py<PyAny>, limits: Py<Limits>, margin_percent: u64) -> Self {
        Self { bounds, limits, margin_percent, pending: Mutex::new(None) }
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
    /// Return the response to a request, or None if it is left to Python.
    pub fn response<'py>(
        &self,
        py: Python<'py>,
        request: &Request<'_>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let params = request.params();
        if params.len() > MAX_PARAMS_BYTES {
            return Ok(None);
        }
        let Ok([call]) = serde_json::from_str::<[Call; 1]>(params) else { return Ok(None) };
        // Python raises an error once more, where it is reported.
        match self.estimate(py, &call) {
            Ok(Outcome::Result(result, _)) => joined(py, request.response(&result)).map(Some),
            _ => Ok(None),
        }
    }

    fn estimate(&self, py: Python<'_>, call: &Call) -> PyResult<Outcome> {
        let arguments = (PyWord(call.value), PyData(call.data.clone()));
        let (evm_env, gas_price, minimum, maximum) =
            self.bounds.bind(py).call1(arguments)?.extract::<(Bound<'_, PyAny>, _, _, _)>()?;
        let margin_percent = self.margin_percent;
        let bounds = Bounds { gas_price, minimum, maximum, margin_percent };
        let (state, env) = Head::cached(&mut self.pending.lock(), &evm_env)?.parts(py);
        let env = ExecutionEnv { limits: self.limits.get().start(), ..env.as_ref().clone() };
        Ok(state.run(py, |state| estimate(state, env, call, bounds)))
    }
}
