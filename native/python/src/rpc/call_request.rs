//! A decoded call object of Python.

use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_eips::eip7702::{Authorization, SignedAuthorization};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;

use entresol_core::call::{CallRequest, ZkCall};
use entresol_core::evm::env::PublishedBytes;

use crate::convert::{PyAddress, PyData, PyHash, PyWord};
use crate::errors::number_too_large;

/// Read a `CallRequest` of Python; a number that no transaction can have is a `MalformedValue`.
pub fn call_request(object: &Bound<'_, PyAny>) -> PyResult<CallRequest> {
    let py = object.py();
    let read: PyResult<PyCallRequest> = object.extract();
    read.map(CallRequest::from)
        .map_err(|error| if is_too_large(py, &error) { number_too_large() } else { error })
}

/// Whether a value could not be read because of a number; what Python says of a field is the cause of an error.
pub fn is_too_large(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyOverflowError>(py)
        || error.is_instance_of::<PyValueError>(py)
        || error.cause(py).is_some_and(|cause| is_too_large(py, &cause))
}

#[derive(FromPyObject)]
struct PyCallRequest {
    sender: PyAddress,
    to: Option<PyAddress>,
    gas: Option<PyWord>,
    gas_price: Option<PyWord>,
    max_fee_per_gas: Option<PyWord>,
    max_priority_fee_per_gas: Option<PyWord>,
    value: PyWord,
    data: PyData,
    nonce: Option<u64>,
    chain_id: Option<u64>,
    access_list: Option<Vec<PyAccess>>,
    authorizations: Option<Vec<PyAuthorization>>,
    blob_hashes: Option<Vec<PyHash>>,
    max_fee_per_blob_gas: Option<PyWord>,
    zk: Option<PyZkCall>,
}

#[derive(FromPyObject)]
struct PyAccess {
    account: PyAddress,
    slots: Vec<PyHash>,
}

#[derive(FromPyObject)]
struct PyAuthorization {
    chain_id: PyWord,
    address: PyAddress,
    nonce: u64,
    y_parity: u8,
    r: PyWord,
    s: PyWord,
}

#[derive(FromPyObject)]
struct PyZkCall {
    paymaster: Option<PyAddress>,
    paymaster_input: PyData,
    signature: PyData,
    gas_per_pubdata_limit: u64,
    factory_dep_hashes: Vec<PyHash>,
    published: Option<(u64, u64)>,
    has_meta: bool,
}

impl From<PyCallRequest> for CallRequest {
    fn from(call: PyCallRequest) -> Self {
        let hashes = |hashes: Vec<PyHash>| hashes.into_iter().map(|it| it.0).collect();
        Self {
            from: call.sender.0,
            to: call.to.map(|it| it.0),
            // More than that is more than any cap.
            gas: call.gas.map(|it| u64::try_from(it.0).unwrap_or(u64::MAX)),
            gas_price: call.gas_price.map(|it| it.0),
            max_fee_per_gas: call.max_fee_per_gas.map(|it| it.0),
            max_priority_fee_per_gas: call.max_priority_fee_per_gas.map(|it| it.0),
            value: call.value.0,
            data: call.data.0,
            nonce: call.nonce,
            chain_id: call.chain_id,
            access_list: call
                .access_list
                .map(|list| AccessList(list.into_iter().map(AccessListItem::from).collect())),
            authorizations: call
                .authorizations
                .map(|list| list.into_iter().map(SignedAuthorization::from).collect()),
            blob_hashes: call.blob_hashes.map(hashes),
            max_fee_per_blob_gas: call.max_fee_per_blob_gas.map(|it| it.0),
            zk: call.zk.map(|zk| Box::new(zk.into())),
        }
    }
}

impl From<PyAccess> for AccessListItem {
    fn from(access: PyAccess) -> Self {
        let storage_keys = access.slots.into_iter().map(|slot| slot.0).collect();
        Self { address: access.account.0, storage_keys }
    }
}

impl From<PyAuthorization> for SignedAuthorization {
    fn from(it: PyAuthorization) -> Self {
        let unsigned =
            Authorization { chain_id: it.chain_id.0, address: it.address.0, nonce: it.nonce };
        Self::new_unchecked(unsigned, it.y_parity, it.r.0, it.s.0)
    }
}

impl From<PyZkCall> for ZkCall {
    fn from(zk: PyZkCall) -> Self {
        let (zeros, nonzeros) = zk.published.unwrap_or_default();
        Self {
            paymaster: zk.paymaster.map(|it| it.0),
            paymaster_input: zk.paymaster_input.0,
            signature: zk.signature.0,
            gas_per_pubdata_limit: zk.gas_per_pubdata_limit,
            factory_dep_hashes: zk.factory_dep_hashes.into_iter().map(|it| it.0).collect(),
            published: PublishedBytes { zeros, nonzeros },
            has_meta: zk.has_meta,
        }
    }
}
