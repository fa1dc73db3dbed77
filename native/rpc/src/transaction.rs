//! Transactions of every type as JSON: sealed, pending, pooled, filled in and simulated ones.

use alloy_consensus::{Transaction, Typed2718, TypedTransaction};
use alloy_eips::eip2930::AccessList;
use alloy_eips::eip7702::SignedAuthorization;
use alloy_primitives::{Address, B256, Bytes, U256};

use entresol_core::transaction::DecodedTransaction;
use entresol_core::transaction::zk::{SIGNATURE_SIZE, ZkTransaction, signature};

use super::hex::{put_data, put_number, put_quantity};
use super::logs::put_optional;

/// The members of a transaction that is in no block.
const PENDING: &[u8] = b"\"blockHash\":null,\"blockNumber\":null,\"l1BatchNumber\":null,\
    \"transactionIndex\":null,\"l1BatchTxIndex\":null,\"blockTimestamp\":null";
/// The type of 0x71.
const ZK_TYPE: u8 = 0x71;

/// A transaction with its hash and its sender.
pub struct Rendered<'a> {
    /// Its hash.
    pub hash: B256,
    /// Its sender.
    pub sender: Address,
    /// Its fields.
    pub payload: Payload<'a>,
}

/// The fields of a transaction.
pub enum Payload<'a> {
    /// Of type 0 to 4.
    Ethereum(&'a TypedTransaction, Signature),
    /// Of type 0x71.
    Zk(&'a ZkTransaction),
    /// Signed by nobody: sent by L1, or by the node itself.
    Unsigned(&'a Unsigned, u64),
}

/// A signature as clients see it; they throw where there is none, so one of zeros stands for none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Signature {
    /// `v`: of a legacy transaction as it was encoded, of any other type the parity.
    pub v: u128,
    /// `r`.
    pub r: U256,
    /// `s`.
    pub s: U256,
}

/// The fields of a transaction that nobody has signed.
#[derive(Clone, Debug)]
pub struct Unsigned {
    /// Its type.
    pub kind: u8,
    /// The target.
    pub to: Address,
    /// The value.
    pub value: U256,
    /// The gas limit.
    pub gas_limit: U256,
    /// What it pays for a unit of gas.
    pub max_fee_per_gas: U256,
    /// The calldata.
    pub data: Bytes,
    /// The nonce that it used of its sender: none, if L1 has sent it.
    pub nonce: u64,
}

/// Where a transaction is.
pub struct Location<'a> {
    /// The members that name the block and its batch.
    pub inclusion: &'a [u8],
    /// The index in the block.
    pub index: u64,
    /// The number in the batch, once there is one.
    pub tx_number: Option<u64>,
    /// The time of the block.
    pub timestamp: u64,
    /// Its base fee.
    pub base_fee: U256,
}

impl Signature {
    /// Return the signature of a decoded transaction.
    pub const fn of(decoded: &DecodedTransaction) -> Self {
        Self { v: decoded.v, r: decoded.r, s: decoded.s }
    }

    fn of_zk(transaction: &ZkTransaction) -> Self {
        let ZkTransaction { v, r, s, custom_signature, .. } = transaction;
        let bytes = signature(*v, *r, *s, custom_signature);
        if bytes.len() != SIGNATURE_SIZE {
            return Self::default();
        }
        Self {
            // Some clients write the last byte as 0 or 1, others as 27 or 28.
            v: u128::from(bytes[64] % 27),
            r: U256::from_be_slice(&bytes[..32]),
            s: U256::from_be_slice(&bytes[32..64]),
        }
    }
}

