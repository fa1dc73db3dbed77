//! EVM execution, cryptography, RLP, ABI and tries for the Entresol node.
//!
//! The crate holds no chain state and knows nothing of storage; of JSON-RPC it knows only what
//! [`jsonrpc`] has to recognise. Everything outside [`python`] is plain Rust. [`python`] holds
//! the bindings, which `src/entresol/_native.pyi` describes.

pub mod abi;
pub mod blobs;
pub mod crypto;
pub mod evm;
pub mod fee_history;
pub mod jsonrpc;
#[cfg(feature = "python")]
mod python;
pub mod receipts;
pub mod record;
pub mod rlp;
pub mod state;
#[cfg(test)]
mod testing;
pub mod transaction;
pub mod trie;
pub mod typed_data;
