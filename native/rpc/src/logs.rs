//! Logs as JSON.

use alloy_primitives::B256;

use super::hex::{put_data, put_number};

/// Return the members that name a block and its batch, which its receipts and logs share.
pub fn inclusion(block_hash: B256, block_number: u64, batch_number: Option<u64>) -> Vec<u8> {
    let mut out = Vec::with_capacity(160);
    out.extend_from_slice(b"\"blockHash\":");
    put_data(&mut out, block_hash.as_slice());
    out.extend_from_slice(b",\"blockNumber\":");
    put_number(&mut out, block_number);
    out.extend_from_slice(b",\"l1BatchNumber\":");
    put_optional(&mut out, batch_number);
    out
}

/// Return the members that the logs of a transaction share; `removed` if its block was reverted.
pub fn log_context(
    inclusion: &[u8],
    timestamp: u64,
    transaction_hash: B256,
    index: u64,
    removed: bool,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(inclusion.len() + 220);
    out.extend_from_slice(inclusion);
    out.extend_from_slice(b",\"blockTimestamp\":");
    put_number(&mut out, timestamp);
    out.extend_from_slice(b",\"transactionHash\":");
    put_data(&mut out, transaction_hash.as_slice());
    out.extend_from_slice(b",\"transactionIndex\":");
    put_number(&mut out, index);
    out.extend_from_slice(b",\"logType\":null,\"removed\":");
    out.extend_from_slice(if removed { b"true" } else { b"false" });
    out
}

/// A log and its indexes in the block and in the transaction.
pub struct LocatedLog<'a, T> {
    /// The contract.
    pub address: &'a [u8],
    /// The topics.
    pub topics: &'a [T],
    /// The data.
    pub data: &'a [u8],
    /// The index in the block.
    pub index: u64,
    /// The index in the transaction.
    pub within: u64,
}

impl<T: AsRef<[u8]>> LocatedLog<'_, T> {
    /// Append the log; `context` is that of its transaction.
    pub fn put(&self, out: &mut Vec<u8>, context: &[u8]) {
        out.extend_from_slice(b"{\"address\":");
        put_data(out, self.address);
        out.extend_from_slice(b",\"topics\":[");
        for (position, topic) in self.topics.iter().enumerate() {
            if position > 0 {
                out.push(b',');
            }
            put_data(out, topic.as_ref());
        }
        out.extend_from_slice(b"],\"data\":");
        put_data(out, self.data);
        out.push(b',');
        out.extend_from_slice(context);
        out.extend_from_slice(b",\"logIndex\":");
        put_number(out, self.index);
        out.extend_from_slice(b",\"transactionLogIndex\":");
        put_number(out, self.within);
        out.push(b'}');
    }
}

/// Append a number, or null.
pub fn put_optional(out: &mut Vec<u8>, value: Option<u64>) {
    match value {
        Some(value) => put_number(out, value),
        None => out.extend_from_slice(b"null"),
    }
}
