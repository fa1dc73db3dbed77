//! Values of a remote block in memory, of bounded number and size.

use alloy_primitives::map::{B256Map, HashMap};
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256};

use super::key::Key;
use crate::state::Account;

/// Bytes of code at which code is forgotten; the accounts that have it are asked for again.
const CODE_BYTES: usize = 128 << 20;

/// The value of a key.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// An account, if there is one; boxed, since most values are words.
    Account(Option<Box<Account>>),
    /// The value of a slot.
    Word(U256),
    /// The hash of a block.
    Hash(B256),
}

/// Values by key.
///
/// There are two generations. When the younger is full it becomes the older one, whose values are forgotten; a value that
/// is read moves to the younger. So a value stays for at least half of the entries after it was put or read.
pub(super) struct Values {
    young: HashMap<Key, Value>,
    old: HashMap<Key, Value>,
    max_generation: usize,
    codes: Codes,
}

impl Values {
    /// Hold at most `max_entries` values.
    pub(super) fn new(max_entries: usize) -> Self {
        let max_generation = (max_entries / 2).max(1);
        let (young, old) = (HashMap::default(), HashMap::default());
        Self { young, old, max_generation, codes: Codes::default() }
    }

    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// Whether there is a value.
    pub(super) fn has(&self, key: &Key) -> bool {
        self.young.contains_key(key) || self.old.contains_key(key)
    }

    /// Return a value, which stays for longer thereby.
    pub(super) fn get(&mut self, key: &Key) -> Option<Value> {
        if let Some(value) = self.young.get(key) {
            return Some(value.clone());
        }
        let value = self.old.remove(key)?;
        self.insert(*key, value.clone());
        Some(value)
    }

    /// Put a value.
    pub(super) fn insert(&mut self, key: Key, value: Value) {
        self.old.remove(&key);
        if self.young.len() >= self.max_generation && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }

    /// Put an account with its code, whose Keccak-256 is `account.code_hash`.
    pub(super) fn insert_account(&mut self, address: Address, account: Account, code: Bytes) {
        if account.code_hash != KECCAK256_EMPTY {
            self.codes.insert(account.code_hash, code, address, 2 * self.max_generation);
        }
        let account = Some(account).filter(|account| !account.is_empty()).map(Box::new);
        self.insert(Key::Account(address), Value::Account(account));
    }

    /// Return a code, or the account that has it and is to be asked for again, or None if nobody ever had it.
    pub(super) fn code(&mut self, hash: &B256) -> Option<Result<Bytes, Address>> {
        let code = self.codes.by_hash.get(hash)?;
        if let Some(bytes) = &code.bytes {
            return Some(Ok(bytes.clone()));
        }
        let key = Key::Account(code.address);
        self.young.remove(&key);
        self.old.remove(&key);
        Some(Err(code.address))
    }
}

/// Code by hash, and who has it.
#[derive(Default)]
struct Codes {
    by_hash: B256Map<Code>,
    bytes: usize,
}

struct Code {
    /// None once it was forgotten.
    bytes: Option<Bytes>,
    address: Address,
}

impl Codes {
    fn insert(&mut self, hash: B256, bytes: Bytes, address: Address, max_codes: usize) {
        if self.by_hash.get(&hash).is_some_and(|code| code.bytes.is_some()) {
            return;
        }
        if self.bytes + bytes.len() > CODE_BYTES {
            self.by_hash.values_mut().for_each(|code| code.bytes = None);
            self.bytes = 0;
        }
        if self.by_hash.len() >= max_codes.max(1_024) {
            self.by_hash.clear();
            self.bytes = 0;
        }
        self.bytes += bytes.len();
        self.by_hash.insert(hash, Code { bytes: Some(bytes), address });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(index: u64) -> Key {
        Key::Slot(Address::ZERO, U256::from(index))
    }

    #[test]
    fn values_stay_within_their_bound() {
        let mut values = Values::new(1_000);
        for index in 0..100_000 {
            values.insert(slot(index), Value::Word(U256::from(index)));
            assert!(values.len() <= 1_000);
        }
        assert!((99_500..100_000).all(|index| values.has(&slot(index))));
        assert!(!values.has(&slot(98_000)));
    }

    #[test]
    fn a_value_that_is_read_stays() {
        let mut values = Values::new(10);
        values.insert(slot(0), Value::Word(U256::ONE));
        for index in 1..1_000 {
            assert!(values.get(&slot(0)).is_some());
            values.insert(slot(index), Value::Word(U256::ONE));
            assert!(values.len() <= 10);
        }
    }

    #[test]
    fn code_that_was_forgotten_is_asked_for_with_its_account() {
        let mut values = Values::new(1_000);
        let first = Address::repeat_byte(1);
        let size = CODE_BYTES / 2 + 1;
        for byte in 1..=2 {
            let hash = B256::repeat_byte(byte);
            let account = Account { nonce: 1, balance: U256::ZERO, code_hash: hash };
            values.insert_account(Address::repeat_byte(byte), account, vec![byte; size].into());
        }
        assert_eq!(values.code(&B256::repeat_byte(1)), Some(Err(first)));
        assert!(!values.has(&Key::Account(first)));
        assert_eq!(values.code(&B256::repeat_byte(2)).unwrap().unwrap().len(), size);
        assert_eq!(values.code(&B256::repeat_byte(3)), None);
    }
}
