//! Executions in rounds, so that many values of a remote block are asked for at once.
//!
//! In a round a value that is not known reads as a placeholder and is noted. A round that noted something is thrown away,
//! whatever came of it: all that it noted is fetched at once, and it runs again. Only a round without placeholders has a
//! result. Where each value leads to the next one rounds do not help: once they take longer than what they wait for, the
//! execution waits at each value instead.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use alloy_primitives::map::{HashMap, HashSet};
use alloy_primitives::{Address, KECCAK256_EMPTY, U256};

use super::key::Key;
use super::mode;
use super::table::{Missing, RemoteTable};
use crate::state::{Account, ProviderError};

/// How many rounds there are, however long they take.
const FREE_ROUNDS: usize = 8;
/// How many rounds there are at most: a table that forgets what is fetched would let them go on for ever.
const MAX_ROUNDS: usize = 1_024;
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
    Waiting(Failed),
}

/// Why keys could not be fetched. A placeholder may have led to them, so only a read of one is a failure.
type Failed = HashMap<Key, ProviderError>;

/// What a round has missed.
struct Round {
    sender: Option<Sender>,
    table: Option<Arc<RemoteTable>>,
    noted: HashSet<Key>,
    failed: Failed,
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
    let Some(patience) = mode::patience() else { return work() };
    if STATE.with_borrow(|it| !matches!(it, Running::None)) {
        return work();
    }
    let mut failed = Failed::default();
    let (mut running, mut waiting) = (Duration::ZERO, Duration::ZERO);
    for number in 1..=MAX_ROUNDS {
        let (start, began) = (mode::now(), Instant::now());
        let (result, round) = note(sender, failed, &mut work);
        let Some(table) = round.table else { return result };
        drop(result);
        // What a round took is not execution time either: a placeholder may have sent it into a long loop.
        mode::add_waited(mode::now().saturating_duration_since(start));
        let ended = Instant::now();
        running += ended - began;
        let keys: Vec<Key> = round.noted.into_iter().collect();
        failed = round.failed;
        failed.extend(table.fetch(&keys, patience));
        waiting += ended.elapsed();
        if mode::is_over() || (number >= FREE_ROUNDS && running > waiting) {
            break;
        }
    }
    let _scope = Scope::enter(Running::Waiting(failed));
    work()
}

/// Run `work` as a round.
fn note<T>(sender: Option<Sender>, failed: Failed, work: impl FnOnce() -> T) -> (T, Round) {
    let round = Round { sender, table: None, noted: HashSet::default(), failed };
    let scope = Scope::enter(Running::Round(round));
    let result = mode::without_waiting(work);
    match scope.leave() {
        Running::Round(round) => (result, round),
        Running::None | Running::Waiting(_) => unreachable!("scopes nest"),
    }
}

/// Run `work` on `input` as [`run`] does; without rounds `input` is not copied.
pub fn run_on<I: Clone, T>(input: I, work: impl Fn(I) -> T) -> T {
    match mode::patience() {
        None => work(input),
        Some(_) => run(None, || work(input.clone())),
    }
}

/// Fail if this thread runs a round that will be thrown away, and further work in it would find little.
pub fn check() -> Result<(), ProviderError> {
    STATE.with_borrow(|it| match it {
        Running::Round(round) if round.table.is_some() => Err(ProviderError(Arc::new(Void))),
        Running::None | Running::Round(_) | Running::Waiting(_) => Ok(()),
    })
}

