//! Execution, hashing and tries for the Entresol node.
//!
//! The crate keeps no chain state of its own, knows nothing of storage, and of RPC only what a
//! request looks like whose answer is [`kept`]. Everything outside [`python`] is plain Rust;
//! [`python`] is the thin face that Python sees, described by `src/entresol/_native.pyi`.

pub mod budget;
pub mod changes;
pub mod crypto;
pub mod evm;
pub mod job;
pub mod kept;
pub mod overlay;
pub mod precompiles;
#[cfg(feature = "python")]
mod python;
pub mod reader;
pub mod rlp;
pub mod snapshot;
pub mod state;
#[cfg(test)]
mod testing;
pub mod tracer;
pub mod transaction;
pub mod trie;
pub mod watch;
