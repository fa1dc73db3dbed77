//! JSON-RPC requests that need no dispatcher in Python: cached results, getters, plain reads of the state.

pub mod access_list;
pub mod block;
pub mod call;
pub mod fill;
pub mod hex;
pub mod latency;
pub mod logs;
pub mod long_request;
pub mod params;
pub mod read;
pub mod request;
pub mod response_cache;
mod simulated_block;
pub mod simulation;
