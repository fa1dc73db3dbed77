//! Plain calls: parse call objects without a price, execute them, and render what they come to.

use std::fmt;

use alloy_primitives::{Address, Bytes, KECCAK256_EMPTY, TxKind, U256};
use revm::context::TxEnv as RevmTxEnv;
use revm::context_interface::result::ExecutionResult as RevmResult;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use entresol_core::evm::account::sender::has_code;
use entresol_core::evm::console::ConsoleCalls;
use entresol_core::evm::env::{Checks, ExecutionEnv, TxEnv};
use entresol_core::evm::limits::LimitReached;
use entresol_core::evm::{ExecutionError, ExecutionResult, execute};
use entresol_core::state::{ProviderError, State};

use super::failure::{Failure, is_out_of_gas};
use super::hex::{parse_address, parse_data, quantity, render, render_data};

/// The gas of a plain transfer.
const TRANSFER_GAS: u64 = 21_000;
/// The checks of a call that offers no fee.
const FREE: Checks = Checks { balance: true, ..Checks::NONE };

/// A call without a price.
#[derive(Debug, PartialEq, Eq)]
pub struct Call {
    /// The sender; zero if it names none.
    pub from: Address,
    /// The target.
    pub to: Address,
    /// The gas limit, if it names one.
    pub gas: Option<u64>,
    /// The value.
    pub value: U256,
    /// The data.
    pub data: Bytes,
}

/// How a call ended.
#[derive(Debug)]
pub enum Outcome {
    /// With this result, as JSON, after so much gas.
    Result(Vec<u8>, u64),
    /// It failed.
    Failure(Failure),
    /// It needs more gas than it may use here.
    BudgetSpent,
    /// It is left to Python, which may have to report an error.
    Other,
}

impl Outcome {
    /// Return how a call ended that has no result.
    pub fn of_error(error: &ExecutionError) -> Self {
        match error {
            ExecutionError::LimitReached(LimitReached::Gas) => Self::BudgetSpent,
            _ => Self::Other,
        }
    }
}

/// Execute a call with at most `gas_cap` gas; `env` is the environment of any call on the block.
pub fn call(state: &dyn State, mut env: ExecutionEnv, call: &Call, gas_cap: u64) -> Outcome {
    let gas = call.gas.map_or(gas_cap, |gas| gas.min(gas_cap));
    prepare(&mut env, call, gas, 0);
    let result = match run(state, &env) {
        Ok(result) => result.result,
        Err(outcome) => return outcome,
    };
    let spent = result.gas().total_gas_spent();
    match Failure::of(&result) {
        None => Outcome::Result(render_data(result.output().map_or(&[][..], |it| it)), spent),
        // Python says that it was the cap.
        Some(_) if spent == gas_cap && is_out_of_gas(&result) => Outcome::Other,
        Some(failure) => Outcome::Failure(failure),
    }
}

/// Return the gas that a call needs, as JSON.
pub fn estimate_gas(state: &dyn State, env: ExecutionEnv, call: &Call, gas_cap: u64) -> Outcome {
    match needed_gas(state, env, call, gas_cap) {
        Ok(gas) => Outcome::Result(render(U256::from(gas)), gas),
        Err(outcome) => outcome,
    }
}

/// Return the gas that a call needs, if that is what it spends with the most that it may have.
///
/// That takes two runs, or one for a transfer or a failure. If it needs more than it spends, the search is left to
/// Python.
pub fn needed_gas(
    state: &dyn State,
    mut env: ExecutionEnv,
    call: &Call,
    gas_cap: u64,
) -> Result<u64, Outcome> {
    let mut cap = gas_cap.min(env.block.gas_limit);
    cap = cap.min(env.rules.transaction_gas_limit().unwrap_or(u64::MAX));
    cap = cap.min(call.gas.filter(|gas| *gas >= TRANSFER_GAS).unwrap_or(u64::MAX));
    let is_transfer = is_transfer(state, call).map_err(|_| Outcome::Other)?;
    // A contract account runs in steps, whatever the call says.
    if !matches!(has_code(state, call.from), Ok(false)) {
        return Err(Outcome::Other);
    }
    let first = if is_transfer && cap >= TRANSFER_GAS { TRANSFER_GAS } else { cap };
    let price = u128::from(env.block.basefee);
    prepare(&mut env, call, first, price);
    let spent = run(state, &env)?;
    if let Some(failure) = Failure::of(&spent.result) {
        return Err(match failure {
            // Python tries it with more gas.
            _ if is_transfer => Outcome::Other,
            _ if is_out_of_gas(&spent.result) => Outcome::Failure(Failure::AllowanceExceeded(cap)),
            failure => Outcome::Failure(failure),
        });
    }
    if is_transfer && first == TRANSFER_GAS {
        return Ok(TRANSFER_GAS);
    }
    let need = gas_needed(&spent);
    if need >= cap {
        return Err(Outcome::Other);
    }
    env.tx.base.gas_limit = need;
    if let Some(budget) = &mut env.limits.gas {
        *budget = budget.saturating_sub(spent.budget_spent());
    }
    let second = run(state, &env)?;
    let is_enough = second.result.is_success() && gas_needed(&second) >= need;
    if is_enough { Ok(need) } else { Err(Outcome::Other) }
}

