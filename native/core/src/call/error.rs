//! Why a call has no result.

use alloy_primitives::{Address, Bytes, U256, U512};
use revm::context_interface::result::{
    ExecutionResult as RevmResult, HaltReason, InvalidTransaction,
};

use crate::evm::ExecutionError;
use crate::evm::account::rejection::Rejection;
use crate::evm::env::ExecutionEnv;
use crate::evm::limits::LimitReached;
use crate::state::ProviderError;

/// Why a call has no result: its kind and its data. Codes and texts are those of whoever reports it.
#[derive(Debug)]
pub enum CallError {
    /// It reverted, with this data.
    Reverted(Bytes),
    /// It halted, for this reason.
    Halted(String),
    /// It ran out of gas at the most that a call may have.
    GasCapSpent(u64),
    /// An estimate ran out of gas at the most that it may have.
    AllowanceExceeded(u64),
    /// The sender cannot pay.
    InsufficientFunds {
        /// What it has.
        balance: U256,
        /// What it needs.
        cost: Box<U512>,
    },
    /// The payer of type 0x71 cannot pay.
    InsufficientFeeAndValue {
        /// What it has.
        balance: U256,
        /// The fee.
        fee: Box<U512>,
        /// The value.
        value: Box<U256>,
    },
    /// A paymaster is to pay on a chain that has none.
    PaymasterNotSupported(Address),
    /// It runs in steps, and has no target.
    NoTarget,
    /// No gas limit lets an account or a paymaster agree.
    Rejected(Rejection),
    /// A number is too large for a transaction.
    NumberTooLarge,
    /// It could not be executed in this environment.
    Execution(ExecutionError, Box<ExecutionEnv>),
    /// The state could not be read.
    Provider(ProviderError),
}

impl CallError {
    /// Return why the execution of `env` has no result.
    pub(super) fn of_execution(error: ExecutionError, env: &ExecutionEnv) -> Self {
        match error {
            ExecutionError::Invalid(InvalidTransaction::LackOfFundForMaxFee { fee, balance }) => {
                Self::InsufficientFunds { balance: *balance, cost: Box::new(U512::from(*fee)) }
            }
            ExecutionError::Provider(error) => Self::Provider(error),
            error => Self::Execution(error, Box::new(env.clone())),
        }
    }

    /// Return why an execution failed; None if it succeeded.
    pub fn of_result(result: &RevmResult) -> Option<Self> {
        match result {
            RevmResult::Success { .. } => None,
            RevmResult::Revert { output, .. } => Some(Self::Reverted(output.clone())),
            RevmResult::Halt { reason, .. } => Some(Self::Halted(reason.to_string())),
        }
    }

    /// Whether it needs more gas than it may use here, whatever its gas limit.
    pub const fn is_budget_spent(&self) -> bool {
        matches!(self, Self::Execution(ExecutionError::LimitReached(LimitReached::Gas), _))
    }

    /// Whether the gas limit is too low to start.
    pub(super) const fn is_too_little_to_start(&self) -> bool {
        self.intrinsic_gas().is_some()
    }

    /// The gas that it needs to start, if its limit is lower.
    pub(super) const fn intrinsic_gas(&self) -> Option<u64> {
        match self {
            Self::Execution(
                ExecutionError::Invalid(
                    InvalidTransaction::CallGasCostMoreThanGasLimit { initial_gas: needed, .. }
                    | InvalidTransaction::GasFloorMoreThanGasLimit { gas_floor: needed, .. },
                ),
                _,
            ) => Some(*needed),
            _ => None,
        }
    }

    /// Whether more gas or more money might help.
    pub(super) const fn is_unfunded(&self) -> bool {
        matches!(
            self,
            Self::InsufficientFunds { .. }
                | Self::InsufficientFeeAndValue { .. }
                | Self::AllowanceExceeded(_)
        )
    }
}

impl From<ProviderError> for CallError {
    fn from(error: ProviderError) -> Self {
        Self::Provider(error)
    }
}

/// Whether an execution ran out of gas.
pub(super) const fn is_out_of_gas(result: &RevmResult) -> bool {
    matches!(result, RevmResult::Halt { reason: HaltReason::OutOfGas(_), .. })
}
