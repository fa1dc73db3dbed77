//! The environment of an execution: rules, block, transaction, checks and limits.

use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, B256, U256};
use revm::context::{BlockEnv, TxEnv as RevmTxEnv};
use revm::primitives::hardfork::SpecId;
use revm::primitives::{eip170, eip7825};

use super::account::zk_tx::ZkTx;
use super::limits::Limits;
use super::precompiles::MovedPrecompiles;

/// Chain parameters that hold for every execution.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Chain id.
    pub chain_id: u64,
    /// Hardfork.
    pub fork: SpecId,
    /// Maximum size of deployed code (EIP-170), init code may have twice as much; None for no limit.
    pub code_size_limit: Option<usize>,
    /// The fork's cap on the gas limit of a transaction (EIP-7825) holds.
    pub caps_gas: bool,
    /// Every byte of a transaction costs like calldata, because all of them are published.
    pub charges_published: bool,
    /// Calls of code that has the form of EraVM bytecode end the execution.
    pub rejects_foreign_code: bool,
}

impl Rules {
    /// The rules of Ethereum.
    pub const fn new(chain_id: u64, fork: SpecId) -> Self {
        Self {
            chain_id,
            fork,
            code_size_limit: Some(eip170::MAX_CODE_SIZE),
            caps_gas: true,
            charges_published: false,
            rejects_foreign_code: false,
        }
    }

    /// The highest gas limit of a transaction, if there is one.
    pub fn transaction_gas_limit(&self) -> Option<u64> {
        let is_capped = self.caps_gas && self.fork.is_enabled_in(SpecId::OSAKA);
        is_capped.then_some(eip7825::TX_GAS_LIMIT_CAP)
    }

    /// The maximum size of init code (EIP-3860).
    pub const fn init_code_limit(&self) -> usize {
        match self.code_size_limit {
            Some(limit) => limit.saturating_mul(2),
            None => usize::MAX,
        }
    }
}

/// Validation that a transaction has to pass, and whether it pays fees.
#[derive(Clone, Copy, Debug)]
pub struct Checks {
    /// The gas price reaches the base fee.
    pub base_fee: bool,
    /// Gas is paid for, and the beneficiary receives the tip.
    pub fees: bool,
    /// The sender can afford gas and value.
    pub balance: bool,
    /// The nonce is the sender's next.
    pub nonce: bool,
    /// The sender has no code (EIP-3607).
    pub sender_code: bool,
    /// The gas limit respects the caps of the transaction (EIP-7825) and of the block.
    pub gas_cap: bool,
}

impl Checks {
    /// All checks, for a transaction.
    pub const ALL: Self = Self {
        base_fee: true,
        fees: true,
        balance: true,
        nonce: true,
        sender_code: true,
        gas_cap: true,
    };
    /// No checks, for an `eth_call`.
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
#[derive(Clone, Debug, Default)]
pub struct TxEnv {
    /// The fields that Ethereum knows.
    pub base: RevmTxEnv,
    /// Wei minted to the sender first; a failed execution does not revert it.
    pub mint: U256,
    /// Leave the sender's nonce alone.
    pub keeps_nonce: bool,
    /// What L1 has paid for a priority transaction.
    pub l1_payment: Option<L1Payment>,
    /// Factory dependencies, which cost like calldata.
    pub published: PublishedBytes,
    /// The fields of type 0x71.
    pub zk: Option<Box<ZkTx>>,
}

/// What L1 has paid for a priority transaction, and who receives the rest of it.
#[derive(Clone, Copy, Debug)]
pub struct L1Payment {
    /// Wei that L1 has locked: value, fee and refund together.
    pub to_mint: U256,
    /// Wei for a unit of gas.
    pub fee_per_gas: U256,
    /// Who receives what is not spent, and the value if the execution fails.
    pub refund_recipient: Address,
}

/// Bytes that a transaction publishes beside its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublishedBytes {
    /// How many bytes are zero.
    pub zeros: u64,
    /// How many are not.
    pub nonzeros: u64,
}

impl PublishedBytes {
    /// Count the bytes of `data`.
    pub fn of(data: &[u8]) -> Self {
        let nonzeros = data.iter().filter(|&&byte| byte != 0).count() as u64;
        Self { zeros: data.len() as u64 - nonzeros, nonzeros }
    }

    /// Return these bytes and others.
    #[must_use]
    pub const fn plus(self, others: Self) -> Self {
        Self {
            zeros: self.zeros.saturating_add(others.zeros),
            nonzeros: self.nonzeros.saturating_add(others.nonzeros),
        }
    }
}

/// Everything that an execution depends on besides the state.
#[derive(Clone, Debug)]
pub struct ExecutionEnv {
    /// Chain parameters.
    pub rules: Rules,
    /// The block that the transaction runs in.
    pub block: BlockEnv,
    /// Block hashes that take precedence over those of the state.
    pub block_hashes: HashMap<u64, B256>,
    /// Precompiles that are not at the address that the fork gives them.
    pub precompiles: MovedPrecompiles,
    /// The transaction.
    pub tx: TxEnv,
    /// Validation that the transaction has to pass.
    pub checks: Checks,
    /// Limits on the execution.
    pub limits: Limits,
}
