//! What a sender tells its paymaster: which token it may take a fee in.

use alloy_primitives::{Address, U256};
use alloy_sol_types::SolCall;

use super::calls::approvalBasedCall;

const SELECTOR: usize = 4;
const WORD: usize = 32;

/// Return the token that an input approves, if it does.
pub fn token_of(input: &[u8]) -> Option<Address> {
    let is_approval = input.starts_with(&approvalBasedCall::SELECTOR);
    is_approval.then(|| approval(input)).flatten().map(|(token, _)| token)
}

/// Return token and amount; what follows them is the paymaster's.
pub fn approval(input: &[u8]) -> Option<(Address, U256)> {
    let token = input.get(SELECTOR..SELECTOR + WORD)?;
    let amount = input.get(SELECTOR + WORD..SELECTOR + 2 * WORD)?;
    let (padding, address) = token.split_at(WORD - Address::len_bytes());
    let is_address = padding.iter().all(|byte| *byte == 0);
    is_address.then(|| (Address::from_slice(address), U256::from_be_slice(amount)))
}
