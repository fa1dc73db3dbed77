//! The GIL during an execution.
//!
//! An execution runs without the GIL and needs it for each read from its state provider. A thread that
//! releases the GIL after every read has to win it back from a busy event loop a thousand times, each
//! time at the price of a switch interval, or of a scheduling delay where all cores are busy. So the
//! thread holds the GIL after a read, and releases it when the program computes for long: before a
//! precompile, and after a number of limit checks without a read. [`handover`] makes the main thread
//! release the GIL for other threads.

pub mod handover;

use std::cell::Cell;
use std::thread;
use std::time::Instant;

use pyo3::ffi;
use pyo3::prelude::*;

/// Limit checks without a read after which the GIL is released.
const MAX_IDLE_CHECKS: u32 = 64;

thread_local! {
    static STATE: Cell<GilState> = const { Cell::new(GilState::NotExecuting) };
}

/// The GIL and the execution on this thread.
#[derive(Clone, Copy)]
enum GilState {
    /// No execution runs on this thread.
    NotExecuting,
    /// An execution runs without the GIL.
    Released,
    /// An execution runs and holds the GIL, for so many limit checks without a read.
    Held(HeldGil, u32),
}

/// The GIL, held.
#[derive(Clone, Copy)]
struct HeldGil {
    state: ffi::PyGILState_STATE,
    /// When the main thread handed it over, if it did.
    handed_over_at: Option<Instant>,
}

/// A request for a handover, which ends with its scope.
struct HandoverRequest;

impl HandoverRequest {
    fn new() -> Option<Self> {
        handover::is_worker_thread().then(|| {
            handover::request();
            Self
        })
    }
}

impl Drop for HandoverRequest {
    fn drop(&mut self) {
        handover::end();
    }
}

/// Run `work` without the GIL, except for its calls of [`attach`].
pub fn release<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    // The last request is for the return to Python, so it ends when this thread has the GIL again.
    let (result, _request) = py.detach(|| {
        let scope = Scope::enter();
        let result = work();
        drop(scope);
        (result, HandoverRequest::new())
    });
    result
}

/// Run `work` with the GIL.
pub fn attach<T>(work: impl FnOnce(Python<'_>) -> T) -> T {
    match STATE.get() {
        GilState::NotExecuting => {}
        GilState::Released => STATE.set(GilState::Held(acquire(), 0)),
        GilState::Held(held, _) if is_slice_over(held) => {
            release_held();
            thread::sleep(handover::PAUSE);
            STATE.set(GilState::Held(acquire(), 0));
        }
        GilState::Held(held, _) => STATE.set(GilState::Held(held, 0)),
    }
    Python::attach(work)
}

/// Whether the main thread has waited for a whole time slice.
fn is_slice_over(held: HeldGil) -> bool {
    handover::is_main_thread_waiting()
        && held.handed_over_at.is_some_and(|start| start.elapsed() > handover::TIME_SLICE)
}

/// Release the GIL after [`MAX_IDLE_CHECKS`] limit checks without a read.
pub fn on_check() {
    match STATE.get() {
        GilState::Held(_, MAX_IDLE_CHECKS..) => release_held(),
        GilState::Held(held, checks) => STATE.set(GilState::Held(held, checks + 1)),
        GilState::NotExecuting | GilState::Released => {}
    }
}

/// Release the GIL if the execution on this thread holds it.
pub fn release_held() {
    if let GilState::Held(held, _) = STATE.replace(GilState::Released) {
        give_back(held);
    }
}

/// An execution on this thread. Executions nest: a state provider may start one.
struct Scope {
    outer: GilState,
}

impl Scope {
    fn enter() -> Self {
        Self { outer: STATE.replace(GilState::Released) }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        release_held();
        STATE.set(self.outer);
    }
}

#[allow(unsafe_code, reason = "pyo3 offers no lock that outlives a closure")]
fn acquire() -> HeldGil {
    let is_worker = handover::is_worker_thread();
    if is_worker {
        handover::pause();
        handover::request();
    }
    // SAFETY: the interpreter runs, since it called the execution that needs the GIL; and `give_back`
    // follows on this thread, at the latest when the scope of that execution ends.
    let state = unsafe { ffi::PyGILState_Ensure() };
    HeldGil { state, handed_over_at: is_worker.then(Instant::now) }
}

#[allow(unsafe_code, reason = "see `acquire`")]
fn give_back(held: HeldGil) {
    // SAFETY: the state came from the matching call on this thread, and every attachment since then
    // has ended.
    unsafe { ffi::PyGILState_Release(held.state) }
    if held.handed_over_at.is_some() {
        handover::end();
    }
}
