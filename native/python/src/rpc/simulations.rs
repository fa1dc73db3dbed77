//! Simulations for Python, which has decoded the payload: the same that the dispatcher runs for plain ones.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::B256;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use entresol_core::evm::env::{self, ExecutionEnv};
use entresol_core::evm::precompiles::MovedPrecompiles;
use entresol_core::record::{decode_header, header_hash};
use entresol_core::state::ProviderError;
use entresol_core::state::changes::Changes;
use entresol_core::state::remote::rounds;
use entresol_core::transaction::DecodeError;
use entresol_rpc::simulate::{
    AccountOverride, Base, BaseChain, BlockCalls, BlockOverrides, FailureTexts, NextBlock,
    Rejection, Simulation, SimulationError,
};

use super::call_request::{call_request, is_too_large};
use super::head::HeadState;
use super::response::concatenate;
use crate::convert::{PyAddress, PyData, PyHash, PyWord};
use crate::errors::{
    BlockFull, InvalidOverride, InvalidSimulation, SimulatedCallRejected, SimulatedNumberTooLow,
    SimulatedTimeTooLow, SimulationTooLong, StoreFailed, decode_error, execution_error,
    number_too_large, provider_error,
};
use crate::execution::env::Rules;
use crate::execution::evm::AnyState;
use crate::execution::limits::Limits;
use crate::gil;
use crate::trie::PyTrie;

/// What Python knows of the block that a simulation builds on.
#[derive(FromPyObject)]
pub struct PyBase<'py> {
    header_rlp: Bound<'py, PyBytes>,
    state: AnyState<'py>,
    rules: Bound<'py, Rules>,
    state_root: PyHash,
    trie: Bound<'py, PyTrie>,
    next_block: Option<Py<PyAny>>,
    interval: u64,
}

#[derive(FromPyObject)]
struct PySimulation<'py> {
    blocks: Vec<PyBlockCalls<'py>>,
    validation: bool,
    trace_transfers: bool,
    full_transactions: bool,
}

#[derive(FromPyObject)]
struct PyBlockCalls<'py> {
    calls: Vec<Bound<'py, PyAny>>,
    accounts: Option<Bound<'py, PyDict>>,
    precompiles: Bound<'py, PyDict>,
    block: Bound<'py, PyAny>,
}

#[derive(FromPyObject)]
struct PyAccountOverride<'py> {
    balance: Option<PyWord>,
    nonce: Option<u64>,
    code: Option<PyData>,
    state: Option<Bound<'py, PyDict>>,
    state_diff: Option<Bound<'py, PyDict>>,
}

#[derive(FromPyObject)]
struct PyBlockOverrides {
    number: Option<PyWord>,
    time: Option<PyWord>,
    gas_limit: Option<u64>,
    fee_recipient: Option<PyAddress>,
    prev_randao: Option<PyHash>,
    base_fee_per_gas: Option<u64>,
    blob_base_fee: Option<u128>,
}

/// The codes of a revert and of a halt, the text of a revert, and what precedes its reason.
pub type PyFailureTexts = (i32, i32, String, String);

