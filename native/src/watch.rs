//! Stops an execution at a limit of the caller's.
//!
//! Only loops and calls can make an execution long, so the limits are looked at where each of them
//! passes: at `JUMPDEST` and at the instructions that open a frame. Everything between two such
//! points is bounded by the size of the code.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use revm::bytecode::opcode::{CALL, CALLCODE, CREATE, CREATE2, DELEGATECALL, JUMPDEST, STATICCALL};
use revm::context_interface::context::ContextError;
use revm::context_interface::{ContextTr, JournalTr};
use revm::handler::instructions::EthInstructions;
use revm::interpreter::instructions::{contract, control};
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::{
    Instruction, InstructionContext, InstructionExecResult, InstructionResult,
};

/// How often the clock and the flag are looked at, in passes of a watched instruction.
const PASSES_BETWEEN_LOOKS: u32 = 256;

/// How far an execution may go.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Stop once this much gas was used, whatever the gas limit of the message.
    pub gas: Option<u64>,
    /// Stop at this time.
    pub deadline: Option<Instant>,
    /// Stop when somebody raises this flag.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Stop when a trace takes more bytes than this.
    pub trace_bytes: Option<usize>,
    /// Whom to tell that the execution goes on.
    pub pace: Option<Pace>,
}

/// What to call while a program computes, for whoever holds a lock meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Called where a loop or a call passes.
    pub pass: fn(),
    /// Called before a precompile runs, which may take long.
    pub precompile: fn(),
}

/// Which limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The gas budget is spent.
    Gas,
    /// The deadline passed.
    Deadline,
    /// The flag was raised.
    Cancelled,
    /// The trace is too large.
    Trace,
}

/// Looks at the limits while an execution runs.
#[derive(Debug, Default)]
pub struct Watch {
    limits: Limits,
    /// Gas that the frames above each depth had used when they opened the next one.
    used_above: Vec<u64>,
    passes: u32,
    /// The limit that was reached.
    pub stopped: Option<Stop>,
}

impl Watch {
    /// Watch over `limits`.
    pub fn new(limits: Limits) -> Self {
        Self { limits, used_above: vec![0], passes: 0, stopped: None }
    }

    /// Whether there is anything to watch while instructions run.
    pub fn is_needed(limits: &Limits) -> bool {
        limits.gas.is_some()
            || limits.deadline.is_some()
            || limits.cancel.is_some()
            || limits.pace.is_some()
    }

    /// Tell that a precompile is about to run.
    pub fn announce_precompile(&self) {
        if let Some(pace) = self.limits.pace {
            (pace.precompile)();
        }
    }

    fn look(&mut self, depth: usize, frame_gas: u64) -> Option<Stop> {
        if let Some(pace) = self.limits.pace {
            (pace.pass)();
        }
        if self.limits.gas.is_some_and(|limit| self.used(depth, frame_gas) > limit) {
            return Some(Stop::Gas);
        }
        self.passes += 1;
        if self.passes % PASSES_BETWEEN_LOOKS != 1 {
            return None;
        }
        if self.limits.cancel.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Some(Stop::Cancelled);
        }
        self.limits.deadline.is_some_and(|time| Instant::now() >= time).then_some(Stop::Deadline)
    }

    fn used(&self, depth: usize, frame_gas: u64) -> u64 {
        self.used_above.get(depth).copied().unwrap_or_default() + frame_gas
    }

    fn enter(&mut self, depth: usize, frame_gas: u64) {
        let used = self.used(depth, frame_gas);
        self.used_above.truncate(depth + 1);
        self.used_above.push(used);
    }
}

/// A context that carries a [`Watch`].
pub trait Watched: ContextTr<Chain = Watch> {}
impl<T: ContextTr<Chain = Watch>> Watched for T {}

/// Make the instructions that loops and calls pass look at the limits.
pub fn watch<C: Watched>(instructions: &mut EthInstructions<EthInterpreter, C>) {
    let table = instructions.instruction_table_mut();
    table[JUMPDEST as usize] = Instruction::new(watched_jumpdest::<C>);
    table[CALL as usize] = Instruction::new(watched_call::<CALL, C>);
    table[CALLCODE as usize] = Instruction::new(watched_call::<CALLCODE, C>);
    table[DELEGATECALL as usize] = Instruction::new(watched_call::<DELEGATECALL, C>);
    table[STATICCALL as usize] = Instruction::new(watched_call::<STATICCALL, C>);
    table[CREATE as usize] = Instruction::new(watched_create::<false, C>);
    table[CREATE2 as usize] = Instruction::new(watched_create::<true, C>);
}

type Step<'a, C> = InstructionContext<'a, C, EthInterpreter>;

