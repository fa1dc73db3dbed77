//! JSON-RPC for Python: the dispatcher, and what it calls.

pub mod account_reads;
pub mod bridge_estimates;
pub mod call_errors;
mod call_request;
pub mod calls;
pub mod dispatcher;
pub mod fee_history;
pub mod getter;
pub mod head;
pub mod long_request;
pub mod objects;
pub mod receipts;
pub mod record_layout;
pub mod response;
pub mod simulations;
pub mod state_reads;
pub mod transaction_json;
