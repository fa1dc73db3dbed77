//! Keeps the interpreter lock while an execution asks Python again and again.
//!
//! An execution runs without the lock and needs it for each question to its source. A thread that
//! lets go of it after every answer has to win it back from a busy event loop a thousand times, and
//! each time costs a switch interval, or a turn of the scheduler where the cores are busy. So the
//! lock is kept after an answer, and let go of when a program computes for long: at a precompile,
//! and after a while without questions.

use std::cell::Cell;

use pyo3::ffi;
use pyo3::prelude::*;

/// Passes of a loop or call without a question after which the lock is let go of.
const QUIET_PASSES: u32 = 64;

thread_local! {
    static STANCE: Cell<Stance> = const { Cell::new(Stance::Outside) };
}

/// How this thread stands to the lock.
#[derive(Clone, Copy)]
enum Stance {
    /// No execution of this thread's is running.
    Outside,
    /// One is running, without the lock.
    Free,
    /// One is running and holds the lock, for so many passes without a question.
    Holding(ffi::PyGILState_STATE, u32),
}

/// Run `work` without the lock, but for the questions it asks.
pub fn release<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    py.detach(|| {
        let _scope = Scope::enter();
        work()
    })
}

/// Ask Python something.
pub fn ask<T>(question: impl FnOnce(Python<'_>) -> T) -> T {
    match STANCE.get() {
        Stance::Outside => {}
        Stance::Free => STANCE.set(Stance::Holding(acquire(), 0)),
        Stance::Holding(state, _) => STANCE.set(Stance::Holding(state, 0)),
    }
    Python::attach(question)
}

/// Note that a program goes on computing.
pub fn pass() {
    match STANCE.get() {
        Stance::Holding(_, QUIET_PASSES..) => let_go(),
        Stance::Holding(state, passes) => STANCE.set(Stance::Holding(state, passes + 1)),
        Stance::Outside | Stance::Free => {}
    }
}

/// Let go of the lock if this thread's execution holds it.
pub fn let_go() {
    if let Stance::Holding(state, _) = STANCE.replace(Stance::Free) {
        give_back(state);
    }
}

/// An execution on this thread; one may run inside a question of another.
struct Scope {
    outer: Stance,
}

impl Scope {
    fn enter() -> Self {
        Self { outer: STANCE.replace(Stance::Free) }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        let_go();
        STANCE.set(self.outer);
    }
}

#[allow(unsafe_code, reason = "pyo3 offers no lock that outlives a closure")]
fn acquire() -> ffi::PyGILState_STATE {
    // SAFETY: the interpreter runs, since it called the execution that asks; and `give_back` follows
    // on this thread, at the latest when the scope of that execution ends.
    unsafe { ffi::PyGILState_Ensure() }
}

#[allow(unsafe_code, reason = "see `acquire`")]
fn give_back(state: ffi::PyGILState_STATE) {
    // SAFETY: `state` came from the matching call on this thread, and every attachment that was made
    // since ended with the question it was made for.
    unsafe { ffi::PyGILState_Release(state) }
}
