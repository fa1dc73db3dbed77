//! The inspector of a traced execution: it records within a limit.

use alloy_primitives::{Address, Log, U256};
use revm::Inspector;
use revm::bytecode::opcode::SELFDESTRUCT;
use revm::context_interface::result::ResultAndState;
use revm::context_interface::{ContextTr, JournalTr};
use revm::inspector::JournalExt;
use revm::interpreter::interpreter_types::{InputsTr, Jumps};
use revm::interpreter::{
    CallInputs, CallOutcome, CreateInputs, CreateOutcome, InstructionResult, Interpreter,
};

use super::error::TraceError;
use super::limit::TraceLimit;
use super::recorder::Recorder;
use super::tracer::Tracer;
use crate::evm::env::ExecutionEnv;
use crate::evm::limits::LimitedContext;
use crate::state::database::StateDatabase;

/// Records an execution for a [`Tracer`].
pub struct TracerInspector {
    recorder: Recorder,
    limit: TraceLimit,
    /// A contract about to self-destruct with itself as the beneficiary.
    self_destructing: Option<Address>,
}

impl TracerInspector {
    /// Start recording for `tracer`, in at most `limit` bytes.
    pub fn new(tracer: &Tracer, limit: Option<usize>) -> Self {
        Self {
            recorder: Recorder::new(&tracer.kind),
            limit: TraceLimit::new(limit),
            self_destructing: None,
        }
    }

    /// Return the trace as JSON.
    pub fn finish(
        &mut self,
        tracer: &Tracer,
        env: &ExecutionEnv,
        finished: &ResultAndState,
        database: &StateDatabase<'_>,
    ) -> Result<Vec<u8>, TraceError> {
        let mut position = tracer.position;
        position.info.block_number = Some(env.block.number.saturating_to());
        position.info.base_fee = Some(env.block.basefee);
        self.recorder.finish(position, env, finished, database)
    }

    /// Record a contract that is about to name itself as the beneficiary.
    fn before_selfdestruct(&mut self, step: &Interpreter) {
        if step.bytecode.opcode() == SELFDESTRUCT {
            let contract = step.input.target_address();
            let is_own_beneficiary =
                step.stack.peek(0).is_ok_and(|word| Address::from_word(word.into()) == contract);
            self.self_destructing = is_own_beneficiary.then_some(contract);
        }
    }

    /// Report a self-destruct that moved no ether: revm calls no hook for it.
    fn report_selfdestruct<C>(&mut self, context: &C, result: InstructionResult)
    where
        C: LimitedContext + ContextTr<Journal: JournalExt>,
    {
        let Some(contract) =
            self.self_destructing.take_if(|_| result == InstructionResult::SelfDestruct)
        else {
            return;
        };
        if matches!(self.recorder, Recorder::Transfers(_)) {
            return;
        }
        let account = context.journal_ref().evm_state().get(&contract);
        let balance = account.map(|account| account.info.balance).unwrap_or_default();
        Inspector::<C>::selfdestruct(&mut self.recorder, contract, contract, balance);
    }
}

impl<C> Inspector<C> for TracerInspector
where
    C: LimitedContext + ContextTr<Journal: JournalExt>,
{
    fn initialize_interp(&mut self, step: &mut Interpreter, context: &mut C) {
        self.recorder.initialize_interp(step, context);
    }

    fn step(&mut self, step: &mut Interpreter, context: &mut C) {
        self.limit.add_step(&self.recorder, step);
        if !self.limit.check(context) {
            step.halt_fatal();
            return;
        }
        self.before_selfdestruct(step);
        self.recorder.step(step, context);
    }

    fn step_end(&mut self, step: &mut Interpreter, context: &mut C) {
        self.recorder.step_end(step, context);
    }

    fn log(&mut self, context: &mut C, log: Log) {
        self.limit.add_frame(log.data.data.len());
        self.recorder.log(context, log);
    }

    fn log_full(&mut self, step: &mut Interpreter, context: &mut C, log: Log) {
        self.limit.add_frame(log.data.data.len());
        self.recorder.log_full(step, context, log);
    }

    fn call(&mut self, context: &mut C, inputs: &mut CallInputs) -> Option<CallOutcome> {
        self.limit.add_frame(inputs.input.len());
        self.recorder.call(context, inputs)
    }

    fn call_end(&mut self, context: &mut C, inputs: &CallInputs, outcome: &mut CallOutcome) {
        self.limit.add_frame(outcome.result.output.len());
        self.report_selfdestruct(context, outcome.result.result);
        self.recorder.call_end(context, inputs, outcome);
    }

    fn create(&mut self, context: &mut C, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        self.limit.add_frame(inputs.init_code().len());
        self.recorder.create(context, inputs)
    }

    fn create_end(&mut self, context: &mut C, inputs: &CreateInputs, outcome: &mut CreateOutcome) {
        self.limit.add_frame(outcome.result.output.len());
        self.report_selfdestruct(context, outcome.result.result);
        self.recorder.create_end(context, inputs, outcome);
    }

    fn selfdestruct(&mut self, contract: Address, target: Address, value: U256) {
        self.self_destructing = None;
        Inspector::<C>::selfdestruct(&mut self.recorder, contract, target, value);
    }
}
