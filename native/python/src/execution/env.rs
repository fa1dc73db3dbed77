//! `Rules`, `BlockEnv` and `Checks` for Python.

use alloy_primitives::{Address, B256, U256, map::HashMap};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use revm::context::BlockEnv as RevmBlockEnv;
use revm::context_interface::block::BlobExcessGasAndPrice;
use revm::primitives::eip170;
use revm::primitives::hardfork::SpecId;

use entresol_core::blobs;
use entresol_core::evm::env;
use entresol_core::evm::precompiles::{self, MovedPrecompiles};

use crate::convert::{PyAddress, PyHash, PyWord};

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
        caps_gas = true,
        charges_published = false,
        rejects_foreign_code = false
    ))]
    fn new(
        chain_id: u64,
        fork: &str,
        code_size_limit: Option<usize>,
        caps_gas: bool,
        charges_published: bool,
        rejects_foreign_code: bool,
    ) -> PyResult<Self> {
        let fork = FORKS.iter().find(|(name, _)| *name == fork).ok_or_else(|| {
            let known: Vec<_> = FORKS.iter().map(|(name, _)| *name).collect();
            PyValueError::new_err(format!("no fork {fork:?}; there are {}", known.join(", ")))
        })?;
        let rules = env::Rules::new(chain_id, fork.1);
        Ok(Self(env::Rules {
            code_size_limit,
            caps_gas,
            charges_published,
            rejects_foreign_code,
            ..rules
        }))
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
