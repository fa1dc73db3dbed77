//! `eth_estimateGas`: the smallest gas limit with which a transaction succeeds.

use alloy_primitives::{KECCAK256_EMPTY, U512};

use super::account_call::{AccountCall, STEPS_MARGIN_PERCENT, SenderState, owner_margin};
use super::error::CallError;
use super::logged::Logged;
use super::output::affordable_gas;
use super::request::CallRequest;
use super::runs::Runs;
use super::smallest_gas::{TRANSFER_GAS, smallest_gas, succeeds_at};
use crate::evm::ExecutionError;
use crate::evm::console::ConsoleCalls;
use crate::evm::env::ExecutionEnv;
use crate::state::{ProviderError, State};

/// How an estimate is made.
#[derive(Clone, Copy, Debug)]
pub struct EstimateOptions {
    /// The most gas of a call.
    pub gas_cap: u64,
    /// Whether a transfer that its sender cannot pay has an estimate all the same, as in anvil.
    pub unfunded_transfers: bool,
    /// Whether everything has one that its sender cannot pay, as in Hardhat: it is made once more with a rich sender.
    pub unfunded: bool,
}

/// A sufficient gas limit, and how many runs it took to find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The gas limit.
    pub gas: u64,
    /// The runs.
    pub runs: u32,
}

/// Return the gas limit that `request` needs as a transaction: see [`smallest_gas`].
///
/// Without a price the sender pays nothing and contracts see the base fee as GASPRICE, because no transaction can offer
/// less; with one the estimate is bounded by what the sender can afford. A tip alone is not a price: nobody knows the fee
/// cap yet that it will be a part of. If a contract account sends it or a paymaster pays, the steps of such a transaction
/// are estimated. What type 0x71 cannot pay is rejected in Era's terms, as if it was sent.
pub fn estimate_gas(
    state: &dyn State,
    env: ExecutionEnv,
    request: &CallRequest,
    options: EstimateOptions,
) -> Logged<Estimate> {
    let retried = options.unfunded.then(|| env.clone());
    let Logged { result, console } = estimate_funded(state, env, request, options);
    let result = match (result, retried) {
        (Err(error), Some(env)) if error.is_unfunded() => {
            let rich = SenderState::rich(state, request.from);
            let options = EstimateOptions { unfunded_transfers: false, ..options };
            estimate_funded(&rich, env, request, options).result
        }
        (result, _) => result,
    };
    Logged { result, console }
}

fn estimate_funded(
    state: &dyn State,
    env: ExecutionEnv,
    request: &CallRequest,
    options: EstimateOptions,
) -> Logged<Estimate> {
    let mut console = None;
    let result = match estimate(state, env, request, options.gas_cap, &mut console) {
        Err(error) if error.is_unfunded() => unfunded(state, request, error, options),
        result => result,
    };
    Logged { result, console: console.unwrap_or_default() }
}

/// Return what becomes of an estimate that the sender cannot pay.
fn unfunded(
    state: &dyn State,
    request: &CallRequest,
    error: CallError,
    options: EstimateOptions,
) -> Result<Estimate, CallError> {
    if request.zk.is_some()
        && let Some(lack) = lack_of_funds(state, request, &error)?
    {
        return Err(lack);
    }
    if options.unfunded_transfers && is_transfer(state, request)? {
        return Ok(Estimate { gas: TRANSFER_GAS, runs: 0 });
    }
    Err(error)
}

