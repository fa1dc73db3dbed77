//! Transactions of type 0x71 for Python, whose payload is read attribute by attribute.

use alloy_primitives::U256;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use entresol_core::bytecode::{self, BytecodeError};
use entresol_core::transaction::zk::{
    self, DecodedZk, FieldError, SignatureError, ZkError, ZkTransaction,
};

use super::convert::{PyAddress, PyData, PyHash, PyWord};
use super::errors::{
    InvalidBytecode, InvalidZkSignature, MalformedTransaction, MalformedZkTransaction,
    TransactionRuleBroken, crypto_error,
};

/// The payload as Python has it.
#[derive(FromPyObject)]
pub struct ZkPayload {
    nonce: PyWord,
    max_priority_fee_per_gas: PyWord,
    max_fee_per_gas: PyWord,
    gas_limit: PyWord,
    to: PyAddress,
    value: PyWord,
    data: PyData,
    v: Option<u8>,
    r: PyWord,
    s: PyWord,
    chain_id: PyWord,
    sender: PyAddress,
    gas_per_pubdata_limit: PyWord,
    factory_deps: Vec<PyData>,
    custom_signature: PyData,
    paymaster: Option<Paymaster>,
}

#[derive(FromPyObject)]
struct Paymaster {
    address: PyAddress,
    input: PyData,
}

impl From<ZkPayload> for ZkTransaction {
    fn from(payload: ZkPayload) -> Self {
        Self {
            nonce: payload.nonce.0,
            max_priority_fee_per_gas: payload.max_priority_fee_per_gas.0,
            max_fee_per_gas: payload.max_fee_per_gas.0,
            gas_limit: payload.gas_limit.0,
            to: payload.to.0,
            value: payload.value.0,
            data: payload.data.0,
            v: payload.v,
            r: payload.r.0,
            s: payload.s.0,
            chain_id: payload.chain_id.0,
            sender: payload.sender.0,
            gas_per_pubdata_limit: payload.gas_per_pubdata_limit.0,
            factory_deps: payload.factory_deps.into_iter().map(|code| code.0).collect(),
            custom_signature: payload.custom_signature.0,
            paymaster: payload.paymaster.map(|it| (it.address.0, it.input.0)),
        }
    }
}

/// Decode a transaction of type 0x71.
#[pyfunction]
#[pyo3(signature = (raw, /, *, recovers = true))]
pub fn decode_zk_transaction<'py>(
    py: Python<'py>,
    raw: &[u8],
    recovers: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    let decoded = zk::decode(raw, recovers).map_err(|error| zk_error(py, error))?;
    fields_of(py, decoded)
}

/// Return the raw transaction of a payload.
#[pyfunction]
#[pyo3(signature = (payload, /))]
pub fn encode_zk_transaction(py: Python<'_>, payload: ZkPayload) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &ZkTransaction::from(payload).encode())
}

/// Return the digest that the sender of a payload signs.
#[pyfunction]
#[pyo3(signature = (payload, /))]
pub fn zk_signing_hash(py: Python<'_>, payload: ZkPayload) -> PyResult<PyHash> {
    let digest = ZkTransaction::from(payload).signing_hash();
    digest.map(PyHash).map_err(|error| zk_error(py, error))
}

/// Return the hash of a payload, which covers the signature that counts.
#[pyfunction]
#[pyo3(signature = (payload, /))]
pub fn zk_transaction_hash(py: Python<'_>, payload: ZkPayload) -> PyResult<PyHash> {
    let hash = ZkTransaction::from(payload).hash();
    hash.map(PyHash).map_err(|error| zk_error(py, error))
}

/// Return the signature that counts.
#[pyfunction]
#[pyo3(signature = (v, r, s, custom, /))]
pub fn zk_signature<'py>(
    py: Python<'py>,
    v: Option<u8>,
    r: PyWord,
    s: PyWord,
    custom: &[u8],
) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &zk::signature(v, r.0, s.0, custom))
}

/// Return the sender of a transaction of type 0x71, and the paymaster with its input; None if it is malformed.
#[pyfunction]
#[pyo3(signature = (raw, /))]
pub fn zk_parties(raw: &[u8]) -> Option<(PyAddress, Option<(PyAddress, PyData)>)> {
    let (sender, paymaster) = zk::parties(raw).ok()?;
    Some((PyAddress(sender), paymaster.map(|(address, input)| (PyAddress(address), PyData(input)))))
}

/// Return the factory dependencies of a raw transaction of type 0x71: the hash and the code of each.
#[pyfunction]
#[pyo3(signature = (raw, /))]
pub fn zk_dependencies(py: Python<'_>, raw: &[u8]) -> PyResult<Vec<(PyHash, PyData)>> {
    let found = zk::dependencies(raw).map_err(|error| zk_error(py, error))?;
    Ok(found.into_iter().map(|(hash, code)| (PyHash(hash), PyData(code))).collect())
}

