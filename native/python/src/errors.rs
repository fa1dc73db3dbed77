//! The errors of `entresol.errors` that this crate raises.

use pyo3::PyTypeInfo;
use pyo3::exceptions::PyException;
use pyo3::import_exception;
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;
use revm::context_interface::result::InvalidTransaction as Invalid;

use entresol_core::call::CallError;
use entresol_core::crypto::CryptoError;
use entresol_core::evm::ExecutionError;
use entresol_core::evm::account::rejection::Rejection;
use entresol_core::evm::env::ExecutionEnv;
use entresol_core::evm::limits::LimitReached;
use entresol_core::evm::revert_reason::describe_revert;
use entresol_core::rlp::RlpError;
use entresol_core::state::ProviderError;
use entresol_core::state::remote::table::{Missing, TimedOut, WaitCancelled};
use entresol_core::transaction::DecodeError;

use super::convert::{PyAddress, PyData, PyLong, PyWord};
use super::execution::remote_table::{PyKey, RemoteFailure, host_of, object_of};

import_exception!(entresol.errors, AccountRejection);
import_exception!(entresol.errors, CallGasSpent);
import_exception!(entresol.errors, DeadlinePassed);
import_exception!(entresol.errors, EngineError);
import_exception!(entresol.errors, EstimateRejection);
import_exception!(entresol.errors, ExecutionHalted);
import_exception!(entresol.errors, ExecutionReverted);
import_exception!(entresol.errors, ExecutionStopped);
import_exception!(entresol.errors, GasAllowanceExceeded);
import_exception!(entresol.errors, GasBudgetSpent);
import_exception!(entresol.errors, InsufficientFunds);
import_exception!(entresol.errors, IntrinsicGasTooLow);
import_exception!(entresol.errors, InvalidOverride);
import_exception!(entresol.errors, InvalidProof);
import_exception!(entresol.errors, InvalidBytecode);
import_exception!(entresol.errors, InvalidSidecar);
import_exception!(entresol.errors, InvalidSimulation);
import_exception!(entresol.errors, InvalidSignature);
import_exception!(entresol.errors, InvalidZkSignature);
import_exception!(entresol.errors, InvalidTransaction);
import_exception!(entresol.errors, MalformedTransaction);
import_exception!(entresol.errors, MalformedValue);
import_exception!(entresol.errors, MalformedZkTransaction);
import_exception!(entresol.errors, NonceTooLow);
import_exception!(entresol.errors, NotEnoughBalanceForFeeValue);
import_exception!(entresol.errors, NotEvmCode);
import_exception!(entresol.errors, BlockFull);
import_exception!(entresol.errors, SimulatedCallRejected);
import_exception!(entresol.errors, SimulatedNumberTooLow);
import_exception!(entresol.errors, SimulatedTimeTooLow);
import_exception!(entresol.errors, SimulationTooLong);
import_exception!(entresol.errors, RemoteWaitOver);
import_exception!(entresol.errors, StateMissing);
import_exception!(entresol.errors, StoreFailed);
import_exception!(entresol.errors, TraceTooLarge);
import_exception!(entresol.errors, TransactionRuleBroken);
import_exception!(entresol.errors, TrieError);
import_exception!(entresol.errors, UnknownTracer);
import_exception!(entresol.errors, UnserializableCall);

/// Return the exception for an execution without result.
pub fn execution_error(py: Python<'_>, error: ExecutionError, env: &ExecutionEnv) -> PyErr {
    match error {
        ExecutionError::Invalid(reason) => invalid_transaction(reason, env),
        ExecutionError::Rejected(rejection) => account_rejection(rejection),
        ExecutionError::Provider(error) => provider_error(py, &error),
        ExecutionError::LimitReached(LimitReached::Gas) => GasBudgetSpent::new_err(()),
        ExecutionError::LimitReached(LimitReached::Deadline) => DeadlinePassed::new_err(()),
        ExecutionError::LimitReached(LimitReached::Cancelled) => cancelled(),
        ExecutionError::LimitReached(LimitReached::ForeignCode(address)) => {
            NotEvmCode::new_err((PyAddress(address),))
        }
        ExecutionError::LimitReached(LimitReached::Trace) => {
            let limit = env.limits.trace_bytes.unwrap_or_default();
            TraceTooLarge::new_err(format!("the trace needs more than {limit} bytes"))
        }
        ExecutionError::Trace(text) => UnknownTracer::new_err(text),
        ExecutionError::Panicked(text) => EngineError::new_err(text),
    }
}

