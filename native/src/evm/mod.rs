//! Execution of a transaction or a call on a state, by revm.

pub mod account;
pub mod console;
pub mod env;
pub mod l1_payment;
pub mod limits;
pub mod precompiles;
pub mod trace;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use alloy_primitives::U256;
use revm::context::{BlockEnv, CfgEnv, Context, Evm, Journal, TxEnv as RevmTxEnv};
use revm::context_interface::journaled_state::account::JournaledAccountTr;
use revm::context_interface::result::{
    EVMError, ExecutionResult as RevmResult, HaltReason, InvalidTransaction, OutOfGasError,
    ResultAndState, ResultGas,
};
use revm::context_interface::{ContextTr, FrameStack, JournalTr, Transaction, TransactionType};
use revm::handler::instructions::EthInstructions;
use revm::handler::pre_execution::{
    calculate_caller_fee, validate_account_nonce_and_code_with_components,
};
use revm::handler::validation::validate_env;
use revm::handler::{EthFrame, EvmTr, FrameResult, Handler};
use revm::inspector::InspectorHandler;
use revm::interpreter::InitialAndFloorGas;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_action::FrameInit;
use revm::state::EvmState;

use crate::blobs;
use crate::state::changes::Changes;
use crate::state::database::StateDatabase;
use crate::state::{ProviderError, State};
use account::rejection::{Rejection, Step};
use account::rules::RulesInspector;
use account::steps::{self, StepError};
use account::{Sender, sender_of};
use console::ConsoleCalls;
use env::{Checks, ExecutionEnv, Rules, TxEnv};
use l1_payment::pay_out;
use limits::{LimitChecker, LimitReached, check_limits};
use precompiles::Precompiles;
use trace::{TraceError, Tracer, TracerInspector};

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
}

/// Why an execution has no result.
#[derive(Debug, thiserror::Error)]
pub enum ExecutionError {
    /// The transaction is not valid on this state or in this block.
    #[error("{0}")]
    Invalid(InvalidTransaction),
    /// An account or a paymaster does not agree to the transaction, or cannot.
    #[error("{0:?}")]
    Rejected(Rejection),
    /// The state could not be read.
    #[error("{0}")]
    Provider(ProviderError),
    /// A limit was reached.
    #[error("limit reached: {0:?}")]
    LimitReached(LimitReached),
    /// The tracer is unknown, or failed.
    #[error("{0}")]
    Trace(String),
    /// The engine panicked, which is a bug.
    #[error("{0}")]
    Panicked(String),
}

/// Execute a transaction on `state`, which does not change.
pub fn execute(
    state: &dyn State,
    env: &ExecutionEnv,
    tracer: Option<&Tracer>,
) -> Result<ExecutionResult, ExecutionError> {
    let enforces_rules = env.tx.zk.as_ref().is_some_and(|zk| zk.enforces_rules);
    catch_panic(|| match tracer {
        None if enforces_rules => execute_ruled(state, env),
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
            Execution { result, touched: EvmState::default(), console: ConsoleCalls::default() };
        finish(state, env, execution, tracer.zip(inspector))
    })
}

fn execute_plain(state: &dyn State, env: &ExecutionEnv) -> Result<ExecutionResult, ExecutionError> {
    let mut evm = build(state, env, ());
    let result = match sender_of(state, env)? {
        None => TxHandler::new(env).run(&mut evm).map_err(StepError::from),
        Some(sender) => steps::run(&mut evm, env, sender, PlainFrames(env)),
    };
    let touched = evm.ctx.journaled_state.finalize();
    let result = result.map_err(|error| step_error(error, evm.ctx.chain.reached))?;
    finish(state, env, Execution { result, touched, console: evm.ctx.chain.console }, None)
}

/// Validate a transaction that runs in steps under the rules of a pool; any other is executed.
fn execute_ruled(state: &dyn State, env: &ExecutionEnv) -> Result<ExecutionResult, ExecutionError> {
    let (Some(sender), Some(zk)) = (sender_of(state, env)?, &env.tx.zk) else {
        return execute_plain(state, env);
    };
    let mut evm = build(state, env, RulesInspector::new(env, zk));
    let result = steps::run(&mut evm, env, sender, RuledFrames(env));
    let touched = evm.ctx.journaled_state.finalize();
    let result = result.map_err(|error| step_error(error, evm.ctx.chain.reached))?;
    finish(state, env, Execution { result, touched, console: evm.ctx.chain.console }, None)
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
    let execution = Execution { result, touched, console: evm.ctx.chain.console };
    finish(state, env, execution, Some((tracer, evm.inspector)))
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
    console: ConsoleCalls,
}

