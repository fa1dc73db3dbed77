//! `eth_call`: execute an unsigned transaction against a state, and discard its changes.

use alloy_primitives::{Bytes, U256, U512};

use super::account_call::AccountCall;
use super::error::{CallError, is_out_of_gas};
use super::logged::Logged;
use super::request::CallRequest;
use super::smallest_gas::TRANSFER_GAS;
use crate::evm::env::ExecutionEnv;
use crate::evm::trace::Tracer;
use crate::evm::{ExecutionError, ExecutionResult, execute};
use crate::state::State;

/// What a call that succeeded came to.
#[derive(Debug)]
pub struct Called {
    /// What it returned.
    pub output: Bytes,
    /// The gas that it took, before refunds.
    pub gas_spent: u64,
}

/// Execute a call with at most `gas_cap` gas; `env` is the environment of any call on the block.
pub fn call(
    state: &dyn State,
    env: ExecutionEnv,
    request: &CallRequest,
    gas_cap: u64,
) -> Logged<Called> {
    let ran = match run_call(state, env, request, gas_cap, None) {
        Ok(ran) => ran,
        Err(error) => return Logged { result: Err(error), console: Default::default() },
    };
    let gas_spent = ran.result.gas().total_gas_spent();
    let result = match CallError::of_result(&ran.result) {
        None => Ok(Called { output: ran.result.into_output().unwrap_or_default(), gas_spent }),
        Some(_) if gas_spent == gas_cap && is_out_of_gas(&ran.result) => {
            Err(CallError::GasCapSpent(gas_cap))
        }
        Some(failure) => Err(failure),
    };
    Logged { result, console: ran.console }
}

/// Execute a call and return its result, a success or a failure.
///
/// The gas limit is the one it names, or else all that its sender can afford, up to the cap.
pub fn run_call(
    state: &dyn State,
    mut env: ExecutionEnv,
    request: &CallRequest,
    gas_cap: u64,
    tracer: Option<&Tracer>,
) -> Result<ExecutionResult, CallError> {
    let gas = gas_for(state, request, gas_cap)?;
    request.prepare(&mut env, gas, 0)?;
    execute(state, &env, tracer).map_err(|error| CallError::of_execution(error, &env))
}

/// Execute a call with its trace; what has fields of type 0x71 runs in the steps that such a transaction has.
pub fn trace_call(
    state: &dyn State,
    env: ExecutionEnv,
    request: &CallRequest,
    gas_cap: u64,
    tracer: &Tracer,
) -> Result<ExecutionResult, CallError> {
    // One without more than a contract as its sender is a simple call of it.
    let steps = match &request.zk {
        None => None,
        Some(_) => AccountCall::of(state, &env, request)?,
    };
    let Some(steps) = steps else { return run_call(state, env, request, gas_cap, Some(tracer)) };
    let gas = request.gas.filter(|gas| *gas > 0).unwrap_or(gas_cap).min(gas_cap);
    let gas = gas.min(env.block.gas_limit);
    let (state, env) = (steps.state(state), steps.env(env, gas));
    execute(&state, &env, Some(tracer)).map_err(|error| match error {
        ExecutionError::Rejected(rejection) => CallError::Rejected(rejection),
        error => CallError::of_execution(error, &env),
    })
}

/// Return the gas limit of a call.
pub(super) fn gas_for(
    state: &dyn State,
    request: &CallRequest,
    cap: u64,
) -> Result<u64, CallError> {
    match request.gas {
        Some(gas) => Ok(gas.min(cap)),
        None if request.fee_cap().is_zero() => Ok(cap),
        None => Ok(affordable_gas(state, request)?.min(cap)),
    }
}

/// Return how much gas the sender can afford at the offered price, beside the value.
pub(super) fn affordable_gas(state: &dyn State, request: &CallRequest) -> Result<u64, CallError> {
    let price = request.fee_cap();
    let balance = state.account(request.from)?.unwrap_or_default().balance;
    let gas = balance.saturating_sub(request.value) / price;
    if gas < U256::from(TRANSFER_GAS) {
        let cost = U512::from(request.value) + U512::from(TRANSFER_GAS) * U512::from(price);
        return Err(CallError::InsufficientFunds { balance, cost: Box::new(cost) });
    }
    Ok(u64::try_from(gas).unwrap_or(u64::MAX))
}
