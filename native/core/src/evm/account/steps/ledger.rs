//! What the steps read and move themselves: nonces, versions and balances.

use alloy_primitives::{Address, U256};
use revm::context_interface::{ContextTr, Database as _, JournalTr, Transaction as _};

use super::error::StepError;
use super::running::Steps;
use crate::evm::account::system_contracts::{BOOTLOADER, NONCE_HOLDER, account_slot, min_nonce};
use crate::evm::engine::Ctx;
use crate::evm::frames::FrameRunner;

impl<'a, I, F: FrameRunner<'a, I>> Steps<'_, 'a, I, F> {
    /// Warm the accounts that the steps are about.
    pub(super) fn warm(&mut self) -> Result<(), StepError> {
        let target = self.env.tx.base.kind.to().copied();
        let paymaster = self.zk.has_paymaster().then_some(self.zk.paymaster);
        let accounts = [Some(BOOTLOADER), Some(NONCE_HOLDER), Some(self.sender), target, paymaster];
        for address in accounts.into_iter().flatten() {
            self.journal().load_account(address)?;
        }
        Ok(())
    }

    pub(super) fn min_nonce(&mut self) -> Result<U256, StepError> {
        Ok(min_nonce(self.slot(NONCE_HOLDER)?))
    }

    /// Read the sender's slot of a system contract, without warming it.
    pub(super) fn slot(&mut self, contract: Address) -> Result<U256, StepError> {
        let slot = account_slot(self.sender);
        let (database, state) = self.evm.ctx.journal_mut().db_and_state_mut();
        let written = state.get(&contract).and_then(|account| account.storage.get(&slot));
        match written {
            Some(known) => Ok(known.present_value),
            None => Ok(database.storage(contract, slot)?),
        }
    }

    pub(super) fn balance(&mut self, address: Address) -> Result<U256, StepError> {
        Ok(self.journal().load_account(address)?.info.balance)
    }

    pub(super) fn credit(&mut self, wei: U256) -> Result<(), StepError> {
        let payer = self.payer();
        if !wei.is_zero() {
            self.journal().balance_incr(payer, wei)?;
        }
        Ok(())
    }

    fn payer(&self) -> Address {
        if self.zk.has_paymaster() { self.zk.paymaster } else { self.sender }
    }

    pub(super) fn fee(&self) -> U256 {
        U256::from(self.env.tx.base.gas_limit) * self.price()
    }

    pub(super) fn price(&self) -> U256 {
        U256::from(self.env.tx.base.effective_gas_price(self.env.block.basefee.into()))
    }

    pub(super) fn journal(&mut self) -> &mut <Ctx<'a> as ContextTr>::Journal {
        self.evm.ctx.journal_mut()
    }
}
