//! Plain reads of the state: parse the parameters that common clients send, and render the result.
//!
//! What is not plain is left to Python: other spellings, other fields, other block identifiers, and
//! whatever does not end in a result.

use std::fmt;
use std::io::Write;

use alloy_primitives::{Address, Bytes, KECCAK256_EMPTY, TxKind, U256, hex};
use revm::context::TxEnv as RevmTxEnv;
use revm::context_interface::result::ExecutionResult as RevmResult;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::evm::account;
use crate::evm::env::{Checks, ExecutionEnv, TxEnv};
use crate::evm::limits::LimitReached;
use crate::evm::{ExecutionError, ExecutionResult, execute};
use crate::state::{ProviderError, State};

/// The gas of a plain transfer.
const TRANSFER_GAS: u64 = 21_000;
/// Longer parameters are left to Python, which may decode them on a worker.
const MAX_PARAMS_BYTES: usize = 16 << 10;
/// The checks of a call that offers no fee.
const FREE: Checks = Checks { balance: true, ..Checks::NONE };

/// The methods that read the state.
pub const METHODS: [&str; 7] = [
    "eth_getBalance",
    "eth_getTransactionCount",
    "eth_getCode",
    "eth_getAccountInfo",
    "eth_getStorageAt",
    "eth_call",
    "eth_estimateGas",
];

/// A block that a client names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// The last one.
    Latest,
    /// By number.
    Number(u64),
}

/// A call without a price.
#[derive(Debug, PartialEq, Eq)]
pub struct Call {
    from: Address,
    to: Address,
    gas: Option<u64>,
    value: U256,
    data: Bytes,
}

/// A plain read.
#[derive(Debug, PartialEq, Eq)]
pub enum Read {
    /// An account's balance.
    Balance(Address, Block),
    /// An account's nonce.
    Nonce(Address, Block),
    /// An account's code.
    Code(Address, Block),
    /// An account's balance, nonce and code.
    Account(Address, Block),
    /// A storage slot.
    Slot(Address, U256, Block),
    /// The output of a call on the last block.
    Call(Call),
    /// The gas that a call needs on the last block.
    EstimateGas(Call),
}

impl Read {
    /// Parse the parameters of a method; None if they are not plain.
    pub fn parse(method: &str, params: &str) -> Option<Self> {
        if params.len() > MAX_PARAMS_BYTES {
            return None;
        }
        let account = |read: fn(Address, Block) -> Self| {
            let AccountParams(address, block) = serde_json::from_str(params).ok()?;
            Some(read(parse_address(address)?, parse_block(block)?))
        };
        let call = |read: fn(Call) -> Self| {
            let CallParams(CallObject(call), block) = serde_json::from_str(params).ok()?;
            (parse_block(block)? == Block::Latest).then(|| read(call))
        };
        match method {
            "eth_getBalance" => account(Self::Balance),
            "eth_getTransactionCount" => account(Self::Nonce),
            "eth_getCode" => account(Self::Code),
            "eth_getAccountInfo" => account(Self::Account),
            "eth_getStorageAt" => {
                let SlotParams(address, slot, block) = serde_json::from_str(params).ok()?;
                Some(Self::Slot(parse_address(address)?, quantity(slot, 64)?, parse_block(block)?))
            }
            "eth_call" => call(Self::Call),
            "eth_estimateGas" => call(Self::EstimateGas),
            _ => None,
        }
    }
}

/// How a read ended.
#[derive(Debug)]
pub enum Outcome {
    /// With this result, as JSON, after so much gas.
    Result(Vec<u8>, u64),
    /// It needs more gas than it may use here.
    BudgetSpent,
    /// It is left to Python, which may have to report an error.
    Other,
}

impl Outcome {
    fn of_error(error: &ExecutionError) -> Self {
        match error {
            ExecutionError::LimitReached(LimitReached::Gas) => Self::BudgetSpent,
            _ => Self::Other,
        }
    }
}

