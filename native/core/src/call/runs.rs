//! Runs of a call with different gas limits, which share the limits of their environment.

use super::error::CallError;
use crate::evm::console::ConsoleCalls;
use crate::evm::env::ExecutionEnv;
use crate::evm::limits::{LimitReached, Limits};
use crate::evm::{ExecutionError, ExecutionResult, execute};
use crate::state::State;
use crate::state::remote::{mode, rounds};

/// Runs of the transaction of an environment.
pub(super) struct Runs<'a> {
    state: &'a dyn State,
    env: ExecutionEnv,
    /// How many runs there were.
    pub count: u32,
    /// What the first run logged that had a result; the others repeat it.
    pub console: Option<ConsoleCalls>,
}

impl<'a> Runs<'a> {
    /// Run what `env` has been prepared for.
    pub(super) const fn new(state: &'a dyn State, env: ExecutionEnv) -> Self {
        Self { state, env, count: 0, console: None }
    }

    /// Run with a gas limit.
    pub(super) fn run(&mut self, gas_limit: u64) -> Result<ExecutionResult, CallError> {
        if self.count > 0 {
            rounds::check()?;
        }
        self.count += 1;
        self.env.tx.base.gas_limit = gas_limit;
        check_deadline(&self.env)?;
        let mut result = execute(self.state, &self.env, None)
            .map_err(|error| CallError::of_execution(error, &self.env))?;
        spend(&mut self.env.limits, result.budget_spent());
        self.console.get_or_insert_with(|| std::mem::take(&mut result.console));
        Ok(result)
    }
}

/// Fail if the time of all runs has passed: one that is short would not notice.
pub(super) fn check_deadline(env: &ExecutionEnv) -> Result<(), CallError> {
    if env.limits.deadline.is_some_and(|deadline| mode::now() >= deadline) {
        let error = ExecutionError::LimitReached(LimitReached::Deadline);
        return Err(CallError::of_execution(error, env));
    }
    Ok(())
}

/// Deduct what a run has taken of the limit on the gas of all.
pub(super) fn spend(limits: &mut Limits, gas: u64) {
    if let Some(left) = &mut limits.gas {
        *left = left.saturating_sub(gas);
    }
}
