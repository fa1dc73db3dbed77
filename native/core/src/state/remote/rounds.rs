//! Executions in rounds, so that many values of a remote block are asked for at once.
//!
//! In a round a value that is not known reads as a placeholder and is noted. A round that noted something is thrown away,
//! whatever came of it: all that it noted is fetched at once, and it runs again. Only a round without placeholders has a
//! result. Where each value leads to the next one rounds do not help: then the execution waits at each value instead.

use std::cell::RefCell;
use std::sync::Arc;

use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, KECCAK256_EMPTY, U256};

use super::key::Key;
use super::mode;
use super::table::{Missing, RemoteTable};
use crate::state::{Account, ProviderError};

/// How many rounds there are at most.
const MAX_ROUNDS: usize = 8;
/// How many keys a round notes at most: a placeholder can send code anywhere.
const MAX_KEYS: usize = 1_024;
/// The balance of an account that is not known: enough for any fee, and not so much that a transfer overflows.
const BALANCE: U256 = U256::from_limbs([0, 0, 0, 1 << 8]);

thread_local! {
    static STATE: RefCell<Running> = const { RefCell::new(Running::None) };
}

/// What runs on a thread.
enum Running {
    /// No execution that may wait.
    None,
    /// A round.
    Round(Round),
    /// The run after the rounds, with the keys that could not be fetched.
    Waiting(HashMap<Key, ProviderError>),
}

/// What a round has missed.
struct Round {
    sender: Option<Sender>,
    table: Option<Arc<RemoteTable>>,
    noted: HashMap<Key, ()>,
}

/// The sender of a transaction and its nonce, so that a round does not end at the check of it.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    /// The address.
    pub address: Address,
    /// The nonce that the transaction has.
    pub nonce: u64,
}

/// Run `work` until its result is not one of placeholders, if this thread waits for values.
pub fn run<T>(sender: Option<Sender>, mut work: impl FnMut() -> T) -> T {
    let is_nested = STATE.with_borrow(|it| !matches!(it, Running::None));
    let Some(patience) = mode::patience().filter(|_| !is_nested) else { return work() };
    let mut failed = HashMap::default();
    for _ in 0..MAX_ROUNDS {
        let start = mode::now();
        let (result, round) = note(sender, &mut work);
        let Some(table) = round.table else { return result };
        drop(result);
        // What a round took is not execution time either: a placeholder may have sent it into a long loop.
        mode::add_waited(mode::now().saturating_duration_since(start));
        let keys: Vec<Key> = round.noted.into_keys().collect();
        failed.extend(table.fetch(&keys, patience));
        if keys.len() == 1 || !failed.is_empty() {
            break;
        }
    }
    let _scope = Scope::enter(Running::Waiting(failed));
    work()
}

/// Run `work` as a round.
fn note<T>(sender: Option<Sender>, work: impl FnOnce() -> T) -> (T, Round) {
    let round = Round { sender, table: None, noted: HashMap::default() };
    let scope = Scope::enter(Running::Round(round));
    let result = mode::without_waiting(work);
    match scope.leave() {
        Running::Round(round) => (result, round),
        Running::None | Running::Waiting(_) => unreachable!("scopes nest"),
    }
}

/// Whether this thread runs a round whose result will be thrown away.
pub fn is_void() -> bool {
    STATE.with_borrow(|it| matches!(it, Running::Round(round) if round.table.is_some()))
}

/// Return the placeholder of an account that was missed in a round, or the error.
pub fn placeholder_account(
    address: Address,
    error: ProviderError,
) -> Result<Option<Account>, ProviderError> {
    let sender = noted(error)?;
    let nonce = sender.filter(|sender| sender.address == address).map_or(0, |sender| sender.nonce);
    Ok(Some(Account { nonce, balance: BALANCE, code_hash: KECCAK256_EMPTY }))
}

/// Return the placeholder of another value that was missed in a round, or the error.
pub fn placeholder<T: Default>(error: ProviderError) -> Result<T, ProviderError> {
    noted(error).map(|_| T::default())
}

/// Note a miss in the round of this thread; return the round's sender.
fn noted(error: ProviderError) -> Result<Option<Sender>, ProviderError> {
    let Some(missing) = error.0.downcast_ref::<Missing>() else { return Err(error) };
    STATE.with_borrow_mut(|it| {
        let Running::Round(round) = it else { return Err(error.clone()) };
        let table = round.table.get_or_insert_with(|| Arc::clone(&missing.table));
        if !Arc::ptr_eq(table, &missing.table) || round.noted.len() >= MAX_KEYS {
            return Err(error.clone());
        }
        round.noted.insert(missing.key, ());
        Ok(round.sender)
    })
}

/// Return why a value could not be fetched for the execution of this thread.
pub(super) fn failure(missing: &Missing) -> Option<ProviderError> {
    STATE.with_borrow(|it| match it {
        Running::Waiting(failed) => failed.get(&missing.key).cloned(),
        Running::None | Running::Round(_) => None,
    })
}

/// What runs on this thread until the scope ends, also if it panics.
struct Scope {
    outer: Option<Running>,
}

impl Scope {
    fn enter(running: Running) -> Self {
        Self { outer: Some(STATE.replace(running)) }
    }

    fn leave(mut self) -> Running {
        STATE.replace(self.outer.take().unwrap_or(Running::None))
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        if let Some(outer) = self.outer.take() {
            STATE.set(outer);
        }
    }
}