/// Read an account or a slot of `state`.
pub fn read(state: &dyn State, read: &Read) -> Outcome {
    let found = match read {
        Read::Balance(address, _) => {
            state.account(*address).map(|it| render(it.unwrap_or_default().balance))
        }
        Read::Nonce(address, _) => account::transaction_count(state, *address).map(render),
        Read::Code(address, _) => state
            .account(*address)
            .and_then(|it| state.code(it.unwrap_or_default().code_hash))
            .map(|code| render_data(code.original_byte_slice())),
        Read::Account(address, _) => account_info(state, *address),
        Read::Slot(address, slot, _) => {
            state.slot(*address, *slot).map(|value| render_data(&value.to_be_bytes::<32>()))
        }
        Read::Call(_) | Read::EstimateGas(_) => return Outcome::Other,
    };
    found.map_or(Outcome::Other, |result| Outcome::Result(result, 0))
}

fn account_info(state: &dyn State, address: Address) -> Result<Vec<u8>, ProviderError> {
    let account = state.account(address)?.unwrap_or_default();
    let code = render_data(state.code(account.code_hash)?.original_byte_slice());
    let (balance, nonce) = (render(account.balance), render(U256::from(account.nonce)));
    let parts: [&[u8]; 7] =
        [b"{\"balance\":", &balance, b",\"nonce\":", &nonce, b",\"code\":", &code, b"}"];
    Ok(parts.concat())
}

/// Execute a call with at most `gas_cap` gas; `env` is the environment of any call on the block.
pub fn call(state: &dyn State, mut env: ExecutionEnv, call: &Call, gas_cap: u64) -> Outcome {
    let gas = call.gas.map_or(gas_cap, |gas| gas.min(gas_cap));
    prepare(&mut env, call, gas, 0);
    match run(state, &env) {
        Ok(Some(result)) => {
            let output = result.result.output().map_or(&[][..], |it| it);
            Outcome::Result(render_data(output), result.result.gas().total_gas_spent())
        }
        Ok(None) => Outcome::Other,
        Err(error) => Outcome::of_error(&error),
    }
}

/// Return the gas that a call needs, if that is what it spends with the most that it may have.
///
/// That takes two runs, or one for a transfer. If it needs more than it spends, or fails, the search is
/// left to Python.
pub fn estimate_gas(
    state: &dyn State,
    mut env: ExecutionEnv,
    call: &Call,
    gas_cap: u64,
) -> Outcome {
    let mut cap = gas_cap.min(env.block.gas_limit);
    cap = cap.min(env.rules.transaction_gas_limit().unwrap_or(u64::MAX));
    cap = cap.min(call.gas.filter(|gas| *gas >= TRANSFER_GAS).unwrap_or(u64::MAX));
    let Ok(is_transfer) = is_transfer(state, call) else { return Outcome::Other };
    // A contract account runs in steps, whatever the call says.
    if !matches!(account::has_code(state, call.from), Ok(false)) {
        return Outcome::Other;
    }
    let first = if is_transfer && cap >= TRANSFER_GAS { TRANSFER_GAS } else { cap };
    let price = u128::from(env.block.basefee);
    prepare(&mut env, call, first, price);
    let spent = match run(state, &env) {
        Ok(Some(_)) if is_transfer && first == TRANSFER_GAS => {
            return Outcome::Result(render(U256::from(TRANSFER_GAS)), TRANSFER_GAS);
        }
        Ok(Some(result)) => result,
        Ok(None) => return Outcome::Other,
        Err(error) => return Outcome::of_error(&error),
    };
    let need = gas_needed(&spent);
    if need >= cap {
        return Outcome::Other;
    }
    env.tx.base.gas_limit = need;
    if let Some(budget) = &mut env.limits.gas {
        *budget = budget.saturating_sub(spent.result.gas().total_gas_spent());
    }
    match run(state, &env) {
        Ok(Some(result)) if gas_needed(&result) >= need => {
            Outcome::Result(render(U256::from(need)), need)
        }
        Ok(_) => Outcome::Other,
        Err(error) => Outcome::of_error(&error),
    }
}

