//! Execution for Python: `execute`, `call` and `Tracer`.

use alloy_rpc_types_eth::TransactionInfo;
use pyo3::prelude::*;

use entresol_core::evm::env::{self, ExecutionEnv};
use entresol_core::evm::{self, trace};
use entresol_core::state::remote::{mode, rounds};
use entresol_core::state::{ProviderError, State};

use super::env::{BlockEnv, Checks, Rules};
use super::execution_result::ExecutionResult;
use super::limits::Limits;
use super::state::{Overlay, Snapshot, fetch};
use super::tx_env::TxEnv;
use crate::convert::PyHash;
use crate::errors::{UnknownTracer, execution_error};
use crate::gil;

/// A tracer with its options, and the position of the traced transaction.
#[pyclass(frozen, module = "entresol._native")]
pub struct Tracer(pub trace::Tracer);

#[pymethods]
impl Tracer {
    #[new]
    #[pyo3(signature = (
        options, *, transaction_hash = None, transaction_index = None, block_hash = None, first_log = 0
    ))]
    fn new(
        options: &[u8],
        transaction_hash: Option<PyHash>,
        transaction_index: Option<u64>,
        block_hash: Option<PyHash>,
        first_log: u64,
    ) -> PyResult<Self> {
        let info = TransactionInfo {
            block_hash: block_hash.map(|hash| hash.0),
            index: transaction_index,
            hash: transaction_hash.map(|hash| hash.0),
            ..TransactionInfo::default()
        };
        trace::Tracer::parse(options, trace::Position { info, first_log })
            .map(Self)
            .map_err(|error| UnknownTracer::new_err(error.to_string()))
    }
}

/// A snapshot or an overlay.
#[derive(FromPyObject)]
pub enum AnyState<'py> {
    Snapshot(Bound<'py, Snapshot>),
    Overlay(Bound<'py, Overlay>),
}

impl AnyState<'_> {
    /// Read it with the GIL: to release it takes longer than to read what is in memory. It is released to wait.
    pub fn read<T, E: Into<ReadError>>(
        &self,
        py: Python<'_>,
        work: impl Fn(&dyn State) -> Result<T, E>,
    ) -> PyResult<T> {
        loop {
            let read = mode::without_waiting(|| match self {
                Self::Snapshot(snapshot) => work(snapshot.get().0.as_ref()),
                Self::Overlay(overlay) => work(overlay.get().current_for(py).as_ref()),
            });
            match read.map_err(E::into) {
                Ok(value) => return Ok(value),
                Err(ReadError::Raised(error)) => return Err(error),
                Err(ReadError::Provider(error)) => fetch(py, error)?,
            }
        }
    }
}

/// Why something cannot be read.
pub enum ReadError {
    /// The state could not be read.
    Provider(ProviderError),
    /// Something else raised this.
    Raised(PyErr),
}

impl From<ProviderError> for ReadError {
    fn from(error: ProviderError) -> Self {
        Self::Provider(error)
    }
}

/// Execute a transaction on `state`, which does not change until the result is applied to it.
#[pyfunction]
#[pyo3(signature = (state, rules, block, tx, *, checks = None, limits = None, tracer = None))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
pub fn execute(
    py: Python<'_>,
    state: AnyState<'_>,
    rules: &Bound<'_, Rules>,
    block: &Bound<'_, BlockEnv>,
    tx: &Bound<'_, TxEnv>,
    checks: Option<&Bound<'_, Checks>>,
    limits: Option<&Bound<'_, Limits>>,
    tracer: Option<&Bound<'_, Tracer>>,
) -> PyResult<ExecutionResult> {
    let checks = checks.map_or(env::Checks::ALL, |checks| checks.get().0);
    execute_on(py, state, execution_env(rules, block, tx, checks, limits), tracer)
}

/// Execute a call on `state`, without fees and without checks of balance, nonce, sender and gas cap.
#[pyfunction]
#[pyo3(signature = (state, rules, block, tx, *, limits = None, tracer = None))]
pub fn call(
    py: Python<'_>,
    state: AnyState<'_>,
    rules: &Bound<'_, Rules>,
    block: &Bound<'_, BlockEnv>,
    tx: &Bound<'_, TxEnv>,
    limits: Option<&Bound<'_, Limits>>,
    tracer: Option<&Bound<'_, Tracer>>,
) -> PyResult<ExecutionResult> {
    execute_on(py, state, execution_env(rules, block, tx, env::Checks::NONE, limits), tracer)
}

/// Return the result of a priority transaction that is included although it cannot start.
#[pyfunction]
#[pyo3(signature = (state, rules, block, tx, *, gas_used, tracer = None))]
pub fn reject(
    py: Python<'_>,
    state: AnyState<'_>,
    rules: &Bound<'_, Rules>,
    block: &Bound<'_, BlockEnv>,
    tx: &Bound<'_, TxEnv>,
    gas_used: u64,
    tracer: Option<&Bound<'_, Tracer>>,
) -> PyResult<ExecutionResult> {
    let env = execution_env(rules, block, tx, env::Checks::NONE, None);
    let tracer = tracer.map(|tracer| &tracer.get().0);
    run(py, state, &env, |state| evm::reject(state, &env, gas_used, tracer))
}

fn execution_env(
    rules: &Bound<'_, Rules>,
    block: &Bound<'_, BlockEnv>,
    tx: &Bound<'_, TxEnv>,
    checks: env::Checks,
    limits: Option<&Bound<'_, Limits>>,
) -> ExecutionEnv {
    let mut tx = tx.get().0.clone();
    // A transaction without chain id is valid on any chain.
    tx.base.chain_id.get_or_insert(rules.get().0.chain_id);
    let block_env = block.get().under(&rules.get().0);
    if let (false, Some(priced)) = (checks.fees, &block_env.blob_excess_gas_and_price) {
        // What pays no fees need not offer any; revm has no switch for that.
        tx.base.max_fee_per_blob_gas = tx.base.max_fee_per_blob_gas.max(priced.blob_gasprice);
    }
    ExecutionEnv {
        rules: rules.get().0,
        block: block_env,
        block_hashes: block.get().block_hashes.clone(),
        precompiles: block.get().precompiles.clone(),
        tx,
        checks,
        limits: limits.map_or_else(Limits::none, |limits| limits.get().start()),
    }
}

fn execute_on(
    py: Python<'_>,
    state: AnyState<'_>,
    env: ExecutionEnv,
    tracer: Option<&Bound<'_, Tracer>>,
) -> PyResult<ExecutionResult> {
    let tracer = tracer.map(|tracer| &tracer.get().0);
    run(py, state, &env, |state| evm::execute(state, &env, tracer))
}

fn run(
    py: Python<'_>,
    state: AnyState<'_>,
    env: &ExecutionEnv,
    work: impl Fn(&dyn State) -> Result<evm::ExecutionResult, evm::ExecutionError> + Send + Sync,
) -> PyResult<ExecutionResult> {
    let tx = &env.tx.base;
    let sender = Some(rounds::Sender { address: tx.caller, nonce: tx.nonce });
    let result = match state {
        AnyState::Snapshot(snapshot) => {
            let snapshot = &snapshot.get().0;
            gil::release(py, || rounds::run(sender, || work(snapshot.as_ref())))
        }
        AnyState::Overlay(overlay) => {
            let overlay = overlay.get();
            gil::release(py, || {
                let overlay = overlay.current();
                rounds::run(sender, || work(overlay.as_ref()))
            })
        }
    };
    result.map(ExecutionResult).map_err(|error| execution_error(py, error, env))
}
