//! Runs one message on a state.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use alloy_primitives::U256;
use revm::context::{BlockEnv, CfgEnv, Context, Evm, Journal, TxEnv};
use revm::context_interface::journaled_state::account::JournaledAccountTr;
use revm::context_interface::result::{
    EVMError, ExecutionResult, HaltReason, InvalidTransaction, ResultAndState,
};
use revm::context_interface::{ContextTr, FrameStack, JournalTr, Transaction, TransactionType};
use revm::handler::instructions::EthInstructions;
use revm::handler::pre_execution::{
    calculate_caller_fee, validate_account_nonce_and_code_with_components,
};
use revm::handler::validation::validate_env;
use revm::handler::{EthFrame, EvmTr, Handler};
use revm::inspector::InspectorHandler;
use revm::interpreter::InitialAndFloorGas;
use revm::interpreter::interpreter::EthInterpreter;
use revm::state::EvmState;

use crate::changes::Changes;
use crate::job::{Checks, Job, Message, Rules};
use crate::precompiles::Precompiles;
use crate::reader::Reader;
use crate::state::{SourceError, State};
use crate::tracer::{TraceError, Tracer, TracerInspector};
use crate::watch::{Stop, Watch, watch};

/// How an execution ended, and what it did.
#[derive(Debug)]
pub struct Outcome {
    /// Success, revert or halt; gas, output and logs.
    pub result: ExecutionResult,
    /// What it changed.
    pub changes: Changes,
    /// Every account and slot that it looked at.
    pub touched: EvmState,
    /// The trace, if one was asked for.
    pub trace: Option<Vec<u8>>,
}

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The message is not valid here.
    #[error("{0}")]
    Invalid(InvalidTransaction),
    /// The state could not be read.
    #[error("{0}")]
    Source(SourceError),
    /// A limit was reached.
    #[error("stopped: {0:?}")]
    Stopped(Stop),
    /// The tracer could not be made, or could not tell.
    #[error("{0}")]
    Trace(String),
    /// The engine is broken.
    #[error("{0}")]
    Panicked(String),
}

/// Run `job` on `state`, which stays as it is.
pub fn run(state: &dyn State, job: &Job, tracer: Option<&Tracer>) -> Result<Outcome, Failure> {
    catch_panic(|| match tracer {
        None => run_plain(state, job),
        Some(tracer) => run_traced(state, job, tracer),
    })
}

fn run_plain(state: &dyn State, job: &Job) -> Result<Outcome, Failure> {
    let mut evm = build(state, job, ());
    let result = MessageHandler::new(job).run(&mut evm);
    let touched = evm.ctx.journaled_state.finalize();
    let result = result.map_err(|error| failure(error, evm.ctx.chain.stopped))?;
    Ok(Outcome { changes: Changes::of(&touched), result, touched, trace: None })
}

fn run_traced(state: &dyn State, job: &Job, tracer: &Tracer) -> Result<Outcome, Failure> {
    let inspector = TracerInspector::new(tracer, job.limits.trace_bytes)?;
    let mut evm = build(state, job, inspector);
    let result = MessageHandler::new(job).inspect_run(&mut evm);
    let touched = evm.ctx.journaled_state.finalize();
    let result = result.map_err(|error| failure(error, evm.ctx.chain.stopped))?;
    let changes = Changes::of(&touched);
    let finished = ResultAndState::new(result, touched);
    let reader = Reader { state, block_hashes: &job.block_hashes };
    let trace = evm.inspector.finish(tracer, job, &finished, reader)?;
    let ResultAndState { result, state: touched } = finished;
    Ok(Outcome { changes, result, touched, trace: Some(trace) })
}

type Ctx<'a> = Context<BlockEnv, TxEnv, CfgEnv, Reader<'a>, Journal<Reader<'a>>, Watch>;
type Machine<'a, I> = Evm<
    Ctx<'a>,
    I,
    EthInstructions<EthInterpreter, Ctx<'a>>,
    Precompiles,
    EthFrame<EthInterpreter>,
>;

