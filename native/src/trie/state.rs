//! The state trie: accounts by the hash of their address, each with the root of its storage.

use alloy_primitives::{B256, U256, keccak256};
use alloy_rlp::Decodable;
use alloy_trie::{EMPTY_ROOT_HASH, TrieAccount};

use super::{Change, Error, Malformed, NodeSource, Nodes, Trie, Updated};
use crate::changes::{AccountChange, Changes};

impl<S: NodeSource> Trie<S> {
    /// Return the state root after `changes`, and the nodes that are new in it and in the storage of
    /// the accounts.
    pub fn update_state(&self, root: B256, changes: &Changes) -> Result<Updated, Error<S::Error>> {
        let mut nodes = Nodes::default();
        let mut accounts = Vec::with_capacity(changes.accounts.len());
        for change in &changes.accounts {
            let key = keccak256(change.address);
            let account = match change.after {
                None => None,
                Some(after) => Some(TrieAccount {
                    nonce: after.nonce,
                    balance: after.balance,
                    storage_root: self.update_storage(root, key, change, &mut nodes)?,
                    code_hash: after.code_hash,
                }),
            };
            accounts.push(Change::of_word(key, account.map(|it| alloy_rlp::encode(it).into())));
        }
        let updated = self.update(root, &accounts)?;
        for (hash, node) in updated.nodes.iter() {
            nodes.insert(hash, node);
        }
        Ok(Updated { root: updated.root, nodes })
    }

    /// Return the root of an account's storage after its change, adding what is new to `nodes`.
    fn update_storage(
        &self,
        root: B256,
        key: B256,
        change: &AccountChange,
        nodes: &mut Nodes,
    ) -> Result<B256, Error<S::Error>> {
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
            .map(|(slot, value)| Change::of_word(slot, stored(value)))
            .collect();
        let updated = self.update(before, &slots)?;
        for (hash, node) in updated.nodes.iter() {
            nodes.insert(hash, node);
        }
        Ok(updated.root)
    }

    /// Return the root of the storage of the account under `key`, the hash of its address.
    fn storage_root(&self, root: B256, key: B256) -> Result<B256, Error<S::Error>> {
        match self.get(root, key.as_slice())? {
            None => Ok(EMPTY_ROOT_HASH),
            Some(account) => TrieAccount::decode(&mut &account[..])
                .map(|account| account.storage_root)
                .map_err(|_| Error::Embedded(Malformed("not an account"))),
        }
    }
}

/// Return what a slot's leaf holds; a zero has no leaf.
fn stored(value: U256) -> Option<alloy_primitives::Bytes> {
    (!value.is_zero()).then(|| alloy_rlp::encode(value).into())
}
