//! Intrinsic gas: what a transaction costs before any code runs.

use revm::context::TxEnv as RevmTxEnv;
use revm::context_interface::Cfg;
use revm::context_interface::result::{EVMError, InvalidTransaction};
use revm::handler::validation::validate_initial_tx_gas_with_gas_params;
use revm::interpreter::InitialAndFloorGas;

use super::account::system_contracts::charges_published;
use super::engine::EngineEvm;
use super::env::{ExecutionEnv, PublishedBytes};
use crate::state::ProviderError;

/// The gas of a plain transfer, which is the least of any transaction.
pub const TRANSACTION_GAS: u64 = 21_000;

/// Return the intrinsic gas of `tx`, which the gas limit has to cover; what `env` publishes costs like calldata.
///
/// [`TRANSACTION_GAS`] pays for the fields whose size has a limit, the signature of a key among them.
pub(super) fn intrinsic_gas<I>(
    evm: &EngineEvm<'_, I>,
    env: &ExecutionEnv,
    tx: &RevmTxEnv,
) -> Result<InitialAndFloorGas, EVMError<ProviderError>> {
    let published = charged_bytes(evm, env)?;
    if published == PublishedBytes::default() {
        return Ok(calldata_gas(evm, env, tx)?);
    }
    let gas_limit = tx.gas_limit;
    let params = evm.ctx.cfg.gas_params();
    let nonzeros = published.nonzeros.saturating_mul(params.tx_token_non_zero_byte_multiplier());
    let floor_zeros = published.zeros.saturating_mul(params.tx_floor_token_zero_byte_multiplier());
    let cost = |tokens: u64, price: u64| tokens.saturating_mul(price);
    let added = cost(published.zeros.saturating_add(nonzeros), params.tx_token_cost());
    let floor = cost(floor_zeros.saturating_add(nonzeros), params.tx_floor_cost_per_token());
    // Without the limit, so that the error names all the gas that is needed.
    let unlimited = RevmTxEnv { gas_limit: u64::MAX, ..tx.clone() };
    let mut gas = calldata_gas(evm, env, &unlimited)?;
    gas.initial_regular_gas = gas.initial_regular_gas.saturating_add(added);
    gas.floor_gas = gas.floor_gas.saturating_add(floor);
    let needed = gas.initial_total_gas().max(gas.floor_gas());
    if needed > gas_limit {
        let invalid =
            InvalidTransaction::CallGasCostMoreThanGasLimit { initial_gas: needed, gas_limit };
        return Err(invalid.into());
    }
    Ok(gas)
}

/// Return the bytes that are charged for beside those of `tx`.
///
/// A chain whose transactions are published charges for all of them, also for the input of no paymaster, which nobody
/// reads; others for factory dependencies, if their genesis says so.
fn charged_bytes<I>(
    evm: &EngineEvm<'_, I>,
    env: &ExecutionEnv,
) -> Result<PublishedBytes, EVMError<ProviderError>> {
    let published = env.tx.published;
    if env.rules.charges_published {
        let unread = env.tx.zk.as_ref().filter(|zk| !zk.has_paymaster());
        return Ok(
            unread.map_or(published, |zk| published.plus(PublishedBytes::of(&zk.paymaster_input)))
        );
    }
    if published == PublishedBytes::default() {
        return Ok(published);
    }
    let state = evm.ctx.journaled_state.database.state;
    let charges = charges_published(state).map_err(EVMError::Database)?;
    Ok(if charges { published } else { PublishedBytes::default() })
}

fn calldata_gas<I>(
    evm: &EngineEvm<'_, I>,
    env: &ExecutionEnv,
    tx: &RevmTxEnv,
) -> Result<InitialAndFloorGas, InvalidTransaction> {
    let cfg = &evm.ctx.cfg;
    validate_initial_tx_gas_with_gas_params(
        tx,
        env.rules.fork,
        cfg.gas_params(),
        cfg.is_eip7623_disabled(),
        cfg.is_amsterdam_eip8037_enabled(),
        cfg.tx_gas_limit_cap(),
        None,
    )
}

#[cfg(test)]
mod tests {
    use alloy_primitives::U256;

    use super::*;
    use crate::evm::account::system_contracts::{BOOTLOADER, CHARGES_SLOT};
    use crate::evm::account::zk_tx::ZkTx;
    use crate::evm::{ExecutionError, execute};
    use crate::testing::{World, transaction};
    use revm::bytecode::opcode::STOP;

    /// A chain that charges for what is published, if it `charges`.
    fn world(charges: bool) -> World {
        let mut world = World::with_contract(&[STOP]);
        if charges {
            world.slots.insert((BOOTLOADER, CHARGES_SLOT), U256::ONE);
        }
        world
    }

    fn publication() -> ExecutionEnv {
        let mut env = transaction(0);
        env.tx.published = PublishedBytes { zeros: 300, nonzeros: 700 };
        env
    }

    #[test]
    fn what_is_published_costs_like_calldata() {
        let (_, snapshot) = world(true).snapshot();
        let published = execute(snapshot.as_ref(), &publication(), None).unwrap();
        let mut env = transaction(0);
        let mut data = vec![0; 300];
        data.extend([1; 700]);
        env.tx.base.data = data.into();
        let sent = execute(snapshot.as_ref(), &env, None).unwrap();
        assert_eq!(published.result.tx_gas_used(), 21_000 + 10 * (300 + 4 * 700));
        assert_eq!(published.result.tx_gas_used(), sent.result.tx_gas_used());
    }

    #[test]
    fn the_gas_limit_has_to_cover_what_is_published() {
        let (_, snapshot) = world(true).snapshot();
        let mut env = publication();
        env.tx.base.gas_limit = 51_999;
        let error = execute(snapshot.as_ref(), &env, None).unwrap_err();
        assert!(matches!(
            error,
            ExecutionError::Invalid(InvalidTransaction::CallGasCostMoreThanGasLimit {
                initial_gas: 52_000,
                gas_limit: 51_999,
            })
        ));
        env.tx.base.gas_limit = 52_000;
        assert!(execute(snapshot.as_ref(), &env, None).is_ok());
    }

    #[test]
    fn a_chain_that_publishes_charges_whatever_its_genesis_says() {
        let (_, snapshot) = world(false).snapshot();
        let mut env = publication();
        env.rules.charges_published = true;
        let result = execute(snapshot.as_ref(), &env, None).unwrap();
        assert_eq!(result.result.tx_gas_used(), 21_000 + 10 * (300 + 4 * 700));
    }

    #[test]
    fn a_chain_that_publishes_charges_for_the_input_of_no_paymaster() {
        let (_, snapshot) = world(false).snapshot();
        let mut env = transaction(0);
        let zk = ZkTx { paymaster_input: vec![1; 100].into(), ..ZkTx::default() };
        env.tx.zk = Some(Box::new(zk));
        let free = execute(snapshot.as_ref(), &env, None).unwrap();
        assert_eq!(free.result.tx_gas_used(), 21_000);
        env.rules.charges_published = true;
        let charged = execute(snapshot.as_ref(), &env, None).unwrap();
        assert_eq!(charged.result.tx_gas_used(), 21_000 + 10 * 4 * 100);
    }

    #[test]
    fn a_chain_that_was_created_without_the_charge_has_none() {
        let (_, snapshot) = world(false).snapshot();
        let result = execute(snapshot.as_ref(), &publication(), None).unwrap();
        assert_eq!(result.result.tx_gas_used(), 21_000);
    }
}
