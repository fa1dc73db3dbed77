//! JSON-RPC where Python would be too slow: parameters, results as JSON, and caches of them.
//!
//! Requests that need no dispatcher in Python are cached results, getters and plain reads of the state. What is not
//! plain is left to Python.

pub mod account_read;
pub mod block;
pub mod call;
pub mod failure;
pub mod fee_history;
pub mod fill;
pub mod header;
pub mod hex;
pub mod latency;
pub mod logs;
pub mod long_request;
pub mod params;
pub mod read;
pub mod receipts;
pub mod request;
pub mod response_cache;
pub mod simulate;
pub mod stored_block;
pub mod transaction;
