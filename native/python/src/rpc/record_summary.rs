//! What settlement methods say of a stored block, for Python.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use entresol_core::record_summary;

use crate::convert::{PyAddress, PyHash, PyWord};

/// The time of a block, how many transactions it has, how many of them have one of `types`, its hash, its base fee and
/// its beneficiary.
type Block = (u64, u64, u64, PyHash, PyWord, PyAddress);

/// The sender of a transaction, whether it succeeded, its gas, the time and the base fee of its block, what it pays for
/// a unit of gas if its type is one of Ethereum's, and the raw transaction.
type Transaction<'py> = (PyAddress, bool, u64, u64, PyWord, Option<u128>, Bound<'py, PyBytes>);

/// Summarise the block of a stored record; None if the record cannot be read.
#[pyfunction]
#[pyo3(signature = (record, types, /))]
pub fn block_summary(record: &[u8], types: &[u8]) -> Option<Block> {
    let it = record_summary::block(record, types)?;
    Some((
        it.timestamp,
        it.transactions,
        it.typed,
        PyHash(it.hash),
        PyWord(it.base_fee),
        PyAddress(it.beneficiary),
    ))
}

/// Summarise the transaction at `index` of a stored record; None if it cannot be read.
#[pyfunction]
#[pyo3(signature = (record, index, /))]
pub fn transaction_summary<'py>(
    py: Python<'py>,
    record: &[u8],
    index: usize,
) -> Option<Transaction<'py>> {
    let it = record_summary::transaction(record, index)?;
    Some((
        PyAddress(it.sender),
        it.succeeded,
        it.gas_used,
        it.timestamp,
        PyWord(it.base_fee),
        it.gas_price,
        PyBytes::new(py, it.raw),
    ))
}

/// Return how many L2-to-L1 logs the transactions before `index` have, and how many it has; None if it cannot be read.
#[pyfunction]
#[pyo3(signature = (record, index, /))]
pub fn message_counts(record: &[u8], index: usize) -> Option<(usize, usize)> {
    record_summary::messages(record, index)
}

/// Return bytes as a JSON array of numbers.
#[pyfunction]
#[pyo3(signature = (data, /))]
pub fn byte_array_json<'py>(py: Python<'py>, data: &[u8]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &entresol_rpc::hex::byte_array(data))
}
