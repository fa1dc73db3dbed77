//! The system contracts that accounts depend on, and what is in their slots.

use alloy_primitives::{Address, U256, address, keccak256};

use crate::state::{ProviderError, State};

/// Calls accounts and paymasters, and receives the fee.
pub const BOOTLOADER: Address = address!("0000000000000000000000000000000000008001");
/// Holds the nonces of contract accounts.
pub const NONCE_HOLDER: Address = address!("0000000000000000000000000000000000008003");
/// Records which contracts are accounts.
pub const CONTRACT_DEPLOYER: Address = address!("0000000000000000000000000000000000008006");
/// The base token, whose slots are the balances of EraVM.
pub const BASE_TOKEN: Address = address!("000000000000000000000000000000000000800a");

/// The version of a contract that is an account, as the deployer records it.
pub const ACCOUNT_VERSION: u8 = 1;

/// The variable of 0x8001 that says whether the chain calls accounts: the genesis sets it.
const ACCOUNT_VERSION_SLOT: U256 = U256::ZERO;
/// The variable of 0x8001 that says whether the chain charges for what is published: the genesis sets it.
pub const CHARGES_SLOT: U256 = U256::ONE;
const LAST_SYSTEM_ADDRESS: Address = address!("000000000000000000000000000000000000ffff");
const NONCE_MASK: U256 = U256::from_limbs([u64::MAX, u64::MAX, 0, 0]);

/// Return whether the chain calls accounts and paymasters.
pub fn is_enabled(state: &dyn State) -> Result<bool, ProviderError> {
    Ok(!state.slot(BOOTLOADER, ACCOUNT_VERSION_SLOT)?.is_zero())
}

/// Return whether the chain charges for what is published as it does for calldata.
pub fn charges_published(state: &dyn State) -> Result<bool, ProviderError> {
    Ok(!state.slot(BOOTLOADER, CHARGES_SLOT)?.is_zero())
}

/// Return whether the slot that an account has in 0x8006 says that it is one.
pub fn says_account(raw: U256) -> bool {
    raw.byte(0) == ACCOUNT_VERSION
}

/// Return whether an address is one of the system's own.
pub fn is_system(address: Address) -> bool {
    address <= LAST_SYSTEM_ADDRESS
}

/// Return the slot of an account in the first mapping of a contract.
pub fn account_slot(account: Address) -> U256 {
    let mut key = [0; 64];
    key[12..32].copy_from_slice(account.as_slice());
    keccak256(key).into()
}

/// Return the first unused nonce, of the slot that holds it beside the deployment nonce.
pub fn min_nonce(raw: U256) -> U256 {
    raw & NONCE_MASK
}

/// Return the slot that has another first unused nonce beside the same deployment nonce.
pub fn with_min_nonce(raw: U256, nonce: u64) -> U256 {
    (raw & !NONCE_MASK) | U256::from(nonce)
}
