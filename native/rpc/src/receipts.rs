//! Receipts as JSON, from the stored record of their block.

use alloy_consensus::{Transaction, Typed2718};
use alloy_primitives::{Address, B256, Bloom, BloomInput, U256};

use entresol_core::blobs::BlobPrices;
use entresol_core::record::{Layout, Log, Record, TransactionResult};
use entresol_core::transaction::{self, zk};

use crate::hex::{put_data, put_number, put_quantity};
use crate::logs::{LocatedLog, inclusion, log_context, put_optional};

/// The contract by which contracts are deployed: which calls do that, and how it reports the deployed one.
#[derive(Debug)]
pub struct Deployer {
    /// Its address.
    pub address: Address,
    /// The topic of what it reports.
    pub topic: B256,
    /// The selectors of the calls.
    pub selectors: Vec<[u8; 4]>,
}

/// What receipts say of a block beside its record.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The number of its batch.
    pub batch: Option<u64>,
    /// What blob gas costs, which every receipt of an L1 has, as in anvil.
    pub blobs: BlobPrices,
}

/// What a receipt says of a transaction.
#[derive(Clone, Debug)]
pub struct TransactionFacts {
    /// The hash.
    pub hash: B256,
    /// The type.
    pub kind: u8,
    /// The target; None creates a contract.
    pub to: Option<Address>,
    /// The nonce.
    pub nonce: u64,
    /// The wei for a unit of gas.
    pub gas_price: U256,
    /// How its calldata begins.
    pub selector: Option<[u8; 4]>,
    /// The gas of its blobs, if it is a blob transaction.
    pub blob_gas: Option<u64>,
}

impl TransactionFacts {
    /// Read a stored transaction; None if only Python reads it.
    fn read(raw: &[u8], sender: Address, base_fee: u64) -> Option<Self> {
        if zk::is_zk(raw) {
            let zk::DecodedZk { transaction, hash, .. } = zk::decode(raw, false).ok()?;
            return Some(Self {
                hash,
                kind: raw[0],
                to: Some(transaction.to),
                nonce: transaction.nonce.saturating_to(),
                // Its priority fee is never charged.
                gas_price: transaction.max_fee_per_gas.min(U256::from(base_fee)),
                selector: transaction.data.first_chunk().copied(),
                blob_gas: None,
            });
        }
        let decoded = transaction::decode(raw, Some(sender)).ok()?;
        let it = &decoded.transaction;
        Some(Self {
            hash: decoded.hash,
            kind: it.ty(),
            to: it.to(),
            nonce: it.nonce(),
            gas_price: U256::from(it.effective_gas_price(Some(base_fee))),
            selector: it.input().first_chunk().copied(),
            blob_gas: it.blob_gas_used(),
        })
    }
}

/// Renders receipts.
#[derive(Debug)]
pub struct ReceiptRenderer<'a> {
    /// Where fields are.
    pub layout: &'a Layout,
    /// The contract deployer.
    pub deployer: &'a Deployer,
    /// The transactions that Python has read, by index.
    pub known: &'a [(usize, TransactionFacts)],
}

impl ReceiptRenderer<'_> {
    /// Return the receipt at `index`, or an array of all; None if there is none, or if something cannot be read.
    pub fn render(&self, stored: &[u8], index: Option<usize>, place: Place) -> Option<Vec<u8>> {
        let record = self.layout.open(stored)?;
        let transactions = self.layout.transactions(&record)?;
        let results = self.layout.results(&record)?;
        if transactions.len() != results.len() || index.is_some_and(|it| it >= results.len()) {
            return None;
        }
        let mut receipts = Receipts::new(self, &record, place)?;
        let mut written = 0;
        let is_array = index.is_none();
        receipts.text(if is_array { b"[" } else { b"" });
        for (at, (&(raw, sender), result)) in transactions.iter().zip(&results).enumerate() {
            if index.is_none_or(|wanted| wanted == at) {
                receipts.separate(written);
                let known = self.known.iter().find(|(known, _)| *known == at);
                let facts = match known {
                    Some((_, facts)) => facts.clone(),
                    None => TransactionFacts::read(raw, sender, receipts.base_fee)?,
                };
                receipts.render(at, &facts, sender, result)?;
                written += 1;
            }
            if index == Some(at) {
                break;
            }
            receipts.add(result);
        }
        receipts.text(if is_array { b"]" } else { b"" });
        Some(receipts.out)
    }
}

/// Return the contract that a transaction creates, also if it failed.
///
/// A call of the contract deployer creates the one that it reports for the sender: contracts that a constructor creates
/// are reported too, but for another deployer.
pub fn created_contract<'a, T: AsRef<[u8]> + 'a>(
    deployer: &Deployer,
    sender: Address,
    facts: &TransactionFacts,
    logs: impl IntoIterator<Item = (&'a [u8], &'a [T])>,
) -> Option<Address> {
    let Some(to) = facts.to else { return Some(sender.create(facts.nonce)) };
    let deploys = facts.selector.is_some_and(|it| deployer.selectors.contains(&it));
    if to != deployer.address || !deploys {
        return None;
    }
    let owner = sender.into_word();
    logs.into_iter().find_map(|(address, topics)| match topics {
        [topic, of, _, created]
            if address == deployer.address.as_slice()
                && topic.as_ref() == deployer.topic.as_slice()
                && of.as_ref() == owner.as_slice() =>
        {
            Address::try_from(created.as_ref().get(12..)?).ok()
        }
        _ => None,
    })
}

