//! A profile: how often each instruction of each code ran, and its gas.
//!
//! It counts instead of listing steps, so that its size depends on the codes that run and not on how long they do.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, B256, FixedBytes};
use revm::Inspector;
use revm::bytecode::opcode::JUMPI;
use revm::context_interface::{ContextTr, CreateScheme};
use revm::interpreter::interpreter_types::Jumps;
use revm::interpreter::{
    CallInputs, CallOutcome, CallScheme, CreateInputs, CreateOutcome, Interpreter,
    InterpreterResult,
};
use serde::Serialize;

use super::profile_counts::{
    CodeCounts, CodeProfile, FrameCounts, FrameKey, FrameProfile, Profile,
};

/// The accounts of a code that are listed; of more, the first ones are.
const MAX_ADDRESSES: usize = 8;
/// What a code takes beside its bytes and counts, in bytes, and what the text of each of its bytes takes.
const CODE_BYTES: usize = 500;
const TEXT_BYTES_PER_BYTE: usize = 3;
/// What a row of frames takes, and each amount of gas in it.
const ROW_BYTES: usize = 200;
const AMOUNT_BYTES: usize = 60;
/// Counts what an execution does.
#[derive(Debug, Default)]
pub struct Profiler {
    codes: Vec<CodeCounts>,
    numbers: HashMap<(B256, bool), usize>,
    rows: BTreeMap<FrameKey, FrameCounts>,
    /// The frames that are open.
    frames: Vec<Frame>,
    size: usize,
}

/// An open call frame.
#[derive(Debug)]
struct Frame {
    key: FrameKey,
    address: Address,
    gas_limit: u64,
    /// The code, once it begins to run.
    code: Option<usize>,
    /// The offset of the last instruction, and the gas that was left before it.
    last: Option<(usize, u64)>,
    /// Gas of the frames that it has opened.
    calls: u64,
}

impl Profiler {
    /// The bytes that it takes, and that its text will.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Return what was counted.
    pub fn profile(&self) -> impl Serialize + '_ {
        let codes = self.codes.iter().map(CodeProfile::of).collect();
        let frames = self.rows.iter().map(|(key, counts)| FrameProfile::of(*key, counts)).collect();
        Profile { codes, frames }
    }

    fn open(&mut self, key: FrameKey, address: Address, gas_limit: u64) {
        let is_outermost = self.frames.iter().all(|frame| frame.code.is_none());
        let key = FrameKey { is_outermost, ..key };
        self.frames.push(Frame { key, address, gas_limit, code: None, last: None, calls: 0 });
    }

    fn close(&mut self, result: &InterpreterResult, created: Option<Address>) {
        let Some(mut frame) = self.frames.pop() else { return };
        let is_kept = result.result.is_ok_or_revert();
        let left = if is_kept { result.gas.remaining() } else { 0 };
        frame.settle(&mut self.codes, left);
        let used = frame.gas_limit.saturating_sub(left);
        if let Some(above) = self.frames.last_mut() {
            above.calls = above.calls.saturating_add(used);
        }
        let Some(code) = frame.code else { return };
        self.add_address(code, created.unwrap_or(frame.address));
        let failed = !result.result.is_ok();
        let size = if created.is_some() && !failed { result.output.len() } else { 0 };
        self.add_frame(FrameKey { code, failed, ..frame.key }, used, size);
    }

    fn add_frame(&mut self, key: FrameKey, used: u64, size: usize) {
        let row = match self.rows.entry(key) {
            Entry::Occupied(row) => row.into_mut(),
            Entry::Vacant(row) => {
                self.size += ROW_BYTES;
                row.insert(FrameCounts::default())
            }
        };
        row.size = row.size.max(size);
        let amounts = row.gas.len();
        *row.gas.entry(used).or_default() += 1;
        self.size += (row.gas.len() - amounts) * AMOUNT_BYTES;
    }

    fn add_address(&mut self, code: usize, address: Address) {
        let addresses = &mut self.codes[code].addresses;
        if addresses.len() < MAX_ADDRESSES && !address.is_zero() && !addresses.contains(&address) {
            addresses.push(address);
        }
    }

    /// Return the number of a code, which is a new one if it did not run before.
    fn number_of(&mut self, step: &mut Interpreter, is_creation: bool) -> usize {
        let hash = step.bytecode.get_or_calculate_hash();
        if let Some(number) = self.numbers.get(&(hash, is_creation)) {
            return *number;
        }
        let code = step.bytecode.original_bytes();
        self.size += CODE_BYTES + code.len() * TEXT_BYTES_PER_BYTE;
        self.codes.push(CodeCounts {
            hash,
            code,
            is_creation,
            addresses: Vec::new(),
            counts: Vec::new(),
        });
        self.numbers.insert((hash, is_creation), self.codes.len() - 1);
        self.codes.len() - 1
    }
}

