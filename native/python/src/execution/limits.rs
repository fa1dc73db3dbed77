//! `CancelFlag` and `Limits` for Python.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use entresol_core::evm::limits;
use entresol_core::state::remote::mode;

use crate::gil;

/// A flag that cancels executions.
#[pyclass(frozen, module = "entresol._native")]
#[derive(Default)]
pub struct CancelFlag(Arc<AtomicBool>);

#[pymethods]
impl CancelFlag {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Set the flag; it cannot be reset.
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    #[getter]
    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Let the flag cancel the executions that start on this thread, and what they wait for.
    fn __enter__(&self) {
        THREAD_FLAG.set(Some(Arc::clone(&self.0)));
        mode::set_cancel(Some(Arc::clone(&self.0)));
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        THREAD_FLAG.set(None);
        mode::set_cancel(None);
    }
}

thread_local! {
    /// The flag that cancels the executions of this thread.
    static THREAD_FLAG: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Limits on an execution.
#[pyclass(frozen, module = "entresol._native")]
pub struct Limits {
    gas: Option<u64>,
    seconds: Option<f64>,
    cancel: Option<Arc<AtomicBool>>,
    trace_bytes: Option<usize>,
}

#[pymethods]
impl Limits {
    #[new]
    #[pyo3(signature = (*, gas = None, seconds = None, cancel = None, trace_bytes = None))]
    fn new(
        gas: Option<u64>,
        seconds: Option<f64>,
        cancel: Option<Bound<'_, CancelFlag>>,
        trace_bytes: Option<usize>,
    ) -> PyResult<Self> {
        if seconds.is_some_and(|seconds| !(0.0..1e9).contains(&seconds)) {
            return Err(PyValueError::new_err("seconds is from 0 to 1e9"));
        }
        let cancel = cancel.map(|flag| Arc::clone(&flag.get().0));
        Ok(Self { gas, seconds, cancel, trace_bytes })
    }
}

impl Limits {
    /// Start the clock.
    pub fn start(&self) -> limits::Limits {
        limits::Limits {
            gas: self.gas,
            deadline: self.seconds.map(|s| mode::now() + Duration::from_secs_f64(s)),
            cancel: self.cancel.clone().or_else(|| THREAD_FLAG.with_borrow(Clone::clone)),
            trace_bytes: self.trace_bytes,
            ..Self::none()
        }
    }

    /// No limits but the flag of the thread; the GIL is still released while a program computes.
    pub fn none() -> limits::Limits {
        let progress =
            limits::ProgressHooks { on_check: gil::on_check, before_long_work: gil::release_held };
        let cancel = THREAD_FLAG.with_borrow(Clone::clone);
        limits::Limits { progress: Some(progress), cancel, ..limits::Limits::default() }
    }
}
