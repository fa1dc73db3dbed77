//! Calls that change nothing: `eth_call`, estimates of gas and access lists, whichever side has read the call object.
//!
//! An environment says on which block and within which limits; what is returned of a failure is its kind and its data.

mod access_list;
mod account_call;
mod error;
mod estimate_gas;
mod estimate_l1_to_l2;
mod logged;
mod output;
mod request;
mod runs;
mod smallest_gas;

pub use access_list::{CreatedAccessList, create_access_list};
pub use error::CallError;
pub use estimate_gas::{Estimate, EstimateOptions, estimate_gas};
pub use estimate_l1_to_l2::{L1Bounds, estimate_l1_to_l2};
pub use logged::Logged;
pub use output::{Called, call, run_call, trace_call};
pub use request::{CallRequest, ZkCall};
