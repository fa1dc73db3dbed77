//! Limit on the memory of a trace.

use revm::interpreter::Interpreter;
use revm::interpreter::interpreter_types::{MemoryTr, ReturnData};
use revm_inspectors::tracing::{StackSnapshotType, TracingInspector};

use super::recorder::Recorder;
use crate::evm::limits::{LimitReached, LimitedContext, halt};

/// Bounds the memory of a trace: struct logs by the bytes written, the rest by an estimate.
///
/// The weights of the estimate are the sizes of the structures involved, rounded up: recorded, converted
/// and encoded. So the limit bounds the process's memory rather than the length of the response.
pub struct TraceLimit {
    limit: usize,
    used: usize,
    written: usize,
}

const STEP_BYTES: usize = 900;
const STACK_ITEM_BYTES: usize = 140;
const MEMORY_BYTES_PER_BYTE: usize = 6;
const FRAME_BYTES: usize = 2_000;
const DATA_BYTES_PER_BYTE: usize = 5;

impl TraceLimit {
    /// Allow `limit` bytes, or any number of them.
    pub fn new(limit: Option<usize>) -> Self {
        Self { limit: limit.unwrap_or(usize::MAX), used: 0, written: 0 }
    }

    /// Count a call, a creation or a log with `data` bytes.
    pub fn add_frame(&mut self, data: usize) {
        self.add(FRAME_BYTES + data * DATA_BYTES_PER_BYTE);
    }

    /// Count what `recorder` has written, and what it will record of a step.
    pub fn add_step(&mut self, recorder: &Recorder, step: &Interpreter) {
        let (mut recorded, mut written) = (0, 0);
        recorder.visit(&mut |it| match it {
            Recorder::StructLog(logger) => written += logger.size(),
            Recorder::Preimages(recorder) => written += recorder.size * DATA_BYTES_PER_BYTE,
            Recorder::Profile(profiler) => written += profiler.size(),
            Recorder::Frames(tracing, _) => recorded += step_bytes(tracing, step),
            _ => {}
        });
        self.written = written;
        self.add(recorded);
    }

    fn add(&mut self, bytes: usize) {
        self.used = self.used.saturating_add(bytes);
    }

    /// Halt the execution above the limit; return whether it goes on.
    pub fn check<C: LimitedContext>(&self, context: &mut C) -> bool {
        if self.used.saturating_add(self.written) > self.limit {
            halt(context, LimitReached::Trace);
            return false;
        }
        true
    }
}

fn step_bytes(tracing: &TracingInspector, step: &Interpreter) -> usize {
    let config = tracing.config();
    if !config.record_steps {
        return 0;
    }
    let mut bytes = STEP_BYTES;
    if config.record_stack_snapshots == StackSnapshotType::Full {
        bytes += step.stack.len() * STACK_ITEM_BYTES;
    }
    if config.record_memory_snapshots {
        bytes += step.memory.size() * MEMORY_BYTES_PER_BYTE;
    }
    if config.record_returndata_snapshots {
        bytes += step.return_data.buffer().len() * DATA_BYTES_PER_BYTE;
    }
    bytes
}
