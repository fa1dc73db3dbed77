//! What the node does for an account with a key where a contract account has code: approving a paymaster's fee.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::{SolCall, SolError};

use super::call::StepCall;
use super::error::StepError;
use super::running::Steps;
use crate::evm::account::calls::{
    InvalidInput, UnsupportedPaymasterFlow, allowanceCall, approvalBasedCall, approveCall,
    first_word, generalCall,
};
use crate::evm::account::paymaster_input::approval;
use crate::evm::account::rejection::{Rejection, Step};
use crate::evm::frames::FrameRunner;

const SELECTOR: usize = 4;

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
