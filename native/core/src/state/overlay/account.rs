//! The change of one account in an overlay.

use alloy_primitives::U256;
use alloy_primitives::map::HashMap;

use crate::state::Account;

/// The change of an account.
#[derive(Clone)]
pub(super) struct OverlaidAccount {
    pub(super) before: Option<Account>,
    pub(super) after: Option<Account>,
    /// Hides the slots of the base: the account was destroyed, or its storage replaced.
    pub(super) cleared: bool,
    pub(super) storage: HashMap<U256, U256>,
}

impl OverlaidAccount {
    /// Hide the slots of the base and of the layers below.
    pub(super) fn clear_storage(&mut self) {
        self.cleared = true;
        self.storage.clear();
    }

    /// Apply the changes of the layer above.
    pub(super) fn extend(&mut self, above: &Self) {
        self.after = above.after;
        if above.cleared {
            self.clear_storage();
        }
        self.storage.extend(&above.storage);
    }
}
