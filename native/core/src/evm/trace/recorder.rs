//! What records an execution for each kind of tracer, and makes its trace.

use std::collections::BTreeMap;

use alloy_primitives::{Address, Log, U256};
use alloy_rpc_types_trace::geth::FourByteFrame;
use alloy_rpc_types_trace::opcode::OpcodeGas;
use revm::Inspector;
use revm::context_interface::ContextTr;
use revm::context_interface::result::ResultAndState;
use revm::inspector::JournalExt;
use revm::interpreter::{CallInputs, CallOutcome, CreateInputs, CreateOutcome, Interpreter};
use revm_inspectors::opcode::OpcodeGasInspector;
use revm_inspectors::otterscan::InternalOperationsInspector;
use revm_inspectors::tracing::{FourByteInspector, TracingInspector};
use revm_inspectors::transfer::TransferInspector;
use serde_json::json;
use serde_json::value::RawValue;

use super::error::TraceError;
use super::frames::{FrameFormat, Position};
use super::json::encode;
use super::preimages::PreimageRecorder;
use super::prestate::{PrestateOptions, prestate};
use super::profile::Profiler;
use super::struct_log::StructLogger;
use super::tracer::Kind;
use crate::evm::env::ExecutionEnv;
use crate::state::database::StateDatabase;

/// Records an execution.
pub enum Recorder {
    /// Transfers of ether.
    Transfers(TransferInspector),
    /// The operations that Otterscan shows.
    InternalOperations(InternalOperationsInspector),
    /// Steps.
    StructLog(Box<StructLogger>),
    /// Call frames.
    Frames(Box<TracingInspector>, FrameFormat),
    /// Nothing: the states before and after tell everything.
    Prestate(PrestateOptions),
    /// Selectors.
    FourByte(FourByteInspector),
    /// Preimages of hashes.
    Preimages(PreimageRecorder),
    /// How often each opcode ran, and its gas.
    OpcodeGas(OpcodeGasInspector),
    /// How often each instruction of each code ran, and its gas.
    Profile(Profiler),
    /// Nothing.
    Noop,
    /// Several of them, by name.
    Mux(Vec<(String, Recorder)>),
}

impl Recorder {
    /// Return a recorder that has recorded nothing.
    pub(super) fn new(kind: &Kind) -> Self {
        match kind {
            Kind::Transfers => Self::Transfers(TransferInspector::new(false)),
            Kind::InternalOperations => {
                Self::InternalOperations(InternalOperationsInspector::default())
            }
            Kind::StructLog(options) => Self::StructLog(Box::new(StructLogger::new(*options))),
            Kind::Frames(format) => Self::Frames(Box::new(format.inspector()), format.clone()),
            Kind::Prestate(options) => Self::Prestate(*options),
            Kind::FourByte => Self::FourByte(FourByteInspector::default()),
            Kind::Preimages => Self::Preimages(PreimageRecorder::default()),
            Kind::OpcodeGas => Self::OpcodeGas(OpcodeGasInspector::new()),
            Kind::Profile => Self::Profile(Profiler::default()),
            Kind::Noop => Self::Noop,
            Kind::Mux(kinds) => Self::Mux(
                kinds.iter().map(|(name, kind)| (name.clone(), Self::new(kind))).collect(),
            ),
        }
    }

    /// Return the trace as JSON.
    pub fn finish(
        &mut self,
        position: Position,
        env: &ExecutionEnv,
        finished: &ResultAndState,
        database: &StateDatabase<'_>,
    ) -> Result<Vec<u8>, TraceError> {
        match self {
            Self::InternalOperations(inspector) => encode(&inspector.operations()),
            Self::Transfers(inspector) => encode(&transfers(inspector)),
            Self::StructLog(logger) => Ok(logger.finish(&finished.result)),
            Self::Frames(inspector, format) => {
                format.trace(inspector, position, env, finished, database)
            }
            Self::Prestate(options) => prestate(*options, finished, database),
            Self::FourByte(inspector) => encode(&FourByteFrame::from(&*inspector)),
            Self::Preimages(recorder) => encode(&recorder.preimages),
            Self::OpcodeGas(inspector) => encode(&opcode_gas(inspector)),
            Self::Profile(profiler) => encode(&profiler.profile()),
            Self::Noop => Ok(b"{}".to_vec()),
            Self::Mux(recorders) => {
                let mut traces = BTreeMap::new();
                for (name, recorder) in recorders {
                    let trace = recorder.finish(position, env, finished, database)?;
                    let text = String::from_utf8_lossy(&trace).into_owned();
                    let raw = RawValue::from_string(text)
                        .map_err(|error| TraceError::Tracer(error.to_string()))?;
                    traces.insert(name.as_str(), raw);
                }
                encode(&traces)
            }
        }
    }