/// Return what a payer lacks for a transaction of type 0x71; None if something else limits its gas.
fn lack_of_funds(
    state: &dyn State,
    request: &CallRequest,
    error: &CallError,
) -> Result<Option<CallError>, CallError> {
    let (balance, fee) = match error {
        CallError::InsufficientFunds { balance, cost } => {
            (*balance, cost.saturating_sub(U512::from(request.value)))
        }
        CallError::AllowanceExceeded(allowance) => {
            let price = request.fee_cap();
            if price.is_zero() || *allowance < affordable_gas(state, request)? {
                return Ok(None);
            }
            // Nobody knows the fee, but it is more than the sender can afford.
            let fee = (U512::from(*allowance) + U512::ONE) * U512::from(price);
            (state.account(request.from)?.unwrap_or_default().balance, fee)
        }
        _ => return Ok(None),
    };
    let (fee, value) = (Box::new(fee), Box::new(request.value));
    Ok(Some(CallError::InsufficientFeeAndValue { balance, fee, value }))
}

fn estimate(
    state: &dyn State,
    env: ExecutionEnv,
    request: &CallRequest,
    gas_cap: u64,
    console: &mut Option<ConsoleCalls>,
) -> Result<Estimate, CallError> {
    let cap = allowed_gas(&env, request, gas_cap);
    let found = match AccountCall::of(state, &env, request)? {
        Some(steps) => {
            let state = steps.state(state);
            estimate_steps(Runs::new(&state, steps.env(env, 0)), cap, console)?
        }
        None => estimate_call(state, env, request, cap, console)?,
    };
    Ok(Estimate { gas: found.gas + owner_margin(state, request, found.gas)?, ..found })
}

fn estimate_steps(
    mut runs: Runs<'_>,
    cap: u64,
    console: &mut Option<ConsoleCalls>,
) -> Result<Estimate, CallError> {
    let found = smallest_gas(&mut runs, cap);
    *console = runs.console;
    let gas = found.map_err(|error| match error {
        CallError::Execution(ExecutionError::Rejected(rejection), _) => {
            CallError::Rejected(rejection)
        }
        error => error,
    })?;
    let gas = u128::from(gas) * u128::from(100 + STEPS_MARGIN_PERCENT) / 100;
    Ok(Estimate { gas: u64::try_from(gas).map_or(cap, |gas| gas.min(cap)), runs: runs.count })
}

fn estimate_call(
    state: &dyn State,
    mut env: ExecutionEnv,
    request: &CallRequest,
    cap: u64,
    console: &mut Option<ConsoleCalls>,
) -> Result<Estimate, CallError> {
    let is_free = request.fee_cap().is_zero();
    let cap = if is_free { cap } else { cap.min(affordable_gas(state, request)?) };
    let base_fee = env.block.basefee;
    if is_free && request.max_fee_per_gas.is_none() && request.max_priority_fee_per_gas.is_some() {
        let without_tip = CallRequest { max_priority_fee_per_gas: None, ..request.clone() };
        without_tip.prepare(&mut env, 0, base_fee)?;
    } else {
        request.prepare(&mut env, 0, base_fee)?;
    }
    let is_transfer = cap >= TRANSFER_GAS && is_transfer(state, request)?;
    let mut runs = Runs::new(state, env);
    let found = match is_transfer.then(|| succeeds_at(&mut runs, TRANSFER_GAS)) {
        Some(Ok(true)) => Ok(TRANSFER_GAS),
        Some(Err(error)) => Err(error),
        _ => smallest_gas(&mut runs, cap),
    };
    *console = runs.console;
    found.map(|gas| Estimate { gas, runs: runs.count })
}

/// Return the highest gas limit that block, fork and caller allow.
fn allowed_gas(env: &ExecutionEnv, request: &CallRequest, gas_cap: u64) -> u64 {
    let cap = gas_cap.min(env.block.gas_limit);
    let cap = cap.min(request.gas.filter(|gas| *gas >= TRANSFER_GAS).unwrap_or(u64::MAX));
    cap.min(env.rules.transaction_gas_limit().unwrap_or(u64::MAX))
}

fn is_transfer(state: &dyn State, request: &CallRequest) -> Result<bool, ProviderError> {
    let Some(to) = request.to.filter(|_| request.data.is_empty()) else { return Ok(false) };
    Ok(state.account(to)?.is_none_or(|account| account.code_hash == KECCAK256_EMPTY))
}
