//! Blobs (EIP-4844): verification of sidecars by c-kzg, and the price of blob gas by fork.

use alloy_eips::eip4844::{BlobTransactionValidationError, DATA_GAS_PER_BLOB};
use alloy_eips::eip7594::BlobTransactionSidecarVariant as Sidecar;
use alloy_eips::eip7840::BlobParams;
use alloy_primitives::{B256, U256};
use revm::primitives::hardfork::SpecId;

/// Beyond this exponent the price does not fit into 128 bits.
const MAX_EXPONENT: u128 = 88;

/// The blob parameters of a fork; None before Cancun.
pub fn params(fork: SpecId) -> Option<BlobParams> {
    if fork.is_enabled_in(SpecId::OSAKA) {
        Some(BlobParams::osaka())
    } else if fork.is_enabled_in(SpecId::PRAGUE) {
        Some(BlobParams::prague())
    } else if fork.is_enabled_in(SpecId::CANCUN) {
        Some(BlobParams::cancun())
    } else {
        None
    }
}

/// The base fee per blob gas of a block with this excess; the highest 128-bit number if it does not fit.
///
/// alloy computes it in 128 bits, which overflow long before the result does.
pub fn base_fee(params: &BlobParams, excess_blob_gas: u64) -> u128 {
    let excess = u128::from(excess_blob_gas);
    if excess / params.update_fraction > MAX_EXPONENT {
        return u128::MAX;
    }
    let (numerator, denominator) = (U256::from(excess), U256::from(params.update_fraction));
    let mut term = U256::from(params.min_blob_fee) * denominator;
    let mut sum = U256::ZERO;
    let mut index = U256::ONE;
    while !term.is_zero() {
        sum += term;
        term = term * numerator / (denominator * index);
        index += U256::ONE;
    }
    u128::try_from(sum / denominator).unwrap_or(u128::MAX)
}

/// What blob gas costs on a chain.
#[derive(Clone, Copy, Debug)]
pub enum BlobPrices {
    /// The same for ever, on a chain without blobs.
    Constant(u128),
    /// By the excess of a block, under the rules of a fork.
    Fork(SpecId),
}

impl BlobPrices {
    /// The base fee per blob gas of a block; None in one from before Cancun.
    pub fn base_fee(&self, excess_blob_gas: Option<u64>) -> Option<u128> {
        match *self {
            Self::Constant(price) => Some(price),
            Self::Fork(fork) => {
                let excess = excess_blob_gas?;
                Some(params(fork).map_or(0, |params| base_fee(&params, excess)))
            }
        }
    }

    /// Which part of its blobs a block has.
    pub fn used_ratio(&self, blob_gas_used: Option<u64>) -> f64 {
        let most = match *self {
            Self::Constant(_) => None,
            Self::Fork(fork) => params(fork).map(|it| it.max_blob_gas_per_block()),
        };
        let used = blob_gas_used.unwrap_or_default() as f64;
        most.filter(|it| *it > 0).map_or(0.0, |most| used / most as f64)
    }
}

/// The excess blob gas of the block after one with these values (EIP-4844, from Osaka on EIP-7918).
pub fn next_excess(
    params: &BlobParams,
    excess: u64,
    blob_gas_used: u64,
    base_fee_per_gas: u64,
) -> u64 {
    let (sum, target) = (excess.saturating_add(blob_gas_used), params.target_blob_gas_per_block());
    if sum < target {
        return 0;
    }
    let reserve = U256::from(params.blob_base_cost) * U256::from(base_fee_per_gas);
    let blob_price = U256::from(DATA_GAS_PER_BLOB) * U256::from(base_fee(params, excess));
    if reserve <= blob_price {
        return sum - target;
    }
    let spread = u128::from(params.max_blob_count - params.target_blob_count);
    let scaled = u128::from(blob_gas_used) * spread / u128::from(params.max_blob_count);
    excess.saturating_add(u64::try_from(scaled).unwrap_or(u64::MAX))
}

/// Verify that a sidecar has the blobs that a transaction names, and that its proofs hold.
pub fn verify(sidecar: &Sidecar, hashes: &[B256]) -> Result<(), String> {
    // Tables that speed up the computation of proofs would cost 100 MB; verification does not use them.
    let settings = c_kzg::ethereum_kzg_settings(0);
    sidecar.validate(hashes, settings).map_err(|error| match error {
        BlobTransactionValidationError::KZGError(c_kzg::Error::MismatchLength(text)) => text,
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_price_agrees_with_that_of_alloy_and_ends_at_the_highest_number() {
        for params in [BlobParams::cancun(), BlobParams::prague(), BlobParams::osaka()] {
            for excess in [0, 1, 131_072, 10_000_000, 100_000_000] {
                assert_eq!(base_fee(&params, excess), params.calc_blob_fee(excess));
            }
            assert_eq!(base_fee(&params, u64::MAX), u128::MAX);
        }
    }

    #[test]
    fn the_excess_agrees_with_that_of_alloy_and_does_not_overflow() {
        for params in [BlobParams::cancun(), BlobParams::prague(), BlobParams::osaka()] {
            for excess in [0, 786_432, 10_000_000, 100_000_000] {
                for blobs in 0..=params.max_blob_count {
                    for fee in [0, 7, 1_000_000_000, 1_000_000_000_000] {
                        let used = blobs * DATA_GAS_PER_BLOB;
                        let expected = params.next_block_excess_blob_gas_osaka(excess, used, fee);
                        assert_eq!(next_excess(&params, excess, used, fee), expected);
                    }
                }
            }
            assert!(next_excess(&params, u64::MAX, u64::MAX, u64::MAX) > u64::MAX / 2);
        }
    }

    #[test]
    fn blobs_begin_with_cancun() {
        assert!(params(SpecId::SHANGHAI).is_none());
        assert_eq!(params(SpecId::CANCUN).unwrap().max_blob_count, 6);
    }
}
