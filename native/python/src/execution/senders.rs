//! Senders of transactions for Python: accounts with a key, contract accounts, and what is neither.

use pyo3::prelude::*;

use entresol_core::evm::account::rejection::Rejection;
use entresol_core::evm::account::sender;
use entresol_core::evm::account::system_contracts::{charges_published, is_enabled};

use super::evm::AnyState;
use super::state::Overlay;
use crate::convert::{PyAddress, PyWord};
use crate::errors::account_rejection;

/// Return whether there is code other than a delegation (EIP-7702).
#[pyfunction]
#[pyo3(signature = (state, address, /))]
pub fn has_code(py: Python<'_>, state: AnyState<'_>, address: PyAddress) -> PyResult<bool> {
    state.read(py, |state| sender::has_code(state, address.0))
}

/// Return whether the chain calls accounts and paymasters, which its genesis says.
#[pyfunction]
#[pyo3(signature = (state, /))]
pub fn has_accounts(py: Python<'_>, state: AnyState<'_>) -> PyResult<bool> {
    state.read(py, is_enabled)
}

/// Return whether factory dependencies cost what calldata of their size costs, which the genesis says, too.
#[pyfunction]
#[pyo3(signature = (state, /))]
pub fn charges_factory_deps(py: Python<'_>, state: AnyState<'_>) -> PyResult<bool> {
    state.read(py, charges_published)
}

/// Return whether a sender is a contract account, whose nonce is in the nonce holder.
#[pyfunction]
#[pyo3(signature = (state, sender, /))]
pub fn is_contract_account(
    py: Python<'_>,
    state: AnyState<'_>,
    sender: PyAddress,
) -> PyResult<bool> {
    state.read(py, |state| sender::is_contract_account(state, sender.0))
}

/// Return the nonce of the next transaction of an account of any kind.
#[pyfunction]
#[pyo3(signature = (state, address, /))]
pub fn transaction_count(
    py: Python<'_>,
    state: AnyState<'_>,
    address: PyAddress,
) -> PyResult<PyWord> {
    state.read(py, |state| sender::transaction_count(state, address.0)).map(PyWord)
}

/// Return a sender's next nonce, its balance, and whether it cannot sign.
#[pyfunction]
#[pyo3(signature = (state, sender, /, *, is_account))]
pub fn read_sender(
    py: Python<'_>,
    state: AnyState<'_>,
    sender: PyAddress,
    is_account: bool,
) -> PyResult<(PyWord, PyWord, bool)> {
    let found = state.read(py, |state| sender::read_sender(state, sender.0, is_account))?;
    Ok((PyWord(found.nonce), PyWord(found.balance), found.has_code))
}

/// Let `nonce` be the next of a sender of any kind.
#[pyfunction]
#[pyo3(signature = (overlay, sender, nonce, /))]
pub fn set_next_nonce(
    py: Python<'_>,
    overlay: &Bound<'_, Overlay>,
    sender: PyAddress,
    nonce: u64,
) -> PyResult<()> {
    overlay.get().write(py, |state| sender::set_next_nonce(state, sender.0, nonce))
}

/// Reject a system contract that sends or pays.
#[pyfunction]
#[pyo3(signature = (sender, paymaster, /))]
pub fn check_parties(sender: Option<PyAddress>, paymaster: Option<PyAddress>) -> PyResult<()> {
    let checked = sender::check_parties(sender.map(|it| it.0), paymaster.map(|it| it.0));
    checked.map_err(account_rejection)
}

/// Return why a contract that is not an account cannot send.
#[pyfunction]
pub fn not_an_account(py: Python<'_>) -> Bound<'_, PyAny> {
    account_rejection(Rejection::not_an_account()).into_value(py).into_bound(py).into_any()
}
