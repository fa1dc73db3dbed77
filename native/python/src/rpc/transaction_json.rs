//! Transactions as JSON, for Python.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyString;

use entresol_core::transaction::zk::{self, ZkTransaction};
use entresol_core::transaction::{self, SYSTEM_TYPE, is_unsigned};
use entresol_rpc::transaction::{Location, Payload, Rendered, Signature, Unsigned};

use crate::convert::{PyAddress, PyData, PyHash, PyWord};
use crate::errors::decode_error;
use crate::zk_transaction::zk_error;

/// A transaction as Python has it; only of those that nobody has signed the payload is read, of others the bytes.
#[derive(FromPyObject)]
pub struct PyTransaction<'py> {
    raw: PyBackedBytes,
    sender: PyAddress,
    hash: PyHash,
    payload: Bound<'py, PyAny>,
}

#[derive(FromPyObject)]
struct UnsignedPayload {
    #[pyo3(attribute("type"))]
    kind: u8,
    to: PyAddress,
    value: PyWord,
    gas_limit: PyWord,
    max_fee_per_gas: PyWord,
    data: PyData,
    nonce: PyWord,
}

/// The members that name block and batch, the index in the block, the number in the batch, time and base fee.
type PyLocation = (String, u64, Option<u64>, u64, PyWord);

/// Return a transaction as JSON; without a location it is pending.
#[pyfunction]
#[pyo3(signature = (transaction, chain_id, location, /))]
pub fn transaction_json<'py>(
    py: Python<'py>,
    transaction: PyTransaction<'py>,
    chain_id: u64,
    location: Option<PyLocation>,
) -> PyResult<Bound<'py, PyString>> {
    let location =
        location.as_ref().map(|(inclusion, index, tx_number, timestamp, base_fee)| Location {
            inclusion: inclusion.as_bytes(),
            index: *index,
            tx_number: *tx_number,
            timestamp: *timestamp,
            base_fee: base_fee.0,
        });
    let raw = &transaction.raw[..];
    let mut out = Vec::with_capacity(1024 + 2 * raw.len());
    let mut put = |payload| {
        let rendered = Rendered { hash: transaction.hash.0, sender: transaction.sender.0, payload };
        rendered.put(&mut out, location.as_ref());
    };
    if zk::is_zk(raw) {
        let decoded = ZkTransaction::decode(raw).map_err(|error| zk_error(py, error))?;
        put(Payload::Zk(&decoded));
    } else if raw.first().is_some_and(|kind| is_unsigned(*kind)) {
        let payload: UnsignedPayload = transaction.payload.extract()?;
        put(Payload::Unsigned(&payload.into(), chain_id));
    } else {
        let decoded = transaction::decode(raw, Some(transaction.sender.0))
            .map_err(|error| decode_error(py, error))?;
        put(Payload::Ethereum(&decoded.transaction, Signature::of(&decoded)));
    }
    PyString::from_bytes(py, &out)
}

impl From<UnsignedPayload> for Unsigned {
    fn from(payload: UnsignedPayload) -> Self {
        Self {
            kind: payload.kind,
            to: payload.to.0,
            value: payload.value.0,
            gas_limit: payload.gas_limit.0,
            max_fee_per_gas: payload.max_fee_per_gas.0,
            data: payload.data.0,
            // What L1 calls its nonce is its id in the priority queue; the sender on L2 used none.
            nonce: if payload.kind == SYSTEM_TYPE { payload.nonce.0.saturating_to() } else { 0 },
        }
    }
}