/// Return the exception for a call without a result.
pub fn call_error(py: Python<'_>, error: CallError) -> PyErr {
    match error {
        CallError::Reverted(data) => {
            let reason = describe_revert(&data);
            ExecutionReverted::new_err((PyData(data), reason))
        }
        CallError::Halted(reason) => ExecutionHalted::new_err(reason),
        CallError::GasCapSpent(cap) => CallGasSpent::new_err(cap),
        CallError::AllowanceExceeded(allowance) => GasAllowanceExceeded::new_err(allowance),
        CallError::InsufficientFunds { balance, cost } => {
            InsufficientFunds::new_err((PyWord(balance), PyLong(*cost)))
        }
        CallError::InsufficientFeeAndValue { balance, fee, value } => {
            let arguments = (PyWord(balance), PyLong(*fee), PyWord(*value));
            NotEnoughBalanceForFeeValue::new_err(arguments)
        }
        CallError::PaymasterNotSupported(paymaster) => {
            TransactionRuleBroken::new_err(("paymaster", PyAddress(paymaster)))
        }
        CallError::NoTarget => UnserializableCall::new_err("toAddressIsNull"),
        CallError::Rejected(rejection) => {
            let cause = account_rejection(rejection);
            let error = EstimateRejection::new_err((cause.clone_ref(py).into_value(py),));
            error.set_cause(py, Some(cause));
            error
        }
        CallError::NumberTooLarge => number_too_large(),
        CallError::Execution(error, env) => execution_error(py, error, &env),
        CallError::Provider(error) => provider_error(py, &error),
    }
}

/// Return the exception for a call with a number that no transaction can have.
pub fn number_too_large() -> PyErr {
    MalformedValue::new_err("a number of the call is too large for a transaction")
}

/// Return the exception for an account or a paymaster that does not agree, or cannot.
pub fn account_rejection(rejection: Rejection) -> PyErr {
    let party = if rejection.is_paymasters { "paymaster" } else { "sender" };
    AccountRejection::new_err((rejection.step.name(), rejection.reason(), party, rejection.gas))
}

fn cancelled() -> PyErr {
    ExecutionStopped::new_err("the execution was cancelled")
}

/// Return the exception for a failed state provider, with the provider's own as its cause.
pub fn provider_error(py: Python<'_>, error: &ProviderError) -> PyErr {
    if let Some(error) = remote_error(py, error) {
        return error;
    }
    let Some(cause) = error.0.downcast_ref::<PyErr>() else {
        return EngineError::new_err(error.to_string());
    };
    unavailable(py, "the state provider", cause.clone_ref(py))
}

/// Return the exception for a value of a remote chain that is not known yet, or that could not be fetched.
fn remote_error(py: Python<'_>, error: &ProviderError) -> Option<PyErr> {
    if let Some(missing) = error.0.downcast_ref::<Missing>() {
        let table = object_of(py, &missing.table)?;
        return Some(StateMissing::new_err((table.unbind(), (PyKey(missing.key),))));
    }
    if let Some(late) = error.0.downcast_ref::<TimedOut>() {
        let host = host_of(py, &late.table);
        let seconds = late.time.as_secs_f64();
        let arguments = (host, late.key.map(PyKey), late.others, seconds, late.is_total);
        return Some(RemoteWaitOver::new_err(arguments));
    }
    if error.0.is::<WaitCancelled>() {
        return Some(cancelled());
    }
    let failure = error.0.downcast_ref::<RemoteFailure>()?;
    Some(failure.0.clone_ref(py))
}

/// Return the exception for a `provider` that raised `cause`.
pub fn unavailable(py: Python<'_>, provider: &str, cause: PyErr) -> PyErr {
    // KeyboardInterrupt and the like are not the provider's failure; that of a store says what to do.
    if !cause.is_instance_of::<PyException>(py) || cause.is_instance_of::<StoreFailed>(py) {
        return cause;
    }
    let unavailable = EngineError::new_err(format!("{provider} failed: {cause}"));
    unavailable.set_cause(py, Some(cause));
    unavailable
}

