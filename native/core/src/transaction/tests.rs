//! Decoding of valid and of mutated transactions.

use super::*;
use crate::rlp::{Item, Reader, close_list, encode_bytes};
use alloy_consensus::{Transaction, TxEip1559, TxEip2930, TxEip4844, TxEip7702, TxLegacy};
use alloy_eips::eip2718::Encodable2718;
use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_eips::eip7702::{Authorization, SignedAuthorization};
use alloy_primitives::{Bytes, Signature, TxKind};

const SECRET: B256 = B256::repeat_byte(0x46);

fn signer() -> Address {
    crypto::address_of(&crypto::public_key(&SECRET).unwrap()).unwrap()
}

fn signed<T: SignableTransaction<Signature>>(transaction: T) -> Vec<u8>
where
    TxEnvelope: From<alloy_consensus::Signed<T>>,
{
    let bytes = crypto::sign(&transaction.signature_hash(), &SECRET).unwrap();
    let signature = Signature::from_raw_array(&bytes).unwrap();
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

fn blob() -> TxEip4844 {
    TxEip4844 {
        chain_id: 270,
        max_fee_per_blob_gas: 7,
        blob_versioned_hashes: vec![B256::repeat_byte(1)],
        ..Default::default()
    }
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
        signed(blob()),
    ];
    for (raw, decoded) in all.iter().zip(decode_many(&all)) {
        let Ok(Decoded::Ethereum(decoded)) = decoded else { panic!("{decoded:?}") };
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
    for raw in [signed(fee_market()), signed(legacy(Some(270))), signed(set_code()), signed(blob())]
    {
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
    for other in [0, 5, 0x71, 0x7d, 0x7f] {
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

/// A linear congruential generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) as usize % limit
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// Change, remove or insert a few bytes.
fn mutate_bytes(raw: &[u8], random: &mut Random) -> Vec<u8> {
    let bytes = [0x00, 0x01, 0x02, 0x04, 0x7f, 0x80, 0x81, 0xa0, 0xb8, 0xc0, 0xc1, 0xf8, 0xff];
    let mut out = raw.to_vec();
    for _ in 0..=random.below(3) {
        let index = random.below(out.len());
        match random.below(4) {
            0 => drop(out.remove(index)),
            1 => out.insert(index, *random.pick(&bytes)),
            2 => out[index] = *random.pick(&bytes),
            _ => out[index] = out[index].wrapping_add(1),
        }
        if out.is_empty() {
            break;
        }
    }
    out
}

/// Encode `items` again, with some of them replaced, removed or repeated at any depth.
fn mutate_items(mut items: Reader<'_>, random: &mut Random, out: &mut Vec<u8>) {
    const ITEMS: [&[u8]; 12] = [
        &[0x80],
        &[0xc0],
        &[0x00],
        &[0x01],
        &[0x1b],
        &[0x81, 0x80],
        &[0x82, 0x00, 0x01],
        &[0x88, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        &[0x89, 0x01, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0x89, 0x02, 0, 0, 0, 0, 0, 0, 0, 0x21],
        &[0x91, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
        &[0xd5, 0x94, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    ];
    while !items.is_empty() {
        let item = items.next().unwrap();
        match random.below(40) {
            0 => continue,
            1 => out.extend_from_slice(ITEMS[random.below(ITEMS.len())]),
            2 => out.extend_from_slice(ITEMS[0]),
            3..6 => {
                out.extend_from_slice(ITEMS[random.below(ITEMS.len())]);
                continue;
            }
            _ => {}
        }
        match item {
            Item::Bytes(bytes) => encode_bytes(bytes, out),
            Item::List(inner) => {
                let start = out.len();
                mutate_items(inner, random, out);
                close_list(start, out);
            }
        }
    }
}

#[test]
fn the_field_walk_accepts_what_alloy_accepts() {
    let creation = TxEip1559 { to: TxKind::Create, ..fee_market() };
    let access = TxEip2930 { chain_id: 1, nonce: 200, ..Default::default() };
    let valid = [
        signed(fee_market()),
        signed(creation),
        signed(legacy(None)),
        signed(legacy(Some(u64::MAX))),
        signed(access),
        signed(set_code()),
    ];
    let (mut random, mut accepted) = (Random(7), 0);
    for round in 0..200_000 {
        let raw = random.pick(&valid);
        let mutated = match round % 2 {
            0 => mutate_bytes(raw, &mut random),
            _ => {
                let (kind, list) = raw.split_at(usize::from(raw[0] < 0x80));
                let Ok(Item::List(items)) = Reader::new(list).next() else { unreachable!() };
                let mut out = kind.to_vec();
                mutate_items(items, &mut random, &mut out);
                close_list(kind.len(), &mut out);
                out
            }
        };
        if check_type(&mutated).is_err() {
            continue;
        }
        let alloy = TxEnvelope::decode_2718_exact(&mutated);
        let walk = fields::explain(&mutated);
        assert_eq!(alloy.is_ok(), walk.is_none(), "{mutated:02x?}: {alloy:?}, {walk:?}");
        accepted += usize::from(walk.is_none());
    }
    assert!(accepted > 10_000, "{accepted}");
}