/// Settle what the transaction is charged beside its gas, and make the trace.
fn finish(
    state: &dyn State,
    env: &ExecutionEnv,
    execution: Execution,
    traced: Option<(&Tracer, TracerInspector)>,
) -> Result<ExecutionResult, ExecutionError> {
    let Execution { result, mut touched, console } = execution;
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
    Ok(ExecutionResult { changes, result, touched, trace, console })
}

type Database<'a> = StateDatabase<'a>;
type Ctx<'a> =
    Context<BlockEnv, RevmTxEnv, CfgEnv, Database<'a>, Journal<Database<'a>>, LimitChecker>;
type EngineEvm<'a, I> = Evm<
    Ctx<'a>,
    I,
    EthInstructions<EthInterpreter, Ctx<'a>>,
    Precompiles,
    EthFrame<EthInterpreter>,
>;

fn build<'a, I>(state: &'a dyn State, env: &'a ExecutionEnv, inspector: I) -> EngineEvm<'a, I> {
    let database = StateDatabase { state, block_hashes: &env.block_hashes };
    let context =
        Context::<BlockEnv, RevmTxEnv, CfgEnv, Database<'a>, Journal<Database<'a>>, ()>::new(
            database,
            env.rules.fork,
        )
        .with_chain(LimitChecker::new(env.limits.clone()))
        .with_cfg(config(&env.rules, &env.checks))
        .with_block(env.block.clone())
        .with_tx(env.tx.base.clone());
    let mut instructions = EthInstructions::new_mainnet_with_spec(env.rules.fork);
    if LimitChecker::is_needed(&env.limits) {
        check_limits(&mut instructions);
    }
    Evm {
        ctx: context,
        inspector,
        instruction: instructions,
        precompiles: Precompiles::new(env.rules.fork, env.precompiles.clone()),
        // A frame allocates a stack of 32 KiB, and most calls need only one: see bench_engine.
        frame_stack: FrameStack::new_prealloc(1),
    }
}

fn config(rules: &Rules, checks: &Checks) -> CfgEnv {
    let mut config = CfgEnv::new_with_spec(rules.fork).with_chain_id(rules.chain_id);
    config.disable_base_fee = !checks.base_fee;
    config.disable_fee_charge = !checks.fees;
    config.disable_balance_check = !checks.balance;
    config.disable_nonce_check = !checks.nonce;
    config.disable_eip3607 = !checks.sender_code;
    config.disable_block_gas_limit = !checks.gas_cap;
    let cap = if checks.gas_cap { rules.transaction_gas_limit() } else { None };
    config.tx_gas_limit_cap = Some(cap.unwrap_or(u64::MAX));
    config.max_blobs_per_tx = blobs::params(rules.fork).map(|params| params.max_blobs_per_tx);
    config.limit_contract_code_size = Some(rules.code_size_limit.unwrap_or(usize::MAX));
    config.limit_contract_initcode_size = Some(rules.init_code_limit());
    config
}

/// Ethereum's transaction processing, with the mint and the nonce of priority transactions.
struct TxHandler<'e, E> {
    tx: &'e TxEnv,
    checks: &'e Checks,
    evm: std::marker::PhantomData<E>,
}

impl<'e, E> TxHandler<'e, E> {
    fn new(env: &'e ExecutionEnv) -> Self {
        Self { tx: &env.tx, checks: &env.checks, evm: std::marker::PhantomData }
    }
}

/// Return the balance that `value` is sent from. revm checks it only where it charges fees.
fn afford(balance: U256, value: U256, checks: &Checks) -> Result<U256, InvalidTransaction> {
    if !checks.balance {
        return Ok(balance.max(value));
    }
    if balance < value {
        let (fee, balance) = (Box::new(value), Box::new(balance));
        return Err(InvalidTransaction::LackOfFundForMaxFee { fee, balance });
    }
    Ok(balance)
}

