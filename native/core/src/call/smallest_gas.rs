//! The search for the smallest gas limit with which a transaction succeeds.

use super::error::{CallError, is_out_of_gas};
use super::runs::Runs;
use crate::evm::intrinsic::TRANSACTION_GAS;
use crate::evm::{ExecutionError, ExecutionResult};

/// The gas of a plain transfer, the cheapest transaction.
pub(super) const TRANSFER_GAS: u64 = TRANSACTION_GAS;

/// The search stops when a limit that suffices is at most this much above one that does not, in thousandths.
const PRECISION: u128 = 15;

/// Return the smallest gas limit up to `cap`, and up to 1.5 %, with which a run succeeds.
///
/// A run that succeeds but spends less than the run at `cap` is not accepted, since it did something else: a contract
/// that continues when an inner call runs out of gas would otherwise get too little for that call. If only `cap` itself
/// is accepted, the contract spends whatever it gets, and then every success is accepted.
///
/// Fails as the run at `cap`; with `AllowanceExceeded` if that runs out of gas.
pub(super) fn smallest_gas(runs: &mut Runs<'_>, cap: u64) -> Result<u64, CallError> {
    let need = gas_at_cap(runs, cap)?;
    let mut lowest_success = cap;
    let mut spends = |runs: &mut Runs<'_>, limit: u64, need: u64| {
        let spent = spent_at(runs, limit)?;
        if spent.is_some() {
            lowest_success = lowest_success.min(limit);
        }
        Ok(spent.is_some_and(|spent| spent >= need))
    };
    let gas = search(|limit| spends(runs, limit, need), need.saturating_sub(1), cap)?;
    if gas < cap || lowest_success == cap {
        return Ok(gas);
    }
    let lowest_success = lowest_success;
    let low = intrinsic_gas(runs)?.saturating_sub(1);
    search(|limit| Ok(spent_at(runs, limit)?.is_some()), low, lowest_success)
}

/// Return whether a run with this limit succeeds.
pub(super) fn succeeds_at(runs: &mut Runs<'_>, limit: u64) -> Result<bool, CallError> {
    Ok(spent_at(runs, limit)?.is_some())
}

/// Return what a run at the highest limit spends.
fn gas_at_cap(runs: &mut Runs<'_>, cap: u64) -> Result<u64, CallError> {
    let ran = match runs.run(cap) {
        Err(error) if error.is_too_little_to_start() => {
            return Err(CallError::AllowanceExceeded(cap));
        }
        ran => ran?,
    };
    if is_out_of_gas(&ran.result) {
        return Err(CallError::AllowanceExceeded(cap));
    }
    CallError::of_result(&ran.result).map_or_else(|| Ok(spent(&ran)), Err)
}

/// Return what a run with this limit spends, if it succeeds.
fn spent_at(runs: &mut Runs<'_>, limit: u64) -> Result<Option<u64>, CallError> {
    match runs.run(limit) {
        Ok(ran) => Ok(ran.result.is_success().then(|| spent(&ran))),
        Err(error) if error.is_too_little_to_start() => Ok(None),
        // With more gas the account and the paymaster agree.
        Err(CallError::Execution(ExecutionError::Rejected(_), _)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The gas that a run needed: before refunds, and at least the calldata floor.
fn spent(ran: &ExecutionResult) -> u64 {
    ran.result.gas().total_gas_spent().max(ran.result.tx_gas_used())
}

fn intrinsic_gas(runs: &mut Runs<'_>) -> Result<u64, CallError> {
    match runs.run(0) {
        Ok(_) => Ok(TRANSFER_GAS),
        Err(error) => error.intrinsic_gas().ok_or(error),
    }
}

/// Return a limit that works and is at most 1.5 % above one that does not.
///
/// `low` is known to fail and `high` to work; `low + 1` is the likeliest result.
fn search(
    mut works: impl FnMut(u64) -> Result<bool, CallError>,
    mut low: u64,
    mut high: u64,
) -> Result<u64, CallError> {
    if low + 1 < high {
        if works(low + 1)? {
            return Ok(low + 1);
        }
        low += 1;
    }
    // A little more than the likeliest limit usually suffices: one step for a contract that calls another.
    let mut stride = 1;
    let ratio = -(1.0 - PRECISION as f64 / 1000.0).ln();
    while u128::from(high.saturating_sub(low)) > 1 + u128::from(high) * PRECISION / 1000 {
        let steps_between = ((high as f64 / low as f64).ln() / ratio).ceil() as u64;
        let step = stride.min(steps_between / 2);
        let middle = (low + 1).max((low as f64 * (step as f64 * ratio).exp()) as u64);
        if works(middle)? {
            high = middle;
        } else {
            low = middle;
            stride *= 2;
        }
    }
    Ok(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{CallRequest, EstimateOptions, estimate_gas};
    use crate::testing::{ALICE, CONTRACT, World, transaction};
    use revm::bytecode::opcode::{PUSH0, PUSH1, SSTORE};

    #[test]
    fn the_search_serves_any_runs() {
        let (_, snapshot) = World::with_contract(&[PUSH1, 1, PUSH0, SSTORE]).snapshot();
        let request = CallRequest { from: ALICE, to: Some(CONTRACT), ..CallRequest::default() };
        let gas_cap = 1 << 24;
        let options = EstimateOptions { gas_cap, unfunded_transfers: false, unfunded: false };
        let logged = estimate_gas(snapshot.as_ref(), transaction(0), &request, options);
        let estimate = logged.result.expect("it succeeds");
        let mut env = transaction(0);
        request.prepare(&mut env, 0, 0).expect("it has no price");
        let mut runs = Runs::new(snapshot.as_ref(), env);
        assert_eq!(smallest_gas(&mut runs, gas_cap).expect("it succeeds"), estimate.gas);
        assert_eq!(runs.count, estimate.runs);
    }

    #[test]
    fn a_search_ends_close_above_what_does_not_work() {
        for need in [21_001, 50_000, 1_000_000, 15_999_999] {
            let found =
                search(|limit| Ok(limit >= need), 21_000, 16_000_000).expect("no run fails");
            assert!(need <= found && found <= need + 1 + need * 2 / 100, "{need}: {found}");
        }
    }
}