fn invalid_transaction(reason: Invalid, env: &ExecutionEnv) -> PyErr {
    let tx = &env.tx.base;
    match reason {
        Invalid::NonceTooLow { tx: nonce, state } => NonceTooLow::new_err((state, nonce)),
        Invalid::NonceTooHigh { tx: nonce, state } => {
            TransactionRuleBroken::new_err(("nonce too high", state, nonce))
        }
        Invalid::NonceOverflowInTransaction => TransactionRuleBroken::new_err(("nonce overflow",)),
        Invalid::LackOfFundForMaxFee { fee, balance } => {
            InsufficientFunds::new_err((PyWord(*balance), PyWord(*fee)))
        }
        Invalid::CallGasCostMoreThanGasLimit { initial_gas, gas_limit } => {
            IntrinsicGasTooLow::new_err((gas_limit, initial_gas))
        }
        Invalid::GasFloorMoreThanGasLimit { gas_floor, gas_limit } => {
            IntrinsicGasTooLow::new_err((gas_limit, gas_floor))
        }
        Invalid::CallerGasLimitMoreThanBlock => TransactionRuleBroken::new_err((
            "above block gas limit",
            tx.gas_limit,
            env.block.gas_limit,
        )),
        Invalid::TxGasLimitGreaterThanCap { gas_limit, cap } => {
            TransactionRuleBroken::new_err(("above transaction gas limit", gas_limit, cap))
        }
        Invalid::GasPriceLessThanBasefee => TransactionRuleBroken::new_err((
            "fee cap below base fee",
            tx.gas_price,
            env.block.basefee,
        )),
        Invalid::PriorityFeeGreaterThanMaxFee => TransactionRuleBroken::new_err((
            "tip above fee cap",
            tx.gas_priority_fee.unwrap_or(0),
            tx.gas_price,
        )),
        Invalid::RejectCallerWithCode => TransactionRuleBroken::new_err(("sender with code",)),
        Invalid::CreateInitCodeSizeLimit => TransactionRuleBroken::new_err((
            "init code too large",
            tx.data.len(),
            env.rules.init_code_limit(),
        )),
        Invalid::InvalidChainId | Invalid::MissingChainId => TransactionRuleBroken::new_err((
            "chain id",
            env.rules.chain_id,
            tx.chain_id.unwrap_or(0),
        )),
        Invalid::BlobGasPriceGreaterThanMax { block_blob_gas_price, tx_max_fee_per_blob_gas } => {
            TransactionRuleBroken::new_err((
                "blob fee cap below base fee",
                tx_max_fee_per_blob_gas,
                block_blob_gas_price,
            ))
        }
        Invalid::EmptyBlobs => TransactionRuleBroken::new_err(("no blobs",)),
        Invalid::TooManyBlobs { have, max } => {
            TransactionRuleBroken::new_err(("too many blobs", have, max))
        }
        Invalid::EmptyAuthorizationList => TransactionRuleBroken::new_err(("no authorizations",)),
        Invalid::Eip2930NotSupported
        | Invalid::Eip1559NotSupported
        | Invalid::Eip4844NotSupported
        | Invalid::Eip7702NotSupported => TransactionRuleBroken::new_err(("type", tx.tx_type)),
        other => InvalidTransaction::new_err(other.to_string()),
    }
}

/// Return the exception for bytes that are not RLP.
pub fn rlp_error(error: RlpError) -> PyErr {
    MalformedValue::new_err(error.to_string())
}

/// Return the exception for keys and signatures that are not valid.
pub fn crypto_error(error: CryptoError) -> PyErr {
    match error {
        CryptoError::Secret | CryptoError::PublicKey => MalformedValue::new_err(error.to_string()),
        _ => InvalidSignature::new_err(error.to_string()),
    }
}

/// Return the exception for bytes that are not a transaction.
pub fn decode_error(py: Python<'_>, error: DecodeError) -> PyErr {
    match error {
        DecodeError::Sidecar(problem) => InvalidSidecar::new_err(problem),
        DecodeError::Signature(problem) => InvalidSignature::new_err(problem),
        DecodeError::Unsupported(transaction_type) => {
            TransactionRuleBroken::new_err(("type", transaction_type))
        }
        DecodeError::Malformed { field, problem } => {
            malformed::<MalformedTransaction>(py, problem, field)
        }
    }
}

/// Return a `MalformedValue`, which names the field if there is one.
pub fn malformed_value(py: Python<'_>, problem: String, field: Option<String>) -> PyErr {
    malformed::<MalformedValue>(py, problem, field)
}

fn malformed<T: PyTypeInfo>(py: Python<'_>, problem: String, field: Option<String>) -> PyErr {
    let error = [("field", field)]
        .into_py_dict(py)
        .and_then(|keywords| py.get_type::<T>().call((problem,), Some(&keywords)));
    error.map_or_else(|failure| failure, PyErr::from_value)
}
