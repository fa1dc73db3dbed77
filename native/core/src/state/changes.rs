//! State changes of a transaction or a block.

use alloy_primitives::map::{B256Map, HashMap};
use alloy_primitives::{Address, U256};
use revm::bytecode::Bytecode;
use revm::state::{Account as TouchedAccount, EvmState};

use super::Account;

/// Changed accounts, with the values before and after, and new code.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Changed accounts, by address in ascending order.
    pub accounts: Vec<AccountChange>,
    /// New code, by hash.
    pub codes: B256Map<Bytecode>,
}

/// The change of one account.
#[derive(Clone, Debug)]
pub struct AccountChange {
    /// Address of the account.
    pub address: Address,
    /// The account before, if it existed.
    pub before: Option<Account>,
    /// The account after, if it still exists.
    pub after: Option<Account>,
    /// Whether all previous storage was cleared, including slots that `storage` does not list.
    pub destroyed: bool,
    /// Changed slots.
    pub storage: HashMap<U256, SlotChange>,
}

/// A slot's value before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotChange {
    /// The value before; None if it is not known, because only a remote chain has it and it was not needed.
    pub before: Option<U256>,
    /// The value after.
    pub after: U256,
}

impl Changes {
    /// Collect the changes from the journal of an execution.
    pub fn of(state: &EvmState) -> Self {
        let mut changes = Self::default();
        for (address, touched) in state.iter().filter(|(_, touched)| touched.is_touched()) {
            let change = AccountChange::of(*address, touched);
            if !change.is_change() {
                continue;
            }
            changes.insert_code(&change, touched);
            changes.accounts.push(change);
        }
        changes.accounts.sort_unstable_by_key(|change| change.address);
        changes
    }

    /// Give `wei` to an account that was destroyed, which exists again thereby.
    pub fn credit_destroyed(&mut self, address: Address, wei: U256) {
        let found = self.accounts.binary_search_by_key(&address, |change| change.address);
        let index = found.unwrap_or_else(|index| {
            let storage = HashMap::default();
            let change =
                AccountChange { address, before: None, after: None, destroyed: true, storage };
            self.accounts.insert(index, change);
            index
        });
        let account = self.accounts[index].after.get_or_insert_default();
        account.balance = account.balance.saturating_add(wei);
    }

    fn insert_code(&mut self, change: &AccountChange, touched: &TouchedAccount) {
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
                let before = Some(value.original_value());
                (*slot, SlotChange { before, after: value.present_value() })
            })
            .collect();
        Self { address, before, after, destroyed: touched.is_selfdestructed(), storage }
    }

    /// Whether the account or a slot differs.
    pub fn is_change(&self) -> bool {
        self.before != self.after || !self.storage.is_empty()
    }
}
