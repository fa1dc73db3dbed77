//! What a thread does about a value that is not known yet.

use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    static PATIENCE: Cell<Option<Duration>> = const { Cell::new(None) };
    static WAITED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Let this thread wait for values, each for so long at most; with None, a value that is not known is an error.
pub fn set_patience(patience: Option<Duration>) {
    PATIENCE.set(patience);
}

/// Return for how long this thread waits for a value, if it does.
pub fn patience() -> Option<Duration> {
    PATIENCE.get()
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

/// Count time that this thread waited.
pub(super) fn add_waited(time: Duration) {
    WAITED.set(WAITED.get() + time);
}

/// Return the time on the clock of this thread, which stands still while the thread waits.
pub fn now() -> Instant {
    let now = Instant::now();
    now.checked_sub(WAITED.get()).unwrap_or(now)
}
