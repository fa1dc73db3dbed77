//! Who waits for values of a remote block: a thread, or a callback.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::key::Key;
use crate::state::ProviderError;

/// A thread whose values arrive slowly waits for at most so many times of what it waits without any.
const MAX_PATIENCE: u32 = 10;

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

    /// Wait until all keys are known or failed, or until none arrived for `patience`; return whether all did.
    pub(super) fn wait(&self, patience: Duration) -> bool {
        let start = Instant::now();
        let last = start + patience * MAX_PATIENCE;
        let mut progress = self.progress.lock();
        while progress.left > 0 {
            let left = progress.left;
            let until = last.min(Instant::now() + patience);
            let is_late = self.changed.wait_until(&mut progress, until).timed_out();
            if is_late && progress.left == left {
                return false;
            }
        }
        true
    }

    /// Take the keys that failed.
    pub(super) fn take_failed(&self) -> Vec<(Key, ProviderError)> {
        std::mem::take(&mut self.progress.lock().failed)
    }
}
