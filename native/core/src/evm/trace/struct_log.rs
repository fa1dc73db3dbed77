//! Struct logs: one JSON object for each step, written while the program runs.
//!
//! A step takes about 200 bytes of JSON and several times that as a structure, so no structure is kept.
//! Values and omissions are geth's.

use std::collections::BTreeMap;

use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, U256, hex};
use revm::Inspector;
use revm::bytecode::opcode::{OpCode, SLOAD, SSTORE};
use revm::context_interface::result::ExecutionResult;
use revm::context_interface::{ContextTr, JournalTr};
use revm::interpreter::interpreter_types::{InputsTr, Jumps, LoopControl, MemoryTr, ReturnData};
use revm::interpreter::{InstructionResult, Interpreter};
use serde::Deserialize;

/// What a struct log contains.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StructLogOptions {
    enable_memory: Option<bool>,
    disable_stack: Option<bool>,
    disable_storage: Option<bool>,
    enable_return_data: Option<bool>,
    /// Bytes of struct logs after which no more are written; 0 is no limit.
    limit: Option<i64>,
}

/// Writes struct logs.
#[derive(Debug)]
pub struct StructLogger {
    options: StructLogOptions,
    out: Vec<u8>,
    step: Option<Step>,
    /// The refund of the transaction at the last step of each depth.
    refunds: Vec<i64>,
    /// Slots that were read or written, by contract.
    storage: HashMap<Address, BTreeMap<U256, U256>>,
}

/// What the end of a step has to know of its beginning.
#[derive(Debug)]
struct Step {
    opcode: u8,
    gas: u64,
    slot: Option<U256>,
    value: Option<U256>,
}

const OPENING: &[u8] = b"{\"structLogs\":[";

impl StructLogger {
    /// Start with no logs.
    pub fn new(options: StructLogOptions) -> Self {
        Self {
            options,
            out: OPENING.to_vec(),
            step: None,
            refunds: Vec::new(),
            storage: HashMap::default(),
        }
    }

    /// The bytes written so far.
    pub fn size(&self) -> usize {
        self.out.len()
    }

    /// Return the trace of an execution that had this result.
    pub fn finish(&mut self, result: &ExecutionResult) -> Vec<u8> {
        let mut out = std::mem::take(&mut self.out);
        out.extend_from_slice(b"],\"gas\":");
        push_number(&mut out, result.tx_gas_used());
        out.extend_from_slice(b",\"failed\":");
        out.extend_from_slice(if result.is_success() { b"false" } else { b"true" });
        out.extend_from_slice(b",\"returnValue\":");
        push_data(&mut out, result.output().map(AsRef::as_ref).unwrap_or_default());
        out.push(b'}');
        out
    }

    fn is_full(&self) -> bool {
        let limit = usize::try_from(self.options.limit.unwrap_or_default()).unwrap_or_default();
        limit != 0 && self.out.len() - OPENING.len() > limit
    }

    fn begin(&mut self, step: &Interpreter, depth: usize) {
        let opcode = step.bytecode.opcode();
        let out = &mut self.out;
        out.extend_from_slice(if out.len() == OPENING.len() { b"{\"pc\":" } else { b",{\"pc\":" });
        push_number(out, step.bytecode.pc() as u64);
        out.extend_from_slice(b",\"op\":\"");
        push_name(out, opcode);
        out.extend_from_slice(b"\",\"gas\":");
        push_number(out, step.gas.remaining());
        out.extend_from_slice(b",\"depth\":");
        push_number(out, depth as u64);
        if !self.options.disable_stack.unwrap_or_default() {
            push_list(out, b",\"stack\":[", step.stack.data(), push_quantity);
        }
        let returned = step.return_data.buffer();
        if self.options.enable_return_data.unwrap_or_default() && !returned.is_empty() {
            out.extend_from_slice(b",\"returnData\":");
            push_data(out, returned);
        }
        if self.options.enable_memory.unwrap_or_default() && step.memory.size() > 0 {
            let memory = step.memory.slice(0..step.memory.size());
            let words = memory.as_chunks::<32>().0;
            push_list(out, b",\"memory\":[", words, |out, word| push_data(out, word));
        }
        let refund = self.refund(depth, step.gas.refunded());
        if refund > 0 {
            self.out.extend_from_slice(b",\"refund\":");
            push_number(&mut self.out, refund as u64);
        }
        let is_storage =
            matches!(opcode, SLOAD | SSTORE) && !self.options.disable_storage.unwrap_or_default();
        self.step = Some(Step {
            opcode,
            gas: step.gas.remaining(),
            slot: step.stack.peek(0).ok().filter(|_| is_storage),
            value: step.stack.peek(1).ok(),
        });
    }

