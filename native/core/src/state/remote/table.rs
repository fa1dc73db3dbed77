//! Values of one block of a remote chain, and the keys that somebody wants to know.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use alloy_primitives::{Address, B256, Bytes, U256};
use parking_lot::Mutex;

use super::asks::{Asks, Settled};
use super::bounds::{Bounds, Silence, WaitLimits};
use super::key::Key;
use super::mode;
use super::values::{Value, Values};
use super::waiter::{OnKnown, WaitEnd, Waiter};
use crate::state::{Account, ProviderError};

/// What a table calls, never with a lock of its own.
pub struct Hooks {
    /// Called when keys are wanted; not again until some were taken.
    pub wake: Box<dyn Fn() + Send + Sync>,
    /// Called before a thread waits, which may hold a lock of its own.
    pub before_wait: fn(),
    /// What whoever has the table knows it by.
    pub owner: Arc<dyn Any + Send + Sync>,
}

/// Values of one block of a remote chain, in memory.
///
/// Remembers: values up to a number, and what is asked for. A failure is told to those who wait, and not remembered: the
/// next read asks again. Assumes that the values of a block never change. Any thread.
pub struct RemoteTable {
    content: Mutex<Content>,
    waiting: AtomicUsize,
    limits: WaitLimits,
    silence: Arc<Silence>,
    hooks: Hooks,
}

struct Content {
    values: Values,
    asks: Asks,
}

impl RemoteTable {
    /// Return an empty table of a chain whose tables share `silence`.
    pub fn new(
        max_entries: usize,
        limits: WaitLimits,
        silence: Arc<Silence>,
        hooks: Hooks,
    ) -> Self {
        let content = Content { values: Values::new(max_entries), asks: Asks::default() };
        let (content, waiting) = (Mutex::new(content), AtomicUsize::new(0));
        Self { content, waiting, limits, silence, hooks }
    }

    /// Return how long work waits for the chain.
    pub fn limits(&self) -> WaitLimits {
        self.limits
    }

    /// Return what the tables of the chain share.
    pub fn silence(&self) -> Arc<Silence> {
        Arc::clone(&self.silence)
    }

    /// Note that the chain has delivered values.
    pub fn delivered(&self) {
        self.silence.broken();
    }

    /// Return what whoever has the table knows it by.
    pub fn owner(&self) -> &(dyn Any + Send + Sync) {
        self.hooks.owner.as_ref()
    }

    /// Return an account: None if it is not known, and otherwise the account if there is one.
    pub fn account(&self, address: Address) -> Option<Option<Account>> {
        match self.content.lock().values.get(&Key::Account(address))? {
            Value::Account(account) => Some(account.map(|account| *account)),
            Value::Word(_) | Value::Hash(_) => None,
        }
    }

    /// Return the value of a slot if it is known.
    pub fn slot(&self, address: Address, slot: U256) -> Option<U256> {
        match self.content.lock().values.get(&Key::Slot(address, slot))? {
            Value::Word(value) => Some(value),
            Value::Account(_) | Value::Hash(_) => None,
        }
    }

    /// Return the hash of a block if it is known.
    pub fn hash(&self, number: u64) -> Option<B256> {
        match self.content.lock().values.get(&Key::Hash(number))? {
            Value::Hash(hash) => Some(hash),
            Value::Account(_) | Value::Word(_) => None,
        }
    }

    /// Return a code; the key that brings it if it was forgotten, or None if no account that was put ever had it.
    pub fn code(&self, hash: B256) -> Option<Result<Bytes, Key>> {
        let code = self.content.lock().values.code(&hash)?;
        Some(code.map_err(Key::Account))
    }

    /// Whether the value of a key is known.
    pub fn is_known(&self, key: &Key) -> bool {
        self.content.lock().values.has(key)
    }

    /// How many values there are.
    pub fn entries(&self) -> usize {
        self.content.lock().values.len()
    }

    /// How many keys were ever asked.
    pub fn asked(&self) -> u64 {
        self.content.lock().asks.asked
    }

    /// How many threads wait at the moment.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Take keys that somebody wants to know.
    pub fn take_wanted(&self, limit: usize) -> Vec<Key> {
        self.content.lock().asks.take(limit)
    }

    /// Put accounts with their code, each of which has its account's hash.
    pub fn put_accounts(&self, accounts: impl IntoIterator<Item = (Address, Account, Bytes)>) {
        self.settle(accounts, |content, (address, account, code), settled| {
            content.values.insert_account(address, account, code);
            content.asks.settle(Key::Account(address), None, settled);
        });
    }

    /// Put values of slots.
    pub fn put_slots(&self, slots: impl IntoIterator<Item = (Address, U256, U256)>) {
        self.settle(slots, |content, (address, slot, value), settled| {
            let key = Key::Slot(address, slot);
            content.values.insert(key, Value::Word(value));
            content.asks.settle(key, None, settled);
        });
    }

