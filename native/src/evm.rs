//! Runs one message on a state.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use alloy_primitives::{Address, B256, U256, map::HashMap};
use revm::bytecode::Bytecode;
use revm::context::{BlockEnv, CfgEnv, Context, Evm, Journal, TxEnv};
use revm::context_interface::journaled_state::account::JournaledAccountTr;
use revm::context_interface::result::{
    EVMError, ExecutionResult, HaltReason, InvalidTransaction, ResultAndState,
};
use revm::context_interface::{ContextTr, JournalTr, Transaction, TransactionType};
use revm::database_interface::{Database, DatabaseRef};
use revm::handler::instructions::EthInstructions;
use revm::handler::pre_execution::{
    calculate_caller_fee, validate_account_nonce_and_code_with_components,
};
use revm::handler::validation::validate_env;
use revm::handler::{EthFrame, EthPrecompiles, EvmTr, Handler};
use revm::inspector::InspectorHandler;
use revm::interpreter::InitialAndFloorGas;
use revm::interpreter::interpreter::EthInterpreter;
use revm::primitives::hardfork::SpecId;
use revm::state::{AccountInfo, EvmState};

use crate::changes::Changes;
use crate::state::{SourceError, State};
use crate::tracer::{TraceError, Tracer, TracerInspector};
use crate::watch::{Limits, Stop, Watch, watch};

/// What the chain fixes for every execution.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The chain's id.
    pub chain_id: u64,
    /// Which EVM.
    pub fork: SpecId,
}

/// Which checks a message has to pass, and whether it pays.
#[derive(Clone, Copy, Debug)]
pub struct Checks {
    /// The price has to reach the base fee.
    pub base_fee: bool,
    /// Gas is paid for, and the beneficiary gets the tip.
    pub fees: bool,
    /// The sender has to afford gas and value.
    pub balance: bool,
    /// The nonce has to be the sender's next.
    pub nonce: bool,
    /// The sender must not have code (EIP-3607).
    pub sender_code: bool,
    /// The gas limit has to respect the caps of the transaction and of the block.
    pub gas_cap: bool,
}

impl Checks {
    /// All of them: a transaction.
    pub const ALL: Self = Self {
        base_fee: true,
        fees: true,
        balance: true,
        nonce: true,
        sender_code: true,
        gas_cap: true,
    };
    /// None of them: a question.
    pub const NONE: Self = Self {
        base_fee: false,
        fees: false,
        balance: false,
        nonce: false,
        sender_code: false,
        gas_cap: false,
    };
}

/// A transaction or a call.
#[derive(Clone, Debug)]
pub struct Message {
    /// What the EVM executes.
    pub env: TxEnv,
    /// Credited to the sender before anything else, and kept if the execution fails.
    pub mint: U256,
    /// Leave the sender's nonce alone.
    pub keeps_nonce: bool,
}

/// Everything about an execution but the state.
#[derive(Clone, Debug)]
pub struct Job {
    /// The chain's rules.
    pub rules: Rules,
    /// The block it runs in.
    pub block: BlockEnv,
    /// Hashes of earlier blocks that count instead of those the state knows.
    pub block_hashes: HashMap<u64, B256>,
    /// What runs.
    pub message: Message,
    /// The checks it has to pass.
    pub checks: Checks,
    /// How far it may go.
    pub limits: Limits,
}

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
    let result = MessageHandler::new(&job.message).run(&mut evm);
    let touched = evm.ctx.journaled_state.finalize();
    let result = result.map_err(|error| failure(error, evm.ctx.chain.stopped))?;
    Ok(Outcome { changes: Changes::of(&touched), result, touched, trace: None })
}

fn run_traced(state: &dyn State, job: &Job, tracer: &Tracer) -> Result<Outcome, Failure> {
    let inspector = TracerInspector::new(tracer, job.limits.trace_bytes)?;
    let mut evm = build(state, job, inspector);
    let result = MessageHandler::new(&job.message).inspect_run(&mut evm);
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
    EthPrecompiles,
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
    Evm::new_with_inspector(context, inspector, instructions, EthPrecompiles::new(job.rules.fork))
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
    machine: std::marker::PhantomData<M>,
}

impl<'m, M> MessageHandler<'m, M> {
    fn new(message: &'m Message) -> Self {
        Self { message, machine: std::marker::PhantomData }
    }
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
        sender.set_balance(calculate_caller_fee(minted, tx, block, cfg)?);
        if tx.kind().is_call() && !self.message.keeps_nonce {
            sender.bump_nonce();
        }
        Ok(())
    }
}

impl<'a> InspectorHandler for MessageHandler<'_, Machine<'a, TracerInspector>> {
    type IT = EthInterpreter;
}

/// Shows a [`State`] to the EVM.
pub struct Reader<'a> {
    state: &'a dyn State,
    block_hashes: &'a HashMap<u64, B256>,
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reader")
    }
}

impl DatabaseRef for Reader<'_> {
    type Error = SourceError;

    fn basic_ref(&self, address: Address) -> Result<Option<AccountInfo>, SourceError> {
        Ok(self.state.account(address)?.map(AccountInfo::from))
    }

    fn code_by_hash_ref(&self, hash: B256) -> Result<Bytecode, SourceError> {
        self.state.code(hash)
    }

    fn storage_ref(&self, address: Address, slot: U256) -> Result<U256, SourceError> {
        self.state.slot(address, slot)
    }

    fn block_hash_ref(&self, number: u64) -> Result<B256, SourceError> {
        match self.block_hashes.get(&number) {
            Some(hash) => Ok(*hash),
            None => self.state.block_hash(number),
        }
    }
}

impl Database for Reader<'_> {
    type Error = SourceError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, SourceError> {
        self.basic_ref(address)
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, SourceError> {
        self.code_by_hash_ref(hash)
    }

    fn storage(&mut self, address: Address, slot: U256) -> Result<U256, SourceError> {
        self.storage_ref(address, slot)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, SourceError> {
        self.block_hash_ref(number)
    }
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
