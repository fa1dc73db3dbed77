//! Stored block records: a version byte, then MessagePack.
//!
//! Python writes them, and says which field is where ([`Layout`]). A record that cannot be read is left to Python, which
//! reports what is wrong with it.

use std::ops::Range;

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, keccak256};
use alloy_rlp::Decodable;

use crate::msgpack::Reader;

/// The names of the fields of each part of a record, in the order in which they are written.
#[derive(Debug)]
pub struct Names {
    /// Those of a record.
    pub record: Vec<String>,
    /// Those of a transaction.
    pub transaction: Vec<String>,
    /// Those of the result of a transaction.
    pub result: Vec<String>,
    /// Those of a log.
    pub log: Vec<String>,
    /// Those of a packed L2-to-L1 log, each with its size in bytes.
    pub message: Vec<(String, usize)>,
}

/// Define a field of a part by the name that it has in Python; a field of any other name is skipped.
macro_rules! fields {
    ($kind:ident { $($field:ident = $name:literal),+ $(,)? }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum $kind { $($field,)+ Other }

        impl $kind {
            /// Read the names of all fields; the name that is missing is an error.
            fn all(names: &[String]) -> Result<Box<[Self]>, &'static str> {
                $(if names.iter().filter(|it| *it == $name).count() != 1 { return Err($name) })+
                let field = |name: &String| match name.as_str() { $($name => Self::$field,)+ _ => Self::Other };
                Ok(names.iter().map(field).collect())
            }
        }
    };
}

fields!(RecordField { Header = "header_rlp", Transactions = "transactions", Results = "results" });
fields!(TransactionField { Raw = "raw", Sender = "sender" });
fields!(ResultField {
    Succeeded = "succeeded",
    GasUsed = "gas_used",
    Logs = "logs",
    Messages = "l2_to_l1_logs",
});
fields!(LogField { Address = "address", Topics = "topics", Data = "data" });

/// Where fields are.
#[derive(Debug)]
pub struct Layout {
    version: u8,
    record: Box<[RecordField]>,
    transaction: Box<[TransactionField]>,
    result: Box<[ResultField]>,
    log: Box<[LogField]>,
    message: MessageLayout,
}

#[derive(Debug)]
struct MessageLayout {
    size: usize,
    shard_id: usize,
    is_service: usize,
    sender: Range<usize>,
    key: Range<usize>,
    value: Range<usize>,
}

/// The parts of a record that are read: of the transactions and the results, where they begin.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The header in RLP, perhaps after a hash.
    pub header: &'a [u8],
    transactions: Reader<'a>,
    results: Reader<'a>,
}

/// The result of a transaction; its logs are not read yet.
#[derive(Clone, Copy, Debug)]
pub struct TransactionResult<'a> {
    /// Whether it succeeded.
    pub succeeded: bool,
    /// The gas that it used.
    pub gas_used: u64,
    /// How many logs it has.
    pub log_count: usize,
    /// How many L2-to-L1 logs it has.
    pub message_count: usize,
    logs: Reader<'a>,
    messages: Reader<'a>,
}

/// A log.
#[derive(Debug)]
pub struct Log<'a> {
    /// The contract.
    pub address: &'a [u8],
    /// The topics.
    pub topics: Vec<&'a [u8]>,
    /// The data.
    pub data: &'a [u8],
}

/// An L2-to-L1 log.
#[derive(Debug)]
pub struct Message<'a> {
    /// The shard.
    pub shard_id: u8,
    /// Whether the system sent it.
    pub is_service: bool,
    /// Who sent it.
    pub sender: &'a [u8],
    /// Its key.
    pub key: &'a [u8],
    /// Its value.
    pub value: &'a [u8],
}

impl Record<'_> {
    /// Decode the header.
    pub fn header_fields(&self) -> Option<Header> {
        decode_header(self.header)
    }

    /// Return the hash of the block.
    pub fn hash(&self) -> B256 {
        header_hash(self.header)
    }
}

/// How a header begins whose hash is given, not computed: a string of 32 bytes in RLP, where others have a list.
const GIVEN_HASH: u8 = 0xa0;

