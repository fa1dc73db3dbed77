//! The one codec of transactions of type 0x71: fields and bytes, both hashes, and who has signed.
//!
//! An error is its kind, its position and its figures; Python has the texts.

use alloy_primitives::{Address, B256, Bytes, U256};

use super::zk_fields::Fields;
pub use super::zk_fields::{FieldError, ZkError};
use crate::bytecode::eravm_hash;
use crate::crypto::{self, CryptoError};
use crate::rlp::{close_list, encode_bytes};
use crate::typed_data::{self, Transaction};

/// The most factory dependencies.
pub const MAX_FACTORY_DEPS: usize = 64;
/// The size of a signature of a key.
pub const SIGNATURE_SIZE: usize = 65;
const MAX_NONCE: U256 = U256::from_limbs([u32::MAX as u64, 0, 0, 0]);

/// The positions of fields that are read alone.
const SENDER: usize = 11;
const FACTORY_DEPS: usize = 13;
const PAYMASTER: usize = 15;

/// A transaction; its numbers fit their fields if it was decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZkTransaction {
    /// The nonce.
    pub nonce: U256,
    /// The priority fee, which is never charged.
    pub max_priority_fee_per_gas: U256,
    /// The fee cap.
    pub max_fee_per_gas: U256,
    /// The gas limit.
    pub gas_limit: U256,
    /// The target.
    pub to: Address,
    /// The value.
    pub value: U256,
    /// The calldata.
    pub data: Bytes,
    /// `v` as written; none if there is no plain signature, and the chain id is in its place.
    pub v: Option<u8>,
    /// `r`.
    pub r: U256,
    /// `s`.
    pub s: U256,
    /// The chain id.
    pub chain_id: U256,
    /// The sender.
    pub sender: Address,
    /// The most gas for a byte of pubdata.
    pub gas_per_pubdata_limit: U256,
    /// The factory dependencies.
    pub factory_deps: Vec<Bytes>,
    /// The custom signature, or nothing.
    pub custom_signature: Bytes,
    /// Who pays, and what they are told.
    pub paymaster: Option<(Address, Bytes)>,
}

/// A decoded transaction.
#[derive(Clone, Debug)]
pub struct DecodedZk {
    /// Its fields.
    pub transaction: ZkTransaction,
    /// Its hash.
    pub hash: B256,
    /// Why the key of its sender has not signed it, if that was asked.
    pub signature_error: Option<SignatureError>,
}

/// Why the key of the sender has not signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignatureError {
    /// There is no signature.
    Unsigned,
    /// It has another size; the key of the first of several, if one has signed.
    Size(usize, Option<Address>),
    /// The last byte of a custom signature is not that of a key's.
    V(u8),
    /// It is that of no key.
    Crypto(CryptoError),
    /// It is that of another key.
    Signer(Address),
}

/// Whether raw bytes are of this type.
pub fn is_zk(raw: &[u8]) -> bool {
    raw.first() == Some(&Transaction::TYPE)
}

/// Decode a transaction, and hash it.
///
/// Who has signed is found out only if `recovers`: it takes longer than the rest.
pub fn decode(raw: &[u8], recovers: bool) -> Result<DecodedZk, ZkError> {
    let transaction = ZkTransaction::decode(raw)?;
    let digest = transaction.signing_hash()?;
    let signature = transaction.signature();
    let hash = typed_data::transaction_hash(digest, &signature);
    let signature_error = if recovers {
        check_signature(transaction.sender, &digest, &signature).err()
    } else {
        None
    };
    Ok(DecodedZk { transaction, hash, signature_error })
}

/// Return the sender, and the paymaster with its input, without reading what is irrelevant to them.
///
/// The zero address is not a paymaster, as in [`crate::evm::account::ZkTx::has_paymaster`].
pub fn parties(raw: &[u8]) -> Result<(Address, Option<(Address, Bytes)>), ZkError> {
    let mut fields = Fields::of(raw)?;
    fields.skip_to(SENDER)?;
    let sender = fields.address()?;
    fields.skip_to(PAYMASTER)?;
    let paymaster = fields.paymaster()?;
    Ok((sender, paymaster.filter(|(address, _)| !address.is_zero())))
}

/// Return the factory dependencies with their hashes, without reading the other fields.
pub fn dependencies(raw: &[u8]) -> Result<Vec<(B256, Bytes)>, ZkError> {
    let mut fields = Fields::of(raw)?;
    fields.skip_to(FACTORY_DEPS)?;
    let codes = fields.dependencies()?;
    Ok(dependency_hashes(&codes)?.into_iter().zip(codes).collect())
}

/// Return the hashes under which factory dependencies are published.
pub fn dependency_hashes<T: AsRef<[u8]>>(codes: &[T]) -> Result<Vec<B256>, ZkError> {
    if codes.len() > MAX_FACTORY_DEPS {
        return Err(ZkError::TooManyDependencies(codes.len()));
    }
    let hash = |(index, code): (usize, &T)| {
        eravm_hash(code.as_ref()).map_err(|error| ZkError::Dependency(index, error))
    };
    codes.iter().enumerate().map(hash).collect()
}

/// Return the signature that counts: the custom one, or `r ‖ s ‖ v` with `v` 27 or 28, or none.
pub fn signature(v: Option<u8>, r: U256, s: U256, custom: &[u8]) -> Vec<u8> {
    match v {
        Some(v) if custom.is_empty() => {
            let mut signature = [r.to_be_bytes::<32>(), s.to_be_bytes::<32>()].concat();
            signature.push(27 + v % 27);
            signature
        }
        _ => custom.to_vec(),
    }
}

