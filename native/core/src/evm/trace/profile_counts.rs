//! What a profile counts, and its text.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, FixedBytes};
use serde::{Serialize, Serializer};

/// What the text of the counts of an instruction takes at most.
const COUNT_TEXT_BYTES: usize = 80;

/// A code, and what ran of it.
#[derive(Debug)]
pub struct CodeCounts {
    pub hash: B256,
    pub code: Bytes,
    pub is_creation: bool,
    pub addresses: Vec<Address>,
    /// By the offset of the instruction.
    pub counts: Vec<Count>,
}

/// What an instruction has done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    pub executions: u64,
    /// Gas without that of the frames it has opened.
    pub gas: u64,
    /// Gas of the frames it has opened.
    pub calls: u64,
    /// How often it has jumped, if it is a conditional jump.
    pub taken: u64,
}

/// What frames are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FrameKey {
    pub code: usize,
    pub kind: &'static str,
    #[serde(serialize_with = "write_selector")]
    pub selector: Option<FixedBytes<4>>,
    /// The code that has called, if the frame runs in its account.
    pub via: Option<usize>,
    pub is_outermost: bool,
    pub failed: bool,
}

/// Frames that are counted together.
#[derive(Debug, Default)]
pub struct FrameCounts {
    /// The size of the largest code that they have deployed.
    pub size: usize,
    /// How many frames have used so much gas.
    pub gas: BTreeMap<u64, u64>,
}

impl CodeCounts {
    /// Return the count of an instruction, and add to `size` what it takes if it is a new one.
    pub fn count(&mut self, pc: usize, size: &mut usize) -> &mut Count {
        if pc >= self.counts.len() {
            let capacity = self.counts.capacity();
            self.counts.resize(pc + 1, Count::default());
            *size += (self.counts.capacity() - capacity) * size_of::<Count>();
        }
        let count = &mut self.counts[pc];
        if count.executions == 0 {
            *size += COUNT_TEXT_BYTES;
        }
        count
    }
}

impl FrameKey {
    /// A call, of which nothing else is known.
    pub const CALL: Self = Self {
        code: 0,
        kind: "CALL",
        selector: None,
        via: None,
        is_outermost: false,
        failed: false,
    };
}

/// What was counted, as its text has it.
#[derive(Serialize)]
pub struct Profile<'a> {
    pub codes: Vec<CodeProfile<'a>>,
    pub frames: Vec<FrameProfile>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CodeProfile<'a> {
    pub hash: B256,
    pub code: &'a Bytes,
    pub is_creation: bool,
    pub addresses: &'a [Address],
    /// Offset, executions and gas of the instructions that ran.
    pub steps: Vec<(usize, u64, u64)>,
    /// Offsets of calls and creations, with the gas of their frames.
    pub calls: Vec<(usize, u64)>,
    /// Offsets of conditional jumps, and how often they have jumped.
    pub taken: Vec<(usize, u64)>,
}

impl<'a> CodeProfile<'a> {
    pub fn of(code: &'a CodeCounts) -> Self {
        let ran = || code.counts.iter().enumerate().filter(|(_, count)| count.executions > 0);
        let some = |of: fn(&Count) -> u64| {
            ran().map(|(pc, count)| (pc, of(count))).filter(|(_, number)| *number > 0).collect()
        };
        Self {
            hash: code.hash,
            code: &code.code,
            is_creation: code.is_creation,
            addresses: &code.addresses,
            steps: ran().map(|(pc, count)| (pc, count.executions, count.gas)).collect(),
            calls: some(|count| count.calls),
            taken: some(|count| count.taken),
        }
    }
}

#[derive(Serialize)]
pub struct FrameProfile {
    #[serde(flatten)]
    pub key: FrameKey,
    pub size: usize,
    /// Gas that was used, and how many frames have used it.
    pub gas: Vec<(u64, u64)>,
}

impl FrameProfile {
    pub fn of(key: FrameKey, counts: &FrameCounts) -> Self {
        let gas = counts.gas.iter().map(|(gas, frames)| (*gas, *frames)).collect();
        Self { key, size: counts.size, gas }
    }
}

fn write_selector<S: Serializer>(
    selector: &Option<FixedBytes<4>>,
    out: S,
) -> Result<S::Ok, S::Error> {
    match selector {
        Some(selector) => selector.serialize(out),
        None => out.serialize_str("0x"),
    }
}
