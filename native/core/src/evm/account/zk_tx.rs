//! The fields of type 0x71 that no type of Ethereum has, and how a transaction with them is run.

use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes};

/// The fields of type 0x71 that no type of Ethereum has, and how the transaction is run.
#[derive(Clone, Debug, Default)]
pub struct ZkTx {
    /// Who pays, or zero.
    pub paymaster: Address,
    /// What the paymaster is told.
    pub paymaster_input: Bytes,
    /// The signature, which a contract account judges.
    pub signature: Bytes,
    /// The priority fee as it was signed; it is never charged.
    pub max_priority_fee_per_gas: u128,
    /// The most gas for a byte of pubdata.
    pub gas_per_pubdata_limit: u64,
    /// The hashes of the factory dependencies.
    pub factory_dep_hashes: Vec<B256>,
    /// What the run is for.
    pub mode: Mode,
    /// The most gas of the steps before the execution: for the sender, and again for the paymaster; 0 if none is set.
    pub validation_gas: u64,
    /// The most time of the steps before the execution, if there is a most gas.
    pub validation_time: Duration,
    /// Whether a validation has to keep the rules of a pool.
    pub enforces_rules: bool,
}

/// What a run is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// A transaction of a block.
    #[default]
    Transaction,
    /// An unsigned transaction of an impersonated sender: its account is not called.
    Impersonation,
    /// An estimate: the payer has what it needs, and nobody minds a signature.
    Estimate,
    /// The steps before the execution only.
    Validation,
}

/// How the sender of a transaction is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// By the node itself: an account with a key, or an impersonated one.
    Key,
    /// By calls of the contract.
    Contract,
}

impl ZkTx {
    /// Whether the steps before the execution have a most gas and time.
    pub const fn is_bounded(&self) -> bool {
        self.validation_gas > 0
    }

    /// Whether a paymaster pays: anybody but the zero address, and be it the sender.
    pub fn has_paymaster(&self) -> bool {
        !self.paymaster.is_zero()
    }

    /// Return the bytes that are charged for like calldata.
    pub fn charged_data(&self, data: &Bytes, sender: Sender) -> Bytes {
        let mut charged = data.to_vec();
        if self.has_paymaster() {
            charged.extend_from_slice(&self.paymaster_input);
        }
        if sender == Sender::Contract {
            charged.extend_from_slice(&self.signature);
        }
        charged.into()
    }
}
