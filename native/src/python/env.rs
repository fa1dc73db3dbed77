//! `Rules`, `BlockEnv`, `TxEnv`, `Checks` and `Limits` for Python.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_eips::eip7702::{Authorization, SignedAuthorization};
use alloy_primitives::{Address, B256, Bytes, TxKind, U256, map::HashMap};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use revm::context::{BlockEnv as RevmBlockEnv, TxEnv as RevmTxEnv};
use revm::context_interface::block::BlobExcessGasAndPrice;
use revm::context_interface::either::Either;
use revm::primitives::eip170;
use revm::primitives::hardfork::SpecId;

use super::convert::{PyAddress, PyData, PyHash, PyWord};
use super::gil;
use crate::blobs;
use crate::evm::account::{self, Mode};
use crate::evm::intrinsic::PublishedBytes;
use crate::evm::l1_payment::L1Payment;
use crate::evm::precompiles::{self, MovedPrecompiles};
use crate::evm::{env, limits};

/// Chain parameters that hold for every execution.
#[pyclass(frozen, module = "entresol._native")]
pub struct Rules(pub env::Rules);

#[pymethods]
impl Rules {
    #[new]
    #[pyo3(signature = (
        chain_id,
        fork = "osaka",
        *,
        code_size_limit = Some(eip170::MAX_CODE_SIZE),
        caps_gas = true
    ))]
    fn new(
        chain_id: u64,
        fork: &str,
        code_size_limit: Option<usize>,
        caps_gas: bool,
    ) -> PyResult<Self> {
        let fork = FORKS.iter().find(|(name, _)| *name == fork).ok_or_else(|| {
            let known: Vec<_> = FORKS.iter().map(|(name, _)| *name).collect();
            PyValueError::new_err(format!("no fork {fork:?}; there are {}", known.join(", ")))
        })?;
        Ok(Self(env::Rules { code_size_limit, caps_gas, ..env::Rules::new(chain_id, fork.1) }))
    }

    #[getter]
    fn chain_id(&self) -> u64 {
        self.0.chain_id
    }

    /// The highest gas limit of a transaction, or None.
    #[getter]
    fn transaction_gas_limit(&self) -> Option<u64> {
        self.0.transaction_gas_limit()
    }

    /// How many blobs a block may have; none before Cancun.
    #[getter]
    fn max_blobs(&self) -> u64 {
        blobs::params(self.0.fork).map_or(0, |params| params.max_blob_count)
    }

    /// How many blobs a transaction may have.
    #[getter]
    fn max_blobs_per_transaction(&self) -> u64 {
        blobs::params(self.0.fork).map_or(0, |params| params.max_blobs_per_tx)
    }

    /// Addresses of the fork's precompiles.
    #[getter]
    fn precompiles(&self) -> Vec<PyAddress> {
        precompiles::addresses(self.0.fork).into_iter().map(PyAddress).collect()
    }

    #[getter]
    fn fork(&self) -> &'static str {
        FORKS.iter().find(|(_, fork)| *fork == self.0.fork).map_or("", |(name, _)| name)
    }
}

/// Supported forks. Before the first of them empty accounts could exist, which reported changes do not
/// distinguish from absent ones.
const FORKS: [(&str, SpecId); 11] = [
    ("spurious_dragon", SpecId::SPURIOUS_DRAGON),
    ("byzantium", SpecId::BYZANTIUM),
    ("petersburg", SpecId::PETERSBURG),
    ("istanbul", SpecId::ISTANBUL),
    ("berlin", SpecId::BERLIN),
    ("london", SpecId::LONDON),
    ("paris", SpecId::MERGE),
    ("shanghai", SpecId::SHANGHAI),
    ("cancun", SpecId::CANCUN),
    ("prague", SpecId::PRAGUE),
    ("osaka", SpecId::OSAKA),
];

/// The block an execution runs in.
#[pyclass(frozen, module = "entresol._native")]
pub struct BlockEnv {
    pub env: RevmBlockEnv,
    pub has_blob_base_fee: bool,
    pub block_hashes: HashMap<u64, B256>,
    pub precompiles: MovedPrecompiles,
}

impl BlockEnv {
    /// The block under `rules`, which give blob gas its price.
    pub fn under(&self, rules: &env::Rules) -> RevmBlockEnv {
        let mut block = self.env.clone();
        if let (false, Some(priced)) =
            (self.has_blob_base_fee, &mut block.blob_excess_gas_and_price)
        {
            let params = blobs::params(rules.fork);
            priced.blob_gasprice =
                params.map_or(1, |params| blobs::base_fee(&params, priced.excess_blob_gas));
        }
        block
    }
}

