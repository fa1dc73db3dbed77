//! The module `entresol._native`.

mod convert;
mod engine;
mod errors;
mod message;
mod outcome;
mod source;

use pyo3::prelude::*;

/// What Python sees of this crate.
#[pymodule(name = "_native")]
mod native {
    use super::*;

    #[pymodule_export]
    use super::engine::{Overlay, Snapshot, Tracer, call, execute};
    #[pymodule_export]
    use super::message::{BlockEnv, CancelFlag, Checks, Limits, Message, Rules};
    #[pymodule_export]
    use super::outcome::{AccountChange, Changes, Outcome};

    /// Return the Keccak-256 hash of `data`.
    #[pyfunction]
    fn keccak256(data: &[u8]) -> [u8; 32] {
        alloy_primitives::keccak256(data).0
    }
}
