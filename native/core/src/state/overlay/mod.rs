//! Uncommitted changes over a snapshot: a block being built, or state overrides.

mod account;
mod layers;

use std::collections::hash_map::Entry;
use std::sync::Arc;

use alloy_primitives::map::{AddressMap, B256Map, HashMap};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use revm::bytecode::Bytecode;

use super::changes::{AccountChange, Changes, SlotChange};
use super::snapshot::{Snapshot, analyse};
use super::{Account, ProviderError, State, StateProvider};
use account::OverlaidAccount;

/// Changes over a snapshot, which itself does not change.
///
/// A large overlay that others share stays below a new layer when it is changed, instead of being copied: a chain with
/// a million edited accounts may have many checkpoints, and one account is edited after each.
#[derive(Clone)]
pub struct Overlay {
    base: Arc<Snapshot>,
    /// Earlier changes over the same snapshot.
    below: Option<Arc<Overlay>>,
    accounts: AddressMap<OverlaidAccount>,
    codes: B256Map<Bytecode>,
    /// How many layers there are below.
    depth: usize,
}

impl Overlay {
    /// Start from the state of `base`.
    pub fn new(base: Arc<Snapshot>) -> Self {
        let (accounts, codes) = (AddressMap::default(), B256Map::default());
        Self { base, below: None, accounts, codes, depth: 0 }
    }

    /// Apply the changes of an execution.
    pub fn apply(&mut self, changes: &Changes) -> Result<(), ProviderError> {
        for change in &changes.accounts {
            // Read the base first, so that an error leaves the overlay unchanged.
            self.touch(change.address)?;
        }
        for change in &changes.accounts {
            let account = self.accounts.get_mut(&change.address).expect("touched above");
            account.after = change.after;
            if change.destroyed {
                account.clear_storage();
            }
            account.storage.extend(change.storage.iter().map(|(slot, v)| (*slot, v.after)));
        }
        self.codes.extend(changes.codes.iter().map(|(hash, code)| (*hash, code.clone())));
        Ok(())
    }

    /// Replace the account at `address` but not its storage; `None` removes both.
    pub fn set_account(
        &mut self,
        address: Address,
        account: Option<Account>,
    ) -> Result<(), ProviderError> {
        let overlaid = self.touch(address)?;
        overlaid.after = account;
        if account.is_none() {
            overlaid.clear_storage();
        }
        Ok(())
    }

    /// Set the code of the account at `address`, and return its hash.
    pub fn set_code(&mut self, address: Address, code: Bytes) -> Result<B256, ProviderError> {
        let hash = keccak256(&code);
        let overlaid = self.touch(address)?;
        overlaid.after.get_or_insert_default().code_hash = hash;
        self.codes.insert(hash, analyse(code));
        Ok(hash)
    }

    /// Write one slot.
    pub fn set_slot(
        &mut self,
        address: Address,
        slot: U256,
        value: U256,
    ) -> Result<(), ProviderError> {
        self.touch(address)?.storage.insert(slot, value);
        Ok(())
    }

    /// Replace the whole storage of the account at `address`.
    pub fn replace_storage(
        &mut self,
        address: Address,
        storage: impl IntoIterator<Item = (U256, U256)>,
    ) -> Result<(), ProviderError> {
        let overlaid = self.touch(address)?;
        overlaid.clear_storage();
        overlaid.storage.extend(storage);
        Ok(())
    }

    /// Return the changes since the base.
    pub fn changes(&self) -> Result<Changes, ProviderError> {
        if self.below.is_some() {
            return self.flattened().changes();
        }
        let mut changes = Changes { accounts: Vec::new(), codes: self.codes.clone() };
        for (address, overlaid) in &self.accounts {
            let change = AccountChange {
                address: *address,
                before: overlaid.before,
                after: overlaid.after,
                destroyed: overlaid.cleared && overlaid.before.is_some(),
                storage: self.changed_slots(*address, overlaid)?,
            };
            if change.is_change() || change.destroyed {
                changes.accounts.push(change);
            }
        }
        changes.accounts.sort_unstable_by_key(|change| change.address);
        Ok(changes)
    }

    /// Return the next snapshot; `provider` already contains the changes.
    pub fn seal(&self, provider: Arc<dyn StateProvider>) -> Result<Snapshot, ProviderError> {
        Ok(self.base.advance(&self.changes()?, provider))
    }