#[pymethods]
impl BlockEnv {
    #[new]
    #[pyo3(signature = (
        *, number, timestamp, gas_limit, beneficiary = PyAddress(Address::ZERO), base_fee = 0,
        prevrandao = PyHash(B256::ZERO), difficulty = PyWord(U256::ZERO), blob_base_fee = None,
        excess_blob_gas = 0, block_hashes = None, precompiles = None
    ))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn new(
        number: u64,
        timestamp: u64,
        gas_limit: u64,
        beneficiary: PyAddress,
        base_fee: u64,
        prevrandao: PyHash,
        difficulty: PyWord,
        blob_base_fee: Option<u128>,
        excess_blob_gas: u64,
        block_hashes: Option<std::collections::HashMap<u64, PyHash>>,
        precompiles: Option<std::collections::HashMap<PyAddress, Option<PyAddress>>>,
    ) -> Self {
        let env = RevmBlockEnv {
            number: U256::from(number),
            beneficiary: beneficiary.0,
            timestamp: U256::from(timestamp),
            gas_limit,
            basefee: base_fee,
            difficulty: difficulty.0,
            prevrandao: Some(prevrandao.0),
            // Without a price of its own, the fork gives it one when an execution starts.
            blob_excess_gas_and_price: Some(BlobExcessGasAndPrice {
                excess_blob_gas,
                blob_gasprice: blob_base_fee.unwrap_or_default(),
            }),
            slot_num: 0,
        };
        let hashes = block_hashes.unwrap_or_default();
        let moved = precompiles.unwrap_or_default();
        Self {
            env,
            has_blob_base_fee: blob_base_fee.is_some(),
            block_hashes: hashes.into_iter().map(|(n, hash)| (n, hash.0)).collect(),
            precompiles: moved.into_iter().map(|(at, of)| (at.0, of.map(|it| it.0))).collect(),
        }
    }
}

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

    /// Return the same transaction with another gas limit.
    fn with_gas_limit(&self, gas_limit: u64) -> Self {
        let mut tx = self.0.clone();
        tx.base.gas_limit = gas_limit;
        Self(tx)
    }

    #[getter]
    fn gas_limit(&self) -> u64 {
        self.0.base.gas_limit
    }
}

/// The fields of type 0x71 that no type of Ethereum has.
#[pyclass(frozen, module = "entresol._native")]
pub struct ZkFields(account::ZkTx);

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
            "estimate" => Mode::Estimate,
            "validation" => Mode::Validation,
            other => return Err(PyValueError::new_err(format!("no mode {other:?}"))),
        };
        Ok(Self(account::ZkTx {
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

/// Validation that a transaction has to pass, and whether it pays fees.
#[pyclass(frozen, module = "entresol._native")]
pub struct Checks(pub env::Checks);

#[pymethods]
impl Checks {
    #[new]
    #[pyo3(signature = (
        *, base_fee = true, fees = true, balance = true, nonce = true, sender_code = true,
        gas_cap = true
    ))]
    fn new(
        base_fee: bool,
        fees: bool,
        balance: bool,
        nonce: bool,
        sender_code: bool,
        gas_cap: bool,
    ) -> Self {
        Self(env::Checks { base_fee, fees, balance, nonce, sender_code, gas_cap })
    }
}

/// A flag that cancels executions.
#[pyclass(frozen, module = "entresol._native")]
#[derive(Default)]
pub struct CancelFlag(Arc<AtomicBool>);

#[pymethods]
impl CancelFlag {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Set the flag; it cannot be reset.
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    #[getter]
    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Let the flag cancel the executions that start on this thread.
    fn __enter__(&self) {
        THREAD_FLAG.set(Some(Arc::clone(&self.0)));
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        THREAD_FLAG.set(None);
    }
}

thread_local! {
    /// The flag that cancels the executions of this thread.
    static THREAD_FLAG: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Limits on an execution.
#[pyclass(frozen, module = "entresol._native")]
pub struct Limits {
    gas: Option<u64>,
    seconds: Option<f64>,
    cancel: Option<Arc<AtomicBool>>,
    trace_bytes: Option<usize>,
}

#[pymethods]
impl Limits {
    #[new]
    #[pyo3(signature = (*, gas = None, seconds = None, cancel = None, trace_bytes = None))]
    fn new(
        gas: Option<u64>,
        seconds: Option<f64>,
        cancel: Option<Bound<'_, CancelFlag>>,
        trace_bytes: Option<usize>,
    ) -> PyResult<Self> {
        if seconds.is_some_and(|seconds| !(0.0..1e9).contains(&seconds)) {
            return Err(PyValueError::new_err("seconds is from 0 to 1e9"));
        }
        let cancel = cancel.map(|flag| Arc::clone(&flag.get().0));
        Ok(Self { gas, seconds, cancel, trace_bytes })
    }
}

impl Limits {
    /// Start the clock.
    pub fn start(&self) -> limits::Limits {
        limits::Limits {
            gas: self.gas,
            deadline: self.seconds.map(|s| Instant::now() + Duration::from_secs_f64(s)),
            cancel: self.cancel.clone().or_else(|| THREAD_FLAG.with_borrow(Clone::clone)),
            trace_bytes: self.trace_bytes,
            ..Self::none()
        }
    }

    /// No limits but the flag of the thread; the GIL is still released while a program computes.
    pub fn none() -> limits::Limits {
        let progress =
            limits::ProgressHooks { on_check: gil::on_check, before_long_work: gil::release_held };
        let cancel = THREAD_FLAG.with_borrow(Clone::clone);
        limits::Limits { progress: Some(progress), cancel, ..limits::Limits::default() }
    }
}
