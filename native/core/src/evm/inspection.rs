//! Runs of a call that report what it touches.

use std::collections::BTreeSet;

use alloy_eips::eip2930::AccessList;
use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, B256};
use revm::context_interface::JournalTr;
use revm::context_interface::result::ExecutionResult as RevmResult;
use revm::inspector::InspectorHandler;
use revm_inspectors::access_list::AccessListInspector;

use super::console::ConsoleCalls;
use super::engine::{EngineEvm, build};
use super::env::ExecutionEnv;
use super::error::{ExecutionError, catch_panic};
use super::handler::TxHandler;
use super::limits::{LimitChecker, Limits};
use crate::state::State;

/// An engine that runs a call again and again, with other access lists.
pub struct TouchingCall<'a> {
    env: &'a ExecutionEnv,
    evm: EngineEvm<'a, AccessListInspector>,
}

/// A run of a call.
pub struct TouchingRun {
    /// Success, revert or halt; gas, output and logs.
    pub result: RevmResult,
    /// The accounts beside sender, target and precompiles that it touched, and all slots.
    pub touched: HashMap<Address, BTreeSet<B256>>,
    /// Calls of `console.log`.
    pub console: ConsoleCalls,
    /// What it took of a limit on its gas.
    pub budget_spent: u64,
}

impl<'a> TouchingCall<'a> {
    /// Prepare the call of `env`, which runs in no steps.
    pub fn new(state: &'a dyn State, env: &'a ExecutionEnv) -> Self {
        Self { env, evm: build(state, env, AccessListInspector::default()) }
    }

    /// Run with an access list, within `limits`; nothing changes.
    pub fn run(&mut self, list: AccessList, limits: Limits) -> Result<TouchingRun, ExecutionError> {
        let Self { env, evm } = self;
        evm.ctx.tx.access_list = list;
        evm.ctx.chain = LimitChecker::new(limits);
        catch_panic(|| {
            let result = TxHandler::new(env).inspect_run(evm);
            evm.ctx.journaled_state.finalize();
            let result =
                result.map_err(|error| ExecutionError::of_engine(error, evm.ctx.chain.reached))?;
            let touched = std::mem::take(&mut evm.inspector).into_touched_slots();
            let checker = std::mem::take(&mut evm.ctx.chain);
            let gas = result.gas().total_gas_spent();
            let budget_spent = gas.saturating_add(checker.surcharge());
            Ok(TouchingRun { result, touched, console: checker.console, budget_spent })
        })
    }
}
