//! A simulated block: its roots and its hash, and its JSON with the results of its calls.

use alloy_consensus::transaction::RlpEcdsaEncodableTx;
use alloy_consensus::{Eip658Value, Header, Receipt, ReceiptEnvelope, ReceiptWithBloom, TxEip1559};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{B256, Bloom, Signature, U256, keccak256, logs_bloom};
use alloy_rlp::Header as RlpHeader;
use alloy_trie::EMPTY_ROOT_HASH;
use alloy_trie::root::ordered_trie_root_encoded;
use revm::context::{BlockEnv, TxEnv};
use revm::context_interface::result::ExecutionResult as RevmResult;

use super::hex::{put_data, put_number};
use super::logs::{LocatedLog, inclusion, log_context};

/// A simulated block.
pub struct SimulatedBlock {
    header: Header,
    /// The length of the header in RLP.
    header_size: usize,
    /// Its hash.
    pub hash: B256,
    transactions: Vec<SimulatedTransaction>,
}

/// A call that succeeded, as an unsigned transaction.
pub struct SimulatedTransaction {
    raw: Vec<u8>,
    hash: B256,
    /// Its result.
    pub result: RevmResult,
}

impl SimulatedTransaction {
    /// Take the environment and the result of a call.
    pub fn new(tx: &TxEnv, result: RevmResult) -> Self {
        let unsigned = TxEip1559 {
            chain_id: tx.chain_id.unwrap_or_default(),
            nonce: tx.nonce,
            gas_limit: tx.gas_limit,
            to: tx.kind,
            value: tx.value,
            input: tx.data.clone(),
            ..TxEip1559::default()
        };
        let mut raw = Vec::with_capacity(256 + tx.data.len());
        unsigned.eip2718_encode(&Signature::new(U256::ZERO, U256::ZERO, false), &mut raw);
        Self { hash: keccak256(&raw), raw, result }
    }

    fn receipt(&self, cumulative_gas_used: u64) -> ReceiptWithBloom<Receipt> {
        let logs = self.result.logs().to_vec();
        let logs_bloom = logs_bloom(&logs);
        let status = Eip658Value::Eip658(true);
        ReceiptWithBloom { receipt: Receipt { status, cumulative_gas_used, logs }, logs_bloom }
    }
}

impl SimulatedBlock {
    /// Close the block of `env` on top of `parent_hash`.
    pub fn new(
        parent_hash: B256,
        env: &BlockEnv,
        state_root: B256,
        transactions: Vec<SimulatedTransaction>,
    ) -> Self {
        let (mut gas_used, mut bloom) = (0, Bloom::ZERO);
        let mut receipts = Vec::with_capacity(transactions.len());
        for transaction in &transactions {
            gas_used += transaction.result.tx_gas_used();
            let receipt = transaction.receipt(gas_used);
            bloom |= receipt.logs_bloom;
            receipts.push(ReceiptEnvelope::Eip1559(receipt).encoded_2718());
        }
        let raws: Vec<_> = transactions.iter().map(|it| &it.raw[..]).collect();
        let header = Header {
            parent_hash,
            beneficiary: env.beneficiary,
            state_root,
            transactions_root: root(&raws),
            receipts_root: root(&receipts),
            logs_bloom: bloom,
            number: env.number.saturating_to(),
            gas_limit: env.gas_limit,
            gas_used,
            timestamp: env.timestamp.saturating_to(),
            mix_hash: env.prevrandao.unwrap_or_default(),
            base_fee_per_gas: Some(env.basefee),
            ..Header::default()
        };
        let encoded = alloy_rlp::encode(&header);
        let (header_size, hash) = (encoded.len(), keccak256(&encoded));
        Self { header, header_size, hash, transactions }
    }

    /// The number of the block.
    pub fn number(&self) -> u64 {
        self.header.number
    }

    /// Append the block as JSON.
    pub fn put(&self, out: &mut Vec<u8>) {
        self.put_header(out);
        out.extend_from_slice(b",\"totalDifficulty\":\"0x0\",\"size\":");
        put_number(out, self.size() as u64);
        out.extend_from_slice(b",\"transactions\":[");
        for (index, transaction) in self.transactions.iter().enumerate() {
            separate(out, index);
            put_data(out, transaction.hash.as_slice());
        }
        out.extend_from_slice(b"],\"uncles\":[],\"sealFields\":[],\"l1BatchNumber\":null,");
        out.extend_from_slice(b"\"l1BatchTimestamp\":null,\"calls\":[");
        self.put_results(out);
        out.extend_from_slice(b"]}");
    }

    /// Append a brace and the members of the header.
    fn put_header(&self, out: &mut Vec<u8>) {
        let header = &self.header;
        number(out, "{\"number\":", header.number);
        data(out, ",\"hash\":", self.hash.as_slice());
        data(out, ",\"parentHash\":", header.parent_hash.as_slice());
        data(out, ",\"nonce\":", header.nonce.as_slice());
        data(out, ",\"sha3Uncles\":", header.ommers_hash.as_slice());
        data(out, ",\"logsBloom\":", header.logs_bloom.as_slice());
        data(out, ",\"transactionsRoot\":", header.transactions_root.as_slice());
        data(out, ",\"stateRoot\":", header.state_root.as_slice());
        data(out, ",\"receiptsRoot\":", header.receipts_root.as_slice());
        data(out, ",\"miner\":", header.beneficiary.as_slice());
        number(out, ",\"difficulty\":", header.difficulty.saturating_to());
        data(out, ",\"extraData\":", &header.extra_data);
        number(out, ",\"gasLimit\":", header.gas_limit);
        number(out, ",\"gasUsed\":", header.gas_used);
        number(out, ",\"timestamp\":", header.timestamp);
        data(out, ",\"mixHash\":", header.mix_hash.as_slice());
        number(out, ",\"baseFeePerGas\":", header.base_fee_per_gas.unwrap_or_default());
    }

    fn put_results(&self, out: &mut Vec<u8>) {
        let inclusion = inclusion(self.hash, self.header.number, None);
        let mut logs_before = 0;
        for (index, transaction) in self.transactions.iter().enumerate() {
            separate(out, index);
            let result = &transaction.result;
            data(out, "{\"status\":\"0x1\",\"returnData\":", result.output().map_or(&[], |it| it));
            number(out, ",\"gasUsed\":", result.tx_gas_used());
            let spent = result.gas().total_gas_spent().max(result.tx_gas_used());
            number(out, ",\"maxUsedGas\":", spent);
            out.extend_from_slice(b",\"logs\":[");
            let timestamp = self.header.timestamp;
            let context = log_context(&inclusion, timestamp, transaction.hash, index as u64);
            for (within, log) in (0..).zip(result.logs()) {
                separate(out, within);
                LocatedLog {
                    address: log.address.as_slice(),
                    topics: log.topics(),
                    data: &log.data.data,
                    index: logs_before + within as u64,
                    within: within as u64,
                }
                .put(out, &context);
            }
            logs_before += result.logs().len() as u64;
            out.extend_from_slice(b"]}");
        }
    }

    /// Return the size of the block in RLP: header, transactions, no ommers.
    fn size(&self) -> usize {
        let transactions = self.transactions.iter().map(|it| with_header(it.raw.len())).sum();
        with_header(self.header_size + with_header(transactions) + 1)
    }
}

fn with_header(payload_length: usize) -> usize {
    RlpHeader { list: true, payload_length }.length_with_payload()
}

fn root<T: AsRef<[u8]>>(items: &[T]) -> B256 {
    match items.is_empty() {
        true => EMPTY_ROOT_HASH,
        false => ordered_trie_root_encoded(items),
    }
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