    fn touch(&mut self, address: Address) -> Result<&mut OverlaidAccount, ProviderError> {
        match self.accounts.entry(address) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let (before, after) = match &self.below {
                    Some(below) => (below.before(address)?, below.account(address)?),
                    None => {
                        let before = self.base.account(address)?;
                        (before, before)
                    }
                };
                let storage = HashMap::default();
                Ok(entry.insert(OverlaidAccount { before, after, cleared: false, storage }))
            }
        }
    }

    /// Return the account at `address` in the base.
    fn before(&self, address: Address) -> Result<Option<Account>, ProviderError> {
        match (self.accounts.get(&address), &self.below) {
            (Some(overlaid), _) => Ok(overlaid.before),
            (None, Some(below)) => below.before(address),
            (None, None) => self.base.account(address),
        }
    }

    fn changed_slots(
        &self,
        address: Address,
        overlaid: &OverlaidAccount,
    ) -> Result<HashMap<U256, SlotChange>, ProviderError> {
        let mut changed = HashMap::default();
        if overlaid.after.is_none() {
            return Ok(changed);
        }
        for (slot, after) in &overlaid.storage {
            let before = match overlaid.before {
                // Whether a value is known must not decide what a change is: every slot that was written is one.
                Some(_) if self.base.is_remote() => None,
                Some(_) => Some(self.base.slot(address, *slot)?),
                None => Some(U256::ZERO),
            };
            // A cleared slot is a change even if it has its previous value again.
            if before != Some(*after) || (overlaid.cleared && !after.is_zero()) {
                changed.insert(*slot, SlotChange { before, after: *after });
            }
        }
        Ok(changed)
    }
}

impl State for Overlay {
    fn account(&self, address: Address) -> Result<Option<Account>, ProviderError> {
        match self.accounts.get(&address) {
            Some(overlaid) => Ok(overlaid.after),
            None => match &self.below {
                Some(below) => below.account(address),
                None => self.base.account(address),
            },
        }
    }

    fn code(&self, hash: B256) -> Result<Bytecode, ProviderError> {
        match self.codes.get(&hash) {
            Some(code) => Ok(code.clone()),
            None => match &self.below {
                Some(below) => below.code(hash),
                None => self.base.code(hash),
            },
        }
    }

    fn slot(&self, address: Address, slot: U256) -> Result<U256, ProviderError> {
        let overlaid = self.accounts.get(&address);
        if let Some(value) = overlaid.and_then(|it| it.storage.get(&slot)) {
            return Ok(*value);
        }
        let is_hidden = overlaid.is_some_and(|it| it.cleared || it.before.is_none());
        match &self.below {
            _ if overlaid.is_some_and(|it| it.cleared) => Ok(U256::ZERO),
            Some(below) => below.slot(address, slot),
            None if is_hidden => Ok(U256::ZERO),
            None => self.base.slot(address, slot),
        }
    }

    fn block_hash(&self, number: u64) -> Result<B256, ProviderError> {
        self.base.block_hash(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ALICE, BOB, CONTRACT, World};

    fn overlay() -> Overlay {
        let mut world = World::with_contract(&[0]);
        world.slots.insert((CONTRACT, U256::ONE), U256::from(11));
        Overlay::new(world.snapshot().1)
    }

    #[test]
    fn a_value_written_back_is_no_change() {
        let mut overlay = overlay();
        overlay.set_slot(CONTRACT, U256::ONE, U256::from(12)).unwrap();
        overlay.set_slot(CONTRACT, U256::ONE, U256::from(11)).unwrap();
        assert!(overlay.changes().unwrap().accounts.is_empty());
    }

    #[test]
    fn replaced_storage_hides_what_was_there() {
        let mut overlay = overlay();
        overlay.replace_storage(CONTRACT, [(U256::from(2), U256::from(22))]).unwrap();
        assert_eq!(overlay.slot(CONTRACT, U256::ONE).unwrap(), U256::ZERO);
        assert_eq!(overlay.slot(CONTRACT, U256::from(2)).unwrap(), U256::from(22));
    }

    #[test]
    fn replaced_storage_is_reported_whole() {
        let mut overlay = overlay();
        overlay.replace_storage(CONTRACT, [(U256::ONE, U256::from(11))]).unwrap();
        let change = overlay.changes().unwrap().accounts.remove(0);
        assert!(change.destroyed);
        let same = SlotChange { before: Some(U256::from(11)), after: U256::from(11) };
        assert_eq!(change.storage[&U256::ONE], same);
    }

    #[test]
    fn removing_an_account_removes_its_storage() {
        let mut overlay = overlay();
        overlay.set_account(CONTRACT, None).unwrap();
        assert_eq!(overlay.slot(CONTRACT, U256::ONE).unwrap(), U256::ZERO);
        let change = overlay.changes().unwrap().accounts.remove(0);
        assert!(change.destroyed && change.after.is_none() && change.storage.is_empty());
    }

    #[test]
    fn changes_come_in_the_order_of_addresses() {
        let mut overlay = overlay();
        for address in [CONTRACT, BOB, ALICE] {
            overlay.set_account(address, Some(Account { nonce: 9, ..Default::default() })).unwrap();
        }
        let changes = overlay.changes().unwrap();
        let order: Vec<_> = changes.accounts.iter().map(|change| change.address).collect();
        assert_eq!(order, [ALICE, BOB, CONTRACT]);
    }
}
