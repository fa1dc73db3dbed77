//! The module `entresol._native`.

pub mod convert;
pub mod crypto;
pub mod errors;
pub mod rlp;
pub mod transaction;

use pyo3::prelude::*;

/// What Python sees of this crate.
#[pymodule(name = "_native")]
mod native {
    #[pymodule_export]
    use super::crypto::{address_of, keccak256, public_key, recover, sign};
    #[pymodule_export]
    use super::rlp::{rlp_decode, rlp_encode};
    #[pymodule_export]
    use super::transaction::{DecodedTransaction, decode_transaction, decode_transactions};
}