/// Return the bloom filter of logs, given by their addresses and topics.
pub fn logs_bloom<'a, T: AsRef<[u8]> + 'a>(
    logs: impl IntoIterator<Item = (&'a [u8], &'a [T])>,
) -> Bloom {
    let mut bloom = Bloom::ZERO;
    for (address, topics) in logs {
        bloom.accrue(BloomInput::Raw(address));
        topics.iter().for_each(|topic| bloom.accrue(BloomInput::Raw(topic.as_ref())));
    }
    bloom
}

/// Receipts that are written in order, and what the block's earlier transactions add up to.
struct Receipts<'a> {
    layout: &'a Layout,
    deployer: &'a Deployer,
    batch: Option<u64>,
    blob_base_fee: Option<u128>,
    timestamp: u64,
    base_fee: u64,
    /// The members that all receipts and logs share.
    inclusion: Vec<u8>,
    gas_used: u64,
    logs: u64,
    messages: u64,
    out: Vec<u8>,
}

impl<'a> Receipts<'a> {
    fn new(renderer: &ReceiptRenderer<'a>, record: &Record<'_>, place: Place) -> Option<Self> {
        let header = record.header_fields()?;
        Some(Self {
            layout: renderer.layout,
            deployer: renderer.deployer,
            batch: place.batch,
            blob_base_fee: header.excess_blob_gas.and_then(|it| place.blobs.base_fee(Some(it))),
            timestamp: header.timestamp,
            base_fee: header.base_fee_per_gas?,
            inclusion: inclusion(record.hash(), header.number, place.batch),
            gas_used: 0,
            logs: 0,
            messages: 0,
            out: Vec::with_capacity(2048),
        })
    }

    fn add(&mut self, result: &TransactionResult<'_>) {
        self.gas_used += result.gas_used;
        self.logs += result.log_count as u64;
        self.messages += result.message_count as u64;
    }

    fn render(
        &mut self,
        index: usize,
        facts: &TransactionFacts,
        sender: Address,
        result: &TransactionResult<'_>,
    ) -> Option<()> {
        let logs = self.layout.logs(result)?;
        let indexed = || logs.iter().map(|it| (it.address, &it.topics[..]));
        self.data(b"{\"transactionHash\":", facts.hash.as_slice());
        self.number(b",\"type\":", facts.kind.into());
        self.number(b",\"transactionIndex\":", index as u64);
        self.text(b",");
        self.out.extend_from_slice(&self.inclusion);
        self.optional(b",\"l1BatchTxIndex\":", self.tx_number(index));
        self.number(b",\"status\":", result.succeeded.into());
        self.data(b",\"from\":", sender.as_slice());
        self.address(b",\"to\":", facts.to);
        let created = created_contract(self.deployer, sender, facts, indexed());
        self.address(b",\"contractAddress\":", created);
        self.number(b",\"gasUsed\":", result.gas_used);
        self.number(b",\"cumulativeGasUsed\":", self.gas_used + result.gas_used);
        self.text(b",\"effectiveGasPrice\":");
        put_quantity(&mut self.out, facts.gas_price);
        if let Some(price) = self.blob_base_fee {
            self.text(b",\"blobGasPrice\":");
            put_quantity(&mut self.out, U256::from(price));
            if let Some(blob_gas) = facts.blob_gas {
                self.number(b",\"blobGasUsed\":", blob_gas);
            }
        }
        let bloom = logs_bloom(indexed());
        self.put_logs(&logs, facts.hash, index);
        self.data(b",\"logsBloom\":", bloom.as_slice());
        self.put_messages(result, facts.hash, index)?;
        self.text(b"}");
        Some(())
    }

    /// The number of a transaction in its logs to L1, which begins at 0 in each block; none without a batch.
    fn tx_number(&self, index: usize) -> Option<u64> {
        self.batch.map(|_| index as u64)
    }

    fn put_logs(&mut self, logs: &[Log<'_>], hash: B256, index: usize) {
        self.text(b",\"logs\":[");
        let context = log_context(&self.inclusion, self.timestamp, hash, index as u64, false);
        for (within, log) in logs.iter().enumerate() {
            self.separate(within);
            let Log { address, ref topics, data } = *log;
            let within = within as u64;
            let log = LocatedLog { address, topics, data, index: self.logs + within, within };
            log.put(&mut self.out, &context);
        }
        self.text(b"]");
    }

    fn put_messages(
        &mut self,
        result: &TransactionResult<'_>,
        hash: B256,
        index: usize,
    ) -> Option<()> {
        self.text(b",\"l2ToL1Logs\":[");
        for (within, message) in self.layout.messages(result)?.iter().enumerate() {
            self.separate(within);
            self.text(b"{");
            self.out.extend_from_slice(&self.inclusion);
            self.data(b",\"transactionHash\":", hash.as_slice());
            self.number(b",\"transactionIndex\":", index as u64);
            self.optional(b",\"txIndexInL1Batch\":", self.tx_number(index));
            self.number(b",\"logIndex\":", self.messages + within as u64);
            self.number(b",\"transactionLogIndex\":", within as u64);
            self.number(b",\"shardId\":", message.shard_id.into());
            self.text(if message.is_service {
                b",\"isService\":true"
            } else {
                b",\"isService\":false"
            });
            self.data(b",\"sender\":", message.sender);
            self.data(b",\"key\":", message.key);
            self.data(b",\"value\":", message.value);
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
