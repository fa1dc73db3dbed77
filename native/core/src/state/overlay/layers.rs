//! Layers of an overlay, so that a large one that others share is not copied when it is changed.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::Overlay;

/// How many accounts and slots are copied at most when a shared overlay is changed.
const MAX_COPIED: usize = 256;
/// How many layers an overlay may have before all of them are copied into one.
const MAX_LAYERS: usize = 64;

impl Overlay {
    /// Return `shared` to be changed: itself if nobody else has it, otherwise a fork of it.
    pub fn make_mut(shared: &mut Arc<Self>) -> &mut Self {
        if Arc::get_mut(shared).is_none() {
            *shared = Arc::new(Self::fork(shared));
        }
        Arc::make_mut(shared)
    }

    /// Return an overlay with the same changes, to be changed independently: a copy, or a layer above a large one.
    pub fn fork(shared: &Arc<Self>) -> Self {
        if !shared.is_large() {
            return shared.as_ref().clone();
        }
        if shared.depth == MAX_LAYERS {
            return shared.flattened();
        }
        let above = Self::new(Arc::clone(&shared.base));
        Self { below: Some(Arc::clone(shared)), depth: shared.depth + 1, ..above }
    }

    fn is_large(&self) -> bool {
        let mut size = self.accounts.len();
        for account in self.accounts.values() {
            if size > MAX_COPIED {
                break;
            }
            size += account.storage.len();
        }
        size > MAX_COPIED
    }

    /// Return the same changes in one layer.
    pub(super) fn flattened(&self) -> Self {
        let Some(below) = &self.below else { return self.clone() };
        let mut flat = below.flattened();
        for (address, above) in &self.accounts {
            match flat.accounts.entry(*address) {
                Entry::Occupied(entry) => entry.into_mut().extend(above),
                Entry::Vacant(entry) => {
                    entry.insert(above.clone());
                }
            }
        }
        flat.codes.extend(self.codes.iter().map(|(hash, code)| (*hash, code.clone())));
        flat
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{Account, State};
    use crate::testing::{CONTRACT, World};
    use alloy_primitives::{Address, U256};

    fn overlay() -> Overlay {
        let mut world = World::with_contract(&[0]);
        world.slots.insert((CONTRACT, U256::ONE), U256::from(11));
        Overlay::new(world.snapshot().1)
    }

    /// Return an overlay with many accounts, which a second owner shares, and the second owner.
    fn shared() -> (Arc<Overlay>, Arc<Overlay>) {
        let mut overlay = overlay();
        for index in 0..=u64::try_from(MAX_COPIED).unwrap() {
            let address = Address::left_padding_from(&(index + 1_000).to_be_bytes());
            let account = Account { nonce: index + 1, ..Default::default() };
            overlay.set_account(address, Some(account)).unwrap();
        }
        overlay.set_slot(CONTRACT, U256::ONE, U256::from(12)).unwrap();
        overlay.set_slot(CONTRACT, U256::from(2), U256::from(22)).unwrap();
        let overlay = Arc::new(overlay);
        (Arc::clone(&overlay), overlay)
    }

    #[test]
    fn a_large_overlay_that_others_share_is_not_copied() {
        let (mut overlay, other) = shared();
        Overlay::make_mut(&mut overlay).set_slot(CONTRACT, U256::ONE, U256::from(13)).unwrap();
        assert!(Arc::ptr_eq(overlay.below.as_ref().unwrap(), &other));
        assert_eq!(overlay.accounts.len(), 1);
        assert_eq!(overlay.slot(CONTRACT, U256::ONE).unwrap(), U256::from(13));
        assert_eq!(overlay.slot(CONTRACT, U256::from(2)).unwrap(), U256::from(22));
        assert_eq!(other.slot(CONTRACT, U256::ONE).unwrap(), U256::from(12));
        let count = other.changes().unwrap().accounts.len();
        assert_eq!(overlay.changes().unwrap().accounts.len(), count);
    }

    #[test]
    fn a_layer_hides_what_it_clears_and_removes() {
        let (mut overlay, _other) = shared();
        Overlay::make_mut(&mut overlay)
            .replace_storage(CONTRACT, [(U256::from(3), U256::from(33))])
            .unwrap();
        assert_eq!(overlay.slot(CONTRACT, U256::from(2)).unwrap(), U256::ZERO);
        assert_eq!(overlay.slot(CONTRACT, U256::from(3)).unwrap(), U256::from(33));
        let address = Address::left_padding_from(&1_000_u64.to_be_bytes());
        Overlay::make_mut(&mut overlay).set_account(address, None).unwrap();
        assert_eq!(overlay.account(address).unwrap(), None);
        // It was not in the base either.
        let changes = overlay.changes().unwrap();
        assert!(changes.accounts.iter().all(|it| it.address != address));
    }

    #[test]
    fn layers_without_end_are_copied_into_one_again() {
        let (mut overlay, mut other) = shared();
        for value in 0..u64::try_from((MAX_LAYERS + 2) * (MAX_COPIED + 1)).unwrap() {
            let address = Address::left_padding_from(&(value + 100_000).to_be_bytes());
            let account = Account { nonce: value + 1, ..Default::default() };
            Overlay::make_mut(&mut overlay).set_account(address, Some(account)).unwrap();
            assert!(overlay.depth <= MAX_LAYERS);
            other = Arc::clone(&overlay);
        }
        let last = u64::try_from((MAX_LAYERS + 2) * (MAX_COPIED + 1)).unwrap();
        let address = Address::left_padding_from(&(last + 99_999).to_be_bytes());
        assert_eq!(other.account(address).unwrap().unwrap().nonce, last);
        assert_eq!(other.slot(CONTRACT, U256::from(2)).unwrap(), U256::from(22));
    }
}
