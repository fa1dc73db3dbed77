//! What a thread does about a value that is not known yet.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

thread_local! {
    static PATIENCE: Cell<Option<Duration>> = const { Cell::new(None) };
    static WAITED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static WORK: Cell<Work> = const { Cell::new(Work::new(Duration::ZERO)) };
    static CANCEL: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// The work of a thread since it was last told to wait.
#[derive(Clone, Copy)]
struct Work {
    /// How long it was queued before it had the thread; none once it has waited for a value.
    queued: Duration,
    /// How long it waited for values.
    waited: Duration,
    /// Whether it is not to wait any more.
    is_over: bool,
}

impl Work {
    const fn new(queued: Duration) -> Self {
        Self { queued, waited: Duration::ZERO, is_over: false }
    }
}

/// Let the work that begins on this thread wait for values, each for so long at most; with None, a value that is not
/// known is an error. The work was `queued` for so long.
pub fn set_patience(patience: Option<Duration>, queued: Duration) {
    PATIENCE.set(patience);
    WORK.set(Work::new(queued));
}

/// Return for how long this thread waits for a value, if it does.
pub fn patience() -> Option<Duration> {
    PATIENCE.get()
}

/// Let a flag end the waits of this thread.
pub fn set_cancel(flag: Option<Arc<AtomicBool>>) {
    CANCEL.set(flag);
}

/// Return whether nobody needs the work of this thread any more.
pub(super) fn is_cancelled() -> bool {
    CANCEL.with_borrow(|it| it.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)))
}

/// Run `work`, in which this thread does not wait.
pub fn without_waiting<T>(work: impl FnOnce() -> T) -> T {
    let _restored = Restored(PATIENCE.replace(None));
    work()
}

/// The mode of a thread that comes back at the end of a scope, also of one that panics.
struct Restored(Option<Duration>);

impl Drop for Restored {
    fn drop(&mut self) {
        PATIENCE.set(self.0);
    }
}

/// Stop the clock of this thread for what has passed.
pub(super) fn add_waited(time: Duration) {
    WAITED.set(WAITED.get() + time);
}

/// Count time that the work of this thread waited for values; `is_over`: it is not to wait any more.
pub(super) fn end_wait(time: Duration, is_over: bool) {
    add_waited(time);
    let work = WORK.get();
    WORK.set(Work { queued: Duration::ZERO, waited: work.waited + time, is_over });
}

/// Return how long the work of this thread waited for values.
pub(super) fn waited() -> Duration {
    WORK.get().waited
}

/// Return how long the work of this thread was queued, if it has not waited for a value yet.
pub(super) fn queued() -> Duration {
    WORK.get().queued
}

/// Return whether the work of this thread is not to wait any more.
pub(super) fn is_over() -> bool {
    WORK.get().is_over
}

/// Return the time on the clock of this thread, which stands still while the thread waits.
pub fn now() -> Instant {
    let now = Instant::now();
    now.checked_sub(WAITED.get()).unwrap_or(now)
}