/// Reject a signature that is not of the sender's key.
///
/// Client libraries put an ordinary signature into either form. Only the code of a contract account decides what that
/// accepts.
fn check_signature(sender: Address, digest: &B256, signature: &[u8]) -> Result<(), SignatureError> {
    let of_key = |signature: &[u8]| matches!(signature.last(), Some(27 | 28));
    if signature.is_empty() {
        return Err(SignatureError::Unsigned);
    }
    if signature.len() != SIGNATURE_SIZE {
        // An account of several owners takes them one after the other.
        let first = signature.get(..SIGNATURE_SIZE).filter(|first| of_key(first));
        let signer = first.and_then(|first| crypto::recover(digest, first).ok());
        return Err(SignatureError::Size(signature.len(), signer));
    }
    if !of_key(signature) {
        return Err(SignatureError::V(signature[SIGNATURE_SIZE - 1]));
    }
    let signer = crypto::recover(digest, signature).map_err(SignatureError::Crypto)?;
    if signer == sender { Ok(()) } else { Err(SignatureError::Signer(signer)) }
}

impl ZkTransaction {
    /// Read the fields in their order, and hash nothing.
    pub fn decode(raw: &[u8]) -> Result<Self, ZkError> {
        let mut fields = Fields::of(raw)?;
        let nonce = fields.uint(8)?;
        if nonce > MAX_NONCE {
            return Err(ZkError::Nonce);
        }
        let (max_priority_fee_per_gas, max_fee_per_gas) = (fields.uint(16)?, fields.uint(16)?);
        let gas_limit = fields.uint(8)?;
        let to = fields.target()?;
        let value = fields.uint(32)?;
        let data = fields.bytes()?;
        let (v, r, s) = (fields.uint(8)?, fields.uint(32)?, fields.uint(32)?);
        let chain_id = fields.uint(8)?;
        let v = match v.to::<u64>() {
            _ if v == chain_id && r.is_zero() && s.is_zero() => None,
            plain @ (0 | 1 | 27 | 28) => Some(plain as u8),
            other => return Err(ZkError::V(other)),
        };
        Ok(Self {
            nonce,
            max_priority_fee_per_gas,
            max_fee_per_gas,
            gas_limit,
            to,
            value,
            data,
            v,
            r,
            s,
            chain_id,
            sender: fields.address()?,
            gas_per_pubdata_limit: fields.uint(8)?,
            factory_deps: fields.dependencies()?,
            custom_signature: fields.bytes()?,
            paymaster: fields.paymaster()?,
        })
    }

    /// Return the raw transaction.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256 + self.data.len());
        for number in
            [self.nonce, self.max_priority_fee_per_gas, self.max_fee_per_gas, self.gas_limit]
        {
            put_uint(number, &mut out);
        }
        encode_bytes(self.to.as_slice(), &mut out);
        put_uint(self.value, &mut out);
        encode_bytes(&self.data, &mut out);
        let v = self.v.map_or(self.chain_id, U256::from);
        [v, self.r, self.s, self.chain_id].into_iter().for_each(|it| put_uint(it, &mut out));
        encode_bytes(self.sender.as_slice(), &mut out);
        put_uint(self.gas_per_pubdata_limit, &mut out);
        put_list(self.factory_deps.iter().map(|code| &code[..]), &mut out);
        encode_bytes(&self.custom_signature, &mut out);
        let paymaster = self.paymaster.iter();
        put_list(paymaster.flat_map(|(address, input)| [address.as_slice(), &input[..]]), &mut out);
        close_list(0, &mut out);
        out.insert(0, Transaction::TYPE);
        out
    }

    /// Return the typed-data digest that the sender signs.
    pub fn signing_hash(&self) -> Result<B256, ZkError> {
        let (paymaster, input) = self.paymaster.clone().unwrap_or_default();
        let signed = Transaction {
            txType: U256::from(Transaction::TYPE),
            from: self.sender.into_word().into(),
            to: self.to.into_word().into(),
            gasLimit: self.gas_limit,
            gasPerPubdataByteLimit: self.gas_per_pubdata_limit,
            maxFeePerGas: self.max_fee_per_gas,
            maxPriorityFeePerGas: self.max_priority_fee_per_gas,
            paymaster: paymaster.into_word().into(),
            nonce: self.nonce,
            value: self.value,
            data: self.data.clone(),
            factoryDeps: dependency_hashes(&self.factory_deps)?,
            paymasterInput: input,
        };
        Ok(signed.signing_hash(self.chain_id))
    }

    /// Return the hash, which covers the signature that counts.
    pub fn hash(&self) -> Result<B256, ZkError> {
        Ok(typed_data::transaction_hash(self.signing_hash()?, &self.signature()))
    }

    /// Return the signature that counts.
    fn signature(&self) -> Vec<u8> {
        signature(self.v, self.r, self.s, &self.custom_signature)
    }
}

fn put_uint(number: U256, out: &mut Vec<u8>) {
    encode_bytes(&number.to_be_bytes_trimmed_vec(), out);
}

fn put_list<'a>(items: impl Iterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
    let start = out.len();
    items.for_each(|item| encode_bytes(item, out));
    close_list(start, out);
}