    /// Put hashes of blocks.
    pub fn put_hashes(&self, hashes: impl IntoIterator<Item = (u64, B256)>) {
        self.settle(hashes, |content, (number, hash), settled| {
            let key = Key::Hash(number);
            content.values.insert(key, Value::Hash(hash));
            content.asks.settle(key, None, settled);
        });
    }

    /// Tell those who wait for keys that they cannot be known.
    pub fn fail(&self, keys: impl IntoIterator<Item = Key>, error: &ProviderError) {
        self.settle(keys, |content, key, settled| content.asks.settle(key, Some(error), settled));
    }

    /// Return why one of the keys failed when it was last wanted.
    pub fn failure(&self, keys: &[Key]) -> Option<ProviderError> {
        let content = self.content.lock();
        keys.iter().find_map(|key| content.asks.failure(key).cloned())
    }

    /// Ask for keys without waiting; `on_known` is called once all are known or failed, perhaps before this returns.
    pub fn want(&self, keys: &[Key], on_known: Option<OnKnown>) {
        self.ask(keys, on_known);
    }

    /// Ask for keys and wait; return which failed. None of them may arrive for as long as `patience`.
    pub fn fetch(self: &Arc<Self>, keys: &[Key], patience: Duration) -> Vec<(Key, ProviderError)> {
        let start = Instant::now();
        let bounds = Bounds::new(&self.limits, patience, &self.silence);
        let waiter = self.ask(keys, None);
        (self.hooks.before_wait)();
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let end = waiter.wait(bounds);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        mode::end_wait(start.elapsed(), matches!(end, WaitEnd::Total | WaitEnd::Cancelled));
        let error = match end {
            WaitEnd::Known => return waiter.take_failed(),
            WaitEnd::Cancelled => ProviderError(Arc::new(WaitCancelled)),
            WaitEnd::Silence => self.timed_out(keys, bounds.silence, false),
            WaitEnd::Total => self.timed_out(keys, self.limits.total, true),
        };
        let late = self.content.lock().asks.leave(&waiter, keys);
        let mut failed = waiter.take_failed();
        failed.extend(late.into_iter().map(|key| (key, error.clone())));
        failed
    }

    fn timed_out(self: &Arc<Self>, keys: &[Key], time: Duration, is_total: bool) -> ProviderError {
        let key = keys.iter().find(|key| !self.is_known(key)).or(keys.first()).copied();
        let table = Arc::clone(self);
        ProviderError(Arc::new(TimedOut { table, key, others: keys.len() - 1, time, is_total }))
    }

    fn ask(&self, keys: &[Key], on_known: Option<OnKnown>) -> Arc<Waiter> {
        let mut forgotten = Vec::new();
        let mut content = self.content.lock();
        let mut unknown: Vec<Key> =
            keys.iter().filter(|key| !content.values.has(key)).copied().collect();
        unknown.sort_unstable_by_key(Key::order);
        unknown.dedup();
        let (now, later) = if unknown.is_empty() { (on_known, None) } else { (None, on_known) };
        let waiter = Arc::new(Waiter::new(unknown.len(), later));
        if !unknown.is_empty() {
            self.silence.asked();
        }
        for key in unknown {
            forgotten.extend(content.asks.ask(key, &waiter));
        }
        let needs_wake = content.asks.needs_wake();
        drop(content);
        if needs_wake {
            (self.hooks.wake)();
        }
        if let Some(on_known) = now {
            on_known();
        }
        waiter
    }

    fn settle<T>(
        &self,
        items: impl IntoIterator<Item = T>,
        mut put: impl FnMut(&mut Content, T, &mut Settled),
    ) {
        let mut settled = Settled::default();
        let mut content = self.content.lock();
        for item in items {
            put(&mut content, item, &mut settled);
        }
        drop(content);
        settled.calls.into_iter().for_each(|on_known| on_known());
    }
}

impl fmt::Debug for RemoteTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RemoteTable")
    }
}

/// A read that missed a key, on a thread that does not wait for it.
#[derive(Clone, Debug)]
pub struct Missing {
    /// The table that does not know it.
    pub table: Arc<RemoteTable>,
    /// The key.
    pub key: Key,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the remote chain was not asked for {} yet", self.key)
    }
}

impl Error for Missing {}

/// Keys that did not arrive in time.
#[derive(Clone, Debug)]
pub struct TimedOut {
    /// The table that waited for them.
    pub table: Arc<RemoteTable>,
    /// The first of them.
    pub key: Option<Key>,
    /// How many others there are.
    pub others: usize,
    /// How long none arrived, or how long the work has waited.
    pub time: Duration,
    /// Whether the work has waited for too long in all, for one value after the other.
    pub is_total: bool,
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.time.as_secs_f64();
        write!(f, "the remote chain did not respond within {seconds} s")
    }
}

impl Error for TimedOut {}

/// A wait that nobody needs any more.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("nobody needs the value any more")]
pub struct WaitCancelled;
