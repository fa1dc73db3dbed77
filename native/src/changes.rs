//! What an execution, or a block of them, changed.

use alloy_primitives::map::{B256Map, HashMap};
use alloy_primitives::{Address, U256};
use revm::bytecode::Bytecode;
use revm::state::{Account as TouchedAccount, EvmState};

use crate::state::Account;

/// Every account that changed, with the values before and after, and the codes that are new.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Changed accounts, in the order of their addresses.
    pub accounts: Vec<AccountChange>,
    /// Codes that were created, by hash.
    pub codes: B256Map<Bytecode>,
}

/// What became of one account.
#[derive(Clone, Debug)]
pub struct AccountChange {
    /// Whose change it is.
    pub address: Address,
    /// The account before, if there was one.
    pub before: Option<Account>,
    /// The account after, if there still is one.
    pub after: Option<Account>,
    /// Whether all storage from before is gone, also the slots that `storage` does not name.
    pub destroyed: bool,
    /// Slots whose value changed.
    pub storage: HashMap<U256, SlotChange>,
}

/// A slot's value before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotChange {
    /// The value before.
    pub before: U256,
    /// The value after.
    pub after: U256,
}

impl Changes {
    /// Read the changes off the journal of one execution.
    pub fn of(state: &EvmState) -> Self {
        let mut changes = Self::default();
        for (address, touched) in state.iter().filter(|(_, touched)| touched.is_touched()) {
            let change = AccountChange::of(*address, touched);
            if !change.is_change() {
                continue;
            }
            changes.remember_code(&change, touched);
            changes.accounts.push(change);
        }
        changes.accounts.sort_unstable_by_key(|change| change.address);
        changes
    }

    fn remember_code(&mut self, change: &AccountChange, touched: &TouchedAccount) {
        let before = change.before.unwrap_or_default().code_hash;
        let Some(after) = change.after else { return };
        if let Some(code) = touched.info.code.as_ref()
            && after.code_hash != before
            && !code.is_empty()
        {
            self.codes.insert(after.code_hash, code.clone());
        }
    }
}

impl AccountChange {
    fn of(address: Address, touched: &TouchedAccount) -> Self {
        let before = (!touched.is_loaded_as_not_existing())
            .then(|| Account::from(&touched.original_info()))
            .filter(|account| !account.is_empty());
        let after = Some(Account::from(&touched.info))
            .filter(|account| !touched.is_selfdestructed() && !account.is_empty());
        let storage = touched
            .changed_storage_slots()
            .filter(|_| after.is_some())
            .map(|(slot, value)| {
                let values =
                    SlotChange { before: value.original_value(), after: value.present_value() };
                (*slot, values)
            })
            .collect();
        Self { address, before, after, destroyed: touched.is_selfdestructed(), storage }
    }

    /// Whether anything differs between before and after.
    pub fn is_change(&self) -> bool {
        self.before != self.after || !self.storage.is_empty()
    }
}