/// Execute; None if the call fails, or logs to the console, which Python has to report.
fn run(state: &dyn State, env: &ExecutionEnv) -> Result<Option<ExecutionResult>, ExecutionError> {
    let result = execute(state, env, None)?;
    let is_plain = matches!(result.result, RevmResult::Success { .. })
        && result.console.recorded.is_empty()
        && result.console.dropped == 0;
    Ok(is_plain.then_some(result))
}

/// The gas that a run needed: before refunds, and at least the calldata floor.
fn gas_needed(result: &ExecutionResult) -> u64 {
    result.result.gas().total_gas_spent().max(result.result.tx_gas_used())
}

fn is_transfer(state: &dyn State, call: &Call) -> Result<bool, ProviderError> {
    if !call.data.is_empty() {
        return Ok(false);
    }
    Ok(state.account(call.to)?.is_none_or(|account| account.code_hash == KECCAK256_EMPTY))
}

fn prepare(env: &mut ExecutionEnv, call: &Call, gas_limit: u64, gas_price: u128) {
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

/// Render a quantity.
pub fn render(value: U256) -> Vec<u8> {
    let mut out = Vec::with_capacity(70);
    write!(out, "\"{value:#x}\"").expect("a vector takes everything");
    out
}

/// Render data.
pub fn render_data(data: &[u8]) -> Vec<u8> {
    let mut out = vec![b'"'; 2 * data.len() + 4];
    out[1..3].copy_from_slice(b"0x");
    let end = out.len() - 1;
    hex::encode_to_slice(data, &mut out[3..end]).expect("two digits a byte");
    out
}

#[derive(Deserialize)]
struct AccountParams<'a>(&'a str, #[serde(default)] Option<&'a str>);

#[derive(Deserialize)]
struct SlotParams<'a>(&'a str, &'a str, #[serde(default)] Option<&'a str>);

#[derive(Deserialize)]
struct CallParams<'a>(CallObject, #[serde(borrow, default)] Option<&'a str>);

struct CallObject(Call);

impl<'a> Deserialize<'a> for CallObject {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(CallVisitor)
    }
}

struct CallVisitor;

impl<'a> Visitor<'a> for CallVisitor {
    type Value = CallObject;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plain call object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut members: A) -> Result<CallObject, A::Error> {
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
        Ok(CallObject(Call {
            from: from.unwrap_or_default(),
            to,
            gas: gas.map(|gas| gas.to()),
            value: value.unwrap_or_default(),
            data: data.unwrap_or_default(),
        }))
    }
}

/// Put `value`, if there is one and it is the first.
fn put<T>(place: &mut Option<T>, value: Option<T>) -> bool {
    value.is_some() && place.replace(value.expect("checked")).is_none()
}

/// Parse a block: `latest`, a number, or None for the latest.
pub fn parse_block(text: Option<&str>) -> Option<Block> {
    match text {
        None | Some("latest") => Some(Block::Latest),
        Some(number) => quantity(number, 16).map(|number| Block::Number(number.to())),
    }
}

fn parse_address(text: &str) -> Option<Address> {
    let mut address = Address::ZERO;
    hex::decode_to_slice(digits(text).filter(|it| it.len() == 40)?, address.as_mut_slice()).ok()?;
    Some(address)
}

fn parse_data(text: &str) -> Option<Bytes> {
    hex::decode(digits(text)?).ok().map(Bytes::from)
}

/// Parse a number of 1 to `max_digits` hex digits.
pub fn quantity(text: &str, max_digits: usize) -> Option<U256> {
    let digits = digits(text).filter(|it| (1..=max_digits).contains(&it.len()))?;
    digits
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then(|| U256::from_str_radix(digits, 16).ok())
        .flatten()
}

/// Return what follows `0x`; a second prefix is no digit, though decoders skip one.
fn digits(text: &str) -> Option<&str> {
    text.strip_prefix("0x").filter(|it| !it.starts_with("0x") && !it.starts_with("0X"))
}
