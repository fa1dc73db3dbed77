//! What to run, where, and under which rules.

use alloy_primitives::map::HashMap;
use alloy_primitives::{B256, U256};
use revm::context::{BlockEnv, TxEnv};
use revm::primitives::hardfork::SpecId;

use crate::precompiles::Moves;
use crate::watch::Limits;

/// What the chain fixes for every execution.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The chain's id.
    pub chain_id: u64,
    /// Which EVM.
    pub fork: SpecId,
}

/// Which checks a message has to pass, and whether it pays.
#[derive(Clone, Copy, Debug)]
pub struct Checks {
    /// The price has to reach the base fee.
    pub base_fee: bool,
    /// Gas is paid for, and the beneficiary gets the tip.
    pub fees: bool,
    /// The sender has to afford gas and value.
    pub balance: bool,
    /// The nonce has to be the sender's next.
    pub nonce: bool,
    /// The sender must not have code (EIP-3607).
    pub sender_code: bool,
    /// The gas limit has to respect the caps of the transaction and of the block.
    pub gas_cap: bool,
}

impl Checks {
    /// All of them: a transaction.
    pub const ALL: Self = Self {
        base_fee: true,
        fees: true,
        balance: true,
        nonce: true,
        sender_code: true,
        gas_cap: true,
    };
    /// None of them: a question.
    pub const NONE: Self = Self {
        base_fee: false,
        fees: false,
        balance: false,
        nonce: false,
        sender_code: false,
        gas_cap: false,
    };
}

/// A transaction or a call.
#[derive(Clone, Debug)]
pub struct Message {
    /// What the EVM executes.
    pub env: TxEnv,
    /// Credited to the sender before anything else, and kept if the execution fails.
    pub mint: U256,
    /// Leave the sender's nonce alone.
    pub keeps_nonce: bool,
}

/// Everything about an execution but the state.
#[derive(Clone, Debug)]
pub struct Job {
    /// The chain's rules.
    pub rules: Rules,
    /// The block it runs in.
    pub block: BlockEnv,
    /// Hashes of earlier blocks that count instead of those the state knows.
    pub block_hashes: HashMap<u64, B256>,
    /// Which precompile runs at an address, where that is not as the fork has it.
    pub precompiles: Moves,
    /// What runs.
    pub message: Message,
    /// The checks it has to pass.
    pub checks: Checks,
    /// How far it may go.
    pub limits: Limits,
}