impl Frame {
    /// Count the gas of the last instruction, after which so much is left.
    fn settle(&mut self, codes: &mut [CodeCounts], left: u64) {
        let (Some(code), Some((pc, before))) = (self.code, self.last.take()) else { return };
        let count = &mut codes[code].counts[pc];
        let cost = before.saturating_sub(left);
        // A stipend makes the two differ, but what opens a frame with one costs more than it.
        let calls = std::mem::take(&mut self.calls).min(cost);
        count.gas += cost - calls;
        count.calls += calls;
    }
}

impl<C: ContextTr> Inspector<C> for Profiler {
    fn initialize_interp(&mut self, step: &mut Interpreter, _: &mut C) {
        let Some(frame) = self.frames.last() else { return };
        let is_creation = frame.key.kind.starts_with("CREATE");
        let number = self.number_of(step, is_creation);
        if let Some(frame) = self.frames.last_mut() {
            frame.code = Some(number);
        }
    }

    fn step(&mut self, step: &mut Interpreter, _: &mut C) {
        let Some(frame) = self.frames.last_mut() else { return };
        let Some(code) = frame.code else { return };
        let (pc, left) = (step.bytecode.pc(), step.gas.remaining());
        frame.settle(&mut self.codes, left);
        let is_taken = step.bytecode.opcode() == JUMPI
            && step.stack.peek(1).is_ok_and(|condition| !condition.is_zero());
        let count = self.codes[code].count(pc, &mut self.size);
        count.executions += 1;
        count.taken += u64::from(is_taken);
        frame.last = Some((pc, left));
    }

    fn call(&mut self, context: &mut C, inputs: &mut CallInputs) -> Option<CallOutcome> {
        let (kind, is_delegated) = match inputs.scheme {
            CallScheme::Call => ("CALL", false),
            CallScheme::CallCode => ("CALLCODE", true),
            CallScheme::DelegateCall => ("DELEGATECALL", true),
            CallScheme::StaticCall => ("STATICCALL", false),
        };
        let via = self.frames.last().and_then(|frame| frame.code).filter(|_| is_delegated);
        let input = inputs.input.as_bytes(context);
        let selector = input.first_chunk().copied().map(FixedBytes);
        drop(input);
        let key = FrameKey { kind, selector, via, ..FrameKey::CALL };
        self.open(key, inputs.bytecode_address, inputs.gas_limit);
        None
    }

    fn call_end(&mut self, _: &mut C, _: &CallInputs, outcome: &mut CallOutcome) {
        self.close(&outcome.result, None);
    }

    fn create(&mut self, _: &mut C, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        let is_create2 = matches!(inputs.scheme(), CreateScheme::Create2 { .. });
        let kind = if is_create2 { "CREATE2" } else { "CREATE" };
        let key = FrameKey { kind, ..FrameKey::CALL };
        self.open(key, Address::ZERO, inputs.gas_limit());
        None
    }

