//! `CallErrors` for Python.

use pyo3::prelude::*;

use entresol_core::call::{CallError, CreatedAccessList};
use entresol_rpc::call::{Outcome, render_access_list};
use entresol_rpc::failure::{ErrorTexts, NumberError};
use entresol_rpc::hex::render_data;
use entresol_rpc::read::CallKind;

/// How the failures of calls are reported: codes and texts, and which of them are results.
#[pyclass(frozen, module = "entresol._native")]
pub struct CallErrors {
    texts: ErrorTexts,
    calls_fail: bool,
}

#[pymethods]
impl CallErrors {
    #[new]
    #[pyo3(signature = (
        *, reverted, reverted_because, halt_code, allowance, gas_cap, calls_fail = true
    ))]
    fn new(
        reverted: (i32, String),
        reverted_because: String,
        halt_code: i32,
        allowance: (i32, String, String),
        gas_cap: (i32, String, String),
        calls_fail: bool,
    ) -> Self {
        let (revert_code, reverted) = reverted;
        let texts = ErrorTexts {
            revert_code,
            reverted,
            reverted_because,
            halt_code,
            allowance: number_error(allowance),
            gas_cap: number_error(gas_cap),
        };
        Self { texts, calls_fail }
    }
}

fn number_error((code, before, after): (i32, String, String)) -> NumberError {
    NumberError { code, before, after }
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
    pub fn report(&self, kind: CallKind, failure: &CallError) -> Reported {
        let output = match failure {
            CallError::Reverted(data) => Some(&data[..]),
            CallError::Halted(_) | CallError::GasCapSpent(_) => Some(&[][..]),
            _ => None,
        };
        match output.filter(|_| kind == CallKind::Output && !self.calls_fail) {
            Some(output) => Reported::Outcome(Outcome::Result(render_data(output), 0)),
            None => self.error(failure),
        }
    }

    /// Return the error of a failure.
    pub fn error(&self, failure: &CallError) -> Reported {
        match self.texts.render(failure) {
            Some((error, code)) => Reported::Error(error, code),
            None => Reported::Outcome(Outcome::Other),
        }
    }

    /// Return an access list with the text of its failure.
    pub fn listed(&self, created: &CreatedAccessList) -> Outcome {
        match created.failure.as_ref().and_then(|failure| self.texts.text(failure)) {
            Some((_, text)) => {
                Outcome::Result(render_access_list(created, Some(&text)), created.gas_used)
            }
            None => Outcome::Other,
        }
    }
}
