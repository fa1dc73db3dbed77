//! The state trie: accounts by the hash of their address, each with its storage root.

use alloy_primitives::{B256, U256, keccak256};
use alloy_rlp::Decodable;
use alloy_trie::{EMPTY_ROOT_HASH, TrieAccount};

use super::update::update;
use super::{Change, Error, Malformed, NodeProvider, Nodes, Trie, Updated};
use crate::state::changes::{AccountChange, Changes};

impl<P: NodeProvider> Trie<P> {
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
        match self.get(root, key.as_slice())? {
            None => Ok(EMPTY_ROOT_HASH),
            Some(account) => TrieAccount::decode(&mut &account[..])
                .map(|account| account.storage_root)
                .map_err(|_| Error::Embedded(Malformed("not an account"))),
        }
    }
}

/// Return the value of a slot's leaf; a zero has no leaf.
fn leaf_value(value: U256) -> Option<alloy_primitives::Bytes> {
    (!value.is_zero()).then(|| alloy_rlp::encode(value).into())
}
