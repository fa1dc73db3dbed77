//! `eth_feeHistory`: the fees of blocks in memory, and their JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_consensus::Transaction;
use alloy_primitives::U256;

use entresol_core::blobs::BlobPrices;
use entresol_core::record::Layout;
use entresol_core::transaction::{self, SYSTEM_TYPE};

use crate::hex::{self, put_number};

/// The tip in a block without transactions.
const NO_TIP: &str = "\"0x0\"";

/// What a block contributes to a fee history; the texts are JSON.
#[derive(Debug)]
pub struct BlockFees {
    /// The base fees.
    pub base_fees: BaseFees,
    /// How full the block is.
    pub gas_used_ratio: Box<str>,
    /// Gas that the transactions with a tip used, be it 0.
    pub gas_used: u64,
    /// The tips of the transactions, the lowest first.
    pub tips: Box<[Tip]>,
    /// Which part of its blobs the block has.
    pub blob_gas_used_ratio: Box<str>,
}

/// The base fees of a block, as JSON.
#[derive(Clone, Debug)]
pub struct BaseFees {
    gas: Box<str>,
    blob_gas: Box<str>,
}

impl BaseFees {
    /// Render base fees per gas and per blob gas.
    pub fn new(gas: U256, blob_gas: U256) -> Self {
        Self { gas: text(gas), blob_gas: text(blob_gas) }
    }
}

/// The tip of a transaction, as JSON, and the gas that the transaction used.
#[derive(Debug)]
pub struct Tip {
    wei: Box<str>,
    gas: u64,
}

impl Tip {
    /// Render a tip.
    pub fn new(wei: U256, gas: u64) -> Self {
        Self { wei: text(wei), gas }
    }
}

fn ratio(value: f64) -> Box<str> {
    serde_json::to_string(&value).expect("a finite number").into()
}

fn text(quantity: U256) -> Box<str> {
    String::from_utf8(hex::render(quantity)).expect("digits").into()
}

impl BlockFees {
    /// Read the fees of a block from its stored record; None if that cannot be read.
    pub fn read(layout: &Layout, stored: &[u8], blobs: &BlobPrices) -> Option<Self> {
        let record = layout.open(stored)?;
        let header = record.header_fields()?;
        let base_fee = header.base_fee_per_gas?;
        let results = layout.results(&record)?;
        let mut tips = Vec::with_capacity(results.len());
        for ((raw, sender), result) in layout.transactions(&record)?.into_iter().zip(&results) {
            let tip = match *raw.first()? {
                1..=4 | 0xc0..0xfe => {
                    let decoded = transaction::decode(raw, Some(sender)).ok()?;
                    decoded.transaction.effective_tip_per_gas(base_fee).unwrap_or_default()
                }
                // It competes with nobody, so it says nothing about what others pay.
                SYSTEM_TYPE => continue,
                // Those of zkSync's types never pay one.
                _ => 0,
            };
            tips.push((tip, result.gas_used));
        }
        tips.sort_unstable();
        let (gas_used, gas_limit) = (header.gas_used as f64, header.gas_limit.max(1) as f64);
        let blob_base_fee = blobs.base_fee(header.excess_blob_gas).unwrap_or_default();
        Some(Self {
            base_fees: BaseFees::new(U256::from(base_fee), U256::from(blob_base_fee)),
            // Blocks from before their gas limit covered every priority transaction may use more.
            gas_used_ratio: ratio((gas_used / gas_limit).min(1.0)),
            gas_used: tips.iter().map(|(_, gas)| gas).sum(),
            tips: tips.into_iter().map(|(tip, gas)| Tip::new(U256::from(tip), gas)).collect(),
            blob_gas_used_ratio: ratio(blobs.used_ratio(header.blob_gas_used)),
        })
    }

