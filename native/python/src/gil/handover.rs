//! Handover of the GIL from the main thread to a thread.
//!
//! The GIL is not fair to a thread that waits for it. An event loop releases it at every `select`, which
//! wakes the waiting thread, and acquires it again before that thread runs. The waiting thread requests
//! a drop only after a switch interval in which the GIL did not change hands, so it may wait for hundreds
//! of intervals. Here a worker requests the GIL by a pending call, which the interpreter runs on the main
//! thread, and the main thread releases the GIL until the worker has used it.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use pyo3::ffi;

/// How long a worker holds the GIL while the main thread waits.
pub const TIME_SLICE: Duration = Duration::from_millis(2);
/// How long workers then leave the GIL to the main thread, unless that waited for less.
pub const PAUSE: Duration = Duration::from_millis(1);
/// How long the main thread waits at most.
const MAX_WAIT: Duration = Duration::from_millis(5);

static MAIN_THREAD: OnceLock<ThreadId> = OnceLock::new();
static IS_CALL_PENDING: AtomicBool = AtomicBool::new(false);
static IS_MAIN_THREAD_WAITING: AtomicBool = AtomicBool::new(false);
static HANDOVERS: Mutex<Handovers> = Mutex::new(Handovers { open: 0, ended: 0, pause_until: None });
static HANDOVER_ENDED: Condvar = Condvar::new();

/// Handovers between the main thread and the workers.
struct Handovers {
    /// Workers that have requested the GIL or hold it.
    open: u32,
    /// Handovers that have ended.
    ended: u64,
    /// Until when workers leave the GIL to the main thread.
    pause_until: Option<Instant>,
}

/// Make this thread the main thread, which hands the GIL over.
pub fn set_main_thread() {
    MAIN_THREAD.get_or_init(|| thread::current().id());
}

/// Whether this thread is not the main thread.
pub fn is_worker_thread() -> bool {
    MAIN_THREAD.get().is_some_and(|main| *main != thread::current().id())
}

/// Whether the main thread waits for a handover to end.
pub fn is_main_thread_waiting() -> bool {
    IS_MAIN_THREAD_WAITING.load(Ordering::Relaxed)
}

/// Wait while the GIL is to be left to the main thread.
pub fn pause() {
    let until = HANDOVERS.lock().pause_until;
    if let Some(left) = until.and_then(|until| until.checked_duration_since(Instant::now())) {
        thread::sleep(left);
    }
}

/// Request a handover; `end` has to follow.
pub fn request() {
    HANDOVERS.lock().open += 1;
    if !IS_CALL_PENDING.swap(true, Ordering::SeqCst) && !call_on_main_thread() {
        IS_CALL_PENDING.store(false, Ordering::SeqCst);
    }
}

/// End a handover.
pub fn end() {
    let mut handovers = HANDOVERS.lock();
    handovers.open -= 1;
    handovers.ended += 1;
    HANDOVER_ENDED.notify_all();
}

/// Schedule `hand_over` on the main thread, unless too many calls are pending already.
#[allow(unsafe_code, reason = "pyo3 has no pending calls")]
fn call_on_main_thread() -> bool {
    // SAFETY: any thread may call this at any time, and the function takes no argument.
    unsafe { ffi::Py_AddPendingCall(Some(hand_over), std::ptr::null_mut()) == 0 }
}

#[allow(unsafe_code, reason = "pyo3 would acquire the GIL once more to release it")]
extern "C" fn hand_over(_: *mut c_void) -> c_int {
    IS_CALL_PENDING.store(false, Ordering::SeqCst);
    let ended_before = {
        let handovers = HANDOVERS.lock();
        if handovers.open == 0 {
            return 0;
        }
        handovers.ended
    };
    // SAFETY: the interpreter calls this with the GIL.
    let state = unsafe { ffi::PyEval_SaveThread() };
    wait_for_end(ended_before);
    // SAFETY: `state` is this thread's, from just above.
    unsafe { ffi::PyEval_RestoreThread(state) };
    0
}

/// Wait until one more handover than `ended_before` has ended.
fn wait_for_end(ended_before: u64) {
    let start = Instant::now();
    IS_MAIN_THREAD_WAITING.store(true, Ordering::Relaxed);
    let mut handovers = HANDOVERS.lock();
    HANDOVER_ENDED.wait_while_for(&mut handovers, |it| it.ended == ended_before, MAX_WAIT);
    IS_MAIN_THREAD_WAITING.store(false, Ordering::Relaxed);
    let now = Instant::now();
    handovers.pause_until = Some(now + PAUSE.min(now - start));
}
