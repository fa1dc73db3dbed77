//! Blocks with the hashes of their transactions, and headers, from the stored record.

use entresol_core::record::Layout;
use entresol_core::transaction::stored_hash;

use crate::header::{Body, put_block, put_header, size};
use crate::hex::put_data;

/// Return a block; None if its record cannot be read, or if only Python knows the hash of a transaction.
pub fn block(layout: &Layout, stored: &[u8], batch: Option<(u64, u64)>) -> Option<Vec<u8>> {
    let record = layout.open(stored)?;
    let header = record.header_fields()?;
    let transactions = layout.transactions(&record)?;
    let mut hashes = Vec::with_capacity(2 + 69 * transactions.len());
    hashes.push(b'[');
    for (index, (raw, sender)) in transactions.iter().enumerate() {
        if index > 0 {
            hashes.push(b',');
        }
        put_data(&mut hashes, stored_hash(raw, *sender)?.as_slice());
    }
    hashes.push(b']');
    let size = size(&header, transactions.iter().map(|(raw, _)| *raw));
    let mut out = Vec::with_capacity(2048 + hashes.len());
    let body = Body { size, transactions: &hashes, batch };
    put_block(&mut out, &header, Some(record.hash()), &body);
    out.push(b'}');
    Some(out)
}

/// Return a header; None if its record cannot be read.
pub fn header(layout: &Layout, stored: &[u8]) -> Option<Vec<u8>> {
    let record = layout.open(stored)?;
    let mut out = Vec::with_capacity(2048);
    put_header(&mut out, &record.header_fields()?, Some(record.hash()));
    Some(out)
}
