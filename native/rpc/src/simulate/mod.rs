//! `eth_simulateV1`: calls in simulated blocks on top of a block of the chain, whichever side has read the payload.
//!
//! A simulated block is a block: roots, hashes and receipts are real, and each root follows from the base block's trie.

mod block;
mod plain;
mod plan;
mod request;
mod running;
mod unsigned;

pub use request::{
    AccountOverride, Base, BaseChain, BlockCalls, BlockOverrides, FailureTexts, NextBlock,
    Rejection, Simulation, SimulationError,
};
