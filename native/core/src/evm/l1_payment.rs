//! What L1 has paid for a priority transaction: the fee, and the refund of the rest.

use alloy_primitives::map::Entry;
use alloy_primitives::{Address, U256};
use revm::context_interface::result::ExecutionResult;
use revm::state::{Account as TouchedAccount, AccountInfo, EvmState};

use super::env::ExecutionEnv;
use crate::state::{ProviderError, State};

/// Pay the fee out of what L1 minted, and refund the rest; return the credits of destroyed accounts.
///
/// The execution has minted the value. If it failed, nothing of it stays, and the value is refunded.
pub fn pay_out(
    touched: &mut EvmState,
    state: &dyn State,
    env: &ExecutionEnv,
    result: &ExecutionResult,
) -> Result<Vec<(Address, U256)>, ProviderError> {
    let Some(payment) = env.tx.l1_payment else { return Ok(Vec::new()) };
    let mut sent = env.tx.base.value;
    if !result.is_success() {
        sent = U256::ZERO;
        if let Some(sender) = touched.get_mut(&env.tx.base.caller) {
            sender.info = sender.original_info();
        }
    }
    let to_mint = payment.to_mint;
    let fee = U256::from(result.tx_gas_used()).saturating_mul(payment.fee_per_gas).min(to_mint);
    let refund = to_mint.saturating_sub(sent).saturating_sub(fee);
    let mut destroyed = Vec::new();
    for (address, wei) in [(env.block.beneficiary, fee), (payment.refund_recipient, refund)] {
        if touched.get(&address).is_some_and(TouchedAccount::is_selfdestructed) {
            destroyed.push((address, wei));
        } else if !wei.is_zero() {
            credit(touched, state, address, wei)?;
        }
    }
    Ok(destroyed)
}

/// Add `wei` to a balance. One that would overflow is capped: nothing that L1 accepts may halt the chain.
fn credit(
    touched: &mut EvmState,
    state: &dyn State,
    address: Address,
    wei: U256,
) -> Result<(), ProviderError> {
    let account = match touched.entry(address) {
        Entry::Occupied(entry) => entry.into_mut(),
        Entry::Vacant(entry) => entry.insert(load(state, address)?),
    };
    account.info.balance = account.info.balance.saturating_add(wei);
    account.mark_touch();
    Ok(())
}

fn load(state: &dyn State, address: Address) -> Result<TouchedAccount, ProviderError> {
    Ok(match state.account(address)? {
        None => TouchedAccount::new_not_existing(Default::default()),
        Some(account) => TouchedAccount::from(AccountInfo::from(account)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evm::env::{Checks, L1Payment};
    use crate::evm::{execute, reject};
    use crate::testing::{ALICE, BOB, World, transaction};
    use revm::bytecode::opcode::{INVALID, STOP};

    const BENEFICIARY: Address = Address::repeat_byte(0xbe);

    fn deposit() -> ExecutionEnv {
        let mut env = transaction(0);
        env.checks = Checks::NONE;
        env.block.beneficiary = BENEFICIARY;
        env.tx.base.value = U256::from(7);
        env.tx.mint = U256::from(7);
        env.tx.keeps_nonce = true;
        env.tx.l1_payment = Some(L1Payment {
            to_mint: U256::from(3_000_007),
            fee_per_gas: U256::from(2),
            refund_recipient: BOB,
        });
        env
    }

    fn gained(result: &crate::evm::ExecutionResult, address: Address) -> u64 {
        let changed = result.changes.accounts.iter().find(|change| change.address == address);
        changed.map_or(0, |change| {
            let before = change.before.unwrap_or_default().balance;
            (change.after.unwrap_or_default().balance - before).to()
        })
    }

    #[test]
    fn what_is_not_spent_is_refunded() {
        let (_, snapshot) = World::with_contract(&[STOP]).snapshot();
        let result = execute(snapshot.as_ref(), &deposit(), None).unwrap();
        assert_eq!(gained(&result, BENEFICIARY), 42_000);
        assert_eq!(gained(&result, BOB), 3_000_000 - 42_000);
    }

    #[test]
    fn a_failure_refunds_the_value() {
        let (_, snapshot) = World::with_contract(&[INVALID]).snapshot();
        let result = execute(snapshot.as_ref(), &deposit(), None).unwrap();
        assert_eq!(gained(&result, BENEFICIARY), 2_000_000);
        assert_eq!(gained(&result, BOB), 1_000_007);
        assert_eq!(gained(&result, ALICE), 0);
    }

    #[test]
    fn a_rejected_transaction_pays_for_its_gas() {
        let (_, snapshot) = World::with_contract(&[STOP]).snapshot();
        let result = reject(snapshot.as_ref(), &deposit(), 1_000_000, None).unwrap();
        assert!(result.result.is_halt());
        assert_eq!(gained(&result, BENEFICIARY), 2_000_000);
        assert_eq!(gained(&result, BOB), 1_000_007);
    }

    #[test]
    fn no_fee_exceeds_what_was_minted() {
        let (_, snapshot) = World::with_contract(&[STOP]).snapshot();
        let mut env = deposit();
        env.tx.l1_payment.as_mut().unwrap().fee_per_gas = U256::MAX;
        let result = reject(snapshot.as_ref(), &env, 1_000_000, None).unwrap();
        assert_eq!(gained(&result, BENEFICIARY), 3_000_007);
        assert_eq!(gained(&result, BOB), 0);
    }
}