    fn size(&self) -> usize {
        let ratios = self.gas_used_ratio.len() + self.blob_gas_used_ratio.len();
        let base_fees = self.base_fees.gas.len() + self.base_fees.blob_gas.len();
        let tips = self.tips.iter().map(|tip| size_of::<Tip>() + tip.wei.len() + 16);
        size_of::<Self>() + ratios + base_fees + tips.sum::<usize>() + 128
    }

    /// Write the tips at `percentiles`, which do not fall, of the gas used.
    fn write_tips(&self, percentiles: &[f64], out: &mut Vec<u8>) {
        let mut tips = self.tips.iter();
        let (mut wei, mut gas) = tips.next().map_or((NO_TIP, 0), |tip| (&*tip.wei, tip.gas));
        let mut passed = 0u64;
        separated(out, percentiles, |out, percentile| {
            let threshold = self.gas_used as f64 * percentile / 100.0;
            while ((passed + gas) as f64) < threshold
                && let Some(next) = tips.next()
            {
                passed += gas;
                (wei, gas) = (&next.wei, next.gas);
            }
            out.extend_from_slice(wei.as_bytes());
        });
    }
}

/// The fees of blocks, up to a number of bytes; the oldest blocks leave first.
#[derive(Debug)]
pub struct FeeHistory {
    blocks: BTreeMap<u64, Arc<BlockFees>>,
    bytes: usize,
    capacity: usize,
    /// How often blocks were removed because they are reverted.
    pub generation: u64,
}

impl FeeHistory {
    /// Hold at most `capacity` bytes.
    pub fn new(capacity: usize) -> Self {
        Self { blocks: BTreeMap::new(), bytes: 0, capacity, generation: 0 }
    }

    /// Return the fees of the blocks from `first` to `last`, with None for those that are not in memory.
    pub fn get(&self, first: u64, last: u64) -> Vec<Option<Arc<BlockFees>>> {
        let mut known = self.blocks.range(first..=last).peekable();
        let number_of = |it: u64| known.next_if(|(number, _)| **number == it);
        (first..=last).map(number_of).map(|it| it.map(|(_, fees)| Arc::clone(fees))).collect()
    }

    /// Return the fees of `count` blocks from `first` on, if all of them are in memory.
    pub fn get_all(&self, first: u64, count: u64) -> Option<Vec<&BlockFees>> {
        let known = self.blocks.range(first..first + count).map(|(_, fees)| &**fees);
        Some(known.collect::<Vec<_>>()).filter(|it| it.len() as u64 == count)
    }

    /// Insert the fees of a block, unless blocks were reverted since `generation`.
    pub fn insert(&mut self, number: u64, fees: Arc<BlockFees>, generation: u64) {
        if generation != self.generation {
            return;
        }
        self.bytes += fees.size();
        if let Some(old) = self.blocks.insert(number, fees) {
            self.bytes -= old.size();
        }
        while self.bytes > self.capacity
            && let Some((_, oldest)) = self.blocks.pop_first()
        {
            self.bytes -= oldest.size();
        }
    }

    /// Remove the blocks above `number`, which are reverted.
    pub fn remove_above(&mut self, number: Option<u64>) {
        let removed = self.blocks.split_off(&number.map_or(0, |number| number + 1));
        self.bytes -= removed.values().map(|fees| fees.size()).sum::<usize>();
        self.generation += 1;
    }

    /// Return the size of what is in memory, in bytes.
    pub fn size(&self) -> usize {
        self.bytes
    }
}

