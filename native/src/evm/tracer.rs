//! Tracers: inspectors that record an execution, and their traces as JSON.

use alloy_primitives::{Address, Log, U256};
use alloy_rpc_types_trace::geth::GethDebugTracingOptions;
use revm::Inspector;
use revm::bytecode::opcode::SELFDESTRUCT;
use revm::context_interface::result::ResultAndState;
use revm::context_interface::{ContextTr, JournalTr};
use revm::handler::FrameResult;
use revm::inspector::JournalExt;
use revm::interpreter::interpreter_types::{InputsTr, Jumps};
use revm::interpreter::{
    CallInputs, CallOutcome, CreateInputs, CreateOutcome, FrameInput, InstructionResult,
    Interpreter,
};
use revm_inspectors::access_list::AccessListInspector;
use revm_inspectors::otterscan::InternalOperationsInspector;
use revm_inspectors::tracing::{DebugInspector, DebugInspectorError, TransactionContext};
use revm_inspectors::transfer::TransferInspector;
use serde::Deserialize;
use serde_json::json;

use super::env::ExecutionEnv;
use super::limits::LimitedContext;
use super::trace_limit::TraceLimit;
use crate::state::ProviderError;
use crate::state::database::StateDatabase;

/// A tracer with its options, and the position of the traced transaction.
#[derive(Clone, Debug)]
pub struct Tracer {
    kind: Kind,
    context: TransactionContext,
}

#[derive(Clone, Debug)]
enum Kind {
    AccessList,
    Transfers,
    InternalOperations,
    Debug(Box<GethDebugTracingOptions>),
}

/// An error of a tracer.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The tracer is unknown, or does not take these options.
    #[error("{0}")]
    Tracer(String),
    /// The state could not be read.
    #[error("{0}")]
    Provider(ProviderError),
}

impl Tracer {
    /// Read the options object of the `debug_trace` methods.
    ///
    /// Beside geth's tracers there are `accessListTracer`, `transferTracer` and
    /// `internalOperationsTracer`.
    pub fn parse(options: &[u8], context: TransactionContext) -> Result<Self, TraceError> {
        #[derive(Deserialize)]
        struct Name {
            tracer: Option<String>,
        }
        let malformed = |error: serde_json::Error| TraceError::Tracer(error.to_string());
        let name: Name = serde_json::from_slice(options).map_err(malformed)?;
        let kind = match name.tracer.as_deref() {
            Some("accessListTracer") => Kind::AccessList,
            Some("transferTracer") => Kind::Transfers,
            Some("internalOperationsTracer") => Kind::InternalOperations,
            _ => {
                let options: GethDebugTracingOptions =
                    serde_json::from_slice(options).map_err(malformed)?;
                debug_inspector(&options)?;
                Kind::Debug(Box::new(options))
            }
        };
        Ok(Self { kind, context })
    }
}

fn debug_inspector(options: &GethDebugTracingOptions) -> Result<DebugInspector, TraceError> {
    DebugInspector::new(options.clone()).map_err(|error| match &options.tracer {
        Some(name) if name.is_js() => {
            TraceError::Tracer(format!("there is no tracer named {}", name.as_str()))
        }
        _ => TraceError::Tracer(error.to_string()),
    })
}

/// Records an execution.
pub struct TracerInspector {
    recorder: Recorder,
    limit: TraceLimit,
    /// A contract about to self-destruct with itself as the beneficiary.
    self_destructing: Option<Address>,
}

enum Recorder {
    AccessList(AccessListInspector),
    Transfers(TransferInspector),
    InternalOperations(InternalOperationsInspector),
    Debug(Box<DebugInspector>),
}

impl TracerInspector {
    /// Start recording for `tracer`, in at most `limit` bytes.
    pub fn new(tracer: &Tracer, limit: Option<usize>) -> Result<Self, TraceError> {
        let recorder = match &tracer.kind {
            Kind::AccessList => Recorder::AccessList(AccessListInspector::default()),
            Kind::Transfers => Recorder::Transfers(TransferInspector::new(false)),
            Kind::InternalOperations => {
                Recorder::InternalOperations(InternalOperationsInspector::default())
            }
            Kind::Debug(options) => Recorder::Debug(Box::new(debug_inspector(options)?)),
        };
        Ok(Self { recorder, limit: TraceLimit::new(limit), self_destructing: None })
    }