fn watched_jumpdest<C: Watched>(mut step: Step<'_, C>) -> InstructionExecResult {
    look(&mut step)?;
    control::jumpdest(step)
}

fn watched_call<const KIND: u8, C: Watched>(mut step: Step<'_, C>) -> InstructionExecResult {
    look(&mut step)?;
    enter(&mut step);
    contract::call::<KIND, _, _>(step)
}

fn watched_create<const IS_CREATE2: bool, C: Watched>(
    mut step: Step<'_, C>,
) -> InstructionExecResult {
    look(&mut step)?;
    enter(&mut step);
    contract::create::<IS_CREATE2, _, _>(step)
}

fn look<C: Watched>(step: &mut Step<'_, C>) -> InstructionExecResult {
    let (depth, gas) = position(step);
    match step.host.chain_mut().look(depth, gas) {
        None => Ok(()),
        Some(stop) => Err(halt(step.host, stop)),
    }
}

fn enter<C: Watched>(step: &mut Step<'_, C>) {
    let (depth, gas) = position(step);
    step.host.chain_mut().enter(depth, gas);
}

/// Return the frame's index, the first being 0, and the gas it used so far.
fn position<C: Watched>(step: &Step<'_, C>) -> (usize, u64) {
    (step.host.journal().depth().saturating_sub(1), step.interpreter.gas.total_gas_spent())
}

/// Note why the execution ends and make it end.
pub fn halt<C: Watched>(context: &mut C, stop: Stop) -> InstructionResult {
    context.chain_mut().stopped = Some(stop);
    *context.error() = Err(ContextError::Custom(String::from("stopped")));
    InstructionResult::FatalExternalError
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evm::{Failure, run};
    use crate::testing::{World, transaction};
    use crate::tracer::Tracer;
    use revm::bytecode::opcode::{ADDRESS, DUP1, GAS, JUMP, PUSH0};
    use revm_inspectors::tracing::TransactionContext;

    const LOOP: &[u8] = &[JUMPDEST, PUSH0, JUMP];
    /// Calls itself twice, so that calls alone make it long.
    const FORK: &[u8] = &[
        PUSH0, PUSH0, PUSH0, PUSH0, PUSH0, ADDRESS, GAS, CALL, DUP1, PUSH0, PUSH0, PUSH0, PUSH0,
        ADDRESS, GAS, CALL,
    ];

    fn stopped(code: &[u8], gas_limit: u64, limits: Limits) -> Option<Stop> {
        let (_, snapshot) = World::with_contract(code).snapshot();
        let mut job = transaction(0);
        job.checks.gas_cap = false;
        job.checks.balance = false;
        job.message.env.gas_limit = gas_limit;
        job.limits = limits;
        match run(snapshot.as_ref(), &job, None) {
            Err(Failure::Stopped(stop)) => Some(stop),
            Ok(_) => None,
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn a_loop_stops_at_its_gas_budget() {
        let limits = Limits { gas: Some(50_000), ..Limits::default() };
        assert_eq!(stopped(LOOP, 1 << 40, limits), Some(Stop::Gas));
    }

    #[test]
    fn calls_without_loops_stop_at_their_gas_budget() {
        let limits = Limits { gas: Some(100_000), ..Limits::default() };
        assert_eq!(stopped(FORK, 1 << 40, limits), Some(Stop::Gas));
    }

    #[test]
    fn an_execution_within_its_budget_is_not_stopped() {
        let limits = Limits { gas: Some(10_000_000), ..Limits::default() };
        assert_eq!(stopped(LOOP, 9_000_000, limits.clone()), None);
        assert_eq!(stopped(FORK, 1_000_000, limits), None);
    }

    #[test]
    fn a_passed_deadline_stops_at_once() {
        let limits = Limits { deadline: Some(Instant::now()), ..Limits::default() };
        assert_eq!(stopped(LOOP, 1 << 40, limits), Some(Stop::Deadline));
    }

    #[test]
    fn a_raised_flag_stops_at_once() {
        let flag = Arc::new(AtomicBool::new(true));
        let limits = Limits { cancel: Some(flag), ..Limits::default() };
        assert_eq!(stopped(LOOP, 1 << 40, limits), Some(Stop::Cancelled));
    }

    #[test]
    fn a_trace_stops_when_it_outgrows_its_budget() {
        let (_, snapshot) = World::with_contract(LOOP).snapshot();
        let mut job = transaction(0);
        job.limits.trace_bytes = Some(100_000);
        let tracer = Tracer::parse(b"{}", TransactionContext::default()).unwrap();
        let failure = run(snapshot.as_ref(), &job, Some(&tracer)).unwrap_err();
        assert!(matches!(failure, Failure::Stopped(Stop::Trace)));
    }
}
