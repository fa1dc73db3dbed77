//! Keeps the interpreter lock while an execution asks Python again and again.
//!
//! An execution runs without the lock and needs it for each question to its source. A thread that
//! lets go of it after every answer has to win it back from a busy event loop a thousand times, and
//! each time costs a switch interval, or a turn of the scheduler where the cores are busy. So the
//! lock is kept after an answer, and let go of when a program computes for long: at a precompile,
//! and after a while without questions. Other threads than the main one take turns with it.

use std::cell::Cell;
use std::thread;
use std::time::Instant;

use pyo3::ffi;
use pyo3::prelude::*;

use super::turns;

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
    Holding(Hold, u32),
}

/// The lock, held.
#[derive(Clone, Copy)]
struct Hold {
    state: ffi::PyGILState_STATE,
    /// When the turn began, if it is one.
    turn: Option<Instant>,
}

/// A turn that ends with its scope, where turns are taken.
struct Turn;

impl Turn {
    fn ask() -> Option<Self> {
        turns::are_taken_here().then(|| {
            turns::ask();
            Self
        })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        turns::end();
    }
}

/// Run `work` without the lock, but for the questions it asks.
pub fn release<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    // The last turn is for the way back, so it ends when the lock is taken.
    let (result, _turn) = py.detach(|| {
        let scope = Scope::enter();
        let result = work();
        drop(scope);
        (result, Turn::ask())
    });
    result
}

/// Ask Python something.
pub fn ask<T>(question: impl FnOnce(Python<'_>) -> T) -> T {
    match STANCE.get() {
        Stance::Outside => {}
        Stance::Free => STANCE.set(Stance::Holding(acquire(), 0)),
        Stance::Holding(hold, _) if is_over(hold) => {
            let_go();
            thread::sleep(turns::PAUSE);
            STANCE.set(Stance::Holding(acquire(), 0));
        }
        Stance::Holding(hold, _) => STANCE.set(Stance::Holding(hold, 0)),
    }
    Python::attach(question)
}

/// Whether the main thread has waited long enough.
fn is_over(hold: Hold) -> bool {
    turns::is_main_thread_aside() && hold.turn.is_some_and(|start| start.elapsed() > turns::TURN)
}

/// Note that a program goes on computing.
pub fn pass() {
    match STANCE.get() {
        Stance::Holding(_, QUIET_PASSES..) => let_go(),
        Stance::Holding(hold, passes) => STANCE.set(Stance::Holding(hold, passes + 1)),
        Stance::Outside | Stance::Free => {}
    }
}

/// Let go of the lock if this thread's execution holds it.
pub fn let_go() {
    if let Stance::Holding(hold, _) = STANCE.replace(Stance::Free) {
        give_back(hold);
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
fn acquire() -> Hold {
    let takes_turns = turns::are_taken_here();
    if takes_turns {
        turns::pause();
        turns::ask();
    }
    // SAFETY: the interpreter runs, since it called the execution that asks; and `give_back` follows
    // on this thread, at the latest when the scope of that execution ends.
    let state = unsafe { ffi::PyGILState_Ensure() };
    Hold { state, turn: takes_turns.then(Instant::now) }
}

#[allow(unsafe_code, reason = "see `acquire`")]
fn give_back(hold: Hold) {
    // SAFETY: the state came from the matching call on this thread, and every attachment that was made
    // since ended with the question it was made for.
    unsafe { ffi::PyGILState_Release(hold.state) }
    if hold.turn.is_some() {
        turns::end();
    }
}
