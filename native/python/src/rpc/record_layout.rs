//! Stored records for Python, which says where their fields are.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use entresol_core::record::{Layout, Names};
use entresol_core::record_summary;
use entresol_rpc::stored_block;

use crate::convert::{PyAddress, PyHash};

/// The time of a block, how many transactions it has, how many of them have one of `types`, its hash, its base fee and
/// its beneficiary.
type Block = (u64, u64, u64, PyHash, u64, PyAddress);

/// The sender of a transaction, whether it succeeded, its gas, the time and the base fee of its block, what it pays for
/// a unit of gas if its type is one of Ethereum's, and the raw transaction.
type Transaction<'py> = (PyAddress, bool, u64, u64, u64, Option<u128>, Bound<'py, PyBytes>);

/// Where the fields of stored records are, and what is read by that.
#[pyclass(frozen, module = "entresol._native")]
pub struct RecordLayout(pub Arc<Layout>);

#[pymethods]
impl RecordLayout {
    #[new]
    #[pyo3(signature = (*, version, record, transaction, result, log, message))]
    fn new(
        version: u8,
        record: Vec<String>,
        transaction: Vec<String>,
        result: Vec<String>,
        log: Vec<String>,
        message: Vec<(String, usize)>,
    ) -> PyResult<Self> {
        let names = Names { record, transaction, result, log, message };
        Layout::new(version, &names)
            .map(|layout| Self(Arc::new(layout)))
            .map_err(|name| PyValueError::new_err(format!("a record has one field {name}")))
    }

    /// Summarise the block of a stored record; None if the record cannot be read.
    #[pyo3(signature = (record, types, /))]
    fn block_summary(&self, record: &[u8], types: &[u8]) -> Option<Block> {
        let it = record_summary::block(&self.0, record, types)?;
        let header = it.header;
        Some((
            header.timestamp,
            it.transactions,
            it.typed,
            PyHash(it.hash),
            header.base_fee_per_gas?,
            PyAddress(header.beneficiary),
        ))
    }

    /// Summarise the transaction at `index` of a stored record; None if it cannot be read.
    #[pyo3(signature = (record, index, /))]
    fn transaction_summary<'py>(
        &self,
        py: Python<'py>,
        record: &[u8],
        index: usize,
    ) -> Option<Transaction<'py>> {
        let it = record_summary::transaction(&self.0, record, index)?;
        Some((
            PyAddress(it.sender),
            it.succeeded,
            it.gas_used,
            it.timestamp,
            it.base_fee,
            it.gas_price,
            PyBytes::new(py, it.raw),
        ))
    }

    /// Return how many L2-to-L1 logs the transactions before `index` have, and how many it has; None if it cannot be
    /// read.
    #[pyo3(signature = (record, index, /))]
    fn message_counts(&self, record: &[u8], index: usize) -> Option<(usize, usize)> {
        record_summary::messages(&self.0, record, index)
    }

    /// Return the header of a stored record as JSON; None if it cannot be read.
    #[pyo3(signature = (record, /))]
    fn header_json<'py>(&self, py: Python<'py>, record: &[u8]) -> Option<Bound<'py, PyBytes>> {
        stored_block::header(&self.0, record).map(|text| PyBytes::new(py, &text))
    }

    /// Return a stored block with the hashes of its transactions as JSON; None if it cannot be read.
    #[pyo3(signature = (record, batch, /))]
    fn block_json<'py>(
        &self,
        py: Python<'py>,
        record: &[u8],
        batch: Option<(u64, u64)>,
    ) -> Option<Bound<'py, PyBytes>> {
        stored_block::block(&self.0, record, batch).map(|text| PyBytes::new(py, &text))
    }
}