fn build<'a, I>(state: &'a dyn State, job: &'a Job, inspector: I) -> Machine<'a, I> {
    let reader = Reader { state, block_hashes: &job.block_hashes };
    let context = Context::<BlockEnv, TxEnv, CfgEnv, Reader<'a>, Journal<Reader<'a>>, ()>::new(
        reader,
        job.rules.fork,
    )
    .with_chain(Watch::new(job.limits.clone()))
    .with_cfg(config(&job.rules, &job.checks))
    .with_block(job.block.clone())
    .with_tx(job.message.env.clone());
    let mut instructions = EthInstructions::new_mainnet_with_spec(job.rules.fork);
    if Watch::is_needed(&job.limits) {
        watch(&mut instructions);
    }
    Evm {
        ctx: context,
        inspector,
        instruction: instructions,
        precompiles: Precompiles::new(job.rules.fork, job.precompiles.clone()),
        // A frame brings a stack of 32 KiB, and most calls need just one: see bench_engine.
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
    if !checks.gas_cap {
        config.tx_gas_limit_cap = Some(u64::MAX);
    }
    config
}

/// Runs a message as Ethereum runs a transaction, but for what a priority transaction needs.
struct MessageHandler<'m, M> {
    message: &'m Message,
    checks: &'m Checks,
    machine: std::marker::PhantomData<M>,
}

impl<'m, M> MessageHandler<'m, M> {
    fn new(job: &'m Job) -> Self {
        Self { message: &job.message, checks: &job.checks, machine: std::marker::PhantomData }
    }
}

/// Return the balance from which `value` can be sent. Where fees are not charged, revm does not
/// look at the balance either.
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

impl<'a, I> Handler for MessageHandler<'_, Machine<'a, I>>
where
    Machine<'a, I>: EvmTr<Context = Ctx<'a>, Frame = EthFrame<EthInterpreter>>,
{
    type Evm = Machine<'a, I>;
    type Error = EVMError<SourceError>;
    type HaltReason = HaltReason;

    fn validate_env(&self, evm: &mut Self::Evm) -> Result<(), Self::Error> {
        let tx = &evm.ctx.tx;
        // revm leaves this to the decoder of transactions, which a message did not pass.
        if tx.tx_type() == TransactionType::Eip7702 && tx.kind().is_create() {
            let reason = "EIP-7702 transaction cannot be used to create contract";
            return Err(InvalidTransaction::from(reason).into());
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
            .checked_add(self.message.mint)
            .ok_or(InvalidTransaction::OverflowPaymentInTransaction)?;
        let charged = calculate_caller_fee(minted, tx, block, cfg)?;
        sender.set_balance(afford(charged, tx.value(), self.checks)?);
        if tx.kind().is_call() && !self.message.keeps_nonce {
            sender.bump_nonce();
        }
        Ok(())
    }
}

impl<'a> InspectorHandler for MessageHandler<'_, Machine<'a, TracerInspector>> {
    type IT = EthInterpreter;
}

fn failure(error: EVMError<SourceError>, stopped: Option<Stop>) -> Failure {
    match (error, stopped) {
        (_, Some(stop)) => Failure::Stopped(stop),
        (EVMError::Transaction(invalid), None) => Failure::Invalid(invalid),
        (EVMError::Database(error), None) => Failure::Source(error),
        (other, None) => Failure::Panicked(other.to_string()),
    }
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        match error {
            TraceError::Source(error) => Self::Source(error),
            TraceError::Tracer(text) => Self::Trace(text),
        }
    }
}