/// Execute; a call that logs to the console is left to Python, which reports that.
pub(crate) fn run(state: &dyn State, env: &ExecutionEnv) -> Result<ExecutionResult, Outcome> {
    let result = execute(state, env, None).map_err(|error| Outcome::of_error(&error))?;
    if is_silent(&result.console) { Ok(result) } else { Err(Outcome::Other) }
}

/// Whether a call has succeeded, and has not logged to the console, which Python has to report.
pub fn is_plain(result: &RevmResult, console: &ConsoleCalls) -> bool {
    matches!(result, RevmResult::Success { .. }) && is_silent(console)
}

fn is_silent(console: &ConsoleCalls) -> bool {
    console.recorded.is_empty() && console.dropped == 0
}

/// The gas that a run needed: before refunds, and at least the calldata floor.
pub(crate) fn gas_needed(result: &ExecutionResult) -> u64 {
    result.result.gas().total_gas_spent().max(result.result.tx_gas_used())
}

fn is_transfer(state: &dyn State, call: &Call) -> Result<bool, ProviderError> {
    if !call.data.is_empty() {
        return Ok(false);
    }
    Ok(state.account(call.to)?.is_none_or(|account| account.code_hash == KECCAK256_EMPTY))
}

/// Make the environment that of `call`.
pub fn prepare(env: &mut ExecutionEnv, call: &Call, gas_limit: u64, gas_price: u128) {
    env.checks = FREE;
    env.tx = TxEnv {
        base: RevmTxEnv {
            caller: call.from,
            gas_limit,
            gas_price,
            kind: TxKind::Call(call.to),
            value: call.value,
            data: call.data.clone(),
            chain_id: Some(env.rules.chain_id),
            ..RevmTxEnv::default()
        },
        ..TxEnv::default()
    };
}

/// The parameters of a method that takes a call and a block.
#[derive(Deserialize)]
pub struct CallParams<'a>(pub Call, #[serde(borrow, default)] pub Option<&'a str>);

impl<'a> Deserialize<'a> for Call {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(CallVisitor)
    }
}

struct CallVisitor;

impl<'a> Visitor<'a> for CallVisitor {
    type Value = Call;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plain call object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut members: A) -> Result<Call, A::Error> {
        let (mut from, mut to, mut gas, mut value, mut data) = (None, None, None, None, None);
        while let Some((key, text)) = members.next_entry::<&str, &str>()? {
            let is_new = match key {
                "from" => put(&mut from, parse_address(text)),
                "to" => put(&mut to, parse_address(text)),
                "gas" => put(&mut gas, quantity(text, 16)),
                "value" => put(&mut value, quantity(text, 64)),
                // Both at once are left to Python, which compares them.
                "data" | "input" => put(&mut data, parse_data(text)),
                _ => false,
            };
            if !is_new {
                return Err(A::Error::custom("a member that is not plain"));
            }
        }
        let to = to.ok_or_else(|| A::Error::custom("creates a contract"))?;
        Ok(Call {
            from: from.unwrap_or_default(),
            to,
            gas: gas.map(|gas| gas.to()),
            value: value.unwrap_or_default(),
            data: data.unwrap_or_default(),
        })
    }
}

/// Put `value`, if there is one and it is the first.
fn put<T>(place: &mut Option<T>, value: Option<T>) -> bool {
    value.is_some() && place.replace(value.expect("checked")).is_none()
}
