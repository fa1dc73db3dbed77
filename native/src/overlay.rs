//! A block under construction, or a what-if question: changes laid over a snapshot.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use alloy_primitives::map::{AddressMap, B256Map, HashMap};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use revm::bytecode::Bytecode;

use crate::changes::{AccountChange, Changes, SlotChange};
use crate::snapshot::{Snapshot, analyse};
use crate::state::{Account, Source, SourceError, State};

/// Changes laid over a snapshot, which stays as it is.
#[derive(Clone)]
pub struct Overlay {
    base: Arc<Snapshot>,
    accounts: AddressMap<OverlaidAccount>,
    codes: B256Map<Bytecode>,
}

#[derive(Clone)]
struct OverlaidAccount {
    before: Option<Account>,
    after: Option<Account>,
    /// Slots of the base no longer count: the account was destroyed, or its storage replaced.
    cleared: bool,
    storage: HashMap<U256, U256>,
}

impl Overlay {
    /// Start with the state of `base`.
    pub fn new(base: Arc<Snapshot>) -> Self {
        Self { base, accounts: AddressMap::default(), codes: B256Map::default() }
    }

    /// Lay the changes of an execution on top.
    pub fn apply(&mut self, changes: &Changes) -> Result<(), SourceError> {
        for change in &changes.accounts {
            // The base is asked before anything is changed, so that a failure changes nothing.
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

    /// Replace the account at `address`, keeping its storage; nothing removes it and its storage.
    pub fn set_account(
        &mut self,
        address: Address,
        account: Option<Account>,
    ) -> Result<(), SourceError> {
        let overlaid = self.touch(address)?;
        overlaid.after = account;
        if account.is_none() {
            overlaid.clear_storage();
        }
        Ok(())
    }

    /// Give the account at `address` this code, and return the code's hash.
    pub fn set_code(&mut self, address: Address, code: Bytes) -> Result<B256, SourceError> {
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
    ) -> Result<(), SourceError> {
        self.touch(address)?.storage.insert(slot, value);
        Ok(())
    }

    /// Replace all storage of the account at `address`.
    pub fn replace_storage(
        &mut self,
        address: Address,
        storage: impl IntoIterator<Item = (U256, U256)>,
    ) -> Result<(), SourceError> {
        let overlaid = self.touch(address)?;
        overlaid.clear_storage();
        overlaid.storage.extend(storage);
        Ok(())
    }

    /// Return what differs from the snapshot below.
    pub fn changes(&self) -> Result<Changes, SourceError> {
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

    /// Return the snapshot that follows, now that `source` knows the changes.
    pub fn seal(&self, source: Arc<dyn Source>) -> Result<Snapshot, SourceError> {
        Ok(self.base.advance(&self.changes()?, source))
    }

    fn touch(&mut self, address: Address) -> Result<&mut OverlaidAccount, SourceError> {
        match self.accounts.entry(address) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let before = self.base.account(address)?;
                Ok(entry.insert(OverlaidAccount {
                    before,
                    after: before,
                    cleared: false,
                    storage: HashMap::default(),
                }))
            }
        }
    }

    fn changed_slots(
        &self,
        address: Address,
        overlaid: &OverlaidAccount,
    ) -> Result<HashMap<U256, SlotChange>, SourceError> {
        let mut changed = HashMap::default();
        if overlaid.after.is_none() {
            return Ok(changed);
        }
        for (slot, after) in &overlaid.storage {
            let before = match overlaid.before {
                Some(_) => self.base.slot(address, *slot)?,
                None => U256::ZERO,
            };
            // What was cleared has to be written again, even with the value it had.
            if before != *after || (overlaid.cleared && !after.is_zero()) {
                changed.insert(*slot, SlotChange { before, after: *after });
            }
        }
        Ok(changed)
    }
}

impl OverlaidAccount {
    fn clear_storage(&mut self) {
        self.cleared = true;
        self.storage.clear();
    }
}

impl State for Overlay {
    fn account(&self, address: Address) -> Result<Option<Account>, SourceError> {
        match self.accounts.get(&address) {
            Some(overlaid) => Ok(overlaid.after),
            None => self.base.account(address),
        }
    }

    fn code(&self, hash: B256) -> Result<Bytecode, SourceError> {
        match self.codes.get(&hash) {
            Some(code) => Ok(code.clone()),
            None => self.base.code(hash),
        }
    }

    fn slot(&self, address: Address, slot: U256) -> Result<U256, SourceError> {
        let Some(overlaid) = self.accounts.get(&address) else {
            return self.base.slot(address, slot);
        };
        match overlaid.storage.get(&slot) {
            Some(value) => Ok(*value),
            None if overlaid.cleared || overlaid.before.is_none() => Ok(U256::ZERO),
            None => self.base.slot(address, slot),
        }
    }

    fn block_hash(&self, number: u64) -> Result<B256, SourceError> {
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
        let same = SlotChange { before: U256::from(11), after: U256::from(11) };
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
