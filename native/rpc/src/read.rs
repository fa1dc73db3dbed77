//! Plain reads of the state: parse the parameters that common clients send, and render the result.
//!
//! What is not plain is left to Python: other spellings, other fields, other block identifiers, and
//! whatever does not end in a result.

use alloy_primitives::{Address, B256, U256};
use serde::Deserialize;

use entresol_core::evm::account::sender::transaction_count;
use entresol_core::state::{Account, ProviderError, State};

use super::block::{Block, parse_block};
use super::call::{Call, CallParams};
use super::hex::{
    parse_address, put_data, put_number, put_quantity, quantity, render, render_data,
};
use super::simulation::Simulation;

/// Longer parameters are left to Python, which may decode them on a worker.
const MAX_PARAMS_BYTES: usize = 16 << 10;

/// The methods that read the state.
pub const METHODS: [&str; 11] = [
    "eth_getBalance",
    "eth_getTransactionCount",
    "eth_getCode",
    "eth_getAccountInfo",
    "eth_getAccount",
    "eth_getStorageAt",
    "eth_call",
    "eth_estimateGas",
    "eth_createAccessList",
    "eth_fillTransaction",
    "eth_simulateV1",
];

/// A plain read.
#[derive(Debug, PartialEq, Eq)]
pub enum Read {
    /// Of an account or a slot, after a block.
    State(StateRead, Block),
    /// An account as its leaf in the state trie of a block has it.
    Leaf(Address, Block),
    /// By a call on the last block.
    Call(CallKind, Call),
    /// The transaction of a call on the pending block, which names its sender and no gas limit.
    Fill(Call),
    /// By calls in simulated blocks on the last block.
    Simulation(Simulation),
}

/// What is read of the state.
#[derive(Debug, PartialEq, Eq)]
pub enum StateRead {
    /// An account's balance.
    Balance(Address),
    /// An account's nonce.
    Nonce(Address),
    /// An account's code.
    Code(Address),
    /// An account's balance, nonce and code.
    Account(Address),
    /// A storage slot.
    Slot(Address, U256),
}

/// What is wanted of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// Its output.
    Output,
    /// The gas that it needs.
    EstimateGas,
    /// The accounts and slots that it touches.
    AccessList,
}

impl Read {
    /// Parse the parameters of a method; None if they are not plain.
    pub fn parse(method: &str, params: &str) -> Option<Self> {
        if params.len() > MAX_PARAMS_BYTES {
            return None;
        }
        let account = |read: fn(Address) -> StateRead| {
            let AccountParams(address, block) = serde_json::from_str(params).ok()?;
            Some(Self::State(read(parse_address(address)?), parse_block(block)?))
        };
        let call = |kind| {
            let CallParams(call, block) = serde_json::from_str(params).ok()?;
            (parse_block(block)? == Block::Latest).then_some(Self::Call(kind, call))
        };
        match method {
            "eth_getBalance" => account(StateRead::Balance),
            "eth_getTransactionCount" => account(StateRead::Nonce),
            "eth_getCode" => account(StateRead::Code),
            "eth_getAccountInfo" => account(StateRead::Account),
            "eth_getAccount" => {
                let AccountParams(address, block) = serde_json::from_str(params).ok()?;
                Some(Self::Leaf(parse_address(address)?, parse_block(block)?))
            }
            "eth_getStorageAt" => {
                let SlotParams(address, slot, block) = serde_json::from_str(params).ok()?;
                let read = StateRead::Slot(parse_address(address)?, quantity(slot, 64)?);
                Some(Self::State(read, parse_block(block)?))
            }
            "eth_call" => call(CallKind::Output),
            "eth_estimateGas" => call(CallKind::EstimateGas),
            "eth_createAccessList" => call(CallKind::AccessList),
            "eth_fillTransaction" => {
                let [call]: [Call; 1] = serde_json::from_str(params).ok()?;
                let is_plain = call.gas.is_none() && !call.from.is_zero();
                is_plain.then_some(Self::Fill(call))
            }
            "eth_simulateV1" => Simulation::parse(params).map(Self::Simulation),
            _ => None,
        }
    }
}

/// Read an account or a slot of `state`, as JSON.
pub fn read(state: &dyn State, read: &StateRead) -> Result<Vec<u8>, ProviderError> {
    match read {
        StateRead::Balance(address) => {
            state.account(*address).map(|it| render(it.unwrap_or_default().balance))
        }
        StateRead::Nonce(address) => transaction_count(state, *address).map(render),
        StateRead::Code(address) => state
            .account(*address)
            .and_then(|it| state.code(it.unwrap_or_default().code_hash))
            .map(|code| render_data(code.original_byte_slice())),
        StateRead::Account(address) => account_info(state, *address),
        StateRead::Slot(address, slot) => {
            state.slot(*address, *slot).map(|value| render_data(&value.to_be_bytes::<32>()))
        }
    }
}

fn account_info(state: &dyn State, address: Address) -> Result<Vec<u8>, ProviderError> {
    let account = state.account(address)?.unwrap_or_default();
    let code = state.code(account.code_hash)?;
    let mut out = open_account(&account);
    out.extend_from_slice(b",\"code\":");
    put_data(&mut out, code.original_byte_slice());
    out.push(b'}');
    Ok(out)
}

/// Render an account as its leaf in the state trie has it.
pub fn render_leaf(account: &Account, storage_root: B256) -> Vec<u8> {
    let mut out = open_account(account);
    out.extend_from_slice(b",\"codeHash\":");
    put_data(&mut out, account.code_hash.as_slice());
    out.extend_from_slice(b",\"storageRoot\":");
    put_data(&mut out, storage_root.as_slice());
    out.push(b'}');
    out
}

fn open_account(account: &Account) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    out.extend_from_slice(b"{\"balance\":");
    put_quantity(&mut out, account.balance);
    out.extend_from_slice(b",\"nonce\":");
    put_number(&mut out, account.nonce);
    out
}

#[derive(Deserialize)]
struct AccountParams<'a>(&'a str, #[serde(default)] Option<&'a str>);

#[derive(Deserialize)]
struct SlotParams<'a>(&'a str, &'a str, #[serde(default)] Option<&'a str>);