/// Return the hashes under which factory dependencies are published.
#[pyfunction]
#[pyo3(signature = (codes, /))]
pub fn factory_dep_hashes<'py>(
    py: Python<'py>,
    codes: Vec<PyData>,
) -> PyResult<Bound<'py, PyTuple>> {
    let codes: Vec<_> = codes.into_iter().map(|code| code.0).collect();
    let hashes = zk::dependency_hashes(&codes).map_err(|error| zk_error(py, error))?;
    PyTuple::new(py, hashes.into_iter().map(PyHash))
}

/// Return the hash under which a factory dependency is published.
#[pyfunction]
#[pyo3(signature = (code, /))]
pub fn eravm_hash(code: &[u8]) -> PyResult<PyHash> {
    bytecode::eravm_hash(code).map(PyHash).map_err(bytecode_error)
}

/// Return the fields in the order of the encoding, the hash, and why the sender's key has not signed.
pub fn fields_of(py: Python<'_>, decoded: DecodedZk) -> PyResult<Bound<'_, PyTuple>> {
    let DecodedZk { transaction: tx, hash, signature_error } = decoded;
    let error = signature_error.map(|error| signature_problem(error, &tx));
    let is_plain = tx.v.is_some();
    let scalar = |scalar| PyWord(if is_plain { scalar } else { U256::ZERO });
    let head = (
        PyWord(tx.nonce),
        PyWord(tx.max_priority_fee_per_gas),
        PyWord(tx.max_fee_per_gas),
        PyWord(tx.gas_limit),
        PyAddress(tx.to),
        PyWord(tx.value),
        PyData(tx.data),
        (tx.v, scalar(tx.r), scalar(tx.s)),
    );
    let tail = (
        PyWord(tx.chain_id),
        PyAddress(tx.sender),
        PyWord(tx.gas_per_pubdata_limit),
        PyTuple::new(py, tx.factory_deps.into_iter().map(PyData))?,
        PyData(tx.custom_signature),
        tx.paymaster.map(|(address, input)| (PyAddress(address), PyData(input))),
    );
    (head, tail, PyHash(hash), error.map(|error| error.into_value(py))).into_pyobject(py)
}

/// Return the exception for what is not a transaction of type 0x71.
pub fn zk_error(py: Python<'_>, error: ZkError) -> PyErr {
    let at = |kind: &'static str, field: Option<usize>, item: Option<usize>, figures: &[usize]| {
        MalformedZkTransaction::new_err((kind, field, item, figures.to_vec()))
    };
    match error {
        ZkError::Rlp(error) => MalformedTransaction::new_err(error.to_string()),
        ZkError::NoList => at("no list", None, None, &[]),
        ZkError::FieldCount(found) => at("field count", None, None, &[found]),
        ZkError::Field { field, item, problem } => {
            let (kind, figures): (_, &[usize]) = match problem {
                FieldError::List => ("list", &[]),
                FieldError::Bytes => ("bytes", &[]),
                FieldError::LeadingZero => ("leading zero", &[]),
                FieldError::TooLong(most, found) => ("too long", &[most, found]),
                FieldError::AddressSize(found) => ("address size", &[found]),
                FieldError::NoTarget => ("no target", &[]),
                FieldError::ItemCount(expected, found) => ("item count", &[expected, found]),
            };
            at(kind, Some(field), item, figures)
        }
        ZkError::Nonce => TransactionRuleBroken::new_err(("nonce overflow",)),
        ZkError::V(v) => InvalidZkSignature::new_err(("plain v", v)),
        ZkError::TooManyDependencies(found) => TransactionRuleBroken::new_err((
            "too many factory dependencies",
            found,
            zk::MAX_FACTORY_DEPS,
        )),
        ZkError::Dependency(index, error) => {
            let cause = bytecode_error(error);
            let text = cause.value(py).to_string();
            let malformed = MalformedZkTransaction::new_err((
                "dependency",
                None::<usize>,
                None::<usize>,
                (index, text),
            ));
            malformed.set_cause(py, Some(cause));
            malformed
        }
    }
}

fn bytecode_error(error: BytecodeError) -> PyErr {
    match error {
        BytecodeError::TooLong(size) => {
            InvalidBytecode::new_err(("too long", size, bytecode::MAX_SIZE))
        }
        BytecodeError::PartOfWord => InvalidBytecode::new_err("part of word"),
        BytecodeError::EvenWords => InvalidBytecode::new_err("even words"),
    }
}

fn signature_problem(error: SignatureError, tx: &ZkTransaction) -> PyErr {
    match error {
        SignatureError::Unsigned => InvalidZkSignature::new_err("unsigned"),
        SignatureError::Size(size, signer) => {
            InvalidZkSignature::new_err(("size", size, signer.map(PyAddress)))
        }
        SignatureError::V(v) => InvalidZkSignature::new_err(("v", v)),
        SignatureError::Crypto(error) => crypto_error(error),
        SignatureError::Signer(signer) => {
            InvalidZkSignature::new_err(("signer", PyAddress(tx.sender), PyAddress(signer)))
        }
    }
}