    /// Return the trace as JSON.
    pub fn finish(
        &mut self,
        tracer: &Tracer,
        env: &ExecutionEnv,
        finished: &ResultAndState,
        mut database: StateDatabase<'_>,
    ) -> Result<Vec<u8>, TraceError> {
        let encoded = match &mut self.recorder {
            Recorder::AccessList(inspector) => serde_json::to_vec(&inspector.access_list()),
            Recorder::InternalOperations(inspector) => serde_json::to_vec(inspector.operations()),
            Recorder::Transfers(inspector) => serde_json::to_vec(&transfers(inspector)),
            Recorder::Debug(inspector) => {
                let context = Some(tracer.context);
                let trace = inspector
                    .get_result(context, &env.tx.base, &env.block, finished, &mut database)
                    .map_err(|error| match error {
                        DebugInspectorError::Database(error) => TraceError::Provider(error),
                        other => TraceError::Tracer(other.to_string()),
                    })?;
                serde_json::to_vec(&trace)
            }
        };
        encoded.map_err(|error| TraceError::Tracer(error.to_string()))
    }
}

impl TracerInspector {
    /// Record a contract that is about to name itself as the beneficiary.
    fn before_selfdestruct(&mut self, step: &Interpreter) {
        let contract = step.input.target_address();
        if step.bytecode.opcode() == SELFDESTRUCT {
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
        if let Recorder::Debug(inspector) = &mut self.recorder {
            let account = context.journal_ref().evm_state().get(&contract);
            let balance = account.map(|account| account.info.balance).unwrap_or_default();
            Inspector::<C>::selfdestruct(inspector, contract, contract, balance);
        }
    }
}

fn transfers(inspector: &TransferInspector) -> Vec<serde_json::Value> {
    inspector
        .iter()
        .map(|transfer| {
            let kind = format!("{:?}", transfer.kind).to_lowercase();
            json!({"type": kind, "from": transfer.from, "to": transfer.to, "value": transfer.value})
        })
        .collect()
}

/// Call a hook of the inspector that records.
macro_rules! delegate {
    ($self:ident, $inspector:ident => $call:expr) => {
        match &mut $self.recorder {
            Recorder::AccessList($inspector) => $call,
            Recorder::Transfers($inspector) => $call,
            Recorder::InternalOperations($inspector) => $call,
            Recorder::Debug($inspector) => $call,
        }
    };
}

impl<C> Inspector<C> for TracerInspector
where
    C: LimitedContext + ContextTr<Journal: JournalExt>,
{
    fn initialize_interp(&mut self, step: &mut Interpreter, context: &mut C) {
        delegate!(self, inspector => inspector.initialize_interp(step, context))
    }

    fn step(&mut self, step: &mut Interpreter, context: &mut C) {
        if let Recorder::Debug(debug) = &self.recorder
            && let DebugInspector::Default(tracing, _) | DebugInspector::Erc7562Tracer(tracing, _) =
                debug.as_ref()
        {
            self.limit.add_step(tracing, step);
        }
        if !self.limit.check(context) {
            step.halt_fatal();
            return;
        }
        self.before_selfdestruct(step);
        delegate!(self, inspector => inspector.step(step, context))
    }

    fn step_end(&mut self, step: &mut Interpreter, context: &mut C) {
        delegate!(self, inspector => inspector.step_end(step, context))
    }

    fn log(&mut self, context: &mut C, log: Log) {
        self.limit.add_frame(log.data.data.len());
        delegate!(self, inspector => inspector.log(context, log))
    }

    fn log_full(&mut self, step: &mut Interpreter, context: &mut C, log: Log) {
        self.limit.add_frame(log.data.data.len());
        delegate!(self, inspector => inspector.log_full(step, context, log))
    }

    fn call(&mut self, context: &mut C, inputs: &mut CallInputs) -> Option<CallOutcome> {
        self.limit.add_frame(inputs.input.len());
        delegate!(self, inspector => inspector.call(context, inputs))
    }

    fn call_end(&mut self, context: &mut C, inputs: &CallInputs, outcome: &mut CallOutcome) {
        self.limit.add_frame(outcome.result.output.len());
        self.report_selfdestruct(context, outcome.result.result);
        delegate!(self, inspector => inspector.call_end(context, inputs, outcome))
    }

    fn create(&mut self, context: &mut C, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        self.limit.add_frame(inputs.init_code().len());
        delegate!(self, inspector => inspector.create(context, inputs))
    }

    fn create_end(&mut self, context: &mut C, inputs: &CreateInputs, outcome: &mut CreateOutcome) {
        self.limit.add_frame(outcome.result.output.len());
        self.report_selfdestruct(context, outcome.result.result);
        delegate!(self, inspector => inspector.create_end(context, inputs, outcome))
    }

    fn selfdestruct(&mut self, contract: Address, target: Address, value: U256) {
        self.self_destructing = None;
        delegate!(self, inspector => Inspector::<C>::selfdestruct(inspector, contract, target, value))
    }

    fn frame_start(&mut self, context: &mut C, input: &mut FrameInput) -> Option<FrameResult> {
        delegate!(self, inspector => inspector.frame_start(context, input))
    }

    fn frame_end(&mut self, context: &mut C, input: &FrameInput, result: &mut FrameResult) {
        delegate!(self, inspector => inspector.frame_end(context, input, result))
    }
}