/// Simulate blocks of calls, and return them as JSON.
#[pyfunction]
#[pyo3(signature = (base, simulation, gas_cap, texts, *, limits = None))]
pub fn simulate<'py>(
    py: Python<'py>,
    base: PyBase<'py>,
    simulation: &Bound<'py, PyAny>,
    gas_cap: u64,
    texts: PyFailureTexts,
    limits: Option<&Bound<'py, Limits>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let simulation = read_simulation(simulation.extract()?)?;
    let texts = failure_texts(texts);
    let encoded = base.header_rlp.as_bytes();
    let header = decode_header(encoded)
        .ok_or_else(|| PyValueError::new_err("a header of London or later is expected"))?;
    let hash = header_hash(encoded);
    let state = HeadState::of(base.state);
    let env = ExecutionEnv {
        rules: base.rules.get().0,
        block: Default::default(),
        block_hashes: Default::default(),
        precompiles: MovedPrecompiles::default(),
        tx: env::TxEnv::default(),
        checks: env::Checks::ALL,
        limits: limits.map_or_else(Limits::none, |limits| limits.get().start()),
    };
    let chain = PyChain {
        trie: base.trie.get(),
        root: base.state_root.0,
        next_block: base.next_block.as_ref(),
    };
    let interval = base.interval;
    let result = gil::release(py, || {
        rounds::run_on((header, env), |(header, env)| {
            let overlay = state.overlay();
            let base = Base { header, hash, overlay, env, interval, chain: &chain };
            simulation.run(base, gas_cap, &texts)
        })
    });
    concatenate(py, &[&result.map_err(|error| simulation_error(py, error))?])
}

/// Return the texts that Python gives.
pub fn failure_texts(
    (revert_code, halt_code, reverted, reverted_because): PyFailureTexts,
) -> FailureTexts {
    FailureTexts { revert_code, reverted, reverted_because, halt_code }
}

/// The chain of a simulation.
pub struct PyChain<'a> {
    /// Its tries.
    pub trie: &'a PyTrie,
    /// The state root of the base block.
    pub root: B256,
    /// What Python says of the next block, if it has anything to say.
    pub next_block: Option<&'a Py<PyAny>>,
}

type PyNextBlock = (u64, Option<PyHash>, Option<u64>, Option<PyHash>, Option<PyHash>);

impl BaseChain for PyChain<'_> {
    fn next_block(&self, parent: &Header) -> Result<NextBlock, ProviderError> {
        let Some(next_block) = self.next_block else { return Ok(NextBlock::default()) };
        let encoded = alloy_rlp::encode(parent);
        let found: PyResult<PyNextBlock> = Python::attach(|py| {
            next_block.bind(py).call1((PyBytes::new(py, &encoded),))?.extract()
        });
        let (base_fee, withdrawals, excess_blob_gas, beacon_root, requests) =
            found.map_err(|error| ProviderError(Arc::new(error)))?;
        Ok(NextBlock {
            base_fee,
            withdrawals_root: withdrawals.map(|it| it.0),
            excess_blob_gas,
            parent_beacon_block_root: beacon_root.map(|it| it.0),
            requests_hash: requests.map(|it| it.0),
        })
    }

    fn state_root(&self, changes: &Changes) -> Result<B256, ProviderError> {
        self.trie
            .state_root_after(self.root, changes)
            .map_err(|error| ProviderError(Arc::new(error)))
    }
}

fn read_simulation(simulation: PySimulation<'_>) -> PyResult<Simulation> {
    Ok(Simulation {
        blocks: simulation.blocks.into_iter().map(read_block).collect::<PyResult<_>>()?,
        validation: simulation.validation,
        trace_transfers: simulation.trace_transfers,
        full_transactions: simulation.full_transactions,
    })
}

fn read_block(block: PyBlockCalls<'_>) -> PyResult<BlockCalls> {
    let accounts = block.accounts.iter().flat_map(|accounts| accounts.iter());
    let precompiles: MovedPrecompiles = block
        .precompiles
        .iter()
        .map(|(at, of)| {
            let (at, of): (PyAddress, Option<PyAddress>) = (at.extract()?, of.extract()?);
            Ok((at.0, of.map(|it| it.0)))
        })
        .collect::<PyResult<_>>()?;
    Ok(BlockCalls {
        calls: block.calls.iter().map(call_request).collect::<PyResult<_>>()?,
        accounts: accounts
            .map(|(at, account)| {
                let at: PyAddress = at.extract()?;
                Ok((at.0, read_account(account.extract()?)?))
            })
            .collect::<PyResult<_>>()?,
        precompiles,
        overrides: read_overrides(&block.block)?,
    })
}