impl Rendered<'_> {
    /// Append the transaction; without a location it is pending.
    pub fn put(&self, out: &mut Vec<u8>, location: Option<&Location<'_>>) {
        data(out, "{\"hash\":", self.hash.as_slice());
        number(out, ",\"type\":", self.payload.kind().into());
        out.push(b',');
        match location {
            None => out.extend_from_slice(PENDING),
            Some(location) => location.put(out),
        }
        data(out, ",\"from\":", self.sender.as_slice());
        match self.payload.to() {
            Some(to) => data(out, ",\"to\":", to.as_slice()),
            None => out.extend_from_slice(b",\"to\":null"),
        }
        quantity(out, ",\"value\":", self.payload.value());
        quantity(out, ",\"gas\":", self.payload.gas_limit());
        quantity(out, ",\"gasPrice\":", self.payload.gas_price(location.map(|it| it.base_fee)));
        data(out, ",\"input\":", self.payload.input());
        self.payload.put_details(out);
        out.push(b'}');
    }
}

impl Location<'_> {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.inclusion);
        number(out, ",\"transactionIndex\":", self.index);
        out.extend_from_slice(b",\"l1BatchTxIndex\":");
        put_optional(out, self.tx_number);
        number(out, ",\"blockTimestamp\":", self.timestamp);
    }
}

impl Payload<'_> {
    fn kind(&self) -> u8 {
        match *self {
            Self::Ethereum(transaction, _) => transaction.ty(),
            Self::Zk(_) => ZK_TYPE,
            Self::Unsigned(unsigned, _) => unsigned.kind,
        }
    }

    fn to(&self) -> Option<Address> {
        match *self {
            Self::Ethereum(transaction, _) => transaction.to(),
            Self::Zk(transaction) => Some(transaction.to),
            Self::Unsigned(unsigned, _) => Some(unsigned.to),
        }
    }

    fn value(&self) -> U256 {
        match *self {
            Self::Ethereum(transaction, _) => transaction.value(),
            Self::Zk(transaction) => transaction.value,
            Self::Unsigned(unsigned, _) => unsigned.value,
        }
    }

    fn gas_limit(&self) -> U256 {
        match *self {
            Self::Ethereum(transaction, _) => U256::from(transaction.gas_limit()),
            Self::Zk(transaction) => transaction.gas_limit,
            Self::Unsigned(unsigned, _) => unsigned.gas_limit,
        }
    }

    fn input(&self) -> &[u8] {
        match *self {
            Self::Ethereum(transaction, _) => transaction.input(),
            Self::Zk(transaction) => &transaction.data,
            Self::Unsigned(unsigned, _) => &unsigned.data,
        }
    }

    fn fee_cap(&self) -> U256 {
        match *self {
            Self::Ethereum(transaction, _) => U256::from(transaction.max_fee_per_gas()),
            Self::Zk(transaction) => transaction.max_fee_per_gas,
            Self::Unsigned(unsigned, _) => unsigned.max_fee_per_gas,
        }
    }

    /// Return what a unit of gas costs in a block with this base fee, or at most.
    fn gas_price(&self, base_fee: Option<U256>) -> U256 {
        let cap = self.fee_cap();
        let Some(base_fee) = base_fee else { return cap };
        match *self {
            Self::Ethereum(transaction, _) => {
                let tip = transaction.max_priority_fee_per_gas().map_or(cap, U256::from);
                cap.min(base_fee.saturating_add(tip))
            }
            // Its priority fee is never charged.
            Self::Zk(_) => cap.min(base_fee),
            Self::Unsigned(..) => cap,
        }
    }

    /// Append the members that differ from type to type.
    fn put_details(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Ethereum(TypedTransaction::Legacy(legacy), signature) => {
                number(out, ",\"nonce\":", legacy.nonce);
                out.extend_from_slice(b",\"chainId\":");
                // Without a chain id it is null, because clients recover the sender from `v` and the chain id.
                put_optional(out, legacy.chain_id);
                signature.put(out);
            }
            Self::Ethereum(transaction, signature) => {
                number(out, ",\"nonce\":", transaction.nonce());
                number(out, ",\"chainId\":", transaction.chain_id().unwrap_or_default());
                put_access_list(out, transaction.access_list());
                if let Some(tip) = transaction.max_priority_fee_per_gas() {
                    self.put_caps(out, U256::from(tip));
                }
                if let Some(hashes) = transaction.blob_versioned_hashes() {
                    put_blobs(out, transaction.max_fee_per_blob_gas().unwrap_or_default(), hashes);
                }
                if let Some(list) = transaction.authorization_list() {
                    put_authorizations(out, list);
                }
                signature.put_typed(out);
            }
            Self::Zk(transaction) => {
                quantity(out, ",\"nonce\":", transaction.nonce);
                quantity(out, ",\"chainId\":", transaction.chain_id);
                self.put_caps(out, transaction.max_priority_fee_per_gas);
                Signature::of_zk(transaction).put_typed(out);
            }
            Self::Unsigned(unsigned, chain_id) => {
                number(out, ",\"nonce\":", unsigned.nonce);
                number(out, ",\"chainId\":", chain_id);
                self.put_caps(out, U256::ZERO);
                Signature::default().put_typed(out);
            }
        }
    }

    /// Append the fee caps; types with a gas price have none, because web3.py would take them for type 2.
    fn put_caps(&self, out: &mut Vec<u8>, tip: U256) {
        quantity(out, ",\"maxFeePerGas\":", self.fee_cap());
        quantity(out, ",\"maxPriorityFeePerGas\":", tip);
    }
}

