//! What settlement methods say of a stored block or of one of its transactions, read without the rest of the record.

use alloy_consensus::Transaction;
use alloy_primitives::{Address, B256, U256, keccak256};

use crate::record::{BASE_FEE, TIMESTAMP, open};
use crate::rlp::{Item, Reader as RlpReader};
use crate::transaction;

/// The position of the beneficiary in a header.
const BENEFICIARY: usize = 2;

/// A block.
#[derive(Debug, PartialEq, Eq)]
pub struct BlockSummary {
    /// The hash.
    pub hash: B256,
    /// The time.
    pub timestamp: u64,
    /// The base fee.
    pub base_fee: U256,
    /// Who gets the fees.
    pub beneficiary: Address,
    /// How many transactions it has.
    pub transactions: u64,
    /// How many of them have one of the given types.
    pub typed: u64,
}

/// A transaction of a block.
pub struct TransactionSummary<'a> {
    /// The raw transaction.
    pub raw: &'a [u8],
    /// The sender.
    pub sender: Address,
    /// Whether it succeeded.
    pub succeeded: bool,
    /// The gas that it used.
    pub gas_used: u64,
    /// The time of its block.
    pub timestamp: u64,
    /// The base fee of its block.
    pub base_fee: U256,
    /// What it pays for a unit of gas, if its type is one of Ethereum's.
    pub gas_price: Option<u128>,
}

/// Read a block; None if its record cannot be read.
pub fn block(stored: &[u8], types: &[u8]) -> Option<BlockSummary> {
    let mut reader = open(stored)?;
    let raw_header = reader.bytes()?;
    let header = header(raw_header)?;
    let transactions = reader.array()?;
    let mut typed = 0;
    for _ in 0..transactions {
        let (raw, _) = reader.transaction()?;
        typed += u64::from(types.contains(raw.first()?));
    }
    Some(BlockSummary {
        hash: keccak256(raw_header),
        timestamp: header.timestamp,
        base_fee: header.base_fee,
        beneficiary: header.beneficiary,
        transactions: transactions as u64,
        typed,
    })
}

/// Read the transaction at `index`; None if there is none, or if the record cannot be read.
pub fn transaction(stored: &[u8], index: usize) -> Option<TransactionSummary<'_>> {
    let mut reader = open(stored)?;
    let header = header(reader.bytes()?)?;
    let count = reader.array()?;
    let mut found = None;
    for at in 0..count {
        let transaction = reader.transaction()?;
        if at == index {
            found = Some(transaction);
        }
    }
    let (raw, sender) = found?;
    reader.array()?;
    for _ in 0..index {
        reader.skip_result()?;
    }
    let (succeeded, gas_used) = reader.outcome()?;
    let (timestamp, base_fee) = (header.timestamp, header.base_fee);
    let gas_price = gas_price(raw, sender, base_fee);
    Some(TransactionSummary { raw, sender, succeeded, gas_used, timestamp, base_fee, gas_price })
}

/// Return how many L2-to-L1 logs the transactions before `index` have, and how many it has itself.
pub fn messages(stored: &[u8], index: usize) -> Option<(usize, usize)> {
    let mut reader = open(stored)?;
    reader.bytes()?;
    for _ in 0..reader.array()? {
        reader.transaction()?;
    }
    if index >= reader.array()? {
        return None;
    }
    let mut before = 0;
    for _ in 0..index {
        before += reader.skip_result()?;
    }
    Some((before, reader.skip_result()?))
}

fn gas_price(raw: &[u8], sender: Address, base_fee: U256) -> Option<u128> {
    let base_fee = u64::try_from(base_fee).ok()?;
    let decoded = transaction::decode(raw, Some(sender)).ok()?;
    Some(decoded.transaction.effective_gas_price(Some(base_fee)))
}

struct Header {
    timestamp: u64,
    base_fee: U256,
    beneficiary: Address,
}

fn header(raw: &[u8]) -> Option<Header> {
    let Ok(Item::List(mut items)) = RlpReader::new(raw).next() else { return None };
    let (mut timestamp, mut base_fee, mut beneficiary) = (None, None, None);
    for position in 0..=BASE_FEE {
        let Ok(Item::Bytes(bytes)) = items.next() else { return None };
        match position {
            BENEFICIARY => beneficiary = Address::try_from(bytes).ok(),
            TIMESTAMP => {
                timestamp = U256::try_from_be_slice(bytes).and_then(|it| it.try_into().ok())
            }
            BASE_FEE => base_fee = U256::try_from_be_slice(bytes),
            _ => {}
        }
    }
    Some(Header { timestamp: timestamp?, base_fee: base_fee?, beneficiary: beneficiary? })
}