/// Return the hash that precedes an encoded header, if it is given: that of the first block of a fork.
fn given_hash(encoded: &[u8]) -> Option<(B256, &[u8])> {
    let (hash, header) = encoded.strip_prefix(&[GIVEN_HASH])?.split_first_chunk::<32>()?;
    (!header.is_empty()).then_some((B256::from(*hash), header))
}

/// Return the hash of the block with this encoded header.
pub fn header_hash(encoded: &[u8]) -> B256 {
    given_hash(encoded).map_or_else(|| keccak256(encoded), |(hash, _)| hash)
}

/// Decode a header of London or later; None if it is none.
pub fn decode_header(encoded: &[u8]) -> Option<Header> {
    let mut encoded = given_hash(encoded).map_or(encoded, |(_, header)| header);
    let header = Header::decode(&mut encoded).ok()?;
    (encoded.is_empty() && header.base_fee_per_gas.is_some()).then_some(header)
}

impl Layout {
    /// Find the fields by their names; the name that is missing is an error.
    pub fn new(version: u8, names: &Names) -> Result<Self, &'static str> {
        Ok(Self {
            version,
            record: RecordField::all(&names.record)?,
            transaction: TransactionField::all(&names.transaction)?,
            result: ResultField::all(&names.result)?,
            log: LogField::all(&names.log)?,
            message: MessageLayout::new(&names.message)?,
        })
    }

    /// Open a stored record.
    pub fn open<'a>(&self, stored: &'a [u8]) -> Option<Record<'a>> {
        let mut reader = Reader(stored.strip_prefix(&[self.version])?);
        if reader.array()? != self.record.len() {
            return None;
        }
        let (mut header, mut transactions, mut results) = (None, None, None);
        for field in &self.record {
            match field {
                RecordField::Header => header = Some(reader.clone().bytes()?),
                RecordField::Transactions => transactions = Some(reader),
                RecordField::Results => results = Some(reader),
                RecordField::Other => {}
            }
            // State changes may be most of a record, and are behind what is read.
            if let (Some(header), Some(transactions), Some(results)) =
                (header, transactions, results)
            {
                return Some(Record { header, transactions, results });
            }
            reader.skip()?;
        }
        None
    }

    /// Return the raw transactions with their senders.
    pub fn transactions<'a>(&self, record: &Record<'a>) -> Option<Vec<(&'a [u8], Address)>> {
        record.transactions.clone().list(|reader| self.transaction(reader))
    }

    /// Return the results of all transactions.
    pub fn results<'a>(&self, record: &Record<'a>) -> Option<Vec<TransactionResult<'a>>> {
        record.results.clone().list(|reader| self.result(reader))
    }

    /// Return the transaction at `index`, its sender and its result.
    pub fn at<'a>(
        &self,
        record: &Record<'a>,
        index: usize,
    ) -> Option<(&'a [u8], Address, TransactionResult<'a>)> {
        let mut transactions = skipped(record.transactions, index)?;
        let (raw, sender) = self.transaction(&mut transactions)?;
        Some((raw, sender, self.result(&mut skipped(record.results, index)?)?))
    }

    /// Return the logs of a result.
    pub fn logs<'a>(&self, result: &TransactionResult<'a>) -> Option<Vec<Log<'a>>> {
        result.logs.clone().list(|reader| self.log(reader))
    }

    /// Return the L2-to-L1 logs of a result.
    pub fn messages<'a>(&self, result: &TransactionResult<'a>) -> Option<Vec<Message<'a>>> {
        result.messages.clone().list(|reader| self.message.read(reader.bytes()?))
    }

    fn transaction<'a>(&self, reader: &mut Reader<'a>) -> Option<(&'a [u8], Address)> {
        exactly(reader, self.transaction.len())?;
        let (mut raw, mut sender) = (None, None);
        for field in &self.transaction {
            match field {
                TransactionField::Raw => raw = Some(reader.bytes()?),
                TransactionField::Sender => sender = Address::try_from(reader.bytes()?).ok(),
                TransactionField::Other => reader.skip()?,
            }
        }
        Some((raw?, sender?))
    }

    fn result<'a>(&self, reader: &mut Reader<'a>) -> Option<TransactionResult<'a>> {
        exactly(reader, self.result.len())?;
        let (mut succeeded, mut gas_used, mut logs, mut messages) = (None, None, None, None);
        for field in &self.result {
            match field {
                ResultField::Succeeded => succeeded = Some(reader.boolean()?),
                ResultField::GasUsed => gas_used = Some(reader.uint()?),
                ResultField::Logs => {
                    logs = Some(*reader);
                    reader.skip()?;
                }
                ResultField::Messages => {
                    messages = Some(*reader);
                    reader.skip()?;
                }
                ResultField::Other => reader.skip()?,
            }
        }
        let (logs, messages) = (logs?, messages?);
        Some(TransactionResult {
            succeeded: succeeded?,
            gas_used: gas_used?,
            log_count: logs.clone().array()?,
            message_count: messages.clone().array()?,
            logs,
            messages,
        })
    }

    fn log<'a>(&self, reader: &mut Reader<'a>) -> Option<Log<'a>> {
        exactly(reader, self.log.len())?;
        let (mut address, mut topics, mut data) = (None, None, None);
        for field in &self.log {
            match field {
                LogField::Address => address = Some(reader.bytes()?),
                LogField::Topics => topics = Some(reader.list(hash)?),
                LogField::Data => data = Some(reader.bytes()?),
                LogField::Other => reader.skip()?,
            }
        }
        Some(Log { address: address?, topics: topics?, data: data? })
    }
}

