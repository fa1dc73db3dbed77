//! Constants that Python reads from the crate, which cannot do without them.

use alloy_eips::eip4844::DATA_GAS_PER_BLOB;
use alloy_primitives::{Address, U256};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use entresol_core::crypto;
use entresol_core::evm::account::system_contracts;
use entresol_core::evm::{console, intrinsic, revert_reason};
use entresol_core::transaction::{SYSTEM_TYPE, zk};

use super::convert::{PyHash, PyWord};

/// Add them to the module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let bytes = |data: &[u8]| PyBytes::new(module.py(), data);
    module.add("EMPTY_ROOT", PyHash(alloy_trie::EMPTY_ROOT_HASH))?;
    let addresses: [(&str, Address); 5] = [
        ("BOOTLOADER", system_contracts::BOOTLOADER),
        ("NONCE_HOLDER", system_contracts::NONCE_HOLDER),
        ("CONTRACT_DEPLOYER", system_contracts::CONTRACT_DEPLOYER),
        ("BASE_TOKEN", system_contracts::BASE_TOKEN),
        ("CONSOLE", console::ADDRESS),
    ];
    for (name, address) in addresses {
        module.add(name, bytes(address.as_slice()))?;
    }
    module.add("CURVE_ORDER", PyWord(U256::from_be_bytes(crypto::ORDER)))?;
    module.add("TRANSACTION_GAS", intrinsic::TRANSACTION_GAS)?;
    module.add("BLOB_GAS", DATA_GAS_PER_BLOB)?;
    module.add("MAX_FACTORY_DEPS", zk::MAX_FACTORY_DEPS)?;
    module.add("SYSTEM_TYPE", SYSTEM_TYPE)?;
    module.add("ACCOUNT_VERSION", system_contracts::ACCOUNT_VERSION)?;
    module.add("ERROR_SELECTOR", bytes(&revert_reason::ERROR_SELECTOR))?;
    module.add("PANIC_SELECTOR", bytes(&revert_reason::PANIC_SELECTOR))
}
