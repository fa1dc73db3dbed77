//! Execution of a transaction or a call on a state, by revm.

use std::sync::Arc;

use alloy_primitives::Log;
use revm::context_interface::JournalTr;
use revm::context_interface::result::{
    ExecutionResult as RevmResult, HaltReason, OutOfGasError, ResultAndState, ResultGas,
};
use revm::handler::Handler;
use revm::inspector::InspectorHandler;
use revm::state::EvmState;

use super::account::rules::RulesInspector;
use super::account::sender::sender_of;
use super::account::steps::{self, StepError};
use super::account::zk_tx::{Sender, ZkTx};
use super::console::ConsoleCalls;
use super::engine::{EngineEvm, build};
use super::env::ExecutionEnv;
use super::error::{ExecutionError, catch_panic};
use super::frames::{BoundedFrames, InspectedFrames, PlainFrames};
use super::handler::TxHandler;
use super::l1_payment::pay_out;
use super::limits::{LimitChecker, LimitReached};
use super::trace::{self, Tracer, TracerInspector};
use super::transfers::TransferLogs;
use crate::state::State;
use crate::state::changes::Changes;
use crate::state::database::StateDatabase;

/// The result of an execution, with its state changes and trace.
#[derive(Debug)]
pub struct ExecutionResult {
    /// Success, revert or halt; gas, output and logs.
    pub result: RevmResult,
    /// State changes.
    pub changes: Changes,
    /// Every account and slot that was accessed.
    pub touched: EvmState,
    /// The trace, if a tracer was given; it may be long, so it is shared rather than copied.
    pub trace: Option<Arc<Vec<u8>>>,
    /// Calls of `console.log`.
    pub console: ConsoleCalls,
    /// What it did beyond what its gas pays for, in gas of other instructions that take as long.
    pub surcharge: u64,
}

impl ExecutionResult {
    /// What the execution took of a limit on its gas.
    pub fn budget_spent(&self) -> u64 {
        self.result.gas().total_gas_spent().saturating_add(self.surcharge)
    }
}

/// Execute a transaction on `state`, which does not change.
pub fn execute(
    state: &dyn State,
    env: &ExecutionEnv,
    tracer: Option<&Tracer>,
) -> Result<ExecutionResult, ExecutionError> {
    catch_panic(|| match tracer {
        None => execute_plain(state, env),
        Some(tracer) => execute_traced(state, env, tracer),
    })
}

/// Return the result of a transaction that L1 has paid for, and that is included although it cannot start.
///
/// It uses `gas_used`, and changes nothing but what L1's payment is spent on.
pub fn reject(
    state: &dyn State,
    env: &ExecutionEnv,
    gas_used: u64,
    tracer: Option<&Tracer>,
) -> Result<ExecutionResult, ExecutionError> {
    let reason = HaltReason::OutOfGas(OutOfGasError::Basic);
    let gas = ResultGas::default().with_total_gas_spent(gas_used);
    let result = RevmResult::Halt { reason, gas, logs: Vec::new() };
    let inspector = tracer.map(|tracer| TracerInspector::new(tracer, env.limits.trace_bytes));
    catch_panic(|| {
        let execution =
            Execution { result, touched: EvmState::default(), checker: LimitChecker::default() };
        finish(state, env, execution, tracer.zip(inspector))
    })
}

fn execute_plain(state: &dyn State, env: &ExecutionEnv) -> Result<ExecutionResult, ExecutionError> {
    let sender = sender_of(state, env)?;
    let bounded = env.tx.zk.as_deref().filter(|zk| zk.is_bounded());
    if let (Some(sender), Some(zk)) = (sender, bounded) {
        return execute_bounded(state, env, sender, zk);
    }
    let mut evm = build(state, env, ());
    let result = match sender {
        None => TxHandler::new(env).run(&mut evm).map_err(StepError::from),
        Some(sender) => steps::run(&mut evm, env, sender, PlainFrames(env)),
    };
    let touched = evm.ctx.journaled_state.finalize();
    let result = result.map_err(|error| step_error(error, evm.ctx.chain.reached))?;
    finish(state, env, Execution { result, touched, checker: evm.ctx.chain }, None)
}

