//! A simulated block: its roots and its hash, and its JSON with the results of its calls.

use alloy_consensus::{
    Eip658Value, Header, Receipt, ReceiptEnvelope, ReceiptWithBloom, Transaction, TxType,
    TypedTransaction,
};
use alloy_eips::eip2718::Encodable2718;
use alloy_eips::eip4844::DATA_GAS_PER_BLOB;
use alloy_primitives::{Address, B256, Bloom, Log, U256, keccak256, logs_bloom};
use alloy_trie::EMPTY_ROOT_HASH;
use alloy_trie::root::ordered_trie_root_encoded;
use revm::context::BlockEnv;
use revm::context_interface::result::ExecutionResult as RevmResult;

use entresol_core::evm::revert_reason::describe_revert;

use super::request::{FailureTexts, NextBlock};
use crate::header::{self, Body, put_block};
use crate::hex::{put_data, put_number};
use crate::logs::{LocatedLog, inclusion, log_context};
use crate::transaction::{Location, Payload, Rendered, Signature};

/// A simulated block.
pub(super) struct SimulatedBlock {
    pub header: Header,
    pub hash: B256,
    transactions: Vec<SimulatedTransaction>,
}

/// A call as an unsigned transaction, with its result.
pub(super) struct SimulatedTransaction {
    pub transaction: TypedTransaction,
    pub sender: Address,
    pub raw: Vec<u8>,
    pub hash: B256,
    pub result: RevmResult,
    /// Its logs with transfers of ETH, if they are wanted.
    pub logs: Option<Vec<Log>>,
}

impl SimulatedTransaction {
    /// The logs of a block; a call that failed has none.
    fn emitted(&self) -> &[Log] {
        if self.result.is_success() { self.result.logs() } else { &[] }
    }

    /// The logs of the response.
    fn shown(&self) -> &[Log] {
        match &self.logs {
            Some(logs) if self.result.is_success() => logs,
            _ => self.emitted(),
        }
    }

    fn receipt(&self, cumulative_gas_used: u64) -> ReceiptEnvelope {
        let logs = self.emitted().to_vec();
        let logs_bloom = logs_bloom(&logs);
        let status = Eip658Value::Eip658(self.result.is_success());
        let receipt =
            ReceiptWithBloom { receipt: Receipt { status, cumulative_gas_used, logs }, logs_bloom };
        match self.transaction.tx_type() {
            TxType::Legacy => ReceiptEnvelope::Legacy(receipt),
            TxType::Eip2930 => ReceiptEnvelope::Eip2930(receipt),
            TxType::Eip1559 => ReceiptEnvelope::Eip1559(receipt),
            TxType::Eip4844 => ReceiptEnvelope::Eip4844(receipt),
            TxType::Eip7702 => ReceiptEnvelope::Eip7702(receipt),
        }
    }

    fn put(&self, out: &mut Vec<u8>, location: &Location<'_>) {
        let parity = match &self.transaction {
            // Of a legacy transaction, `v` has the chain id.
            TypedTransaction::Legacy(it) => 35 + 2 * u128::from(it.chain_id.unwrap_or_default()),
            _ => 0,
        };
        let signature = Signature { v: parity, ..Signature::default() };
        let payload = Payload::Ethereum(&self.transaction, signature);
        Rendered { hash: self.hash, sender: self.sender, payload }.put(out, Some(location));
    }
}

impl SimulatedBlock {
    /// Close the block of `env` on top of `parent_hash`.
    pub(super) fn new(
        parent_hash: B256,
        env: &BlockEnv,
        state_root: B256,
        next: &NextBlock,
        transactions: Vec<SimulatedTransaction>,
    ) -> Self {
        let (mut gas_used, mut bloom, mut blobs) = (0, Bloom::ZERO, 0);
        let mut receipts = Vec::with_capacity(transactions.len());
        for transaction in &transactions {
            gas_used += transaction.result.tx_gas_used();
            let receipt = transaction.receipt(gas_used);
            bloom |= *receipt.logs_bloom();
            receipts.push(receipt.encoded_2718());
            let hashes = transaction.transaction.blob_versioned_hashes();
            blobs += hashes.map_or(0, <[_]>::len) as u64;
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
            withdrawals_root: next.withdrawals_root,
            blob_gas_used: next.excess_blob_gas.map(|_| DATA_GAS_PER_BLOB * blobs),
            excess_blob_gas: next.excess_blob_gas,
            parent_beacon_block_root: next.parent_beacon_block_root,
            requests_hash: next.requests_hash,
            ..Header::default()
        };
        let hash = keccak256(alloy_rlp::encode(&header));
        Self { header, hash, transactions }
    }

