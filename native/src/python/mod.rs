//! The module `entresol._native`.

pub mod convert;
pub mod errors;

use pyo3::prelude::*;

/// What Python sees of this crate.
#[pymodule(name = "_native")]
mod native {
    use super::*;

    /// Return the Keccak-256 hash of `data`.
    #[pyfunction]
    fn keccak256(data: &[u8]) -> [u8; 32] {
        alloy_primitives::keccak256(data).0
    }
}
