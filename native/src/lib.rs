//! Execution, hashing and tries for the Entresol node.
//!
//! The crate keeps no chain state of its own and knows nothing of RPC or storage. Everything
//! outside [`python`] is plain Rust; [`python`] is the thin face that Python sees, described by
//! `src/entresol/_native.pyi`.

mod crypto;
mod rlp;
mod transaction;

#[cfg(feature = "python")]
mod python;
