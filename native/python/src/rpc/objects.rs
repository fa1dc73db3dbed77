//! Headers, blocks and logs as JSON, for Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use entresol_core::record::decode_header;
use entresol_core::transaction;
use entresol_rpc::header::{self, Body};
use entresol_rpc::logs::{self, LocatedLog};
use entresol_rpc::receipts;

use crate::convert::{PyAddress, PyHash};
use crate::errors::MalformedValue;

/// The address, the topics and the data of a log.
type PyLog = (PyBackedBytes, Vec<PyBackedBytes>, PyBackedBytes);

/// Return a header in RLP as JSON; that of the pending block has no hash.
#[pyfunction]
#[pyo3(signature = (encoded, block_hash, /))]
pub fn header_json<'py>(
    py: Python<'py>,
    encoded: &[u8],
    block_hash: Option<PyHash>,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut out = Vec::with_capacity(2048);
    header::put_header(&mut out, &decoded(encoded)?, block_hash.map(|it| it.0));
    Ok(PyBytes::new(py, &out))
}

/// Return a block as JSON, by its header in RLP, its raw transactions, its hash unless it is pending, the number and the
/// time of its batch, and its transactions as a JSON array.
#[pyfunction]
#[pyo3(signature = (encoded, raws, /, *, block_hash, batch, transactions))]
pub fn block_json<'py>(
    py: Python<'py>,
    encoded: &[u8],
    raws: Vec<PyBackedBytes>,
    block_hash: Option<PyHash>,
    batch: Option<(u64, u64)>,
    transactions: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let header = decoded(encoded)?;
    let size = header::size(&header, raws.iter().map(AsRef::as_ref));
    let mut out = Vec::with_capacity(2048 + transactions.len());
    let body = Body { size, transactions, batch };
    header::put_block(&mut out, &header, block_hash.map(|it| it.0), &body);
    out.push(b'}');
    Ok(PyBytes::new(py, &out))
}

fn decoded(encoded: &[u8]) -> PyResult<alloy_consensus::Header> {
    decode_header(encoded).ok_or_else(|| MalformedValue::new_err("a header is not readable"))
}

/// Return the members by which transactions, receipts and logs name their block and its batch.
#[pyfunction]
#[pyo3(signature = (block_hash, block_number, batch_number, /))]
pub fn inclusion_json(
    block_hash: PyHash,
    block_number: u64,
    batch_number: Option<u64>,
) -> PyResult<String> {
    text(logs::inclusion(block_hash.0, block_number, batch_number))
}

/// Return the members that the logs of a transaction share; `removed` if its block is reverted.
#[pyfunction]
#[pyo3(signature = (inclusion, timestamp, transaction_hash, index, /, *, removed = false))]
pub fn log_context<'py>(
    py: Python<'py>,
    inclusion: &str,
    timestamp: u64,
    transaction_hash: PyHash,
    index: u64,
    removed: bool,
) -> Bound<'py, PyBytes> {
    let (inclusion, hash) = (inclusion.as_bytes(), transaction_hash.0);
    PyBytes::new(py, &logs::log_context(inclusion, timestamp, hash, index, removed))
}

/// Return a log as JSON: its context, and its indexes in the block and in the transaction.
#[pyfunction]
#[pyo3(signature = (log, context, index, within, /))]
pub fn log_json<'py>(
    py: Python<'py>,
    log: PyLog,
    context: &[u8],
    index: u64,
    within: u64,
) -> Bound<'py, PyBytes> {
    let (address, topics, data) = log;
    let mut out = Vec::with_capacity(context.len() + 2 * data.len() + 480);
    LocatedLog { address: &address, topics: &topics, data: &data, index, within }
        .put(&mut out, context);
    PyBytes::new(py, &out)
}

/// Return the hash of a stored transaction; None if Python has to decode it.
#[pyfunction]
#[pyo3(signature = (raw, sender, /))]
pub fn stored_transaction_hash(raw: &[u8], sender: PyAddress) -> Option<PyHash> {
    transaction::stored_hash(raw, sender.0).map(PyHash)
}

/// Return the bloom filter of logs, each with its address and its topics.
#[pyfunction]
#[pyo3(signature = (logs, /))]
pub fn logs_bloom<'py>(
    py: Python<'py>,
    logs: Vec<(PyBackedBytes, Vec<PyBackedBytes>)>,
) -> Bound<'py, PyBytes> {
    let bloom =
        receipts::logs_bloom(logs.iter().map(|(address, topics)| (&**address, &topics[..])));
    PyBytes::new(py, bloom.as_slice())
}

fn text(json: Vec<u8>) -> PyResult<String> {
    String::from_utf8(json).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Return bytes as a JSON array of numbers.
#[pyfunction]
#[pyo3(signature = (data, /))]
pub fn byte_array_json<'py>(py: Python<'py>, data: &[u8]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &entresol_rpc::hex::byte_array(data))
}