    fn create_end(&mut self, _: &mut C, _: &CreateInputs, outcome: &mut CreateOutcome) {
        self.close(&outcome.result, outcome.address.or(Some(Address::ZERO)));
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, keccak256};
    use revm::bytecode::opcode::*;
    use serde_json::{Value, json};

    use crate::evm::env::ExecutionEnv;
    use crate::evm::execute;
    use crate::evm::trace::{Position, Tracer};
    use crate::testing::{CONTRACT, World, transaction};

    const INNER: Address = Address::repeat_byte(0xc1);
    /// Counts down from three.
    const COUNTDOWN: &[u8] = &[PUSH1, 3, JUMPDEST, PUSH1, 1, SWAP1, SUB, DUP1, PUSH1, 2, JUMPI];

    /// Return the code of a call of the inner contract with all gas, and of what follows.
    fn calling(opcode: u8, then: &[u8]) -> Vec<u8> {
        let has_value = matches!(opcode, CALL | CALLCODE);
        let mut code = vec![PUSH0; if has_value { 5 } else { 4 }];
        code.push(PUSH20);
        code.extend_from_slice(INNER.as_slice());
        code.extend_from_slice(&[GAS, opcode]);
        code.extend_from_slice(then);
        code
    }

    fn profile_of(world: World, env: &ExecutionEnv) -> (Value, u64) {
        let (_, snapshot) = world.snapshot();
        let options = br#"{"ownTracer":"profileTracer"}"#;
        let tracer = Tracer::parse(options, Position::default()).unwrap();
        let result = execute(snapshot.as_ref(), env, Some(&tracer)).unwrap();
        let used = result.result.gas().total_gas_spent();
        (serde_json::from_slice(&result.trace.unwrap()).unwrap(), used)
    }

    fn profile(code: &[u8], inner: Option<&[u8]>) -> Value {
        let mut world = World::with_contract(code);
        if let Some(inner) = inner {
            world.put_code(INNER, inner);
        }
        profile_of(world, &transaction(0)).0
    }

    fn sum(rows: &Value, column: usize) -> u64 {
        rows.as_array().unwrap().iter().map(|row| row[column].as_u64().unwrap()).sum()
    }

    #[test]
    fn each_instruction_is_counted_with_its_gas() {
        let profile = profile(COUNTDOWN, None);
        let code = &profile["codes"][0];
        assert_eq!(code["hash"], keccak256(COUNTDOWN).to_string());
        assert_eq!(code["addresses"], json!([CONTRACT]));
        let steps = json!([
            [0, 1, 3],
            [2, 3, 3],
            [3, 3, 9],
            [5, 3, 9],
            [6, 3, 9],
            [7, 3, 9],
            [8, 3, 9],
            [10, 3, 30],
            [11, 1, 0]
        ]);
        assert_eq!(code["steps"], steps);
    }

    #[test]
    fn conditional_jumps_are_counted_if_they_jump() {
        assert_eq!(profile(COUNTDOWN, None)["codes"][0]["taken"], json!([[10, 2]]));
    }

    #[test]
    fn the_gas_of_all_instructions_is_that_of_the_transaction() {
        for (inner, then) in [
            (COUNTDOWN, &[] as &[u8]),
            (&[INVALID], &[INVALID]),
            (&[PUSH0, PUSH0, REVERT], &[PUSH0, PUSH0, REVERT]),
        ] {
            for opcode in [CALL, CALLCODE, DELEGATECALL, STATICCALL] {
                let mut world = World::with_contract(&calling(opcode, then));
                world.put_code(INNER, inner);
                let (profile, used) = profile_of(world, &transaction(0));
                let outer = &profile["codes"][0];
                assert_eq!(sum(&outer["steps"], 2) + sum(&outer["calls"], 1), used - 21_000);
                let inner = &profile["codes"][1];
                assert_eq!(sum(&inner["steps"], 2), sum(&outer["calls"], 1));
            }
        }
    }

