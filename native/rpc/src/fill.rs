//! `eth_fillTransaction` of plain calls: the transaction that they stand for, unsigned.

use alloy_consensus::transaction::RlpEcdsaEncodableTx;
use alloy_consensus::{TxEip1559, TypedTransaction};
use alloy_primitives::{Address, Signature as EcdsaSignature, TxKind, U256, keccak256};

use entresol_core::call::{CallRequest, EstimateOptions, Logged, estimate_gas};
use entresol_core::evm::env::ExecutionEnv;
use entresol_core::state::State;

use super::call::Outcome;
use super::hex::put_data;
use super::transaction::{Payload, Rendered, Signature};

/// What a transaction gets that does not depend on its call.
pub struct Filling {
    /// The next nonce of the sender.
    pub nonce: u64,
    /// The fee cap.
    pub max_fee_per_gas: u128,
    /// The tip cap.
    pub max_priority_fee_per_gas: u128,
}

/// Return the transaction of `call` with the gas that it needs: its bytes and its fields, as JSON.
pub fn fill(
    state: &dyn State,
    env: ExecutionEnv,
    call: &CallRequest,
    filling: &Filling,
    gas_cap: u64,
) -> Outcome {
    let chain_id = env.rules.chain_id;
    let options = EstimateOptions { gas_cap, unfunded_transfers: false, unfunded: false };
    let Logged { result, .. } = estimate_gas(state, env, call, options);
    let gas_limit = match result {
        Ok(estimate) => estimate.gas,
        Err(error) if error.is_budget_spent() => return Outcome::BudgetSpent,
        // What becomes of one that fails is Python's policy.
        Err(_) => return Outcome::Other,
    };
    let Some(to) = call.to else { return Outcome::Other };
    let transaction = TxEip1559 {
        chain_id,
        nonce: filling.nonce,
        gas_limit,
        max_fee_per_gas: filling.max_fee_per_gas,
        max_priority_fee_per_gas: filling.max_priority_fee_per_gas,
        to: TxKind::Call(to),
        value: call.value,
        access_list: Default::default(),
        input: call.data.clone(),
    };
    Outcome::Result(render(transaction, call.from), gas_limit)
}

fn render(transaction: TxEip1559, sender: Address) -> Vec<u8> {
    let size = transaction.input.len();
    let mut raw = Vec::with_capacity(256 + size);
    transaction.eip2718_encode(&EcdsaSignature::new(U256::ZERO, U256::ZERO, false), &mut raw);
    let mut out = Vec::with_capacity(1536 + 4 * size);
    out.extend_from_slice(b"{\"raw\":");
    put_data(&mut out, &raw);
    out.extend_from_slice(b",\"tx\":");
    let transaction = TypedTransaction::from(transaction);
    let payload = Payload::Ethereum(&transaction, Signature::default());
    Rendered { hash: keccak256(&raw), sender, payload }.put(&mut out, None);
    out.push(b'}');
    out
}
