//! State, tries, EVM execution, transactions, RLP, ABI and cryptography of the Entresol node.
//!
//! The crate holds no chain state, and knows nothing of storage, of JSON-RPC and of Python.

pub mod abi;
pub mod blobs;
pub mod bytecode;
pub mod call;
pub mod crypto;
pub mod evm;
pub mod msgpack;
pub mod record;
pub mod record_summary;
pub mod rlp;
pub mod state;
#[cfg(test)]
mod testing;
pub mod transaction;
pub mod trie;
pub mod typed_data;
