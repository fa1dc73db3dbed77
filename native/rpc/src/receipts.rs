//! Receipts as JSON, straight from the stored record of their block.

use alloy_consensus::{Transaction, Typed2718};
use alloy_primitives::{Address, B256, Bloom, BloomInput, U256, address, keccak256};

use entresol_core::record::{HeaderFields, Log, Record, TransactionResult};
use entresol_core::transaction::{self, DecodedTransaction};

use crate::hex::{put_data, put_number, put_quantity};
use crate::logs::{LocatedLog, inclusion, log_context, put_optional};

/// A call of it reports the contract that it creates, which Python finds.
const CONTRACT_DEPLOYER: Address = address!("0x0000000000000000000000000000000000008006");
/// The size of a packed L2-to-L1 log.
const MESSAGE_BYTES: usize = 88;

/// The batch of a block.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// The number.
    pub number: u64,
    /// The number of the block's first transaction in L2-to-L1 logs.
    pub first_tx_number: u64,
}

/// Return the receipt at `index`, or an array of all; None if Python has to render them.
///
/// That is so for transactions that only zkSync knows, and for blocks with blob gas.
pub fn render(stored: &[u8], index: Option<usize>, batch: Option<Batch>) -> Option<Vec<u8>> {
    let record = Record::parse(stored)?;
    let header = record.header_fields().filter(|it| !it.has_blob_gas)?;
    let mut receipts = Receipts::new(&record, &header, batch);
    match index {
        Some(index) if index < record.results.len() => {
            (0..index).for_each(|earlier| receipts.skip(earlier));
            receipts.render(index)?;
        }
        Some(_) => return None,
        None => {
            receipts.out.push(b'[');
            for index in 0..record.results.len() {
                receipts.separate(index);
                receipts.render(index)?;
            }
            receipts.out.push(b']');
        }
    }
    Some(receipts.out)
}

/// Receipts that are written in order, and what the block's earlier transactions add up to.
struct Receipts<'a> {
    record: &'a Record<'a>,
    header: &'a HeaderFields,
    batch: Option<Batch>,
    /// The members that all receipts and logs share.
    inclusion: Vec<u8>,
    gas_used: u64,
    logs: u64,
    messages: u64,
    out: Vec<u8>,
}

impl<'a> Receipts<'a> {
    fn new(record: &'a Record<'a>, header: &'a HeaderFields, batch: Option<Batch>) -> Self {
        let inclusion =
            inclusion(keccak256(record.header), header.number, batch.map(|it| it.number));
        let out = Vec::with_capacity(2048);
        Self { record, header, batch, inclusion, gas_used: 0, logs: 0, messages: 0, out }
    }

    fn skip(&mut self, index: usize) {
        let result = &self.record.results[index];
        self.gas_used += result.gas_used;
        self.logs += result.logs.len() as u64;
        self.messages += result.messages.len() as u64;
    }

    fn render(&mut self, index: usize) -> Option<()> {
        let (raw, sender) = self.record.transactions[index];
        let decoded = transaction::decode(raw, Some(sender)).ok()?;
        let result = &self.record.results[index];
        let kind = decoded.transaction.to();
        if kind == Some(CONTRACT_DEPLOYER) {
            return None;
        }
        self.text(b"{\"transactionHash\":");
        put_data(&mut self.out, decoded.hash.as_slice());
        self.number(b",\"type\":", decoded.transaction.ty().into());
        self.number(b",\"transactionIndex\":", index as u64);
        self.text(b",");
        self.out.extend_from_slice(&self.inclusion);
        self.optional(b",\"l1BatchTxIndex\":", self.tx_number(index));
        self.number(b",\"status\":", result.succeeded.into());
        self.data(b",\"from\":", sender.as_slice());
        self.address(b",\"to\":", kind);
        let created = kind.is_none().then(|| sender.create(decoded.transaction.nonce()));
        self.address(b",\"contractAddress\":", created);
        self.number(b",\"gasUsed\":", result.gas_used);
        self.number(b",\"cumulativeGasUsed\":", self.gas_used + result.gas_used);
        self.text(b",\"effectiveGasPrice\":");
        let gas_price = self.gas_price(&decoded);
        put_quantity(&mut self.out, gas_price);
        self.put_logs(result, decoded.hash, index);
        self.put_messages(result, decoded.hash, index)?;
        self.text(b"}");
        self.skip(index);
        Some(())
    }

    fn gas_price(&self, decoded: &DecodedTransaction) -> U256 {
        U256::from(decoded.transaction.effective_gas_price(Some(self.header.base_fee)))
    }

    fn tx_number(&self, index: usize) -> Option<u64> {
        self.batch.map(|it| it.first_tx_number + index as u64)
    }

    fn put_logs(&mut self, result: &TransactionResult<'_>, hash: B256, index: usize) {
        self.text(b",\"logs\":[");
        let mut bloom = Bloom::ZERO;
        let context = log_context(&self.inclusion, self.header.timestamp, hash, index as u64);
        for (within, log) in result.logs.iter().enumerate() {
            self.separate(within);
            bloom.accrue(BloomInput::Raw(log.address));
            log.topics.iter().for_each(|topic| bloom.accrue(BloomInput::Raw(topic)));
            let Log { address, ref topics, data } = *log;
            let within = within as u64;
            let log = LocatedLog { address, topics, data, index: self.logs + within, within };
            log.put(&mut self.out, &context);
        }
        self.data(b"],\"logsBloom\":", bloom.as_slice());
    }

    fn put_messages(
        &mut self,
        result: &TransactionResult<'_>,
        hash: B256,
        index: usize,
    ) -> Option<()> {
        self.text(b",\"l2ToL1Logs\":[");
        for (within, message) in result.messages.iter().enumerate() {
            if message.len() != MESSAGE_BYTES || message[1] > 1 {
                return None;
            }
            self.separate(within);
            self.text(b"{");
            self.out.extend_from_slice(&self.inclusion);
            self.data(b",\"transactionHash\":", hash.as_slice());
            self.number(b",\"transactionIndex\":", index as u64);
            self.optional(b",\"txIndexInL1Batch\":", self.tx_number(index));
            self.number(b",\"logIndex\":", self.messages + within as u64);
            self.number(b",\"transactionLogIndex\":", within as u64);
            self.number(b",\"shardId\":", message[0].into());
            self.text(if message[1] == 1 {
                b",\"isService\":true"
            } else {
                b",\"isService\":false"
            });
            self.data(b",\"sender\":", &message[4..24]);
            self.data(b",\"key\":", &message[24..56]);
            self.data(b",\"value\":", &message[56..]);
            self.text(b"}");
        }
        self.text(b"]");
        Some(())
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            self.out.push(b',');
        }
    }

    fn text(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
    }

    fn number(&mut self, member: &[u8], value: u64) {
        self.text(member);
        put_number(&mut self.out, value);
    }

    fn optional(&mut self, member: &[u8], value: Option<u64>) {
        self.text(member);
        put_optional(&mut self.out, value);
    }

    fn data(&mut self, member: &[u8], data: &[u8]) {
        self.text(member);
        put_data(&mut self.out, data);
    }

    fn address(&mut self, member: &[u8], address: Option<Address>) {
        self.text(member);
        match address {
            Some(address) => put_data(&mut self.out, address.as_slice()),
            None => self.text(b"null"),
        }
    }
}