    /// Append the block as JSON, with transactions or their hashes.
    pub(super) fn put(&self, out: &mut Vec<u8>, texts: &FailureTexts, full: bool) {
        let inclusion = inclusion(self.hash, self.header.number, None);
        let mut transactions = vec![b'['];
        for (index, transaction) in self.transactions.iter().enumerate() {
            separate(&mut transactions, index);
            if full {
                let location = Location {
                    inclusion: &inclusion,
                    index: index as u64,
                    tx_number: None,
                    timestamp: self.header.timestamp,
                    base_fee: U256::from(self.header.base_fee_per_gas.unwrap_or_default()),
                };
                transaction.put(&mut transactions, &location);
            } else {
                put_data(&mut transactions, transaction.hash.as_slice());
            }
        }
        transactions.push(b']');
        let size = header::size(&self.header, self.transactions.iter().map(|it| &it.raw[..]));
        let body = Body { size, transactions: &transactions, batch: None };
        put_block(out, &self.header, Some(self.hash), &body);
        out.extend_from_slice(b",\"calls\":[");
        self.put_results(out, &inclusion, texts);
        out.extend_from_slice(b"]}");
    }

    fn put_results(&self, out: &mut Vec<u8>, inclusion: &[u8], texts: &FailureTexts) {
        let mut logs_before = 0;
        for (index, transaction) in self.transactions.iter().enumerate() {
            separate(out, index);
            let result = &transaction.result;
            let gas_used = result.tx_gas_used();
            // The data of a revert is part of its error.
            let output = if result.is_success() { result.output() } else { None };
            number(out, "{\"status\":", result.is_success().into());
            out.extend_from_slice(b",\"returnData\":");
            put_data(out, output.map_or(&[], |it| it));
            number(out, ",\"gasUsed\":", gas_used);
            number(out, ",\"maxUsedGas\":", result.gas().total_gas_spent().max(gas_used));
            out.extend_from_slice(b",\"logs\":[");
            let context = log_context(
                inclusion,
                self.header.timestamp,
                transaction.hash,
                index as u64,
                false,
            );
            for (within, log) in transaction.shown().iter().enumerate() {
                separate(out, within);
                let located = LocatedLog {
                    address: log.address.as_slice(),
                    topics: log.topics(),
                    data: &log.data.data,
                    index: logs_before + within as u64,
                    within: within as u64,
                };
                located.put(out, &context);
            }
            logs_before += transaction.shown().len() as u64;
            out.push(b']');
            texts.put(out, result);
            out.push(b'}');
        }
    }
}

impl FailureTexts {
    /// Append the `error` of a call that failed.
    fn put(&self, out: &mut Vec<u8>, result: &RevmResult) {
        let (code, text, data) = match result {
            RevmResult::Success { .. } => return,
            RevmResult::Revert { output, .. } => {
                let text = match describe_revert(output) {
                    None => self.reverted.clone(),
                    Some(reason) => format!("{}{reason}", self.reverted_because),
                };
                (self.revert_code, text, Some(output))
            }
            RevmResult::Halt { reason, .. } => (self.halt_code, reason.to_string(), None),
        };
        out.extend_from_slice(b",\"error\":{\"code\":");
        out.extend_from_slice(code.to_string().as_bytes());
        out.extend_from_slice(b",\"message\":");
        serde_json::to_writer(&mut *out, &text).expect("a text is written to memory");
        if let Some(data) = data {
            out.extend_from_slice(b",\"data\":");
            put_data(out, data);
        }
        out.push(b'}');
    }
}

fn root<T: AsRef<[u8]>>(items: &[T]) -> B256 {
    match items {
        [] => EMPTY_ROOT_HASH,
        items => ordered_trie_root_encoded(items),
    }
}

fn separate(out: &mut Vec<u8>, index: usize) {
    if index > 0 {
        out.push(b',');
    }
}

fn number(out: &mut Vec<u8>, member: &str, value: u64) {
    out.extend_from_slice(member.as_bytes());
    put_number(out, value);
}
