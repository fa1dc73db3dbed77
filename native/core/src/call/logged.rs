//! The result of a call, with what it printed.

use super::error::CallError;
use crate::evm::console::ConsoleCalls;

/// What a call came to, with what it logged to the console.
#[derive(Debug)]
pub struct Logged<T> {
    /// The result, or why there is none.
    pub result: Result<T, CallError>,
    /// Calls of `console.log`, also if it failed.
    pub console: ConsoleCalls,
}