    /// Call `visit` for each recorder, those of a mux tracer one by one.
    pub fn visit(&self, visit: &mut impl FnMut(&Self)) {
        match self {
            Self::Mux(recorders) => recorders.iter().for_each(|(_, it)| it.visit(visit)),
            other => visit(other),
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

/// Return what each opcode that ran has used, in the order of the opcodes.
fn opcode_gas(inspector: &OpcodeGasInspector) -> Vec<OpcodeGas> {
    let mut used: Vec<_> = inspector.opcode_iter().collect();
    used.sort_unstable_by_key(|(opcode, _)| opcode.get());
    used.into_iter()
        .map(|(opcode, (count, gas_used))| OpcodeGas {
            opcode: opcode.to_string(),
            count,
            gas_used,
        })
        .collect()
}

/// Call a hook of what records.
macro_rules! delegate {
    ($self:ident, $inspector:ident => $call:expr) => {
        match $self {
            Self::Transfers($inspector) => $call,
            Self::InternalOperations($inspector) => $call,
            Self::StructLog($inspector) => {
                let $inspector = $inspector.as_mut();
                $call
            }
            Self::Frames($inspector, _) => {
                let $inspector = $inspector.as_mut();
                $call
            }
            Self::FourByte($inspector) => $call,
            Self::Preimages($inspector) => $call,
            Self::OpcodeGas($inspector) => $call,
            Self::Profile($inspector) => $call,
            Self::Prestate(_) | Self::Noop => Default::default(),
            Self::Mux(recorders) => {
                for (_, $inspector) in recorders {
                    $call;
                }
                Default::default()
            }
        }
    };
}

impl<C: ContextTr<Journal: JournalExt>> Inspector<C> for Recorder {
    fn initialize_interp(&mut self, step: &mut Interpreter, context: &mut C) {
        delegate!(self, inspector => inspector.initialize_interp(step, context))
    }

    fn step(&mut self, step: &mut Interpreter, context: &mut C) {
        delegate!(self, inspector => inspector.step(step, context))
    }

    fn step_end(&mut self, step: &mut Interpreter, context: &mut C) {
        delegate!(self, inspector => inspector.step_end(step, context))
    }

    fn log(&mut self, context: &mut C, log: Log) {
        delegate!(self, inspector => inspector.log(context, log.clone()))
    }

    fn log_full(&mut self, step: &mut Interpreter, context: &mut C, log: Log) {
        delegate!(self, inspector => inspector.log_full(step, context, log.clone()))
    }

    fn call(&mut self, context: &mut C, inputs: &mut CallInputs) -> Option<CallOutcome> {
        delegate!(self, inspector => inspector.call(context, inputs))
    }

    fn call_end(&mut self, context: &mut C, inputs: &CallInputs, outcome: &mut CallOutcome) {
        delegate!(self, inspector => inspector.call_end(context, inputs, outcome))
    }

    fn create(&mut self, context: &mut C, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        delegate!(self, inspector => inspector.create(context, inputs))
    }

    fn create_end(&mut self, context: &mut C, inputs: &CreateInputs, outcome: &mut CreateOutcome) {
        delegate!(self, inspector => inspector.create_end(context, inputs, outcome))
    }

    fn selfdestruct(&mut self, contract: Address, target: Address, value: U256) {
        delegate!(self, inspector => Inspector::<C>::selfdestruct(inspector, contract, target, value))
    }
}
