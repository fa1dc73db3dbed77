//! Limit on the memory of a trace.

use alloy_primitives::Address;
use alloy_primitives::map::HashMap;
use revm::bytecode::opcode::{SLOAD, SSTORE};
use revm::interpreter::Interpreter;
use revm::interpreter::interpreter_types::{InputsTr, Jumps, ReturnData};
use revm_inspectors::tracing::{StackSnapshotType, TracingInspector};

use super::limits::{LimitReached, LimitedContext, halt};

/// Estimates the memory of a trace: recorded, converted and encoded as JSON.
///
/// The weights are the sizes of the structures involved, rounded up, so that the limit bounds the
/// process's memory rather than the length of the response.
pub struct TraceLimit {
    limit: usize,
    used: usize,
    steps: u64,
    /// Slots recorded for each contract: every storage step lists all of them.
    slots: HashMap<Address, usize>,
}

const STEP_BYTES: usize = 900;
const STACK_ITEM_BYTES: usize = 140;
const MEMORY_BYTES_PER_BYTE: usize = 6;
const SLOT_BYTES: usize = 340;
const FRAME_BYTES: usize = 2_000;
const DATA_BYTES_PER_BYTE: usize = 5;

impl TraceLimit {
    /// Allow `limit` bytes, or any number of them.
    pub fn new(limit: Option<usize>) -> Self {
        let limit = limit.unwrap_or(usize::MAX);
        Self { limit, used: 0, steps: 0, slots: HashMap::default() }
    }

    /// Count a call, a creation or a log with `data` bytes.
    pub fn add_frame(&mut self, data: usize) {
        self.add(FRAME_BYTES + data * DATA_BYTES_PER_BYTE);
    }

    /// Count a step, if `tracing` records it.
    pub fn add_step(&mut self, tracing: &TracingInspector, step: &Interpreter) {
        let config = tracing.config();
        if !config.record_steps || config.step_limit.is_some_and(|n| self.steps >= n.get()) {
            return;
        }
        self.steps += 1;
        let mut bytes = STEP_BYTES;
        if config.record_stack_snapshots != StackSnapshotType::None {
            bytes += step.stack.len() * STACK_ITEM_BYTES;
        }
        if config.record_memory_snapshots {
            bytes += step.memory.len() * MEMORY_BYTES_PER_BYTE;
        }
        if config.record_returndata_snapshots {
            bytes += step.return_data.buffer().len() * DATA_BYTES_PER_BYTE;
        }
        if config.record_state_diff && matches!(step.bytecode.opcode(), SLOAD | SSTORE) {
            let slots = self.slots.entry(step.input.target_address()).or_default();
            *slots += 1;
            bytes += *slots * SLOT_BYTES;
        }
        self.add(bytes);
    }

    fn add(&mut self, bytes: usize) {
        self.used = self.used.saturating_add(bytes);
    }

    /// Halt the execution above the limit; return whether it goes on.
    pub fn check<C: LimitedContext>(&self, context: &mut C) -> bool {
        if self.used > self.limit {
            halt(context, LimitReached::Trace);
            return false;
        }
        true
    }
}
