//! Plain calls: the parameters that common clients send.
//!
//! What is not plain is left to Python: other spellings, other fields, other block identifiers, and
//! whatever does not end in a result.

use super::block::{Block, parse_block};
use super::call::{CallParams, PlainCall, PricedCall};
use super::simulate::Simulation;

/// The methods that call.
pub const METHODS: [&str; 5] = [
    "eth_call",
    "eth_estimateGas",
    "eth_createAccessList",
    "eth_fillTransaction",
    "eth_simulateV1",
];

/// A plain read.
#[derive(Debug, PartialEq, Eq)]
pub enum Read {
    /// By a call on the last block.
    Call(CallKind, PricedCall),
    /// The transaction of a call on the pending block, which names its sender and no gas limit.
    Fill(PlainCall),
    /// By calls in simulated blocks on the last block.
    Simulation(Simulation),
}

/// What is wanted of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// Its output.
    Output,
    /// The gas that it needs.
    EstimateGas,
    /// The accounts and slots that it touches.
    AccessList,
}

impl Read {
    /// Parse the parameters of a method; None if they are not plain.
    pub fn parse(method: &str, params: &str) -> Option<Self> {
        let call = |kind| {
            let CallParams(call, block) = serde_json::from_str(params).ok()?;
            (parse_block(block)? == Block::Latest).then_some(Self::Call(kind, call))
        };
        match method {
            "eth_call" => call(CallKind::Output),
            "eth_estimateGas" => call(CallKind::EstimateGas),
            "eth_createAccessList" => call(CallKind::AccessList),
            "eth_fillTransaction" => {
                let [call]: [PlainCall; 1] = serde_json::from_str(params).ok()?;
                let is_plain = call.0.gas.is_none() && !call.0.from.is_zero();
                is_plain.then_some(Self::Fill(call))
            }
            "eth_simulateV1" => Simulation::parse(params).map(Self::Simulation),
            _ => None,
        }
    }
}
