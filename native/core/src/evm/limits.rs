//! Gas, time, cancellation and trace limits of an execution.
//!
//! [`super::checked_instructions`] says which instructions check them, [`super::work`] what counts beyond its gas.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use alloy_primitives::Address;
use revm::context_interface::ContextTr;
use revm::context_interface::context::ContextError;
use revm::interpreter::InstructionResult;

use super::console::ConsoleCalls;
use super::work::WordPrice;
use crate::state::remote::mode;

/// Checks between two reads of the clock and the cancellation flag.
const CLOCK_INTERVAL: u32 = 256;
/// Gas within which jump destinations make no further check: in a loop of a few instructions, it would take half the time.
const JUMP_GAS: u64 = 128;
/// Checks that are counted for those of jump destinations that made none.
const JUMP_CHECKS: u32 = 8;
/// Words that take as long as what is between two checks.
const WORDS_PER_CHECK: u64 = 64;

/// Limits on an execution.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Stop once this much gas was used, whatever the gas limit of the transaction.
    pub gas: Option<u64>,
    /// Stop at this time, on the clock of the thread: see [`mode::now`].
    pub deadline: Option<Instant>,
    /// Stop when this flag is set.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Stop when a trace takes more bytes than this.
    pub trace_bytes: Option<usize>,
    /// Callbacks on the progress of the execution.
    pub progress: Option<ProgressHooks>,
}

/// Callbacks on the progress of an execution, for a thread that holds a lock meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct ProgressHooks {
    /// Called at each check of the limits.
    pub on_check: fn(),
    /// Called before something that may take long without a check: a precompile, or a hash of much.
    pub before_long_work: fn(),
}

/// The limit that an execution reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitReached {
    /// The gas limit of [`Limits`].
    Gas,
    /// The deadline.
    Deadline,
    /// The cancellation flag.
    Cancelled,
    /// The size of the trace.
    Trace,
    /// A call of the code of this account, which is not the EVM's.
    ForeignCode(Address),
}

/// Checks the limits while an execution runs.
#[derive(Debug, Default)]
pub struct LimitChecker {
    limits: Limits,
    /// Gas used by the parent frames of each depth when they opened the next one.
    gas_above: Vec<u64>,
    /// What was done beyond what its gas pays for, in gas of other instructions that take as long.
    surcharge: u64,
    /// Checks until the clock is read next.
    until_clock: u32,
    /// The gas that was left when a jump destination last made a check.
    jump_gas: u64,
    /// The limit that stopped the execution.
    pub reached: Option<LimitReached>,
    /// The most gas that a precompile may use, whatever it is given.
    pub precompile_gas: Option<u64>,
    /// Whether a precompile would have used more.
    pub is_precompile_stopped: bool,
    /// Calls of `console.log` so far.
    pub console: ConsoleCalls,
}

impl LimitChecker {
    /// Check `limits`.
    pub fn new(limits: Limits) -> Self {
        Self { limits, gas_above: vec![0], ..Self::default() }
    }

    /// Whether instructions have to check these limits.
    pub fn is_needed(limits: &Limits) -> bool {
        limits.gas.is_some()
            || limits.deadline.is_some()
            || limits.cancel.is_some()
            || limits.progress.is_some()
    }

    /// What the execution did beyond what its gas pays for, in gas of other instructions that take as long.
    pub fn surcharge(&self) -> u64 {
        self.surcharge
    }

    /// Check the limits before a precompile runs in a frame at `depth`; return what is left of the gas limit.
    pub fn before_precompile(&mut self, depth: usize) -> Result<Option<u64>, LimitReached> {
        self.before_long_work();
        self.check_times(CLOCK_INTERVAL)?;
        let used = self.gas_used(depth, 0);
        Ok(self.limits.gas.map(|limit| limit.saturating_sub(used)))
    }

    /// Count work that took as long as so much gas of other instructions, beyond its own gas.
    pub fn add_surcharge(&mut self, gas: u64) {
        self.surcharge = self.surcharge.saturating_add(gas);
    }

    /// Count the gas that was used before the next step of a transaction that runs in steps.
    pub fn start_step(&mut self, gas_used: u64) {
        self.gas_above.clear();
        // The frames of a step are one level below those of other transactions.
        self.gas_above.extend([0, gas_used]);
    }

    fn before_long_work(&self) {
        if let Some(progress) = self.limits.progress {
            (progress.before_long_work)();
        }
    }

    /// Check the limits before an instruction of a frame at `depth` that has used some gas.
    pub(super) fn check(&mut self, depth: usize, frame_gas: u64) -> Result<(), LimitReached> {
        if let Some(progress) = self.limits.progress {
            (progress.on_check)();
        }
        self.check_gas(depth, frame_gas)?;
        self.check_times(1)
    }

    /// Whether a jump destination has to check the limits, by `check_jumps`, with so much gas left in its frame.
    #[inline(always)]
    pub(super) fn is_jump_checked(&mut self, gas_left: u64) -> bool {
        // In another frame it wraps around, or the two are as close.
        let is_due = self.jump_gas.wrapping_sub(gas_left) >= JUMP_GAS;
        if is_due {
            self.jump_gas = gas_left;
        }
        is_due
    }

    /// Check the limits at a jump destination, for those that did not.
    pub(super) fn check_jumps(&mut self, depth: usize, frame_gas: u64) -> Result<(), LimitReached> {
        if let Some(progress) = self.limits.progress {
            (progress.on_check)();
        }
        self.check_gas(depth, frame_gas)?;
        self.check_times(JUMP_CHECKS)
    }

