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

    /// Prepare for the frames of a step.
    fn start(&mut self, _evm: &mut EngineEvm<'a, I>, _step: Step) {}

    /// Return what the frames have done that a pool does not allow.
    fn violation(&self, _evm: &EngineEvm<'a, I>) -> Option<String> {
        None
    }
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

/// Runs the frames of a validation under the rules of a pool, except for those of the paymaster.
pub(super) struct RuledFrames<'e>(pub(super) &'e ExecutionEnv);

impl<'a> FrameRunner<'a, RulesInspector> for RuledFrames<'_> {
    fn run(
        &mut self,
        evm: &mut EngineEvm<'a, RulesInspector>,
        frame: FrameInit,
    ) -> Result<FrameResult, EVMError<ProviderError>> {
        TxHandler::new(self.0).inspect_run_exec_loop(evm, frame)
    }

    fn start(&mut self, evm: &mut EngineEvm<'a, RulesInspector>, step: Step) {
        evm.inspector.is_watching = step != Step::Paymaster;
    }

    fn violation(&self, evm: &EngineEvm<'a, RulesInspector>) -> Option<String> {
        evm.inspector.violation.clone()
    }
}
