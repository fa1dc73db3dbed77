//! Lets a worker have the interpreter lock beside a busy event loop.
//!
//! The lock is not fair to a thread that waits for it. An event loop lets go of it at every `select`,
//! which wakes the waiting thread, and takes it back before that one runs. The thread would demand the
//! lock only after a switch interval in which it did not change hands, so it may wait for hundreds of
//! intervals. Here a worker says that it wants the lock, by a call that the interpreter makes on the
//! main thread, and the main thread steps aside until the worker has had its turn.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use pyo3::ffi;

/// How long a worker keeps the lock while the main thread stands aside.
pub const TURN: Duration = Duration::from_millis(2);
/// How long workers then leave it to the main thread, or as long as that stood aside if this is less.
pub const PAUSE: Duration = Duration::from_millis(1);
/// How long the main thread stands aside at most, whatever the worker does.
const PATIENCE: Duration = Duration::from_millis(5);

static MAIN_THREAD: OnceLock<ThreadId> = OnceLock::new();
static IS_CALL_DUE: AtomicBool = AtomicBool::new(false);
static IS_ASIDE: AtomicBool = AtomicBool::new(false);
static TURNS: Mutex<Turns> = Mutex::new(Turns { wanted: 0, ended: 0, pause_until: None });
static TURN_ENDED: Condvar = Condvar::new();

/// Who takes turns with the main thread.
struct Turns {
    /// Workers that want the lock or have it.
    wanted: u32,
    /// Turns that are over.
    ended: u64,
    /// Until when the lock is left to the main thread.
    pause_until: Option<Instant>,
}

/// Note that this thread is the one that steps aside.
pub fn set_main_thread() {
    MAIN_THREAD.get_or_init(|| thread::current().id());
}

/// Whether this thread takes turns with the main thread, because it is another one.
pub fn are_taken_here() -> bool {
    MAIN_THREAD.get().is_some_and(|main| *main != thread::current().id())
}

/// Whether the main thread waits for a turn to end.
pub fn is_main_thread_aside() -> bool {
    IS_ASIDE.load(Ordering::Relaxed)
}

/// Leave the lock to the main thread for as long as it is due.
pub fn pause() {
    let until = TURNS.lock().pause_until;
    if let Some(left) = until.and_then(|until| until.checked_duration_since(Instant::now())) {
        thread::sleep(left);
    }
}

/// Ask for a turn; `end` has to follow.
pub fn ask() {
    TURNS.lock().wanted += 1;
    if !IS_CALL_DUE.swap(true, Ordering::SeqCst) && !call_on_main_thread() {
        IS_CALL_DUE.store(false, Ordering::SeqCst);
    }
}

/// End a turn.
pub fn end() {
    let mut turns = TURNS.lock();
    turns.wanted -= 1;
    turns.ended += 1;
    TURN_ENDED.notify_all();
}

/// Have the interpreter call `step_aside` soon, unless too many calls are due already.
#[allow(unsafe_code, reason = "pyo3 has no pending calls")]
fn call_on_main_thread() -> bool {
    // SAFETY: any thread may call this at any time, and the function takes no argument.
    unsafe { ffi::Py_AddPendingCall(Some(step_aside), std::ptr::null_mut()) == 0 }
}

#[allow(unsafe_code, reason = "pyo3 would take the lock once more to let go of it")]
extern "C" fn step_aside(_: *mut c_void) -> c_int {
    IS_CALL_DUE.store(false, Ordering::SeqCst);
    let before = {
        let turns = TURNS.lock();
        if turns.wanted == 0 {
            return 0;
        }
        turns.ended
    };
    // SAFETY: the interpreter calls this with the lock.
    let state = unsafe { ffi::PyEval_SaveThread() };
    wait_for_end(before);
    // SAFETY: `state` is this thread's, from just above.
    unsafe { ffi::PyEval_RestoreThread(state) };
    0
}

/// Wait until another turn than the first `before` ended.
fn wait_for_end(before: u64) {
    let start = Instant::now();
    IS_ASIDE.store(true, Ordering::Relaxed);
    let mut turns = TURNS.lock();
    TURN_ENDED.wait_while_for(&mut turns, |turns| turns.ended == before, PATIENCE);
    IS_ASIDE.store(false, Ordering::Relaxed);
    let now = Instant::now();
    turns.pause_until = Some(now + PAUSE.min(now - start));
}
