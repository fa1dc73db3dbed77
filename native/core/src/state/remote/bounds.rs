//! How long work waits for a remote chain.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::mode;

/// How long work waits for one remote chain.
#[derive(Clone, Copy, Debug)]
pub struct WaitLimits {
    /// While nothing that it waits for arrives.
    pub silence: Duration,
    /// In all: what arrives slowly, one value after the other, may not hold it for ever.
    pub total: Duration,
}

/// Since when a remote chain has delivered nothing of what it was asked for. All tables of a chain share it.
#[derive(Debug, Default)]
pub struct Silence(Mutex<Option<Instant>>);

impl Silence {
    /// Note that something is asked for.
    pub(super) fn asked(&self) {
        self.0.lock().get_or_insert_with(Instant::now);
    }

    /// Note that a value arrived.
    pub(super) fn broken(&self) {
        *self.0.lock() = None;
    }

    fn since(&self) -> Option<Instant> {
        *self.0.lock()
    }
}

/// The ends of one wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// How long nothing may arrive.
    pub(super) silence: Duration,
    /// Until when something has to arrive first.
    pub(super) first: Instant,
    /// Until when everything has to.
    pub(super) last: Instant,
}

impl Bounds {
    /// Return those of a wait that begins now on this thread.
    pub(super) fn new(limits: &WaitLimits, patience: Duration, silence: &Silence) -> Self {
        let now = Instant::now();
        // What was queued behind others that waited in vain has waited, too: it does not begin again.
        let silent = silence.since().map_or(Duration::ZERO, |since| now.duration_since(since));
        let allowed = limits.silence.min(patience);
        let first = now + allowed.saturating_sub(mode::queued().min(silent));
        let last = now + limits.total.saturating_sub(mode::waited());
        Self { silence: allowed, first, last }
    }
}