fn read_account(account: PyAccountOverride<'_>) -> PyResult<AccountOverride> {
    Ok(AccountOverride {
        balance: account.balance.map(|it| it.0),
        nonce: account.nonce,
        code: account.code.map(|it| it.0),
        state: account.state.as_ref().map(read_slots).transpose()?,
        state_diff: account.state_diff.as_ref().map(read_slots).transpose()?.unwrap_or_default(),
    })
}

fn read_slots(slots: &Bound<'_, PyDict>) -> PyResult<Vec<(B256, B256)>> {
    slots
        .iter()
        .map(|(slot, value)| {
            let (slot, value): (PyHash, PyHash) = (slot.extract()?, value.extract()?);
            Ok((slot.0, value.0))
        })
        .collect()
}

fn read_overrides(block: &Bound<'_, PyAny>) -> PyResult<BlockOverrides> {
    let py = block.py();
    let read: PyBlockOverrides = block.extract().map_err(|error: PyErr| {
        if is_too_large(py, &error) { block_number_too_large() } else { error }
    })?;
    Ok(BlockOverrides {
        number: read.number.map(|it| it.0),
        time: read.time.map(|it| it.0),
        gas_limit: read.gas_limit,
        fee_recipient: read.fee_recipient.map(|it| it.0),
        prev_randao: read.prev_randao.map(|it| it.0),
        base_fee_per_gas: read.base_fee_per_gas,
        blob_base_fee: read.blob_base_fee,
    })
}

fn block_number_too_large() -> PyErr {
    InvalidOverride::new_err("a number of the block is too large")
}

/// Return the exception for a simulation that has no result.
fn simulation_error(py: Python<'_>, error: SimulationError) -> PyErr {
    match error {
        SimulationError::Empty => {
            InvalidSimulation::new_err("empty input: blockStateCalls has no blocks")
        }
        SimulationError::TooLong(blocks, limit) => {
            let text = format!("too many blocks: {blocks}, and a simulation has at most {limit}");
            SimulationTooLong::new_err(text)
        }
        SimulationError::NumberTooLow(number, last) => {
            SimulatedNumberTooLow::new_err((PyWord(number), last))
        }
        SimulationError::NumberTooLarge => block_number_too_large(),
        SimulationError::TimeTooLow(time, last) => {
            SimulatedTimeTooLow::new_err((PyWord(time), last))
        }
        SimulationError::TimeTooLarge(time) => {
            let limit = u64::MAX;
            InvalidOverride::new_err(format!("the time of a block is at most {limit}, got {time}"))
        }
        SimulationError::GasSpent(cap) => {
            let text = format!("the calls of a simulation have used all of their {cap} gas");
            SimulationTooLong::new_err(text)
        }
        SimulationError::CallNumberTooLarge => number_too_large(),
        SimulationError::Rejected { block, call, reason } => {
            let reason = rejection(py, reason);
            let path = format!("blockStateCalls[{block}].calls[{call}]");
            let rejected =
                SimulatedCallRejected::new_err((path, reason.value(py).clone().unbind()));
            rejected.set_cause(py, Some(reason));
            rejected
        }
        SimulationError::Execution(error, env) => execution_error(py, error, &env),
        SimulationError::Provider(error) => match error.0.downcast_ref::<PyErr>() {
            // What the trie or the chain says of itself.
            Some(error) if !error.is_instance_of::<StoreFailed>(py) => error.clone_ref(py),
            _ => provider_error(py, &error),
        },
    }
}

fn rejection(py: Python<'_>, reason: Rejection) -> PyErr {
    match reason {
        Rejection::BlockFull(gas, left) => BlockFull::new_err((gas, left)),
        Rejection::BlobsCreate => {
            let (field, problem) = (Some("to".into()), "a blob transaction cannot create".into());
            decode_error(py, DecodeError::Malformed { field, problem })
        }
        Rejection::Invalid(error, env) => execution_error(py, error, &env),
    }
}