    /// Check the limits before an instruction that handles so many words, and count what they cost.
    pub(super) fn check_words(
        &mut self,
        depth: usize,
        frame_gas: u64,
        words: u64,
        price: WordPrice,
    ) -> Result<(), LimitReached> {
        if words > WORDS_PER_CHECK {
            self.before_long_work();
        }
        let gas = words.saturating_mul(price.gas);
        let handled = words.div_ceil(price.block).saturating_mul(price.block);
        self.add_surcharge(handled.saturating_mul(price.surcharge));
        self.check_gas(depth, frame_gas.saturating_add(gas))?;
        let checks = 1 + (words / WORDS_PER_CHECK).min(CLOCK_INTERVAL.into()) as u32;
        self.check_times(checks)
    }

    fn check_gas(&self, depth: usize, frame_gas: u64) -> Result<(), LimitReached> {
        if self.limits.gas.is_some_and(|limit| self.gas_used(depth, frame_gas) > limit) {
            return Err(LimitReached::Gas);
        }
        Ok(())
    }

    /// Read the clock and the flag, unless that was less than `CLOCK_INTERVAL` checks ago.
    fn check_times(&mut self, checks: u32) -> Result<(), LimitReached> {
        if let Some(left) = self.until_clock.checked_sub(checks) {
            self.until_clock = left;
            return Ok(());
        }
        self.until_clock = CLOCK_INTERVAL - 1;
        if self.limits.cancel.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(LimitReached::Cancelled);
        }
        if self.limits.deadline.is_some_and(|time| mode::now() >= time) {
            return Err(LimitReached::Deadline);
        }
        Ok(())
    }

    fn gas_used(&self, depth: usize, frame_gas: u64) -> u64 {
        let above = self.gas_above.get(depth).copied().unwrap_or_default();
        above.saturating_add(frame_gas).saturating_add(self.surcharge)
    }

    /// Count the gas of a frame that opens another one.
    pub(super) fn enter(&mut self, depth: usize, frame_gas: u64) {
        let used = self.gas_above.get(depth).copied().unwrap_or_default() + frame_gas;
        self.gas_above.truncate(depth + 1);
        self.gas_above.push(used);
    }
}

/// An EVM context that carries a [`LimitChecker`].
pub trait LimitedContext: ContextTr<Chain = LimitChecker> {}
impl<T: ContextTr<Chain = LimitChecker>> LimitedContext for T {}

/// Record the limit that was reached and halt the execution.
pub fn halt<C: LimitedContext>(context: &mut C, limit: LimitReached) -> InstructionResult {
    context.chain_mut().reached = Some(limit);
    *context.error() = Err(ContextError::Custom(String::from("limit reached")));
    InstructionResult::FatalExternalError
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evm::trace::{Position, Tracer};
    use crate::evm::{ExecutionError, execute};
    use crate::testing::{World, transaction};
    use revm::bytecode::opcode::{ADDRESS, CALL, DUP1, GAS, JUMP, JUMPDEST, PUSH0};

    const LOOP: &[u8] = &[JUMPDEST, PUSH0, JUMP];
    /// Calls itself twice, so that calls alone make it long.
    const FORK: &[u8] = &[
        PUSH0, PUSH0, PUSH0, PUSH0, PUSH0, ADDRESS, GAS, CALL, DUP1, PUSH0, PUSH0, PUSH0, PUSH0,
        ADDRESS, GAS, CALL,
    ];

    fn limit_reached(code: &[u8], gas_limit: u64, limits: Limits) -> Option<LimitReached> {
        let (_, snapshot) = World::with_contract(code).snapshot();
        let mut env = transaction(0);
        env.checks.gas_cap = false;
        env.checks.balance = false;
        env.tx.base.gas_limit = gas_limit;
        env.limits = limits;
        match execute(snapshot.as_ref(), &env, None) {
            Err(ExecutionError::LimitReached(limit)) => Some(limit),
            Ok(_) => None,
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn a_loop_stops_at_its_gas_limit() {
        let limits = Limits { gas: Some(50_000), ..Limits::default() };
        assert_eq!(limit_reached(LOOP, 1 << 40, limits), Some(LimitReached::Gas));
    }

    #[test]
    fn calls_without_loops_stop_at_their_gas_limit() {
        let limits = Limits { gas: Some(100_000), ..Limits::default() };
        assert_eq!(limit_reached(FORK, 1 << 40, limits), Some(LimitReached::Gas));
    }

    #[test]
    fn an_execution_within_its_limits_is_not_stopped() {
        let limits = Limits { gas: Some(10_000_000), ..Limits::default() };
        assert_eq!(limit_reached(LOOP, 9_000_000, limits.clone()), None);
        assert_eq!(limit_reached(FORK, 1_000_000, limits), None);
    }

    #[test]
    fn a_passed_deadline_stops_at_once() {
        let limits = Limits { deadline: Some(Instant::now()), ..Limits::default() };
        assert_eq!(limit_reached(LOOP, 1 << 40, limits), Some(LimitReached::Deadline));
    }

    #[test]
    fn a_cancelled_execution_stops_at_once() {
        let flag = Arc::new(AtomicBool::new(true));
        let limits = Limits { cancel: Some(flag), ..Limits::default() };
        assert_eq!(limit_reached(LOOP, 1 << 40, limits), Some(LimitReached::Cancelled));
    }

    #[test]
    fn a_trace_stops_at_its_size_limit() {
        let (_, snapshot) = World::with_contract(LOOP).snapshot();
        let mut env = transaction(0);
        env.limits.trace_bytes = Some(100_000);
        let tracer = Tracer::parse(b"{}", Position::default()).unwrap();
        let error = execute(snapshot.as_ref(), &env, Some(&tracer)).unwrap_err();
        assert!(matches!(error, ExecutionError::LimitReached(LimitReached::Trace)));
    }
}
