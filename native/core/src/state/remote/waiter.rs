//! Who waits for values of a remote block: a thread, or a callback.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::bounds::Bounds;
use super::key::Key;
use super::mode;
use crate::state::ProviderError;

/// How often a thread that waits looks whether anybody needs it still.
const CANCEL_INTERVAL: Duration = Duration::from_millis(100);

/// Called once all keys are known or failed.
pub type OnKnown = Box<dyn FnOnce() + Send>;

/// Something that waits for keys.
pub(super) struct Waiter {
    progress: Mutex<Progress>,
    changed: Condvar,
}

struct Progress {
    left: usize,
    failed: Vec<(Key, ProviderError)>,
    on_known: Option<OnKnown>,
}

/// How a wait has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitEnd {
    /// All keys are known or failed.
    Known,
    /// Nothing arrived for too long.
    Silence,
    /// The work has waited for too long in all.
    Total,
    /// Nobody needs the work any more.
    Cancelled,
}

impl Waiter {
    pub(super) fn new(left: usize, on_known: Option<OnKnown>) -> Self {
        let progress = Progress { left, failed: Vec::new(), on_known };
        Self { progress: Mutex::new(progress), changed: Condvar::new() }
    }

    /// Note that a key is known, or that it failed; return what is to be called if it was the last.
    #[must_use]
    pub(super) fn settle(&self, key: Key, failure: Option<&ProviderError>) -> Option<OnKnown> {
        let mut progress = self.progress.lock();
        progress.left -= 1;
        progress.failed.extend(failure.map(|error| (key, error.clone())));
        self.changed.notify_all();
        if progress.left == 0 { progress.on_known.take() } else { None }
    }

    /// Wait until all keys are known or failed, or until one of the bounds is reached.
    pub(super) fn wait(&self, bounds: Bounds) -> WaitEnd {
        let mut until = bounds.first;
        let mut progress = self.progress.lock();
        while progress.left > 0 {
            let now = Instant::now();
            if mode::is_cancelled() {
                return WaitEnd::Cancelled;
            }
            if now >= bounds.last {
                return WaitEnd::Total;
            }
            if now >= until {
                return WaitEnd::Silence;
            }
            let left = progress.left;
            let next = until.min(bounds.last).min(now + CANCEL_INTERVAL);
            self.changed.wait_until(&mut progress, next);
            if progress.left < left {
                until = Instant::now() + bounds.silence;
            }
        }
        WaitEnd::Known
    }

    /// Take the keys that failed.
    pub(super) fn take_failed(&self) -> Vec<(Key, ProviderError)> {
        std::mem::take(&mut self.progress.lock().failed)
    }
}