impl Signature {
    fn put(&self, out: &mut Vec<u8>) {
        quantity(out, ",\"v\":", U256::from(self.v));
        quantity(out, ",\"r\":", self.r);
        quantity(out, ",\"s\":", self.s);
    }

    fn put_typed(&self, out: &mut Vec<u8>) {
        quantity(out, ",\"yParity\":", U256::from(self.v));
        self.put(out);
    }
}

fn put_access_list(out: &mut Vec<u8>, list: Option<&AccessList>) {
    out.extend_from_slice(b",\"accessList\":[");
    for (index, item) in list.into_iter().flat_map(|list| list.iter()).enumerate() {
        separate(out, index);
        data(out, "{\"address\":", item.address.as_slice());
        out.extend_from_slice(b",\"storageKeys\":");
        put_hashes(out, &item.storage_keys);
        out.push(b'}');
    }
    out.push(b']');
}

fn put_blobs(out: &mut Vec<u8>, cap: u128, hashes: &[B256]) {
    quantity(out, ",\"maxFeePerBlobGas\":", U256::from(cap));
    out.extend_from_slice(b",\"blobVersionedHashes\":");
    put_hashes(out, hashes);
}

fn put_authorizations(out: &mut Vec<u8>, list: &[SignedAuthorization]) {
    out.extend_from_slice(b",\"authorizationList\":[");
    for (index, item) in list.iter().enumerate() {
        separate(out, index);
        quantity(out, "{\"chainId\":", item.chain_id);
        data(out, ",\"address\":", item.address.as_slice());
        number(out, ",\"nonce\":", item.nonce);
        number(out, ",\"yParity\":", item.y_parity().into());
        quantity(out, ",\"r\":", item.r());
        quantity(out, ",\"s\":", item.s());
        out.push(b'}');
    }
    out.push(b']');
}

fn put_hashes(out: &mut Vec<u8>, hashes: &[B256]) {
    out.push(b'[');
    for (index, hash) in hashes.iter().enumerate() {
        separate(out, index);
        put_data(out, hash.as_slice());
    }
    out.push(b']');
}

fn separate(out: &mut Vec<u8>, index: usize) {
    if index > 0 {
        out.push(b',');
    }
}

fn data(out: &mut Vec<u8>, member: &str, value: &[u8]) {
    out.extend_from_slice(member.as_bytes());
    put_data(out, value);
}

fn number(out: &mut Vec<u8>, member: &str, value: u64) {
    out.extend_from_slice(member.as_bytes());
    put_number(out, value);
}

fn quantity(out: &mut Vec<u8>, member: &str, value: U256) {
    out.extend_from_slice(member.as_bytes());
    put_quantity(out, value);
}
