//! Strict decoding and sender recovery of Ethereum transactions of types 0, 1, 2 and 4.
//!
//! The decoder is our own because alloy's leaves trailing bytes and a high `s` to its caller, and
//! cannot say which field is wrong. What was decoded is held in alloy's types, which also give the
//! digest that was signed.

mod fields;

use alloy_consensus::{
    SignableTransaction, TxEip1559, TxEip2930, TxEip7702, TxLegacy, TypedTransaction,
};
use alloy_primitives::{Address, B256, TxKind, U256, keccak256};
use rayon::prelude::*;
use thiserror::Error;

use crate::crypto::{self, CryptoError};
use crate::rlp::RlpError;

use fields::Fields;

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
    let (transaction, signature) = match raw.first() {
        None => return Err(malformed(None, "empty input")),
        Some(1) => access_list_transaction(&raw[1..])?,
        Some(2) => fee_market_transaction(&raw[1..])?,
        Some(4) => set_code_transaction(&raw[1..])?,
        Some(&other @ ..0x80) => return Err(DecodeError::Unsupported(other)),
        Some(0x80..0xc0) => {
            return Err(malformed(None, "neither a typed transaction nor an rlp list"));
        }
        Some(0xc0..) => legacy_transaction(raw)?,
    };
    let Signature { v, y_parity, r, s } = signature;
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

struct Signature {
    v: u128,
    y_parity: bool,
    r: U256,
    s: U256,
}

type Parts = Result<(TypedTransaction, Signature), DecodeError>;

fn legacy_transaction(raw: &[u8]) -> Parts {
    let mut fields = Fields::of(raw, 0, 9)?;
    let mut transaction = TxLegacy {
        chain_id: None,
        nonce: fields.small("nonce")?,
        gas_price: fields.wei("gasPrice")?,
        gas_limit: fields.small("gasLimit")?,
        to: fields.target()?,
        value: fields.word("value")?,
        input: fields.data("data")?,
    };
    let v = fields.wei("v")?;
    let (chain_id, y_parity) = match v {
        27 | 28 => (None, v == 28),
        35.. => {
            let chain_id = u64::try_from((v - 35) / 2)
                .map_err(|_| malformed(Some("v"), "chain id is more than 8 bytes"))?;
            (Some(chain_id), v % 2 == 0)
        }
        _ => {
            let problem = format!("v is 27, 28 or from 35 on, got {v}");
            return Err(DecodeError::Signature(problem));
        }
    };
    transaction.chain_id = chain_id;
    let signature = Signature { v, y_parity, r: fields.word("r")?, s: fields.word("s")? };
    Ok((transaction.into(), signature))
}

fn access_list_transaction(body: &[u8]) -> Parts {
    let mut fields = Fields::of(body, 1, 11)?;
    let transaction = TxEip2930 {
        chain_id: fields.small("chainId")?,
        nonce: fields.small("nonce")?,
        gas_price: fields.wei("gasPrice")?,
        gas_limit: fields.small("gasLimit")?,
        to: fields.target()?,
        value: fields.word("value")?,
        input: fields.data("data")?,
        access_list: fields.access_list()?,
    };
    Ok((transaction.into(), signature(&mut fields)?))
}

fn fee_market_transaction(body: &[u8]) -> Parts {
    let mut fields = Fields::of(body, 1, 12)?;
    let transaction = TxEip1559 {
        chain_id: fields.small("chainId")?,
        nonce: fields.small("nonce")?,
        max_priority_fee_per_gas: fields.wei("maxPriorityFeePerGas")?,
        max_fee_per_gas: fields.wei("maxFeePerGas")?,
        gas_limit: fields.small("gasLimit")?,
        to: fields.target()?,
        value: fields.word("value")?,
        input: fields.data("data")?,
        access_list: fields.access_list()?,
    };
    Ok((transaction.into(), signature(&mut fields)?))
}

fn set_code_transaction(body: &[u8]) -> Parts {
    let mut fields = Fields::of(body, 1, 13)?;
    let transaction = TxEip7702 {
        chain_id: fields.small("chainId")?,
        nonce: fields.small("nonce")?,
        max_priority_fee_per_gas: fields.wei("maxPriorityFeePerGas")?,
        max_fee_per_gas: fields.wei("maxFeePerGas")?,
        gas_limit: fields.small("gasLimit")?,
        to: match fields.target()? {
            TxKind::Call(to) => to,
            TxKind::Create => {
                return Err(malformed(Some("to"), "a set-code transaction cannot create"));
            }
        },
        value: fields.word("value")?,
        input: fields.data("data")?,
        access_list: fields.access_list()?,
        authorization_list: fields.authorizations()?,
    };
    Ok((transaction.into(), signature(&mut fields)?))
}

fn signature(fields: &mut Fields<'_>) -> Result<Signature, DecodeError> {
    let v = fields.wei("yParity")?;
    if v > 1 {
        return Err(DecodeError::Signature(format!("yParity is 0 or 1, got {v}")));
    }
    Ok(Signature { v, y_parity: v == 1, r: fields.word("r")?, s: fields.word("s")? })
}

