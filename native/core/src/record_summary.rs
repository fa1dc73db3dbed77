//! What settlement methods say of a stored block or of one of its transactions, read without the rest of the record.

use alloy_consensus::{Header, Transaction};
use alloy_primitives::{Address, B256};

use crate::record::Layout;
use crate::transaction;

/// A block.
#[derive(Debug)]
pub struct BlockSummary {
    /// The hash.
    pub hash: B256,
    /// The header.
    pub header: Header,
    /// How many transactions it has.
    pub transactions: u64,
    /// How many of them have one of the given types.
    pub typed: u64,
}

/// A transaction of a block.
#[derive(Debug)]
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
    pub base_fee: u64,
    /// What it pays for a unit of gas, if its type is one of Ethereum's.
    pub gas_price: Option<u128>,
}

/// Read a block; None if its record cannot be read.
pub fn block(layout: &Layout, stored: &[u8], types: &[u8]) -> Option<BlockSummary> {
    let record = layout.open(stored)?;
    let transactions = layout.transactions(&record)?;
    let is_typed = |(raw, _): &&(&[u8], Address)| raw.first().is_some_and(|it| types.contains(it));
    Some(BlockSummary {
        hash: record.hash(),
        header: record.header_fields()?,
        transactions: transactions.len() as u64,
        typed: transactions.iter().filter(is_typed).count() as u64,
    })
}

/// Read the transaction at `index`; None if there is none, or if the record cannot be read.
pub fn transaction<'a>(
    layout: &Layout,
    stored: &'a [u8],
    index: usize,
) -> Option<TransactionSummary<'a>> {
    let record = layout.open(stored)?;
    let (raw, sender, result) = layout.at(&record, index)?;
    let header = record.header_fields()?;
    let base_fee = header.base_fee_per_gas?;
    let decoded = transaction::decode(raw, Some(sender)).ok();
    Some(TransactionSummary {
        raw,
        sender,
        succeeded: result.succeeded,
        gas_used: result.gas_used,
        timestamp: header.timestamp,
        base_fee,
        gas_price: decoded.map(|it| it.transaction.effective_gas_price(Some(base_fee))),
    })
}

/// Return how many L2-to-L1 logs the transactions before `index` have, and how many it has itself.
pub fn messages(layout: &Layout, stored: &[u8], index: usize) -> Option<(usize, usize)> {
    let results = layout.results(&layout.open(stored)?)?;
    let own = results.get(index)?.message_count;
    Some((results[..index].iter().map(|it| it.message_count).sum(), own))
}
