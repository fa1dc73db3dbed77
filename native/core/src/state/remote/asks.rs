//! Keys that are asked of a remote chain, and who waits for them.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use alloy_primitives::map::HashMap;

use super::key::Key;
use super::waiter::{OnKnown, Waiter};
use crate::state::ProviderError;

/// Failures that are kept for whoever was called back.
const MAX_FAILURES: usize = 10_000;

/// What is to be done without the lock of a table once keys are known or failed.
#[derive(Default)]
pub(super) struct Settled {
    /// To be called.
    pub(super) calls: Vec<OnKnown>,
    /// To be dropped: an error may be an object of an interpreter, which runs code when it goes.
    pub(super) forgotten: Vec<ProviderError>,
}

/// Keys that were wanted and are not known yet.
#[derive(Default)]
pub(super) struct Asks {
    /// Keys that nobody has taken yet; one that is not pending any more is skipped.
    queue: VecDeque<Key>,
    pending: HashMap<Key, Vec<Arc<Waiter>>>,
    failures: HashMap<Key, ProviderError>,
    is_woken: bool,
    /// Keys ever asked.
    pub(super) asked: u64,
}

impl Asks {
    /// Ask for a key, unless it is asked already; return the failure of the last time, which is forgotten.
    pub(super) fn ask(&mut self, key: Key, waiter: &Arc<Waiter>) -> Option<ProviderError> {
        let failure = self.failures.remove(&key);
        let waiters = match self.pending.entry(key) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                self.queue.push_back(key);
                self.asked += 1;
                entry.insert(Vec::new())
            }
        };
        waiters.push(Arc::clone(waiter));
        failure
    }

    /// Return whether whoever takes keys is to be woken; it is then said not to be once more.
    pub(super) fn needs_wake(&mut self) -> bool {
        !self.queue.is_empty() && !std::mem::replace(&mut self.is_woken, true)
    }

    /// Take keys that were asked for.
    pub(super) fn take(&mut self, limit: usize) -> Vec<Key> {
        self.is_woken = false;
        let mut taken = Vec::new();
        while taken.len() < limit {
            let Some(key) = self.queue.pop_front() else { break };
            if self.pending.contains_key(&key) {
                taken.push(key);
            }
        }
        taken
    }

    /// Let those go on who wait for a key.
    pub(super) fn settle(
        &mut self,
        key: Key,
        failure: Option<&ProviderError>,
        settled: &mut Settled,
    ) {
        if failure.is_some() && self.failures.len() >= MAX_FAILURES {
            settled.forgotten.extend(self.failures.drain().map(|(_, error)| error));
        }
        settled.forgotten.extend(match failure {
            Some(error) => self.failures.insert(key, error.clone()),
            None => self.failures.remove(&key),
        });
        for waiter in self.pending.remove(&key).unwrap_or_default() {
            settled.calls.extend(waiter.settle(key, failure));
        }
    }

    /// Return why a key failed when it was last asked for.
    pub(super) fn failure(&self, key: &Key) -> Option<&ProviderError> {
        self.failures.get(key)
    }

    /// Let `waiter` not wait any more; return the keys that it still waited for. What nobody waits for is asked again.
    pub(super) fn leave(&mut self, waiter: &Arc<Waiter>, keys: &[Key]) -> Vec<Key> {
        let mut left = Vec::new();
        for key in keys {
            let Some(waiters) = self.pending.get_mut(key) else { continue };
            let before = waiters.len();
            waiters.retain(|other| !Arc::ptr_eq(other, waiter));
            if waiters.len() < before {
                left.push(*key);
            }
            if waiters.is_empty() {
                self.pending.remove(key);
            }
        }
        self.queue.retain(|key| self.pending.contains_key(key));
        left
    }
}
