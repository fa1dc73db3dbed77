//! `CallErrors` for Python.

use pyo3::prelude::*;

use entresol_rpc::call::Outcome;
use entresol_rpc::failure::{ErrorTexts, Failure};
use entresol_rpc::hex::render_data;
use entresol_rpc::read::CallKind;

/// How the failures of calls are reported: codes and texts, and which of them are left to Python.
#[pyclass(frozen, module = "entresol._native")]
pub struct CallErrors {
    texts: ErrorTexts,
    calls_fail: bool,
    is_allowance_known: bool,
}

#[pymethods]
impl CallErrors {
    #[new]
    #[pyo3(signature = (*, reverted, reverted_because, halt_code, allowance, calls_fail = true))]
    fn new(
        reverted: (i32, String),
        reverted_because: String,
        halt_code: i32,
        allowance: Option<(i32, String, String)>,
        calls_fail: bool,
    ) -> Self {
        let (revert_code, reverted) = reverted;
        let is_allowance_known = allowance.is_some();
        let (allowance_code, before, after) = allowance.unwrap_or_default();
        let allowance = (before, after);
        let texts = ErrorTexts {
            revert_code,
            reverted,
            reverted_because,
            halt_code,
            allowance_code,
            allowance,
        };
        Self { texts, calls_fail, is_allowance_known }
    }
}

/// What a failure comes to.
pub enum Reported {
    /// An error, with its code.
    Error(Vec<u8>, i32),
    /// Something else.
    Outcome(Outcome),
}

impl CallErrors {
    /// Return what the failure of a call is reported as.
    pub fn report(&self, kind: CallKind, failure: &Failure) -> Reported {
        match (kind, failure) {
            (_, Failure::AllowanceExceeded(_)) if !self.is_allowance_known => {
                Reported::Outcome(Outcome::Other)
            }
            (CallKind::Output, failure) if !self.calls_fail => {
                let data = if let Failure::Reverted(data) = failure { &data[..] } else { &[] };
                Reported::Outcome(Outcome::Result(render_data(data), 0))
            }
            _ => {
                let (error, code) = self.texts.render(failure);
                Reported::Error(error, code)
            }
        }
    }
}
