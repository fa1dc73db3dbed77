//! The module `entresol._native`, which `src/entresol/_native.pyi` describes: bindings of the other crates.

mod abi;
mod allocator;
mod blobs;
mod constants;
mod convert;
mod crypto;
mod errors;
mod execution;
mod gil;
mod rlp;
mod rpc;
mod transaction;
mod trie;
mod typed_data;
mod zk_transaction;

use pyo3::prelude::*;

/// Execution, cryptography, RLP, ABI and tries, written in Rust.
#[pymodule(name = "_native")]
mod native {
    use super::*;

    #[pymodule_export]
    use super::abi::AbiTuple;
    #[pymodule_export]
    use super::allocator::return_large_blocks;
    #[pymodule_export]
    use super::blobs::{BlobSidecar, blob_base_fee, next_excess_blob_gas};
    #[pymodule_export]
    use super::crypto::{address_of, keccak256, public_key, recover, sign};
    #[pymodule_export]
    use super::execution::account::Account;
    #[pymodule_export]
    use super::execution::env::{BlockEnv, Checks, Rules};
    #[pymodule_export]
    use super::execution::evm::{Tracer, call, execute, reject};
    #[pymodule_export]
    use super::execution::execution_result::{AccountChange, Changes, ExecutionResult};
    #[pymodule_export]
    use super::execution::limits::{CancelFlag, Limits};
    #[pymodule_export]
    use super::execution::remote_table::{RemoteTable, wait_for_remote};
    #[pymodule_export]
    use super::execution::revert_reason::{describe_revert, revert_reason};
    #[pymodule_export]
    use super::execution::senders::{
        charges_factory_deps, check_parties, has_accounts, has_code, is_contract_account,
        not_an_account, read_sender, set_next_nonce, transaction_count,
    };
    #[pymodule_export]
    use super::execution::state::{Overlay, Snapshot};
    #[pymodule_export]
    use super::execution::trace_writer::TraceWriter;
    #[pymodule_export]
    use super::execution::tx_env::{TxEnv, ZkFields};
    #[pymodule_export]
    use super::rlp::{rlp_decode, rlp_encode};
    #[pymodule_export]
    use super::rpc::account_reads::{
        AccountReads, account_info_json, account_json, balance_json, code_json, nonce_json,
        slot_json,
    };
    #[pymodule_export]
    use super::rpc::bridge_estimates::BridgeEstimates;
    #[pymodule_export]
    use super::rpc::call_errors::CallErrors;
    #[pymodule_export]
    use super::rpc::calls::{
        CreatedAccessList, call_output, create_access_list, estimate_gas, estimate_l1_to_l2,
        run_call, trace_call,
    };
    #[pymodule_export]
    use super::rpc::dispatcher::NativeDispatcher;
    #[pymodule_export]
    use super::rpc::fee_history::FeeHistory;
    #[pymodule_export]
    use super::rpc::getter::Getter;
    #[pymodule_export]
    use super::rpc::long_request::{decode_long_hex, read_long_requests};
    #[pymodule_export]
    use super::rpc::objects::{
        block_json, byte_array_json, header_json, inclusion_json, log_context, log_json,
        logs_bloom, stored_transaction_hash,
    };
    #[pymodule_export]
    use super::rpc::receipts::ReceiptRenderer;
    #[pymodule_export]
    use super::rpc::record_layout::RecordLayout;
    #[pymodule_export]
    use super::rpc::response::concatenated;
    #[pymodule_export]
    use super::rpc::simulations::simulate;
    #[pymodule_export]
    use super::rpc::state_reads::StateReads;
    #[pymodule_export]
    use super::rpc::transaction_json::transaction_json;
    #[pymodule_export]
    use super::transaction::{DecodedTransaction, decode_transaction, decode_transactions};
    #[pymodule_export]
    use super::trie::{PyTrie, ordered_root, verify_proof};
    #[pymodule_export]
    use super::typed_data::typed_data_hash;
    #[pymodule_export]
    use super::zk_transaction::{
        decode_zk_transaction, encode_zk_transaction, eravm_hash, factory_dep_hashes,
        zk_dependencies, zk_parties, zk_signature, zk_signing_hash, zk_transaction_hash,
    };

    /// Initialise the module.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::gil::handover::set_main_thread();
        super::constants::add_to(module)
    }
}