/// A round ends, and is thrown away.
#[derive(Debug, thiserror::Error)]
#[error("a round with placeholders has no result")]
struct Void;

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
        if let Some(failure) = round.failed.get(&missing.key) {
            return Err(failure.clone());
        }
        let table = round.table.get_or_insert_with(|| Arc::clone(&missing.table));
        if !Arc::ptr_eq(table, &missing.table) || round.noted.len() >= MAX_KEYS {
            return Err(error.clone());
        }
        round.noted.insert(missing.key);
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::{OnceLock, Weak};

    use alloy_primitives::{B256, Bytes};

    use super::*;
    use crate::state::State;
    use crate::state::remote::bounds::WaitLimits;
    use crate::state::remote::provider::{LocalState, RemoteProvider};
    use crate::state::remote::table::Hooks;
    use crate::state::snapshot::Snapshot;

    const ADDRESS: Address = Address::repeat_byte(7);

    /// A fork that has changed nothing.
    struct Nothing;

    impl LocalState for Nothing {
        fn account(&self, _: Address) -> Result<Option<Option<Account>>, ProviderError> {
            Ok(None)
        }

        fn code(&self, _: B256) -> Result<Option<Bytes>, ProviderError> {
            Ok(None)
        }

        fn slot(&self, _: Address, _: U256) -> Result<Option<U256>, ProviderError> {
            Ok(None)
        }

        fn block_hash(&self, _: u64) -> Result<Option<B256>, ProviderError> {
            Ok(None)
        }
    }

    /// Return a fork of a chain in which each slot has the number of the next one, and its table.
    fn fork() -> (Arc<RemoteTable>, Snapshot) {
        let made = Arc::new(OnceLock::<Weak<RemoteTable>>::new());
        let owner = Arc::clone(&made);
        let wake = move || {
            let table = made.get().and_then(Weak::upgrade).expect("it is used");
            let slots = table.take_wanted(usize::MAX).into_iter().map(|key| match key {
                Key::Slot(address, slot) => (address, slot, slot + U256::ONE),
                Key::Account(_) | Key::Hash(_) => panic!("only slots are read"),
            });
            table.put_slots(slots.collect::<Vec<_>>());
        };
        let hooks = Hooks { wake: Box::new(wake), before_wait: || (), owner: owner.clone() };
        let hour = Duration::from_hours(1);
        let limits = WaitLimits { silence: hour, total: hour };
        let table = Arc::new(RemoteTable::new(10_000, limits, Arc::default(), hooks));
        owner.set(Arc::downgrade(&table)).expect("it is set once");
        let provider = RemoteProvider::new(Nothing, Arc::clone(&table));
        (table, Snapshot::new(Arc::new(provider), 10_000))
    }

    /// Run `work` in rounds; return its result, and how often it ran.
    fn counted<T>(work: impl Fn() -> T) -> (T, usize) {
        let runs = Cell::new(0);
        mode::set_patience(Some(Duration::from_secs(10)), Duration::ZERO);
        let result = run(None, || {
            runs.set(runs.get() + 1);
            work()
        });
        mode::set_patience(None, Duration::ZERO);
        (result, runs.get())
    }

    #[test]
    fn independent_values_take_two_runs() {
        let (table, snapshot) = fork();
        let sum =
            || (0..500).map(|it| snapshot.slot(ADDRESS, U256::from(it)).unwrap()).sum::<U256>();
        assert_eq!(counted(sum), (U256::from(500 * 501 / 2), 2));
        assert_eq!((table.asked(), snapshot.cached()), (500, 500));
    }

    #[test]
    fn values_that_lead_to_each_other_are_each_asked_for_once() {
        let (table, snapshot) = fork();
        let chain = || (0..500).fold(U256::ONE, |slot, _| snapshot.slot(ADDRESS, slot).unwrap());
        let (last, runs) = counted(chain);
        assert_eq!(last, U256::from(501));
        assert!(runs <= 501 && table.asked() <= 501, "{runs} {}", table.asked());
    }

    #[test]
    fn one_value_that_leads_to_many_takes_three_runs() {
        let (table, snapshot) = fork();
        let reads = || {
            let first = snapshot.slot(ADDRESS, U256::from(1_000)).unwrap();
            let known = usize::from(first == U256::from(1_001)) * 500;
            (0..known).all(|it| snapshot.slot(ADDRESS, U256::from(it)).is_ok())
        };
        assert_eq!(counted(reads), (true, 3));
        assert_eq!(table.asked(), 501);
    }

    #[test]
    fn a_round_ends_at_its_number_of_keys() {
        let (table, snapshot) = fork();
        let reads = || (0..3_000).all(|it| snapshot.slot(ADDRESS, U256::from(it)).is_ok());
        assert_eq!(counted(reads), (true, 4));
        assert_eq!(table.asked(), 3_000);
    }

    #[test]
    fn rounds_in_a_round_are_one() {
        let (_, snapshot) = fork();
        let inner = || run(None, || snapshot.slot(ADDRESS, U256::ZERO).unwrap());
        assert_eq!(counted(|| inner() + inner()), (U256::from(2), 2));
    }

    #[test]
    fn a_thread_that_does_not_wait_gets_the_error() {
        let (table, snapshot) = fork();
        let error = run(None, || snapshot.slot(ADDRESS, U256::ZERO)).unwrap_err();
        assert!(error.0.downcast_ref::<Missing>().is_some());
        assert_eq!(table.asked(), 0);
    }

    #[test]
    fn a_panic_leaves_no_round_behind() {
        let (_, snapshot) = fork();
        mode::set_patience(Some(Duration::from_secs(10)), Duration::ZERO);
        let panicking = || -> U256 { panic!("{:?}", snapshot.slot(ADDRESS, U256::ZERO)) };
        let caught =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(None, panicking)));
        assert!(caught.is_err());
        assert_eq!(run(None, || snapshot.slot(ADDRESS, U256::ZERO).unwrap()), U256::ONE);
        mode::set_patience(None, Duration::ZERO);
    }
}
