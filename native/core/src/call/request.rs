//! The call object, as every method that takes one understands it.

use alloy_eips::eip2930::AccessList;
use alloy_eips::eip7702::SignedAuthorization;
use alloy_primitives::{Address, B256, Bytes, TxKind, U256};
use revm::context::{TransactionType, TxEnv as RevmTxEnv};
use revm::context_interface::either::Either;

use super::error::CallError;
use crate::evm::env::{Checks, ExecutionEnv, PublishedBytes, Rules, TxEnv};

/// The checks of a call that offers no fee.
const FREE: Checks = Checks { balance: true, ..Checks::NONE };
/// The checks of a call that offers one.
pub(super) const PAID: Checks =
    Checks { base_fee: true, fees: true, balance: true, ..Checks::NONE };

/// A call object.
///
/// One that offers no fee is free: nothing is paid, and GASPRICE is 0 beside the block's real BASEFEE. One that offers a
/// fee pays like a transaction, so the offer has to reach the base fee and the sender has to afford it. Either way the
/// sender needs the value that the call sends. The sender may be a contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallRequest {
    /// The sender; zero if it names none.
    pub from: Address,
    /// The target; None to create a contract.
    pub to: Option<Address>,
    /// The gas limit, if it names one.
    pub gas: Option<u64>,
    /// The gas price; then there is neither a fee cap nor a tip.
    pub gas_price: Option<U256>,
    /// The fee cap.
    pub max_fee_per_gas: Option<U256>,
    /// The tip.
    pub max_priority_fee_per_gas: Option<U256>,
    /// The value.
    pub value: U256,
    /// The data.
    pub data: Bytes,
    /// The nonce, which only a call that runs in steps sees.
    pub nonce: Option<u64>,
    /// The chain id, if it names one.
    pub chain_id: Option<u64>,
    /// The access list.
    pub access_list: Option<AccessList>,
    /// Authorizations to set code (EIP-7702).
    pub authorizations: Option<Vec<SignedAuthorization>>,
    /// Versioned hashes of blobs.
    pub blob_hashes: Option<Vec<B256>>,
    /// The fee cap for blob gas.
    pub max_fee_per_blob_gas: Option<U256>,
    /// What only a transaction of type 0x71 has.
    pub zk: Option<Box<ZkCall>>,
}

/// What only a transaction of type 0x71 has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZkCall {
    /// Who pays, if not the sender.
    pub paymaster: Option<Address>,
    /// What the paymaster is told.
    pub paymaster_input: Bytes,
    /// The signature; empty if there is none yet.
    pub signature: Bytes,
    /// The most gas for a byte of pubdata.
    pub gas_per_pubdata_limit: u64,
    /// The hashes of the factory dependencies.
    pub factory_dep_hashes: Vec<B256>,
    /// The bytes of the factory dependencies, which cost like calldata.
    pub published: PublishedBytes,
    /// Whether `eip712Meta` was given, and not the type alone.
    pub has_meta: bool,
}

impl CallRequest {
    /// Whether it names a fee cap or a tip instead of a gas price.
    pub const fn has_fee_cap(&self) -> bool {
        self.max_fee_per_gas.is_some() || self.max_priority_fee_per_gas.is_some()
    }

    /// The most wei offered for a unit of gas; 0 for a free call.
    pub fn fee_cap(&self) -> U256 {
        let price = self.gas_price.filter(|price| !price.is_zero());
        price.or(self.max_fee_per_gas).unwrap_or_default()
    }

    /// Make the environment that of this call, with this gas limit; GASPRICE is `free_price` if the call is free.
    pub fn prepare(
        &self,
        env: &mut ExecutionEnv,
        gas_limit: u64,
        free_price: u64,
    ) -> Result<(), CallError> {
        let (fee_cap, tip) = (self.fee_cap(), self.max_priority_fee_per_gas.unwrap_or_default());
        env.checks = if fee_cap.is_zero() { FREE } else { PAID };
        let gas_price = match (fee_cap.is_zero(), tip.is_zero()) {
            (false, _) => narrow(fee_cap)?,
            (true, true) => free_price.into(),
            (true, false) => 0,
        };
        env.tx = TxEnv {
            base: RevmTxEnv {
                tx_type: self.transaction_type().into(),
                caller: self.from,
                gas_limit,
                gas_price,
                kind: self.to.map_or(TxKind::Create, TxKind::Call),
                value: self.value,
                data: self.data.clone(),
                nonce: 0,
                chain_id: Some(self.chain_id.unwrap_or(env.rules.chain_id)),
                access_list: self.access_list.clone().unwrap_or_default(),
                gas_priority_fee: if self.has_fee_cap() { Some(narrow(tip)?) } else { None },
                blob_hashes: self.blob_hashes.clone().unwrap_or_default(),
                max_fee_per_blob_gas: self.blob_fee_cap(env)?,
                authorization_list: self
                    .authorizations
                    .iter()
                    .flatten()
                    .cloned()
                    .map(Either::Left)
                    .collect(),
            },
            published: self.published().plus(self.unread(&env.rules)),
            ..TxEnv::default()
        };
        Ok(())
    }

    /// The bytes that it publishes beside its data.
    pub(super) fn published(&self) -> PublishedBytes {
        self.zk.as_ref().map_or_else(PublishedBytes::default, |zk| zk.published)
    }

    /// The input of no paymaster, which a chain charges for whose transactions are published.
    fn unread(&self, rules: &Rules) -> PublishedBytes {
        let zk = self.zk.as_ref().filter(|_| rules.charges_published);
        zk.filter(|zk| zk.paymaster.is_none_or(|it| it.is_zero()))
            .map_or_else(PublishedBytes::default, |zk| PublishedBytes::of(&zk.paymaster_input))
    }

    /// The first type that has all the fields given.
    const fn transaction_type(&self) -> TransactionType {
        match self {
            Self { blob_hashes: Some(_), .. } => TransactionType::Eip4844,
            Self { authorizations: Some(_), .. } => TransactionType::Eip7702,
            _ if self.has_fee_cap() => TransactionType::Eip1559,
            Self { access_list: Some(_), .. } => TransactionType::Eip2930,
            _ => TransactionType::Legacy,
        }
    }

    /// The fee cap for blob gas: by default the price of the block, as clients estimate before they set one.
    fn blob_fee_cap(&self, env: &ExecutionEnv) -> Result<u128, CallError> {
        let price = env.block.blob_excess_gas_and_price.map_or(0, |it| it.blob_gasprice);
        match (&self.blob_hashes, self.max_fee_per_blob_gas) {
            (None, _) => Ok(0),
            (Some(_), None) => Ok(price),
            // What pays no fees need not offer any; revm has no switch for that.
            (Some(_), Some(cap)) if !env.checks.fees => Ok(narrow(cap)?.max(price)),
            (Some(_), Some(cap)) => narrow(cap),
        }
    }
}

/// Return a number as the engine has it.
fn narrow(number: U256) -> Result<u128, CallError> {
    u128::try_from(number).map_err(|_| CallError::NumberTooLarge)
}
