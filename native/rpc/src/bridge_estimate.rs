//! `zks_estimateGasL1ToL2` of plain calls: the gas limit of a priority transaction that L1 would request.

use alloy_primitives::U256;

use entresol_core::evm::env::{Checks, ExecutionEnv, L1Payment};
use entresol_core::state::State;

use super::call::{Call, Outcome, gas_needed, prepare, run};
use super::hex::render;

/// What L1 demands of the gas limit of a request, and what is added to what it needs.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Wei for a unit of gas.
    pub gas_price: u128,
    /// The lowest gas limit that L1 accepts.
    pub minimum: u64,
    /// The highest.
    pub maximum: u64,
    /// The margin over what the call needs now.
    pub margin_percent: u64,
}

/// Return a gas limit that suffices on both layers; a call that fails, or needs more than it spends, is left to Python.
pub fn estimate(state: &dyn State, mut env: ExecutionEnv, call: &Call, bounds: Bounds) -> Outcome {
    prepare(&mut env, call, bounds.maximum, bounds.gas_price);
    // L1 has checked it, and pays: the value is minted, and nothing beyond it.
    env.checks = Checks::NONE;
    env.tx.mint = call.value;
    env.tx.keeps_nonce = true;
    env.tx.l1_payment = Some(L1Payment {
        to_mint: U256::ZERO,
        fee_per_gas: U256::from(bounds.gas_price),
        refund_recipient: Default::default(),
    });
    match needed(state, env, bounds.maximum) {
        Ok(gas) => {
            let gas = u128::from(gas) * u128::from(100 + bounds.margin_percent) / 100;
            let gas = gas.max(bounds.minimum.into()).min(bounds.maximum.into());
            Outcome::Result(render(U256::from(gas)), 0)
        }
        Err(outcome) => outcome,
    }
}

fn needed(state: &dyn State, mut env: ExecutionEnv, maximum: u64) -> Result<u64, Outcome> {
    let first = run(state, &env)?;
    let need = gas_needed(&first);
    if !first.result.is_success() || need >= maximum {
        return Err(Outcome::Other);
    }
    env.tx.base.gas_limit = need;
    if let Some(budget) = &mut env.limits.gas {
        *budget = budget.saturating_sub(first.budget_spent());
    }
    let second = run(state, &env)?;
    let is_enough = second.result.is_success() && gas_needed(&second) >= need;
    if is_enough { Ok(need) } else { Err(Outcome::Other) }
}
