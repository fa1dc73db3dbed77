//! The module `entresol._native`.

mod account;
mod convert;
mod crypto;
mod engine;
mod errors;
mod gil;
mod kept;
mod message;
mod outcome;
mod rlp;
mod source;
mod transaction;
mod trie;
mod turns;

use pyo3::prelude::*;

/// What Python sees of this crate.
#[pymodule(name = "_native")]
mod native {
    use super::*;

    #[pymodule_export]
    use super::account::Account;
    #[pymodule_export]
    use super::crypto::{address_of, keccak256, public_key, recover, sign};
    #[pymodule_export]
    use super::engine::{Overlay, Snapshot, Tracer, call, execute};
    #[pymodule_export]
    use super::kept::ResponseCache;
    #[pymodule_export]
    use super::message::{BlockEnv, CancelFlag, Checks, Limits, Rules, TxEnv};
    #[pymodule_export]
    use super::outcome::{AccountChange, Changes, ExecutionResult};
    #[pymodule_export]
    use super::rlp::{rlp_decode, rlp_encode};
    #[pymodule_export]
    use super::transaction::{DecodedTransaction, decode_transaction, decode_transactions};
    #[pymodule_export]
    use super::trie::{PyTrie, ordered_root, verify_proof};

    /// Add what the declarations above cannot express.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::turns::set_main_thread();
        module.add("EMPTY_ROOT", super::convert::PyHash(alloy_trie::EMPTY_ROOT_HASH))
    }
}
