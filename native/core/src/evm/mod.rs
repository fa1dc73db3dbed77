//! Execution of a transaction or a call on a state, by revm.

pub mod account;
mod checked_instructions;
pub mod console;
mod engine;
pub mod env;
mod error;
mod execution;
mod frames;
mod handler;
pub mod inspection;
pub mod intrinsic;
pub mod l1_payment;
pub mod limits;
pub mod precompiles;
pub mod revert_reason;
pub mod trace;
mod transfers;
mod work;

pub use error::ExecutionError;
pub use execution::{ExecutionResult, execute, execute_with_transfers, reject};