    #[test]
    fn a_stipend_is_gas_that_the_caller_gets_back() {
        let mut code = vec![PUSH0, PUSH0, PUSH0, PUSH0, PUSH1, 1, PUSH20];
        code.extend_from_slice(INNER.as_slice());
        code.extend_from_slice(&[GAS, CALL]);
        let mut world = World::with_contract(&code);
        world.accounts.get_mut(&CONTRACT).unwrap().balance = alloy_primitives::U256::from(1);
        world.put_code(INNER, COUNTDOWN);
        let (profile, used) = profile_of(world, &transaction(0));
        let outer = &profile["codes"][0];
        assert_eq!(sum(&outer["steps"], 2) + sum(&outer["calls"], 1), used - 21_000);
    }

    #[test]
    fn frames_are_counted_by_code_kind_and_selector() {
        let mut world = World::with_contract(&calling(DELEGATECALL, &calling(DELEGATECALL, &[])));
        world.put_code(INNER, COUNTDOWN);
        let mut env = transaction(0);
        env.tx.base.data = vec![1, 2, 3, 4, 5].into();
        let (profile, used) = profile_of(world, &env);
        let intrinsic = 21_000 + 5 * 16;
        let outer = json!({
            "code": 0, "kind": "CALL", "selector": "0x01020304", "via": null,
            "isOutermost": true, "failed": false, "size": 0, "gas": [[used - intrinsic, 1]],
        });
        let inner = json!({
            "code": 1, "kind": "DELEGATECALL", "selector": "0x", "via": 0,
            "isOutermost": false, "failed": false, "size": 0, "gas": [[81, 2]],
        });
        assert_eq!(profile["frames"], json!([outer, inner]));
    }

    #[test]
    fn a_creation_is_counted_with_its_address_and_the_size_of_its_code() {
        // Two bytes of memory become the code.
        let create = [PUSH1, 2, PUSH0, RETURN];
        let mut code = vec![PUSH4];
        code.extend_from_slice(&create);
        code.extend_from_slice(&[PUSH0, MSTORE, PUSH1, 4, PUSH1, 28, PUSH0, CREATE]);
        let profile = profile(&code, None);
        let created = &profile["codes"][1];
        assert_eq!(created["isCreation"], json!(true));
        assert_eq!(created["addresses"], json!([CONTRACT.create(1)]));
        let frame = &profile["frames"][1];
        assert_eq!((&frame["kind"], &frame["size"]), (&json!("CREATE"), &json!(2)));
        // With the deposit of the code.
        assert_eq!(sum(&created["steps"], 2), frame["gas"][0][0].as_u64().unwrap());
    }

    #[test]
    fn a_frame_that_halts_has_used_all_of_its_gas() {
        let profile = profile(&[PUSH0, INVALID], None);
        assert_eq!(profile["codes"][0]["steps"], json!([[0, 1, 2], [1, 1, 978_998]]));
        assert_eq!(profile["frames"][0]["failed"], json!(true));
    }

    #[test]
    fn calls_of_no_code_belong_to_who_calls() {
        let profile = profile(&calling(CALL, &[]), None);
        assert_eq!(profile["codes"].as_array().unwrap().len(), 1);
        assert_eq!(profile["frames"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn its_size_does_not_grow_with_the_steps() {
        let mut code = vec![JUMPDEST; 24_000];
        code.extend_from_slice(&[PUSH0, JUMP]);
        let (_, snapshot) = World::with_contract(&code).snapshot();
        let mut env = transaction(0);
        env.checks.gas_cap = false;
        env.checks.balance = false;
        env.tx.base.gas_limit = 30_000_000;
        env.limits.trace_bytes = Some(4 << 20);
        let options = br#"{"ownTracer":"profileTracer"}"#;
        let tracer = Tracer::parse(options, Position::default()).unwrap();
        let result = execute(snapshot.as_ref(), &env, Some(&tracer)).unwrap();
        assert!(result.trace.unwrap().len() < 1 << 20);
    }
}
