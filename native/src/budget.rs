//! The memory that a trace may take.

use alloy_primitives::Address;
use alloy_primitives::map::HashMap;
use revm::bytecode::opcode::{SLOAD, SSTORE};
use revm::interpreter::Interpreter;
use revm::interpreter::interpreter_types::{InputsTr, Jumps, ReturnData};
use revm_inspectors::tracing::{StackSnapshotType, TracingInspector};

use crate::watch::{Stop, Watched, halt};

/// Counts the bytes that a trace takes: recorded, turned into answers, and printed.
///
/// The weights were taken from the sizes of the structures involved, rounded up, so that the limit
/// bounds the process's memory rather than the length of the answer.
pub struct Budget {
    limit: usize,
    taken: usize,
    steps: u64,
    /// How many slots each contract's storage shows, since every storage step prints them all.
    slots: HashMap<Address, usize>,
}

const STEP_BYTES: usize = 900;
const STACK_ITEM_BYTES: usize = 140;
const MEMORY_BYTES_PER_BYTE: usize = 6;
const SLOT_BYTES: usize = 340;
const FRAME_BYTES: usize = 2_000;
const DATA_BYTES_PER_BYTE: usize = 5;

impl Budget {
    /// Allow `limit` bytes, or any number.
    pub fn new(limit: Option<usize>) -> Self {
        let limit = limit.unwrap_or(usize::MAX);
        Self { limit, taken: 0, steps: 0, slots: HashMap::default() }
    }

    /// Take what a call, a creation or a log with so much data needs.
    pub fn take_frame(&mut self, data: usize) {
        self.take(FRAME_BYTES + data * DATA_BYTES_PER_BYTE);
    }

    /// Take what one step needs, if `tracing` records it.
    pub fn take_step(&mut self, tracing: &TracingInspector, step: &Interpreter) {
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
        self.take(bytes);
    }

    fn take(&mut self, bytes: usize) {
        self.taken = self.taken.saturating_add(bytes);
    }

    /// Stop the execution if more was taken than allowed, and say whether it goes on.
    pub fn check<C: Watched>(&self, context: &mut C) -> bool {
        if self.taken > self.limit {
            halt(context, Stop::Trace);
            return false;
        }
        true
    }
}
