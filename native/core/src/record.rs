//! The parts of a stored block record that its receipts consist of.
//!
//! A record is a version byte, then MessagePack; the store wrote it, so a record that cannot be read is
//! left to Python, which reports what is wrong with it.

use alloy_primitives::{Address, B256};

use crate::rlp::{Item, Reader as RlpReader};

const VERSION: u8 = 1;
/// The positions of fields in a header.
const NUMBER: usize = 8;
pub(crate) const TIMESTAMP: usize = 11;
pub(crate) const BASE_FEE: usize = 15;
const EXCESS_BLOB_GAS: usize = 18;

/// A block's header, transactions and results.
pub struct Record<'a> {
    /// The header in RLP.
    pub header: &'a [u8],
    /// The raw transactions and their senders.
    pub transactions: Vec<(&'a [u8], Address)>,
    /// The results of the transactions.
    pub results: Vec<TransactionResult<'a>>,
}

/// The result of a transaction.
pub struct TransactionResult<'a> {
    /// Whether it succeeded.
    pub succeeded: bool,
    /// The gas that it used.
    pub gas_used: u64,
    /// Its logs.
    pub logs: Vec<Log<'a>>,
    /// Its L2-to-L1 logs, packed.
    pub messages: Vec<&'a [u8]>,
}

/// A log.
pub struct Log<'a> {
    /// The contract.
    pub address: &'a [u8],
    /// The topics.
    pub topics: Vec<&'a [u8]>,
    /// The data.
    pub data: &'a [u8],
}

/// What receipts say of their block.
pub struct HeaderFields {
    /// The number.
    pub number: u64,
    /// The time.
    pub timestamp: u64,
    /// The base fee.
    pub base_fee: u64,
    /// Whether it has blob gas.
    pub has_blob_gas: bool,
}

impl<'a> Record<'a> {
    /// Read a stored record.
    pub fn parse(stored: &'a [u8]) -> Option<Self> {
        let mut reader = open(stored)?;
        let header = reader.bytes()?;
        let transactions = reader.list(Reader::transaction)?;
        let results = reader.list(Reader::result)?;
        (transactions.len() == results.len()).then_some(Self { header, transactions, results })
    }

    /// Read the header.
    pub fn header_fields(&self) -> Option<HeaderFields> {
        let Ok(Item::List(mut items)) = RlpReader::new(self.header).next() else { return None };
        let (mut number, mut timestamp, mut base_fee, mut has_blob_gas) = (None, None, None, false);
        for position in 0.. {
            if items.is_empty() {
                break;
            }
            let Ok(Item::Bytes(bytes)) = items.next() else { return None };
            match position {
                NUMBER => number = uint(bytes),
                TIMESTAMP => timestamp = uint(bytes),
                BASE_FEE => base_fee = uint(bytes),
                EXCESS_BLOB_GAS => has_blob_gas = true,
                _ => {}
            }
        }
        Some(HeaderFields {
            number: number?,
            timestamp: timestamp?,
            base_fee: base_fee?,
            has_blob_gas,
        })
    }
}

fn uint(bytes: &[u8]) -> Option<u64> {
    (bytes.len() <= 8).then(|| bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

/// Return a reader of the fields of a stored record.
pub(crate) fn open(stored: &[u8]) -> Option<Reader<'_>> {
    let mut reader = Reader(stored.strip_prefix(&[VERSION])?);
    reader.array()?;
    Some(reader)
}

/// MessagePack that is read from the start.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|it| it[0])
    }

    /// Read a big-endian number of `size` bytes.
    fn number(&mut self, size: usize) -> Option<u64> {
        self.take(size).and_then(uint)
    }

    fn length(&mut self, size: usize) -> Option<usize> {
        self.number(size)?.try_into().ok()
    }

    /// Read the length of an array.
    pub(crate) fn array(&mut self) -> Option<usize> {
        match self.byte()? {
            short @ 0x90..=0x9f => Some(usize::from(short & 0x0f)),
            0xdc => self.length(2),
            0xdd => self.length(4),
            _ => None,
        }
    }

    fn tuple(&mut self, length: usize) -> Option<()> {
        (self.array()? == length).then_some(())
    }

    fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.array()?;
        // An item takes a byte at least, so no length allocates more than there is.
        let mut items = Vec::with_capacity(count.min(self.0.len()));
        for _ in 0..count {
            items.push(read(self)?);
        }
        Some(items)
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let size = match self.byte()? {
            0xc4 => 1,
            0xc5 => 2,
            0xc6 => 4,
            _ => return None,
        };
        let length = self.length(size)?;
        self.take(length)
    }

    fn boolean(&mut self) -> Option<bool> {
        match self.byte()? {
            0xc2 => Some(false),
            0xc3 => Some(true),
            _ => None,
        }
    }

    fn uint(&mut self) -> Option<u64> {
        match self.byte()? {
            small @ ..0x80 => Some(small.into()),
            0xcc => self.number(1),
            0xcd => self.number(2),
            0xce => self.number(4),
            0xcf => self.number(8),
            _ => None,
        }
    }

    /// Read a raw transaction and its sender.
    pub(crate) fn transaction(&mut self) -> Option<(&'a [u8], Address)> {
        self.tuple(2)?;
        Some((self.bytes()?, Address::try_from(self.bytes()?).ok()?))
    }

    /// Read whether a transaction succeeded and the gas that it used, the first fields of its result.
    pub(crate) fn outcome(&mut self) -> Option<(bool, u64)> {
        self.tuple(5)?;
        Some((self.boolean()?, self.uint()?))
    }

    /// Skip a result; return how many L2-to-L1 logs it has.
    pub(crate) fn skip_result(&mut self) -> Option<usize> {
        self.outcome()?;
        self.created()?;
        for _ in 0..self.array()? {
            self.tuple(3)?;
            self.bytes()?;
            for _ in 0..self.array()? {
                self.bytes()?;
            }
            self.bytes()?;
        }
        let messages = self.array()?;
        for _ in 0..messages {
            self.bytes()?;
        }
        Some(messages)
    }

    /// Skip the created contract, or nil.
    fn created(&mut self) -> Option<()> {
        match self.0.first()? {
            0xc0 => self.byte().map(drop),
            _ => self.bytes().map(drop),
        }
    }

    fn result(&mut self) -> Option<TransactionResult<'a>> {
        let (succeeded, gas_used) = self.outcome()?;
        self.created()?;
        let logs = self.list(|it| {
            it.tuple(3)?;
            let (address, topics) = (it.bytes()?, it.list(Self::hash)?);
            Some(Log { address, topics, data: it.bytes()? })
        })?;
        Some(TransactionResult { succeeded, gas_used, logs, messages: self.list(Self::bytes)? })
    }

    fn hash(&mut self) -> Option<&'a [u8]> {
        self.bytes().filter(|it| it.len() == B256::len_bytes())
    }
}
