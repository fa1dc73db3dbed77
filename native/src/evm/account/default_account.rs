//! What the node does for an account with a key where a contract account has code: approving a paymaster's fee.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::{SolCall, SolError};

use super::calls::{
    InvalidInput, UnsupportedPaymasterFlow, allowanceCall, approvalBasedCall, approveCall,
    first_word, generalCall,
};
use super::rejection::{Rejection, Step};
use super::steps::{StepCall, StepError, Steps};
use crate::evm::frames::FrameRunner;

const SELECTOR: usize = 4;
const WORD: usize = 32;

/// Do what `paymaster_input` asks of the sender before the paymaster is called.
pub fn prepare<'a, I, F: FrameRunner<'a, I>>(
    steps: &mut Steps<'_, 'a, I, F>,
) -> Result<(), StepError> {
    let input = steps.zk.paymaster_input.clone();
    let invalid = || Rejection::reverted(Step::Preparation, InvalidInput {}.abi_encode().into());
    match input.first_chunk::<SELECTOR>() {
        None => Err(invalid().into()),
        Some(&generalCall::SELECTOR) => Ok(()),
        Some(&approvalBasedCall::SELECTOR) => {
            let (token, amount) = approval(&input).ok_or_else(invalid)?;
            approve(steps, token, amount)
        }
        Some(_) => {
            let output = UnsupportedPaymasterFlow {}.abi_encode().into();
            Err(Rejection::reverted(Step::Preparation, output).into())
        }
    }
}

/// Return the token that an input approves, if it does.
pub fn token_of(input: &[u8]) -> Option<Address> {
    let is_approval = input.starts_with(&approvalBasedCall::SELECTOR);
    is_approval.then(|| approval(input)).flatten().map(|(token, _)| token)
}

/// Return token and amount; what follows them is the paymaster's.
fn approval(input: &[u8]) -> Option<(Address, U256)> {
    let token = input.get(SELECTOR..SELECTOR + WORD)?;
    let amount = input.get(SELECTOR + WORD..SELECTOR + 2 * WORD)?;
    let (padding, address) = token.split_at(WORD - Address::len_bytes());
    let is_address = padding.iter().all(|byte| *byte == 0);
    is_address.then(|| (Address::from_slice(address), U256::from_be_slice(amount)))
}

/// Let the paymaster have `amount` of a token: exactly that if it may have less now.
fn approve<'a, I, F: FrameRunner<'a, I>>(
    steps: &mut Steps<'_, 'a, I, F>,
    token: Address,
    amount: U256,
) -> Result<(), StepError> {
    if !steps.has_code(token)? {
        return Err(Rejection::new(Step::Preparation, "Address: call to non-contract").into());
    }
    if allowance(steps, token)? >= amount {
        return Ok(());
    }
    set_allowance(steps, token, U256::ZERO)?;
    if !allowance(steps, token)?.is_zero() {
        let reason = "SafeERC20: approve from non-zero to non-zero allowance";
        return Err(Rejection::new(Step::Preparation, reason).into());
    }
    set_allowance(steps, token, amount)
}

fn allowance<'a, I, F: FrameRunner<'a, I>>(
    steps: &mut Steps<'_, 'a, I, F>,
    token: Address,
) -> Result<U256, StepError> {
    let (owner, spender) = (steps.sender, steps.zk.paymaster);
    let data = allowanceCall { owner, spender }.abi_encode().into();
    let call = StepCall::new_static(owner, token, data);
    let output = steps.required_call(Step::Preparation, call)?;
    let word =
        first_word(&output).ok_or_else(|| Rejection::reverted(Step::Preparation, Bytes::new()))?;
    Ok(word.into())
}

fn set_allowance<'a, I, F: FrameRunner<'a, I>>(
    steps: &mut Steps<'_, 'a, I, F>,
    token: Address,
    amount: U256,
) -> Result<(), StepError> {
    let data = approveCall { spender: steps.zk.paymaster, amount }.abi_encode().into();
    let call = StepCall::new(steps.sender, token, data);
    let output = steps.required_call(Step::Preparation, call)?;
    let is_true = first_word(&output).is_some_and(|word| U256::from_be_bytes(word.0) == U256::ONE);
    if !output.is_empty() && !is_true {
        let reason = "SafeERC20: ERC20 operation did not succeed";
        return Err(Rejection::new(Step::Preparation, reason).into());
    }
    Ok(())
}
