//! Strict decoding and sender recovery of Ethereum transactions of types 0 to 4.
//!
//! alloy decodes. [`fields`] reads what alloy rejects once more, field by field, to report which field
//! is wrong and how.

mod error;
mod fields;
#[cfg(test)]
mod tests;
pub mod zk;
mod zk_fields;

use std::sync::Arc;

use alloy_consensus::transaction::to_eip155_value;
use alloy_consensus::{
    SignableTransaction, Signed, Transaction, TxEip4844Variant, TxEnvelope, TypedTransaction,
};
use alloy_eips::eip2718::{Decodable2718, Encodable2718};
use alloy_eips::eip7594::BlobTransactionSidecarVariant;
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_rlp::Encodable;
use rayon::prelude::*;

use crate::blobs;
use crate::crypto;
pub use error::DecodeError;
use error::malformed;

/// The type of a transaction of the node itself.
pub const SYSTEM_TYPE: u8 = 0x7d;

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
    /// The Keccak-256 hash of the encoding, without blobs.
    pub hash: B256,
    /// The sender.
    pub sender: Address,
    /// What a blob transaction carries on its way to a block.
    pub sidecar: Option<DetachedSidecar>,
}

/// The sidecar of a blob transaction, whose proofs hold.
#[derive(Clone, Debug)]
pub struct DetachedSidecar {
    /// Blobs, commitments and proofs.
    pub sidecar: Arc<BlobTransactionSidecarVariant>,
    /// The transaction without it, as blocks contain it.
    pub raw: Bytes,
}

/// Decode a transaction; a known `sender` is trusted instead of recovered.
///
/// Of a blob transaction with its sidecar, the proofs are verified, after everything else. One without a signature, as
/// anvil stores those that it impersonates, is the same for every sender, so its hash covers the sender.
pub fn decode(raw: &[u8], sender: Option<Address>) -> Result<DecodedTransaction, DecodeError> {
    check_type(raw)?;
    let envelope = TxEnvelope::decode_2718_exact(raw).map_err(|error| {
        fields::explain(raw).unwrap_or_else(|| malformed(None, error.to_string()))
    })?;
    let (envelope, sidecar) = detach_sidecar(envelope);
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
        Some(sender) if rs == [0; 64] => sender,
        Some(sender) => crypto::check_scalars(&rs).map(|()| sender)?,
        None => crypto::recover_compact(&transaction.signature_hash(), &rs, y_parity)?,
    };
    if let Some(detached) = &sidecar {
        let hashes = transaction.blob_versioned_hashes().unwrap_or_default();
        blobs::verify(&detached.sidecar, hashes).map_err(DecodeError::Sidecar)?;
    }
    let bare = sidecar.as_ref().map_or(raw, |detached| detached.raw.as_ref());
    let hash = if rs == [0; 64] { unsigned_hash(bare, sender) } else { keccak256(bare) };
    Ok(DecodedTransaction { transaction, v, y_parity, r, s, hash, sender, sidecar })
}

/// Return the hash of a stored transaction; None if only Python knows it.
pub fn stored_hash(raw: &[u8], sender: Address) -> Option<B256> {
    match *raw.first()? {
        // Without a signature, the hash covers the sender.
        1..=4 | 0xc0..0xfe if raw.ends_with(&[0x80, 0x80]) => {
            decode(raw, Some(sender)).ok().map(|it| it.hash)
        }
        1..=4 | 0xc0..0xfe | SYSTEM_TYPE => Some(keccak256(raw)),
        _ => zk::decode(raw, false).ok().map(|it| it.hash),
    }
}

/// Return the hash that anvil gives a transaction without a signature: of its form in a block, and the sender.
fn unsigned_hash(raw: &[u8], sender: Address) -> B256 {
    let mut encoded = Vec::with_capacity(raw.len() + 24);
    match raw.first() {
        Some(0xc0..) => encoded.extend_from_slice(raw),
        _ => raw.encode(&mut encoded),
    }
    encoded.extend_from_slice(sender.as_slice());
    keccak256(encoded)
}

/// Separate a blob transaction from its sidecar.
fn detach_sidecar(envelope: TxEnvelope) -> (TxEnvelope, Option<DetachedSidecar>) {
    let TxEnvelope::Eip4844(signed) = envelope else {
        return (envelope, None);
    };
    let (variant, signature, hash) = signed.into_parts();
    let TxEip4844Variant::TxEip4844WithSidecar(carried) = variant else {
        return (TxEnvelope::Eip4844(Signed::new_unchecked(variant, signature, hash)), None);
    };
    let (bare, sidecar) = carried.into_parts();
    let signed = bare.into_signed(signature);
    let raw = signed.encoded_2718().into();
    (TxEnvelope::Eip4844(signed.into()), Some(DetachedSidecar { sidecar: Arc::new(sidecar), raw }))
}

/// A transaction of a type of Ethereum, or of type 0x71.
#[derive(Clone, Debug)]
pub enum Decoded {
    /// Of type 0 to 4.
    Ethereum(Box<DecodedTransaction>),
    /// Of type 0x71.
    Zk(Box<zk::DecodedZk>),
}

/// Why bytes are not a transaction of the type that they begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnyDecodeError {
    /// Of type 0 to 4, or none.
    Ethereum(DecodeError),
    /// Of type 0x71.
    Zk(zk::ZkError),
}

/// Decode many transactions on all cores.
pub fn decode_many<T: AsRef<[u8]> + Sync>(raws: &[T]) -> Vec<Result<Decoded, AnyDecodeError>> {
    raws.par_iter().map(|raw| decode_any(raw.as_ref())).collect()
}

fn decode_any(raw: &[u8]) -> Result<Decoded, AnyDecodeError> {
    if zk::is_zk(raw) {
        let decoded = zk::decode(raw, true).map_err(AnyDecodeError::Zk)?;
        return Ok(Decoded::Zk(Box::new(decoded)));
    }
    let decoded = decode(raw, None).map_err(AnyDecodeError::Ethereum)?;
    Ok(Decoded::Ethereum(Box::new(decoded)))
}

/// Whether nobody signs a transaction that begins with this byte, and only Python decodes it.
///
/// L1 has sent it, a priority request or an upgrade in either dialect, or the node itself.
pub const fn is_unsigned(kind: u8) -> bool {
    matches!(kind, SYSTEM_TYPE | 0x7e | 0x7f | 0xfe | 0xff)
}

/// Reject everything but types 1 to 4 and legacy transactions.
fn check_type(raw: &[u8]) -> Result<(), DecodeError> {
    match raw.first() {
        None => Err(malformed(None, "empty input")),
        Some(1..=4 | 0xc0..) => Ok(()),
        Some(&other @ ..0x80) => Err(DecodeError::Unsupported(other)),
        Some(0x80..0xc0) => Err(malformed(None, "neither a typed transaction nor an rlp list")),
    }
}