impl<'a, I> Handler for TxHandler<'_, EngineEvm<'a, I>>
where
    EngineEvm<'a, I>: EvmTr<Context = Ctx<'a>, Frame = EthFrame<EthInterpreter>>,
{
    type Evm = EngineEvm<'a, I>;
    type Error = EVMError<ProviderError>;
    type HaltReason = HaltReason;

    fn validate_env(&self, evm: &mut Self::Evm) -> Result<(), Self::Error> {
        let tx = &evm.ctx.tx;
        // revm leaves this check to the transaction decoder, which a call does not pass.
        if tx.tx_type() == TransactionType::Eip7702 && tx.kind().is_create() {
            let reason = "EIP-7702 transaction cannot be used to create contract";
            return Err(InvalidTransaction::from(reason).into());
        }
        if tx.tx_type() == TransactionType::Eip4844 && tx.kind().is_create() {
            return Err(InvalidTransaction::BlobCreateTransaction.into());
        }
        validate_env(evm.ctx())
    }

    fn validate_against_state_and_deduct_caller(
        &self,
        evm: &mut Self::Evm,
        _: &mut InitialAndFloorGas,
    ) -> Result<(), Self::Error> {
        let (block, tx, cfg, journal, _, _) = evm.ctx().all_mut();
        let mut sender = journal.load_account_with_code_mut(tx.caller())?.data;
        validate_account_nonce_and_code_with_components(&sender.account().info, tx, cfg)?;
        let minted = sender
            .balance()
            .checked_add(self.tx.mint)
            .ok_or(InvalidTransaction::OverflowPaymentInTransaction)?;
        let charged = calculate_caller_fee(minted, tx, block, cfg)?;
        sender.set_balance(afford(charged, tx.value(), self.checks)?);
        if tx.kind().is_call() && !self.tx.keeps_nonce {
            sender.bump_nonce();
        }
        Ok(())
    }
}

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

struct PlainFrames<'e>(&'e ExecutionEnv);

impl<'a> FrameRunner<'a, ()> for PlainFrames<'_> {
    fn run(
        &mut self,
        evm: &mut EngineEvm<'a, ()>,
        frame: FrameInit,
    ) -> Result<FrameResult, EVMError<ProviderError>> {
        TxHandler::new(self.0).run_exec_loop(evm, frame)
    }
}

struct InspectedFrames<'e>(&'e ExecutionEnv);

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
struct RuledFrames<'e>(&'e ExecutionEnv);

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

impl<'a> InspectorHandler for TxHandler<'_, EngineEvm<'a, TracerInspector>> {
    type IT = EthInterpreter;
}

impl<'a> InspectorHandler for TxHandler<'_, EngineEvm<'a, RulesInspector>> {
    type IT = EthInterpreter;
}

fn step_error(error: StepError, reached: Option<LimitReached>) -> ExecutionError {
    match error {
        StepError::Evm(error) => execution_error(error, reached),
        StepError::Rejected(rejection) => ExecutionError::Rejected(rejection),
    }
}

fn execution_error(
    error: EVMError<ProviderError>,
    reached: Option<LimitReached>,
) -> ExecutionError {
    match (error, reached) {
        (_, Some(limit)) => ExecutionError::LimitReached(limit),
        (EVMError::Transaction(invalid), None) => ExecutionError::Invalid(invalid),
        (EVMError::Database(error), None) => ExecutionError::Provider(error),
        (other, None) => ExecutionError::Panicked(other.to_string()),
    }
}

impl From<TraceError> for ExecutionError {
    fn from(error: TraceError) -> Self {
        match error {
            TraceError::Provider(error) => Self::Provider(error),
            TraceError::Tracer(text) => Self::Trace(text),
        }
    }
}

fn catch_panic<T>(work: impl FnOnce() -> Result<T, ExecutionError>) -> Result<T, ExecutionError> {
    // A panic leaves nothing half-written: locks are held only around map operations, and an overlay
    // changes only when a result is applied to it.
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|payload| Err(ExecutionError::Panicked(panic_text(payload.as_ref()))))
}

fn panic_text(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| String::from("panic"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::overlay::Overlay;
    use crate::testing::{ALICE, BOB, CONTRACT, ReadMode, World, transaction};
    use alloy_primitives::{B256, TxKind};
    use revm::bytecode::opcode::*;

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