fn catch_panic<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    // Nothing that a panic can leave half-written outlives `work`: locks are held only around map
    // operations, and an overlay changes only when an outcome is applied to it.
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|payload| Err(Failure::Panicked(panic_text(payload.as_ref()))))
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
    use crate::overlay::Overlay;
    use crate::testing::{ALICE, BOB, CONTRACT, Mood, World, transaction};
    use alloy_primitives::{B256, TxKind};
    use revm::bytecode::opcode::*;

    /// `slots[0] += 1`
    const COUNT: &[u8] = &[PUSH1, 1, PUSH0, SLOAD, ADD, PUSH0, SSTORE];

    #[test]
    fn an_outcome_changes_nothing_until_it_is_applied() {
        let (_, snapshot) = World::with_contract(COUNT).snapshot();
        let mut overlay = Overlay::new(snapshot);
        let outcome = run(&overlay, &transaction(0), None).unwrap();
        assert_eq!(overlay.slot(CONTRACT, U256::ZERO).unwrap(), U256::ZERO);
        overlay.apply(&outcome.changes).unwrap();
        assert_eq!(overlay.slot(CONTRACT, U256::ZERO).unwrap(), U256::ONE);
        assert_eq!(overlay.account(ALICE).unwrap().unwrap().nonce, 1);
    }

    #[test]
    fn a_failing_source_fails_the_run_and_may_recover() {
        let (world, snapshot) = World::with_contract(COUNT).snapshot();
        *world.mood.lock() = Mood::Failing;
        let failure = run(snapshot.as_ref(), &transaction(0), None).unwrap_err();
        assert!(matches!(failure, Failure::Source(error) if error.to_string() == "disk on fire"));
        *world.mood.lock() = Mood::Helpful;
        assert!(run(snapshot.as_ref(), &transaction(0), None).unwrap().result.is_success());
    }

    #[test]
    fn a_panic_is_caught_and_leaves_the_snapshot_usable() {
        let (world, snapshot) = World::with_contract(COUNT).snapshot();
        *world.mood.lock() = Mood::Panicking;
        let failure = run(snapshot.as_ref(), &transaction(0), None).unwrap_err();
        assert!(matches!(failure, Failure::Panicked(text) if text == "the source lost its head"));
        *world.mood.lock() = Mood::Helpful;
        assert!(run(snapshot.as_ref(), &transaction(0), None).unwrap().result.is_success());
    }

    #[test]
    fn a_mint_survives_the_failure_of_what_it_pays_for() {
        let (_, snapshot) = World::with_contract(&[INVALID]).snapshot();
        let mut job = transaction(7);
        job.message.env.caller = BOB;
        job.message.mint = U256::from(500);
        job.message.keeps_nonce = true;
        job.checks = Checks { nonce: false, fees: false, ..Checks::ALL };
        let outcome = run(snapshot.as_ref(), &job, None).unwrap();
        assert!(outcome.result.is_halt());
        let bob = outcome.changes.accounts.iter().find(|change| change.address == BOB).unwrap();
        assert_eq!(bob.before, None);
        assert_eq!(bob.after.unwrap().balance, U256::from(500));
        assert_eq!(bob.after.unwrap().nonce, 0);
    }

    #[test]
    fn a_mint_that_overflows_is_rejected() {
        let (_, snapshot) = World::with_contract(&[STOP]).snapshot();
        let mut job = transaction(0);
        job.message.mint = U256::MAX;
        let failure = run(snapshot.as_ref(), &job, None).unwrap_err();
        assert!(matches!(
            failure,
            Failure::Invalid(InvalidTransaction::OverflowPaymentInTransaction)
        ));
    }

    #[test]
    fn a_block_hash_given_with_the_job_counts_before_the_states() {
        let code = [PUSH1, 5, BLOCKHASH, PUSH0, SSTORE, PUSH1, 6, BLOCKHASH, PUSH1, 1, SSTORE];
        let (_, snapshot) = World::with_contract(&code).snapshot();
        let mut job = transaction(0);
        job.block.number = U256::from(9);
        job.block_hashes.insert(5, B256::repeat_byte(0x55));
        let outcome = run(snapshot.as_ref(), &job, None).unwrap();
        let contract = &outcome.changes.accounts[1];
        assert_eq!(contract.storage[&U256::ZERO].after, U256::from_be_bytes([0x55; 32]));
        assert_eq!(contract.storage[&U256::ONE].after, U256::from(6));
    }

    #[test]
    fn a_contract_that_destroys_itself_as_it_is_created_leaves_no_change() {
        let (_, snapshot) = World::with_contract(&[]).snapshot();
        let mut job = transaction(0);
        job.message.env.kind = TxKind::Create;
        job.message.env.data = vec![PUSH1, 1, PUSH0, SSTORE, CALLER, SELFDESTRUCT].into();
        let outcome = run(snapshot.as_ref(), &job, None).unwrap();
        assert!(outcome.result.is_success());
        let changed: Vec<_> = outcome.changes.accounts.iter().map(|c| c.address).collect();
        assert_eq!(changed, [ALICE]);
    }
}
