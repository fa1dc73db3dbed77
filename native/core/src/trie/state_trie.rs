//! The state trie: accounts by the hash of their address, each with its storage root.

use alloy_primitives::{Address, B256, U256, keccak256};
use alloy_trie::{EMPTY_ROOT_HASH, TrieAccount};

use super::update::update;
use super::{Change, Error, Malformed, NodeProvider, Nodes, Trie, Updated};
use crate::state::changes::{AccountChange, Changes};

/// An account, if there is one, and slots of it, with the nodes that prove them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountProof {
    /// The account.
    pub account: Option<TrieAccount>,
    /// The nodes of the state trie, the root first.
    pub nodes: Vec<Vec<u8>>,
    /// The slots, as they were asked for.
    pub slots: Vec<SlotProof>,
}

/// The value of a slot, with the nodes that prove it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotProof {
    /// The value, zero without a leaf.
    pub value: U256,
    /// The nodes of the account's storage trie, the root first.
    pub nodes: Vec<Vec<u8>>,
}

impl<P: NodeProvider> Trie<P> {
    /// Return an account under the state root `root`.
    pub fn account(
        &self,
        root: B256,
        address: Address,
    ) -> Result<Option<TrieAccount>, Error<P::Error>> {
        self.account_at(root, keccak256(address))
    }

    /// Return up to `count` accounts under the state root `root`, by the hashes of their addresses from `start` on.
    pub fn accounts(
        &self,
        root: B256,
        start: &[u8],
        count: usize,
    ) -> Result<Vec<(B256, TrieAccount)>, Error<P::Error>> {
        let leaves = self.leaves(root, start, count)?.into_iter();
        Ok(leaves
            .map(|(key, leaf)| Ok((hash_of(&key)?, decode_account(&leaf)?)))
            .collect::<Result<_, Malformed>>()?)
    }

    /// Return up to `count` slots under the storage root `root`, by their hashes from `start` on.
    pub fn slots(
        &self,
        root: B256,
        start: &[u8],
        count: usize,
    ) -> Result<Vec<(B256, U256)>, Error<P::Error>> {
        let leaves = self.leaves(root, start, count)?.into_iter();
        Ok(leaves
            .map(|(key, leaf)| Ok((hash_of(&key)?, decode_slot(&leaf)?)))
            .collect::<Result<_, Malformed>>()?)
    }

    /// Return an account under the state root `root`, and some of its slots, with proofs that they are there or not.
    pub fn prove_account(
        &self,
        root: B256,
        address: Address,
        slots: &[B256],
    ) -> Result<AccountProof, Error<P::Error>> {
        let (leaf, nodes) = self.proven(root, keccak256(address).as_slice())?;
        let account = leaf.map(|leaf| decode_account(&leaf)).transpose()?;
        let storage_root = account.map_or(EMPTY_ROOT_HASH, |account| account.storage_root);
        let prove = |slot: &B256| {
            let (leaf, nodes) = self.proven(storage_root, keccak256(slot).as_slice())?;
            let value = leaf.map(|leaf| decode_slot(&leaf)).transpose()?.unwrap_or_default();
            Ok(SlotProof { value, nodes })
        };
        let slots = slots.iter().map(prove).collect::<Result<_, Error<P::Error>>>()?;
        Ok(AccountProof { account, nodes, slots })
    }

    /// Return the state root after `changes`, and the new nodes of the state trie and the storage tries.
    pub fn update_state(&self, root: B256, changes: &Changes) -> Result<Updated, Error<P::Error>> {
        let updated = self.updated_state(root, changes, true)?;
        self.cache_nodes(&updated.nodes);
        Ok(updated)
    }

    /// Return the state root after `changes` that nobody makes.
    pub fn state_root_after(&self, root: B256, changes: &Changes) -> Result<B256, Error<P::Error>> {
        self.updated_state(root, changes, false).map(|updated| updated.root)
    }

    fn updated_state(
        &self,
        root: B256,
        changes: &Changes,
        is_stored: bool,
    ) -> Result<Updated, Error<P::Error>> {
        let mut nodes = Nodes::default();
        let mut accounts = Vec::with_capacity(changes.accounts.len());
        for change in &changes.accounts {
            let key = keccak256(change.address);
            let account = match change.after {
                None => None,
                Some(after) => Some(TrieAccount {
                    nonce: after.nonce,
                    balance: after.balance,
                    storage_root: self.update_storage(root, key, change, is_stored, &mut nodes)?,
                    code_hash: after.code_hash,
                }),
            };
            accounts.push(Change::of_word(key, account.map(|it| alloy_rlp::encode(it).into())));
        }
        let updated = update(self, root, &accounts, is_stored)?;
        for (hash, node) in updated.nodes.iter() {
            nodes.insert(hash, node);
        }
        Ok(Updated { root: updated.root, nodes })
    }

    /// Return the storage root of an account after its change, and add the new nodes to `nodes`.
    fn update_storage(
        &self,
        root: B256,
        key: B256,
        change: &AccountChange,
        is_stored: bool,
        nodes: &mut Nodes,
    ) -> Result<B256, Error<P::Error>> {
        let before = match change.destroyed || change.before.is_none() {
            true => EMPTY_ROOT_HASH,
            false => self.storage_root(root, key)?,
        };
        if change.storage.is_empty() {
            return Ok(before);
        }
        let slots: Vec<_> = change
            .storage
            .iter()
            .map(|(slot, values)| (keccak256(slot.to_be_bytes::<32>()), values.after))
            .map(|(slot, value)| Change::of_word(slot, leaf_value(value)))
            .collect();
        let updated = update(self, before, &slots, is_stored)?;
        for (hash, node) in updated.nodes.iter() {
            nodes.insert(hash, node);
        }
        Ok(updated.root)
    }

    /// Return the storage root of the account under `key`, the hash of its address.
    fn storage_root(&self, root: B256, key: B256) -> Result<B256, Error<P::Error>> {
        let account = self.account_at(root, key)?;
        Ok(account.map_or(EMPTY_ROOT_HASH, |account| account.storage_root))
    }

    fn account_at(&self, root: B256, key: B256) -> Result<Option<TrieAccount>, Error<P::Error>> {
        let leaf = self.get(root, key.as_slice())?;
        Ok(leaf.map(|leaf| decode_account(&leaf)).transpose()?)
    }
}

fn decode_account(leaf: &[u8]) -> Result<TrieAccount, Malformed> {
    alloy_rlp::decode_exact(leaf).map_err(|_| Malformed("not an account"))
}

fn decode_slot(leaf: &[u8]) -> Result<U256, Malformed> {
    alloy_rlp::decode_exact(leaf).map_err(|_| Malformed("not a slot"))
}

fn hash_of(key: &[u8]) -> Result<B256, Malformed> {
    B256::try_from(key).map_err(|_| Malformed("a key that is not a hash"))
}

/// Return the value of a slot's leaf; a zero has no leaf.
fn leaf_value(value: U256) -> Option<alloy_primitives::Bytes> {
    (!value.is_zero()).then(|| alloy_rlp::encode(value).into())
}
