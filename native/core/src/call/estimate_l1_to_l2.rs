//! `zks_estimateGasL1ToL2`: a gas limit with which L1 accepts a priority transaction and L2 executes it.

use alloy_primitives::{Address, TxKind, U256};
use revm::context::TxEnv as RevmTxEnv;

use super::error::CallError;
use super::request::CallRequest;
use super::runs::Runs;
use super::smallest_gas::smallest_gas;
use crate::evm::env::{Checks, ExecutionEnv, L1Payment, TxEnv};
use crate::state::State;

/// The margin over the current need: the state may change before the request arrives.
const MARGIN_PERCENT: u128 = 15;

/// What L1 demands of a priority transaction.
#[derive(Clone, Copy, Debug)]
pub struct L1Bounds {
    /// Wei for a unit of gas.
    pub gas_price: u128,
    /// The lowest gas limit that L1 accepts.
    pub minimum: u64,
    /// The highest.
    pub maximum: u64,
}

/// Return a gas limit with which L1 accepts `request` and it succeeds on L2.
///
/// The sender needs no balance on L2, since L1 pays: the value is minted, and nothing beyond it.
pub fn estimate_l1_to_l2(
    state: &dyn State,
    mut env: ExecutionEnv,
    request: &CallRequest,
    bounds: L1Bounds,
) -> Result<u64, CallError> {
    let to = request.to.ok_or(CallError::NoTarget)?;
    // L1 has accepted it.
    env.checks = Checks::NONE;
    env.tx = TxEnv {
        base: RevmTxEnv {
            caller: request.from,
            gas_price: bounds.gas_price,
            kind: TxKind::Call(to),
            value: request.value,
            data: request.data.clone(),
            chain_id: Some(env.rules.chain_id),
            ..RevmTxEnv::default()
        },
        mint: request.value,
        keeps_nonce: true,
        l1_payment: Some(L1Payment {
            to_mint: U256::ZERO,
            fee_per_gas: U256::from(bounds.gas_price),
            refund_recipient: Address::ZERO,
        }),
        published: request.published(),
        ..TxEnv::default()
    };
    let needed = smallest_gas(&mut Runs::new(state, env), bounds.maximum)?;
    let gas = u128::from(needed) * (100 + MARGIN_PERCENT) / 100;
    let gas = gas.max(bounds.minimum.into()).min(bounds.maximum.into());
    Ok(u64::try_from(gas).unwrap_or(bounds.maximum))
}
