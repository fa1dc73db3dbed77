//! Execution, hashing and tries for the Entresol node.
//!
//! The crate keeps no chain state of its own and knows nothing of RPC or storage. Everything
//! outside [`python`] is plain Rust; [`python`] is the thin face that Python sees, described by
//! `src/entresol/_native.pyi`.

pub mod crypto;
pub mod rlp;
pub mod transaction;

#[cfg(feature = "python")]
mod python;
