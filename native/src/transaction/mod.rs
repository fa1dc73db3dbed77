//! Strict decoding and sender recovery of Ethereum transactions of types 0, 1, 2 and 4.
//!
//! alloy decodes. [`fields`] reads what alloy rejects once more, field by field, to report which field
//! is wrong and how.

mod fields;
#[cfg(test)]
mod tests;

use alloy_consensus::transaction::to_eip155_value;
use alloy_consensus::{SignableTransaction, TxEnvelope, TypedTransaction};
use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{Address, B256, U256, keccak256};
use rayon::prelude::*;
use thiserror::Error;

use crate::crypto::{self, CryptoError};
use crate::rlp::RlpError;

/// A signed transaction and its sender.
#[derive(Clone, Debug)]
pub struct DecodedTransaction {
    /// The unsigned transaction.
    pub transaction: TypedTransaction,
    /// The `v` of a legacy transaction as encoded, the parity of any other type.
    pub v: u128,
    /// Parity of the signature's y coordinate.
    pub y_parity: bool,
    /// The signature's `r`.
    pub r: U256,
    /// The signature's `s`.
    pub s: U256,
    /// The Keccak-256 hash of the encoding.
    pub hash: B256,
    /// The sender.
    pub sender: Address,
}

/// Why bytes are not a signed transaction.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The bytes are not a transaction.
    #[error("{}{problem}", field.as_ref().map(|name| format!("{name}: ")).unwrap_or_default())]
    Malformed {
        /// The wire name of the field, where it is known.
        field: Option<String>,
        /// The problem.
        problem: String,
    },
    /// The signature is not valid.
    #[error("invalid signature: {0}")]
    Signature(String),
    /// The transaction type is not supported.
    #[error("transaction type not supported: {0:#x}")]
    Unsupported(u8),
}

impl From<RlpError> for DecodeError {
    fn from(error: RlpError) -> Self {
        Self::Malformed { field: None, problem: error.to_string() }
    }
}

impl From<CryptoError> for DecodeError {
    fn from(error: CryptoError) -> Self {
        Self::Signature(error.to_string())
    }
}

/// Decode a transaction; a known `sender` is trusted instead of recovered.
pub fn decode(raw: &[u8], sender: Option<Address>) -> Result<DecodedTransaction, DecodeError> {
    check_type(raw)?;
    let envelope = TxEnvelope::decode_2718_exact(raw).map_err(|error| {
        fields::explain(raw).unwrap_or_else(|| malformed(None, error.to_string()))
    })?;
    let (r, s) = (envelope.signature().r(), envelope.signature().s());
    let y_parity = envelope.signature().v();
    let v = match &envelope {
        TxEnvelope::Legacy(legacy) => to_eip155_value(y_parity, legacy.tx().chain_id),
        _ => y_parity.into(),
    };
    let transaction = TypedTransaction::from(envelope);
    let mut rs = [0; 64];
    rs[..32].copy_from_slice(&r.to_be_bytes::<32>());
    rs[32..].copy_from_slice(&s.to_be_bytes::<32>());
    let sender = match sender {
        Some(sender) => crypto::check_scalars(&rs).map(|()| sender)?,
        None => crypto::recover_compact(&transaction.signature_hash(), &rs, y_parity)?,
    };
    Ok(DecodedTransaction { transaction, v, y_parity, r, s, hash: keccak256(raw), sender })
}

/// Decode many transactions on all cores.
pub fn decode_many<T: AsRef<[u8]> + Sync>(
    raws: &[T],
) -> Vec<Result<DecodedTransaction, DecodeError>> {
    raws.par_iter().map(|raw| decode(raw.as_ref(), None)).collect()
}

/// Reject everything but types 1, 2, 4 and legacy transactions.
fn check_type(raw: &[u8]) -> Result<(), DecodeError> {
    match raw.first() {
        None => Err(malformed(None, "empty input")),
        Some(1 | 2 | 4 | 0xc0..) => Ok(()),
        Some(&other @ ..0x80) => Err(DecodeError::Unsupported(other)),
        Some(0x80..0xc0) => Err(malformed(None, "neither a typed transaction nor an rlp list")),
    }
}

fn malformed(field: Option<&str>, problem: impl Into<String>) -> DecodeError {
    DecodeError::Malformed { field: field.map(str::to_owned), problem: problem.into() }
}
