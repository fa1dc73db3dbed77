//! `TxEnv` and `ZkFields` for Python.

use std::time::Duration;

use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_eips::eip7702::{Authorization, SignedAuthorization};
use alloy_primitives::{Address, Bytes, TxKind, U256};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use revm::context::TxEnv as RevmTxEnv;
use revm::context_interface::either::Either;

use entresol_core::evm::account::zk_tx::{Mode, ZkTx};
use entresol_core::evm::env::{self, L1Payment, PublishedBytes};

use crate::convert::{PyAddress, PyData, PyHash, PyWord};

/// A transaction or a call.
#[pyclass(frozen, module = "entresol._native")]
pub struct TxEnv(pub env::TxEnv);

type PyAccessList = Vec<(PyAddress, Vec<PyHash>)>;
type PyAuthorization = (PyWord, PyAddress, u64, u8, PyWord, PyWord);

#[pymethods]
impl TxEnv {
    #[new]
    #[pyo3(signature = (
        *, sender, gas_limit, to = None, value = PyWord(U256::ZERO), data = PyData(Bytes::new()),
        gas_price = 0, priority_fee = None, nonce = 0, chain_id = None, access_list = None,
        authorizations = None, blob_hashes = None, blob_fee_cap = 0, mint = PyWord(U256::ZERO),
        keeps_nonce = false, l1_payment = None, published = None, zk = None
    ))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn new(
        sender: PyAddress,
        gas_limit: u64,
        to: Option<PyAddress>,
        value: PyWord,
        data: PyData,
        gas_price: u128,
        priority_fee: Option<u128>,
        nonce: u64,
        chain_id: Option<u64>,
        access_list: Option<PyAccessList>,
        authorizations: Option<Vec<PyAuthorization>>,
        blob_hashes: Option<Vec<PyHash>>,
        blob_fee_cap: u128,
        mint: PyWord,
        keeps_nonce: bool,
        l1_payment: Option<(PyWord, PyWord, PyAddress)>,
        published: Option<(u64, u64)>,
        zk: Option<&Bound<'_, ZkFields>>,
    ) -> Self {
        let tx_type = match blob_hashes {
            Some(_) => 3,
            None => transaction_type(&access_list, priority_fee, &authorizations),
        };
        let base = RevmTxEnv {
            tx_type,
            caller: sender.0,
            gas_limit,
            gas_price,
            kind: to.map_or(TxKind::Create, |address| TxKind::Call(address.0)),
            value: value.0,
            data: data.0,
            nonce,
            chain_id,
            access_list: AccessList(access_list.into_iter().flatten().map(access).collect()),
            gas_priority_fee: priority_fee,
            blob_hashes: blob_hashes.into_iter().flatten().map(|hash| hash.0).collect(),
            max_fee_per_blob_gas: blob_fee_cap,
            authorization_list: authorizations.into_iter().flatten().map(authorization).collect(),
        };
        let l1_payment = l1_payment.map(|(to_mint, fee_per_gas, refund_recipient)| L1Payment {
            to_mint: to_mint.0,
            fee_per_gas: fee_per_gas.0,
            refund_recipient: refund_recipient.0,
        });
        let zk = zk.map(|fields| Box::new(fields.get().0.clone()));
        let published = published
            .map(|(zeros, nonzeros)| PublishedBytes { zeros, nonzeros })
            .unwrap_or_default();
        Self(env::TxEnv { base, mint: mint.0, keeps_nonce, l1_payment, published, zk })
    }

    #[getter]
    fn gas_limit(&self) -> u64 {
        self.0.base.gas_limit
    }
}

/// The fields of type 0x71 that no type of Ethereum has.
#[pyclass(frozen, module = "entresol._native")]
pub struct ZkFields(ZkTx);

#[pymethods]
impl ZkFields {
    #[new]
    #[pyo3(signature = (
        *, signature, gas_per_pubdata_limit, max_priority_fee_per_gas,
        paymaster = PyAddress(Address::ZERO), paymaster_input = PyData(Bytes::new()),
        factory_dep_hashes = None, mode = "transaction", validation_gas = 0,
        validation_seconds = 0.0, enforces_rules = false
    ))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn new(
        signature: PyData,
        gas_per_pubdata_limit: u64,
        max_priority_fee_per_gas: u128,
        paymaster: PyAddress,
        paymaster_input: PyData,
        factory_dep_hashes: Option<Vec<PyHash>>,
        mode: &str,
        validation_gas: u64,
        validation_seconds: f64,
        enforces_rules: bool,
    ) -> PyResult<Self> {
        let validation_time = Duration::try_from_secs_f64(validation_seconds)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let mode = match mode {
            "transaction" => Mode::Transaction,
            "impersonation" => Mode::Impersonation,
            "validation" => Mode::Validation,
            other => return Err(PyValueError::new_err(format!("no mode {other:?}"))),
        };
        Ok(Self(ZkTx {
            paymaster: paymaster.0,
            paymaster_input: paymaster_input.0,
            signature: signature.0,
            max_priority_fee_per_gas,
            gas_per_pubdata_limit,
            factory_dep_hashes: factory_dep_hashes.into_iter().flatten().map(|it| it.0).collect(),
            mode,
            validation_gas,
            validation_time,
            enforces_rules,
        }))
    }
}

/// Return the first transaction type that has all the fields given.
fn transaction_type(
    access_list: &Option<PyAccessList>,
    priority_fee: Option<u128>,
    authorizations: &Option<Vec<PyAuthorization>>,
) -> u8 {
    match (authorizations, priority_fee, access_list) {
        (Some(_), _, _) => 4,
        (None, Some(_), _) => 2,
        (None, None, Some(_)) => 1,
        (None, None, None) => 0,
    }
}

fn access((address, slots): (PyAddress, Vec<PyHash>)) -> AccessListItem {
    let storage_keys = slots.into_iter().map(|slot| slot.0).collect();
    AccessListItem { address: address.0, storage_keys }
}

fn authorization<R>(fields: PyAuthorization) -> Either<SignedAuthorization, R> {
    let (chain_id, address, nonce, y_parity, r, s) = fields;
    let unsigned = Authorization { chain_id: chain_id.0, address: address.0, nonce };
    Either::Left(SignedAuthorization::new_unchecked(unsigned, y_parity, r.0, s.0))
}
