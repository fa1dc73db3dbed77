//! Reads of accounts and slots: the parameters that common clients send, and the results.
//!
//! Other spellings and other block identifiers are decoded in Python, and are read here as well.

use alloy_primitives::{Address, B256, U256};
use serde::Deserialize;

use entresol_core::evm::account::sender::transaction_count;
use entresol_core::state::{Account, ProviderError, State};

use super::block::{Block, parse_block};
use super::hex::{
    parse_address, put_data, put_number, put_quantity, quantity, render, render_data,
};

/// The methods that read an account or a slot.
pub const METHODS: [&str; 6] = [
    "eth_getBalance",
    "eth_getTransactionCount",
    "eth_getCode",
    "eth_getAccountInfo",
    "eth_getAccount",
    "eth_getStorageAt",
];

/// What is read of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountRead {
    /// An account's balance.
    Balance(Address),
    /// The nonce of an account's next transaction.
    Nonce(Address),
    /// An account's code.
    Code(Address),
    /// An account's balance, nonce and code.
    Info(Address),
    /// An account as its leaf in the state trie has it.
    Leaf(Address),
    /// A storage slot.
    Slot(Address, U256),
}

impl AccountRead {
    /// Parse the parameters of a method: what is read, and after which block; None if they are not plain.
    pub fn parse(method: &str, params: &str) -> Option<(Self, Block)> {
        if method == "eth_getStorageAt" {
            let SlotParams(address, slot, block) = serde_json::from_str(params).ok()?;
            let read = Self::Slot(parse_address(address)?, quantity(slot, 64)?);
            return Some((read, parse_block(block)?));
        }
        let read = match method {
            "eth_getBalance" => Self::Balance,
            "eth_getTransactionCount" => Self::Nonce,
            "eth_getCode" => Self::Code,
            "eth_getAccountInfo" => Self::Info,
            "eth_getAccount" => Self::Leaf,
            _ => return None,
        };
        let AccountParams(address, block) = serde_json::from_str(params).ok()?;
        Some((read(parse_address(address)?), parse_block(block)?))
    }

    /// Read it of `state`, as JSON; `storage_root` returns that of an account in the trie of the state's block.
    pub fn json<E: From<ProviderError>>(
        self,
        state: &dyn State,
        storage_root: impl FnOnce(Address) -> Result<B256, E>,
    ) -> Result<Vec<u8>, E> {
        let account = |address| state.account(address).map(Option::unwrap_or_default);
        Ok(match self {
            Self::Balance(address) => render(account(address)?.balance),
            Self::Nonce(address) => render(transaction_count(state, address)?),
            Self::Code(address) => {
                render_data(state.code(account(address)?.code_hash)?.original_byte_slice())
            }
            Self::Info(address) => {
                let account = account(address)?;
                with_code(&account, state.code(account.code_hash)?.original_byte_slice())
            }
            Self::Leaf(address) => match state.account(address)? {
                Some(account) => with_storage_root(&account, storage_root(address)?),
                None => b"null".to_vec(),
            },
            Self::Slot(address, slot) => {
                render_data(&state.slot(address, slot)?.to_be_bytes::<32>())
            }
        })
    }
}

fn with_code(account: &Account, code: &[u8]) -> Vec<u8> {
    let mut out = open_account(account);
    out.extend_from_slice(b",\"code\":");
    put_data(&mut out, code);
    out.push(b'}');
    out
}

fn with_storage_root(account: &Account, storage_root: B256) -> Vec<u8> {
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
