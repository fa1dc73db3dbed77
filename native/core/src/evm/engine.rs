//! revm, put together for one transaction.

use revm::context::{BlockEnv, CfgEnv, Context, Evm, Journal, TxEnv as RevmTxEnv};
use revm::context_interface::FrameStack;
use revm::handler::EthFrame;
use revm::handler::instructions::EthInstructions;
use revm::interpreter::interpreter::EthInterpreter;

use super::checked_instructions::check_limits;
use super::env::{Checks, ExecutionEnv, Rules};
use super::limits::LimitChecker;
use super::precompiles::Precompiles;
use crate::blobs;
use crate::state::State;
use crate::state::database::StateDatabase;

type Database<'a> = StateDatabase<'a>;
/// The context of the engine.
pub(super) type Ctx<'a> =
    Context<BlockEnv, RevmTxEnv, CfgEnv, Database<'a>, Journal<Database<'a>>, LimitChecker>;
/// The engine, with an inspector.
pub(super) type EngineEvm<'a, I> = Evm<
    Ctx<'a>,
    I,
    EthInstructions<EthInterpreter, Ctx<'a>>,
    Precompiles,
    EthFrame<EthInterpreter>,
>;

/// Return the engine for a transaction on `state`.
pub(super) fn build<'a, I>(
    state: &'a dyn State,
    env: &'a ExecutionEnv,
    inspector: I,
) -> EngineEvm<'a, I> {
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
        precompiles: Precompiles::new(
            env.rules.fork,
            env.precompiles.clone(),
            env.rules.rejects_foreign_code,
        ),
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