/// Run a transaction in steps, those before the execution within their gas and time.
fn execute_bounded(
    state: &dyn State,
    env: &ExecutionEnv,
    sender: Sender,
    zk: &ZkTx,
) -> Result<ExecutionResult, ExecutionError> {
    let mut evm = build(state, env, RulesInspector::new(env, zk));
    let result = steps::run(&mut evm, env, sender, BoundedFrames(env));
    let touched = evm.ctx.journaled_state.finalize();
    let result = result.map_err(|error| step_error(error, evm.ctx.chain.reached))?;
    finish(state, env, Execution { result, touched, checker: evm.ctx.chain }, None)
}

fn execute_traced(
    state: &dyn State,
    env: &ExecutionEnv,
    tracer: &Tracer,
) -> Result<ExecutionResult, ExecutionError> {
    let inspector = TracerInspector::new(tracer, env.limits.trace_bytes);
    let mut evm = build(state, env, inspector);
    let result = match sender_of(state, env)? {
        None => TxHandler::new(env).inspect_run(&mut evm).map_err(StepError::from),
        Some(sender) => trace_steps(&mut evm, env, sender),
    };
    let touched = evm.ctx.journaled_state.finalize();
    let result = result.map_err(|error| step_error(error, evm.ctx.chain.reached))?;
    let execution = Execution { result, touched, checker: evm.ctx.chain };
    finish(state, env, execution, Some((tracer, evm.inspector)))
}

/// Execute a transaction that runs in no steps; return its logs and its transfers in order, too.
pub fn execute_with_transfers(
    state: &dyn State,
    env: &ExecutionEnv,
) -> Result<(ExecutionResult, Vec<Log>), ExecutionError> {
    catch_panic(|| {
        let mut evm = build(state, env, TransferLogs::default());
        let result = TxHandler::new(env).inspect_run(&mut evm).map_err(StepError::from);
        let touched = evm.ctx.journaled_state.finalize();
        let result = result.map_err(|error| step_error(error, evm.ctx.chain.reached))?;
        let execution = Execution { result, touched, checker: evm.ctx.chain };
        Ok((finish(state, env, execution, None)?, evm.inspector.logs))
    })
}

/// Run a transaction in steps, with one root frame around them.
fn trace_steps(
    evm: &mut EngineEvm<'_, TracerInspector>,
    env: &ExecutionEnv,
    sender: Sender,
) -> Result<RevmResult, StepError> {
    let inputs = trace::open_root(&mut evm.inspector, &mut evm.ctx, env);
    let result = steps::run(evm, env, sender, InspectedFrames(env))?;
    trace::close_root(&mut evm.inspector, &mut evm.ctx, &inputs, &result);
    Ok(result)
}

/// What an execution left in the engine.
struct Execution {
    result: RevmResult,
    touched: EvmState,
    checker: LimitChecker,
}

/// Settle what the transaction is charged beside its gas, and make the trace.
fn finish(
    state: &dyn State,
    env: &ExecutionEnv,
    execution: Execution,
    traced: Option<(&Tracer, TracerInspector)>,
) -> Result<ExecutionResult, ExecutionError> {
    let Execution { result, mut touched, checker } = execution;
    let credits = pay_out(&mut touched, state, env, &result).map_err(ExecutionError::Provider)?;
    let mut changes = Changes::of(&touched);
    for (address, wei) in credits {
        changes.credit_destroyed(address, wei);
    }
    let finished = ResultAndState::new(result, touched);
    let trace = match traced {
        None => None,
        Some((tracer, mut inspector)) => {
            let database = StateDatabase { state, block_hashes: &env.block_hashes };
            Some(Arc::new(inspector.finish(tracer, env, &finished, &database)?))
        }
    };
    let ResultAndState { result, state: touched } = finished;
    let surcharge = checker.surcharge();
    Ok(ExecutionResult { changes, result, touched, trace, console: checker.console, surcharge })
}

