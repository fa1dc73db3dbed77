//! JSON-RPC requests that need no Python: those whose result is cached, and plain reads of the state.

pub mod latency;
pub mod read;
pub mod request;
pub mod response_cache;