fn malformed(field: Option<&str>, problem: impl Into<String>) -> DecodeError {
    DecodeError::Malformed { field: field.map(str::to_owned), problem: problem.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rlp::{close_list, encode_bytes};
    use alloy_consensus::{Transaction, TxEnvelope};
    use alloy_eips::eip2718::Encodable2718;
    use alloy_eips::eip2930::{AccessList, AccessListItem};
    use alloy_eips::eip7702::{Authorization, SignedAuthorization};
    use alloy_primitives::{Bytes, Signature as AlloySignature};

    const SECRET: B256 = B256::repeat_byte(0x46);

    fn signer() -> Address {
        crypto::address_of(&crypto::public_key(&SECRET).unwrap()).unwrap()
    }

    fn signed<T: SignableTransaction<AlloySignature>>(transaction: T) -> Vec<u8>
    where
        TxEnvelope: From<alloy_consensus::Signed<T>>,
    {
        let bytes = crypto::sign(&transaction.signature_hash(), &SECRET).unwrap();
        let signature = AlloySignature::from_raw_array(&bytes).unwrap();
        TxEnvelope::from(transaction.into_signed(signature)).encoded_2718()
    }

    fn fee_market() -> TxEip1559 {
        TxEip1559 {
            chain_id: 270,
            nonce: 9,
            gas_limit: 21_000,
            max_fee_per_gas: 3,
            max_priority_fee_per_gas: 2,
            to: TxKind::Call(Address::repeat_byte(1)),
            value: U256::from(10),
            access_list: AccessList(vec![AccessListItem {
                address: Address::repeat_byte(2),
                storage_keys: vec![B256::repeat_byte(3)],
            }]),
            input: Bytes::from_static(b"input"),
        }
    }

    fn legacy(chain_id: Option<u64>) -> TxLegacy {
        TxLegacy { chain_id, nonce: 1, gas_limit: 21_000, ..Default::default() }
    }

    fn set_code() -> TxEip7702 {
        let inner = Authorization { chain_id: U256::ZERO, address: Address::ZERO, nonce: 4 };
        TxEip7702 {
            chain_id: 270,
            authorization_list: vec![SignedAuthorization::new_unchecked(
                inner,
                1,
                U256::from(5),
                U256::from(6),
            )],
            ..Default::default()
        }
    }

    #[test]
    fn decodes_what_alloy_encodes() {
        let access = TxEip2930 { chain_id: 1, ..Default::default() };
        let all = [
            signed(fee_market()),
            signed(legacy(None)),
            signed(legacy(Some(270))),
            signed(access),
            signed(set_code()),
        ];
        for (raw, decoded) in all.iter().zip(decode_many(&all)) {
            let decoded = decoded.unwrap();
            assert_eq!(decoded.sender, signer());
            assert_eq!(decoded.hash, keccak256(raw));
        }
        let decoded = decode(&all[0], None).unwrap().transaction;
        assert_eq!(decoded, TypedTransaction::from(fee_market()));
        assert_eq!(decode(&all[2], None).unwrap().transaction.chain_id(), Some(270));
        assert_eq!(decode(&all[4], None).unwrap().transaction, set_code().into());
    }

    #[test]
    fn a_known_sender_is_trusted() {
        let known = Address::repeat_byte(9);
        assert_eq!(decode(&signed(legacy(None)), Some(known)).unwrap().sender, known);
    }

    #[test]
    fn truncated_and_extended_inputs_are_rejected() {
        for raw in [signed(fee_market()), signed(legacy(Some(270))), signed(set_code())] {
            for length in 0..raw.len() {
                assert!(decode(&raw[..length], None).is_err(), "{length}");
            }
            let longer = [raw.as_slice(), &[0]].concat();
            let error = decode(&longer, None).unwrap_err().to_string();
            assert_eq!(error, format!("rlp has trailing bytes at byte {}", raw.len()));
        }
    }

    #[test]
    fn other_types_are_not_supported() {
        for other in [0, 3, 5, 0x71, 0x7f] {
            assert_eq!(decode(&[other, 0xc0], None).unwrap_err(), DecodeError::Unsupported(other));
        }
        assert!(matches!(decode(&[0x80], None), Err(DecodeError::Malformed { .. })));
    }

    /// Encode a legacy transaction whose item `index` is `item`.
    fn legacy_with(index: usize, item: &[u8]) -> Vec<u8> {
        let mut items: [&[u8]; 9] =
            [b"", b"\x01", b"\x52\x08", &[1; 20], b"", b"", b"\x1b", b"\x01", b"\x01"];
        items[index] = item;
        let mut out = Vec::new();
        items.iter().for_each(|item| encode_bytes(item, &mut out));
        close_list(0, &mut out);
        out
    }

    #[test]
    fn a_rejection_names_its_field() {
        let cases: [(usize, &[u8], &str); 12] = [
            (0, b"\x00", "nonce: integer has a leading zero byte"),
            (0, &[1; 9], "nonce: integer is at most 8 bytes, got 9"),
            (2, b"\x00\x01", "gasLimit: integer has a leading zero byte"),
            (3, &[1; 19], "to: an address is 20 bytes, got 19"),
            (4, &[1; 33], "value: integer is at most 32 bytes, got 33"),
            (6, b"\x1d", "invalid signature: v is 27, 28 or from 35 on, got 29"),
            (6, b"", "invalid signature: v is 27, 28 or from 35 on, got 0"),
            (6, &[1; 10], "v: chain id is more than 8 bytes"),
            (7, b"", "invalid signature: r is zero"),
            (8, b"", "invalid signature: s is zero"),
            (7, &crypto::ORDER, "invalid signature: r is not below the order of the curve"),
            (8, &[0x80; 32], "invalid signature: s is in the upper half of the order of the curve"),
        ];
        for (index, item, reason) in cases {
            let error = decode(&legacy_with(index, item), None).unwrap_err();
            assert_eq!(error.to_string(), reason);
        }
    }
}
