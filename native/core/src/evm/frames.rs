//! Runners of the frames of a step: plain, traced, or under the rules of a pool.

use revm::context_interface::result::EVMError;
use revm::handler::{FrameResult, Handler};
use revm::inspector::InspectorHandler;
use revm::interpreter::interpreter_action::FrameInit;

use super::account::rejection::Step;
use super::account::rules::RulesInspector;
use super::engine::EngineEvm;
use super::env::ExecutionEnv;
use super::handler::TxHandler;
use super::trace::TracerInspector;
use crate::state::ProviderError;

/// Runs a top frame and the frames that it opens.
pub trait FrameRunner<'a, I> {
    /// Run `frame` until it ends.
    fn run(
        &mut self,
        evm: &mut EngineEvm<'a, I>,
        frame: FrameInit,
    ) -> Result<FrameResult, EVMError<ProviderError>>;

    /// Prepare for the frames of a step without which a transaction is not included.
    fn start(&mut self, _evm: &mut EngineEvm<'a, I>, _step: Step, _allowed_gas: u64) {}

    /// Return what the frames of that step have used, and done that is not allowed.
    fn end(&mut self, _evm: &mut EngineEvm<'a, I>) -> StepUse {
        StepUse::default()
    }
}

/// What the frames of a step have used and done, if that was watched.
#[derive(Debug, Default)]
pub struct StepUse {
    /// Gas.
    pub gas: u64,
    /// What is not allowed.
    pub violation: Option<String>,
}

/// Runs frames without an inspector.
pub(super) struct PlainFrames<'e>(pub(super) &'e ExecutionEnv);

impl<'a> FrameRunner<'a, ()> for PlainFrames<'_> {
    fn run(
        &mut self,
        evm: &mut EngineEvm<'a, ()>,
        frame: FrameInit,
    ) -> Result<FrameResult, EVMError<ProviderError>> {
        TxHandler::new(self.0).run_exec_loop(evm, frame)
    }
}

/// Runs frames for a tracer.
pub(super) struct InspectedFrames<'e>(pub(super) &'e ExecutionEnv);

impl<'a> FrameRunner<'a, TracerInspector> for InspectedFrames<'_> {
    fn run(
        &mut self,
        evm: &mut EngineEvm<'a, TracerInspector>,
        frame: FrameInit,
    ) -> Result<FrameResult, EVMError<ProviderError>> {
        TxHandler::new(self.0).inspect_run_exec_loop(evm, frame)
    }
}

/// Runs the frames of the steps before the execution within their gas and time, and under the rules of a pool.
pub(super) struct BoundedFrames<'e>(pub(super) &'e ExecutionEnv);

impl<'a> FrameRunner<'a, RulesInspector> for BoundedFrames<'_> {
    fn run(
        &mut self,
        evm: &mut EngineEvm<'a, RulesInspector>,
        frame: FrameInit,
    ) -> Result<FrameResult, EVMError<ProviderError>> {
        if evm.inspector.is_metering {
            TxHandler::new(self.0).inspect_run_exec_loop(evm, frame)
        } else {
            TxHandler::new(self.0).run_exec_loop(evm, frame)
        }
    }

    fn start(&mut self, evm: &mut EngineEvm<'a, RulesInspector>, step: Step, allowed_gas: u64) {
        evm.inspector.start(step, allowed_gas);
    }

    fn end(&mut self, evm: &mut EngineEvm<'a, RulesInspector>) -> StepUse {
        evm.ctx.chain.precompile_gas = None;
        StepUse { gas: evm.inspector.end(), violation: evm.inspector.violation.clone() }
    }
}