    /// Return the refund of the whole transaction: that of this frame, and of those above it.
    fn refund(&mut self, depth: usize, refunded: i64) -> i64 {
        let above = depth.saturating_sub(1);
        self.refunds.resize(above, 0);
        let total = self.refunds.last().copied().unwrap_or_default() + refunded;
        self.refunds.push(total);
        total
    }

    fn end(&mut self, begun: Step, step: &mut Interpreter) {
        let out = &mut self.out;
        out.extend_from_slice(b",\"gasCost\":");
        push_number(out, begun.gas.saturating_sub(step.gas.remaining()));
        let ended = step.bytecode.action().as_ref().and_then(|action| action.instruction_result());
        if let Some(text) = ended.and_then(error_text) {
            out.extend_from_slice(b",\"error\":\"");
            out.extend_from_slice(text.as_bytes());
            out.push(b'"');
        }
        let is_failed = ended.is_some_and(|result| result.is_halt());
        let value = match begun.opcode {
            SLOAD => step.stack.peek(0).ok().filter(|_| !is_failed),
            _ => begun.value,
        };
        if let Some(slot) = begun.slot {
            let slots = self.storage.entry(step.input.target_address()).or_default();
            if let Some(value) = value {
                slots.insert(slot, value);
            }
            if !slots.is_empty() {
                push_storage(out, slots);
            }
        }
        out.push(b'}');
    }
}

impl<C: ContextTr> Inspector<C> for StructLogger {
    fn step(&mut self, step: &mut Interpreter, context: &mut C) {
        if !self.is_full() {
            self.begin(step, context.journal().depth());
        }
    }

    fn step_end(&mut self, step: &mut Interpreter, _: &mut C) {
        if let Some(begun) = self.step.take() {
            self.end(begun, step);
        }
    }
}

fn push_storage(out: &mut Vec<u8>, slots: &BTreeMap<U256, U256>) {
    push_list(out, b",\"storage\":{", slots, |out, (slot, value)| {
        push_data(out, &slot.to_be_bytes::<32>());
        out.push(b':');
        push_data(out, &value.to_be_bytes::<32>());
    });
    if let Some(bracket) = out.last_mut() {
        *bracket = b'}';
    }
}

fn push_list<T>(
    out: &mut Vec<u8>,
    opening: &[u8],
    items: impl IntoIterator<Item = T>,
    push: impl Fn(&mut Vec<u8>, T),
) {
    out.extend_from_slice(opening);
    let start = out.len();
    for item in items {
        push(out, item);
        out.push(b',');
    }
    if out.len() > start {
        out.pop();
    }
    out.push(b']');
}

fn push_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

fn push_quantity(out: &mut Vec<u8>, number: &U256) {
    let mut digits = [0; 64];
    // It only fails if the sizes do not match.
    let _ = hex::encode_to_slice(number.to_be_bytes::<32>(), &mut digits);
    let first = (number.leading_zeros() / 4).min(digits.len() - 1);
    out.extend_from_slice(b"\"0x");
    out.extend_from_slice(&digits[first..]);
    out.push(b'"');
}

fn push_data(out: &mut Vec<u8>, data: &[u8]) {
    out.extend_from_slice(b"\"0x");
    let start = out.len();
    out.resize(start + 2 * data.len(), 0);
    let _ = hex::encode_to_slice(data, &mut out[start..]);
    out.push(b'"');
}

fn push_name(out: &mut Vec<u8>, opcode: u8) {
    match OpCode::new(opcode) {
        Some(known) => out.extend_from_slice(known.as_str().as_bytes()),
        None => out.extend_from_slice(format!("opcode {opcode:#x} not defined").as_bytes()),
    }
}

/// Return geth's words for a step that failed; a revert is not a failure of its step.
fn error_text(result: InstructionResult) -> Option<&'static str> {
    use InstructionResult as Result;
    let text = match result {
        Result::StackUnderflow => "stack underflow",
        Result::StackOverflow => "stack limit reached 1024 (1023)",
        Result::InvalidJump => "invalid jump destination",
        Result::InvalidFEOpcode | Result::OpcodeNotFound | Result::NotActivated => "invalid opcode",
        Result::StateChangeDuringStaticCall | Result::CallNotAllowedInsideStatic => {
            "write protection"
        }
        Result::OutOfOffset => "return data out of bounds",
        Result::CreateInitCodeSizeLimit => "max initcode size exceeded",
        Result::OutOfGas
        | Result::MemoryOOG
        | Result::MemoryLimitOOG
        | Result::PrecompileOOG
        | Result::InvalidOperandOOG
        | Result::ReentrancySentryOOG => "out of gas",
        other if other.is_halt() => "execution failed",
        _ => return None,
    };
    Some(text)
}