impl MessageLayout {
    fn new(names: &[(String, usize)]) -> Result<Self, &'static str> {
        let mut ranges = Vec::with_capacity(names.len());
        let mut size = 0;
        for (name, bytes) in names {
            ranges.push((name, size..size + bytes));
            size += bytes;
        }
        let find = |name: &'static str, bytes: usize| {
            let found = ranges.iter().find(|(it, range)| *it == name && range.len() == bytes);
            found.map(|(_, range)| range.clone()).ok_or(name)
        };
        Ok(Self {
            size,
            shard_id: find("shard_id", 1)?.start,
            is_service: find("is_service", 1)?.start,
            sender: find("sender", Address::len_bytes())?,
            key: find("key", B256::len_bytes())?,
            value: find("value", B256::len_bytes())?,
        })
    }

    fn read<'a>(&self, packed: &'a [u8]) -> Option<Message<'a>> {
        if packed.len() != self.size || packed[self.is_service] > 1 {
            return None;
        }
        Some(Message {
            shard_id: packed[self.shard_id],
            is_service: packed[self.is_service] == 1,
            sender: &packed[self.sender.clone()],
            key: &packed[self.key.clone()],
            value: &packed[self.value.clone()],
        })
    }
}

fn hash<'a>(reader: &mut Reader<'a>) -> Option<&'a [u8]> {
    reader.bytes().filter(|it| it.len() == B256::len_bytes())
}

fn exactly(reader: &mut Reader<'_>, length: usize) -> Option<()> {
    (reader.array()? == length).then_some(())
}

/// Return an array at its item `index`.
fn skipped(mut array: Reader<'_>, index: usize) -> Option<Reader<'_>> {
    if index >= array.array()? {
        return None;
    }
    for _ in 0..index {
        array.skip()?;
    }
    Some(array)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_that_is_given_is_the_hash_of_its_block() {
        let header = Header { number: 7, base_fee_per_gas: Some(1), ..Default::default() };
        let plain = alloy_rlp::encode(&header);
        assert_eq!(header_hash(&plain), keccak256(&plain));
        assert_eq!(decode_header(&plain), Some(header.clone()));
        let given = [&[GIVEN_HASH][..], &[0xab; 32], &plain].concat();
        assert_eq!(header_hash(&given), B256::repeat_byte(0xab));
        assert_eq!(decode_header(&given), Some(header));
        assert_eq!(decode_header(&given[..33]), None);
    }
}