fn step_error(error: StepError, reached: Option<LimitReached>) -> ExecutionError {
    match error {
        StepError::Evm(error) => ExecutionError::of_engine(error, reached),
        StepError::Rejected(rejection) => ExecutionError::Rejected(rejection),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evm::env::Checks;
    use crate::state::overlay::Overlay;
    use crate::testing::{ALICE, BOB, CONTRACT, ReadMode, World, transaction};
    use alloy_primitives::{B256, TxKind, U256};
    use revm::bytecode::opcode::*;
    use revm::context_interface::result::InvalidTransaction;

    /// `slots[0] += 1`
    const COUNT: &[u8] = &[PUSH1, 1, PUSH0, SLOAD, ADD, PUSH0, SSTORE];

    #[test]
    fn a_result_changes_nothing_until_it_is_applied() {
        let (_, snapshot) = World::with_contract(COUNT).snapshot();
        let mut overlay = Overlay::new(snapshot);
        let result = execute(&overlay, &transaction(0), None).unwrap();
        assert_eq!(overlay.slot(CONTRACT, U256::ZERO).unwrap(), U256::ZERO);
        overlay.apply(&result.changes).unwrap();
        assert_eq!(overlay.slot(CONTRACT, U256::ZERO).unwrap(), U256::ONE);
        assert_eq!(overlay.account(ALICE).unwrap().unwrap().nonce, 1);
    }

    #[test]
    fn a_failing_provider_fails_the_execution_and_may_recover() {
        let (world, snapshot) = World::with_contract(COUNT).snapshot();
        *world.mode.lock() = ReadMode::Error;
        let error = execute(snapshot.as_ref(), &transaction(0), None).unwrap_err();
        assert!(
            matches!(error, ExecutionError::Provider(cause) if cause.to_string() == "disk on fire")
        );
        *world.mode.lock() = ReadMode::Ok;
        assert!(execute(snapshot.as_ref(), &transaction(0), None).unwrap().result.is_success());
    }

    #[test]
    fn a_panic_is_caught_and_leaves_the_snapshot_usable() {
        let (world, snapshot) = World::with_contract(COUNT).snapshot();
        *world.mode.lock() = ReadMode::Panic;
        let error = execute(snapshot.as_ref(), &transaction(0), None).unwrap_err();
        assert!(matches!(error, ExecutionError::Panicked(text) if text == "the provider panics"));
        *world.mode.lock() = ReadMode::Ok;
        assert!(execute(snapshot.as_ref(), &transaction(0), None).unwrap().result.is_success());
    }

    #[test]
    fn a_mint_survives_a_failed_execution() {
        let (_, snapshot) = World::with_contract(&[INVALID]).snapshot();
        let mut env = transaction(7);
        env.tx.base.caller = BOB;
        env.tx.mint = U256::from(500);
        env.tx.keeps_nonce = true;
        env.checks = Checks { nonce: false, fees: false, ..Checks::ALL };
        let result = execute(snapshot.as_ref(), &env, None).unwrap();
        assert!(result.result.is_halt());
        let bob = result.changes.accounts.iter().find(|change| change.address == BOB).unwrap();
        assert_eq!(bob.before, None);
        assert_eq!(bob.after.unwrap().balance, U256::from(500));
        assert_eq!(bob.after.unwrap().nonce, 0);
    }

    #[test]
    fn a_mint_that_overflows_is_rejected() {
        let (_, snapshot) = World::with_contract(&[STOP]).snapshot();
        let mut env = transaction(0);
        env.tx.mint = U256::MAX;
        let error = execute(snapshot.as_ref(), &env, None).unwrap_err();
        assert!(matches!(
            error,
            ExecutionError::Invalid(InvalidTransaction::OverflowPaymentInTransaction)
        ));
    }

    #[test]
    fn a_block_hash_of_the_environment_precedes_that_of_the_state() {
        let code = [PUSH1, 5, BLOCKHASH, PUSH0, SSTORE, PUSH1, 6, BLOCKHASH, PUSH1, 1, SSTORE];
        let (_, snapshot) = World::with_contract(&code).snapshot();
        let mut env = transaction(0);
        env.block.number = U256::from(9);
        env.block_hashes.insert(5, B256::repeat_byte(0x55));
        let result = execute(snapshot.as_ref(), &env, None).unwrap();
        let contract = &result.changes.accounts[1];
        assert_eq!(contract.storage[&U256::ZERO].after, U256::from_be_bytes([0x55; 32]));
        assert_eq!(contract.storage[&U256::ONE].after, U256::from(6));
    }

    #[test]
    fn a_contract_that_destroys_itself_as_it_is_created_leaves_no_change() {
        let (_, snapshot) = World::with_contract(&[]).snapshot();
        let mut env = transaction(0);
        env.tx.base.kind = TxKind::Create;
        env.tx.base.data = vec![PUSH1, 1, PUSH0, SSTORE, CALLER, SELFDESTRUCT].into();
        let result = execute(snapshot.as_ref(), &env, None).unwrap();
        assert!(result.result.is_success());
        let changed: Vec<_> = result.changes.accounts.iter().map(|c| c.address).collect();
        assert_eq!(changed, [ALICE]);
    }
}
