//! Keys of the values of a remote block.

use std::fmt;

use alloy_primitives::{Address, B256, U256};

/// What is asked of a remote chain at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// Nonce, balance and code of an account.
    Account(Address),
    /// A storage slot.
    Slot(Address, U256),
    /// The hash of a block.
    Hash(u64),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(address) => write!(f, "account {address:#x}"),
            Self::Slot(address, slot) => {
                write!(f, "slot {:#x} of account {address:#x}", B256::from(*slot))
            }
            Self::Hash(number) => write!(f, "hash of block {number}"),
        }
    }
}

impl Key {
    /// An order of keys, in which the slots of an account are neighbours.
    pub(super) fn order(&self) -> (Address, u8, U256) {
        match self {
            Self::Account(address) => (*address, 0, U256::ZERO),
            Self::Slot(address, slot) => (*address, 1, *slot),
            Self::Hash(number) => (Address::ZERO, 2, U256::from(*number)),
        }
    }
}