/// Return the fee history of consecutive blocks as JSON; `next` are the fees of the block after them.
pub fn render(oldest: u64, blocks: &[&BlockFees], next: &BaseFees, percentiles: &[f64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(256 + blocks.len() * (64 + 16 * percentiles.len()));
    out.extend_from_slice(b"{\"oldestBlock\":");
    put_number(&mut out, oldest);
    out.extend_from_slice(b",\"baseFeePerGas\":[");
    for block in blocks {
        out.extend_from_slice(block.base_fees.gas.as_bytes());
        out.push(b',');
    }
    out.extend_from_slice(next.gas.as_bytes());
    out.extend_from_slice(b"],\"gasUsedRatio\":[");
    separated(&mut out, blocks, |out, it| out.extend_from_slice(it.gas_used_ratio.as_bytes()));
    out.extend_from_slice(b"],\"reward\":[");
    separated(&mut out, blocks, |out, block| {
        out.push(b'[');
        block.write_tips(percentiles, out);
        out.push(b']');
    });
    out.extend_from_slice(b"],\"baseFeePerBlobGas\":[");
    for block in blocks {
        out.extend_from_slice(block.base_fees.blob_gas.as_bytes());
        out.push(b',');
    }
    out.extend_from_slice(next.blob_gas.as_bytes());
    out.extend_from_slice(b"],\"blobGasUsedRatio\":[");
    separated(&mut out, blocks, |out, it| {
        out.extend_from_slice(it.blob_gas_used_ratio.as_bytes());
    });
    out.extend_from_slice(b"]}");
    out
}

fn separated<T>(out: &mut Vec<u8>, items: &[T], mut write: impl FnMut(&mut Vec<u8>, &T)) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fees(tips: &[(u64, u64)]) -> Arc<BlockFees> {
        Arc::new(BlockFees {
            base_fees: BaseFees::new(U256::from(7), U256::ONE),
            gas_used_ratio: "0.5".into(),
            gas_used: tips.iter().map(|(_, gas)| gas).sum(),
            tips: tips.iter().map(|(tip, gas)| Tip::new(U256::from(*tip), *gas)).collect(),
            blob_gas_used_ratio: "0.0".into(),
        })
    }

    #[test]
    fn tips_are_those_at_percentiles_of_gas() {
        let mut out = Vec::new();
        fees(&[(1, 10), (2, 80), (3, 10)]).write_tips(&[0.0, 10.0, 10.5, 90.0, 100.0], &mut out);
        assert_eq!(out, br#""0x1","0x1","0x2","0x2","0x3""#);
    }

    #[test]
    fn an_empty_block_has_no_tips() {
        let mut out = Vec::new();
        fees(&[]).write_tips(&[0.0, 100.0], &mut out);
        assert_eq!(out, br#""0x0","0x0""#);
    }

    #[test]
    fn the_history_is_rendered_as_clients_read_it() {
        let next = BaseFees::new(U256::from(8), U256::from(2));
        let text = render(16, &[&fees(&[(9, 1)])], &next, &[50.0]);
        let expected = concat!(
            r#"{"oldestBlock":"0x10","baseFeePerGas":["0x7","0x8"],"gasUsedRatio":[0.5],"#,
            r#""reward":[["0x9"]],"baseFeePerBlobGas":["0x1","0x2"],"blobGasUsedRatio":[0.0]}"#
        );
        assert_eq!(text, expected.as_bytes());
    }

    #[test]
    fn the_oldest_blocks_leave_a_full_memory_first() {
        let size = fees(&[]).size();
        let mut history = FeeHistory::new(3 * size);
        for number in [5, 1, 4, 3] {
            history.insert(number, fees(&[]), 0);
        }
        let known: Vec<_> = history.get(1, 5).iter().map(Option::is_some).collect();
        assert_eq!(known, [false, false, true, true, true]);
        assert!(history.get_all(3, 3).is_some());
        assert!(history.get_all(2, 3).is_none());
        assert_eq!(history.size(), 3 * size);
    }

    #[test]
    fn what_was_read_before_a_revert_is_not_inserted() {
        let mut history = FeeHistory::new(1 << 20);
        history.insert(1, fees(&[]), 0);
        history.insert(2, fees(&[]), 0);
        history.remove_above(Some(1));
        history.insert(2, fees(&[]), 0);
        let known: Vec<_> = history.get(1, 2).iter().map(Option::is_some).collect();
        assert_eq!(known, [true, false]);
        history.remove_above(None);
        assert_eq!(history.size(), 0);
    }
}
