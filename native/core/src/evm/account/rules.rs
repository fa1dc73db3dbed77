//! Rules for the validation of transactions before a pool admits them, and their gas, there and in a block.
//!
//! What a validation may read decides who can make it fail later: only the sender itself, so that one cheap
//! change cannot invalidate the transactions of many. After ERC-7562 and the rules of ZKsync Era.

use std::collections::BTreeSet;

use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U256, b256, keccak256};
use revm::Inspector;
use revm::bytecode::opcode::*;
use revm::context_interface::{ContextTr, JournalTr};
use revm::inspector::JournalExt;
use revm::interpreter::interpreter_types::{InputsTr, Jumps, MemoryTr};
use revm::interpreter::{
    CallInputs, CallOutcome, CreateInputs, CreateOutcome, InstructionResult, Interpreter,
};

use super::meter::{Excess, Meter};
use super::paymaster_input::token_of;
use super::rejection::{Step, is_out_of_gas};
use super::system_contracts::{BASE_TOKEN, BOOTLOADER, account_slot};
use super::zk_tx::ZkTx;
use crate::evm::env::ExecutionEnv;
use crate::evm::limits::LimitedContext;

/// How far behind a hash the members of a struct in a mapping may be.
const MAX_OFFSET: u64 = 127;
const WORD: usize = 32;
const TOO_LONG: &str = "Took too long";

/// Slots in which a token that is a proxy has its implementation, its admin and its beacon (ERC-1967).
const PROXY_SLOTS: [B256; 3] = [
    b256!("360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc"),
    b256!("b53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850b5d6103"),
    b256!("a3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50"),
];

/// Watches the steps before the execution: stops those that use too much, and what another could invalidate.
#[derive(Debug)]
pub struct RulesInspector {
    sender: Address,
    token: Option<Address>,
    gas_limit: u64,
    enforces_rules: bool,
    meter: Meter,
    /// Hashes that belong to the sender: of its address as a key of a mapping, and nested ones.
    hashes: BTreeSet<U256>,
    /// The account whose code the current instruction reads.
    reads_code_of: Option<Address>,
    /// Whether a step runs whose gas counts.
    pub is_metering: bool,
    /// Whether the rules apply to the current step.
    is_watching: bool,
    /// What was done that is not allowed.
    pub violation: Option<String>,
}

impl RulesInspector {
    /// Watch the validation of a transaction.
    pub fn new(env: &ExecutionEnv, zk: &ZkTx) -> Self {
        Self {
            sender: env.tx.base.caller,
            token: token_of(&zk.paymaster_input),
            gas_limit: zk.validation_gas,
            enforces_rules: zk.enforces_rules,
            meter: Meter::new(zk.validation_time),
            hashes: BTreeSet::new(),
            reads_code_of: None,
            is_metering: false,
            is_watching: false,
            violation: None,
        }
    }

    /// Watch a step, which may use some gas. There are no rules for a paymaster.
    pub fn start(&mut self, step: Step, allowed: u64) {
        self.meter.start(allowed);
        self.is_metering = true;
        self.is_watching = self.enforces_rules && step != Step::Paymaster;
    }

    /// Watch no more, and return the gas that the step has used.
    pub fn end(&mut self) -> u64 {
        (self.is_metering, self.is_watching) = (false, false);
        self.meter.used()
    }

    fn violate(&mut self, text: String) {
        self.violation.get_or_insert(text);
    }

    fn check_meter(&mut self, step: &Interpreter) {
        match self.meter.step(step.gas.total_gas_spent()) {
            None => {}
            Some(Excess::Gas) => self.violate(too_much_gas(self.gas_limit)),
            Some(Excess::Time) => self.violate(TOO_LONG.into()),
        }
    }

    /// Enter a frame; a precompile is not interrupted, so it may use only what is left.
    fn enter<C: LimitedContext>(&mut self, context: &mut C, gas: u64) {
        self.meter.enter(gas);
        context.chain_mut().precompile_gas = Some(self.meter.left());
    }

    fn leave<C: LimitedContext>(&mut self, context: &mut C, result: InstructionResult) {
        self.meter.leave();
        if std::mem::take(&mut context.chain_mut().is_precompile_stopped) {
            self.violate(too_much_gas(self.gas_limit));
        }
        if self.is_watching {
            self.check_gas(result);
        }
    }

    fn check_opcode(&mut self, step: &Interpreter) {
        let top = || step.stack.peek(0).unwrap_or_default();
        let address = || Address::from_word(top().into());
        let contract = step.input.target_address();
        match step.bytecode.opcode() {
            ORIGIN | GASPRICE | BLOCKHASH | COINBASE | TIMESTAMP | NUMBER | DIFFICULTY
            | GASLIMIT | BASEFEE | BLOBHASH | BLOBBASEFEE | CREATE | CREATE2 | SELFDESTRUCT
            | INVALID => self.violate("Touched disallowed context".into()),
            GAS if !opens_call(next_opcode(step)) => {
                self.violate("Touched disallowed context".into());
            }
            BALANCE => self.check_balance(address()),
            SELFBALANCE => self.check_balance(contract),
            SLOAD | SSTORE | TLOAD | TSTORE => self.check_slot(contract, top(), step),
            KECCAK256 => self.watch_hash(step),
            EXTCODESIZE | EXTCODECOPY | EXTCODEHASH => self.reads_code_of = Some(address()),
            _ => {}
        }
    }

    fn check_balance(&mut self, account: Address) {
        if account != self.sender {
            self.violate(disallowed_slot(BASE_TOKEN, account_slot(account)));
        }
    }

    fn check_slot(&mut self, contract: Address, slot: U256, step: &Interpreter) {
        let is_proxy_slot = || {
            Some(contract) == self.token
                && step.bytecode.opcode() == SLOAD
                && PROXY_SLOTS.contains(&slot.into())
        };
        // The bootloader reads only what the node has set.
        let is_own = contract == self.sender
            || contract == BOOTLOADER
            || slot == U256::from_be_bytes(self.sender.into_word().0)
            || self.belongs_to_sender(slot)
            || is_proxy_slot();
        if !is_own {
            self.violate(disallowed_slot(contract, slot));
        }
    }

    /// Return whether a slot is that of a hash which belongs to the sender, or shortly behind one.
    fn belongs_to_sender(&self, slot: U256) -> bool {
        let first = slot.saturating_sub(U256::from(MAX_OFFSET));
        self.hashes.range(first..=slot).next_back().is_some()
    }

    /// Record the hash of a key and a slot if it belongs to the sender.
    fn watch_hash(&mut self, step: &Interpreter) {
        let number = |at| step.stack.peek(at).ok().and_then(|word| usize::try_from(word).ok());
        let (Some(start), Some(size)) = (number(0), number(1)) else { return };
        let end = start.saturating_add(size);
        if size != 2 * WORD || end > step.memory.size() {
            return;
        }
        let data = step.memory.slice(start..end).to_vec();
        let is_key = data[..WORD] == *self.sender.into_word();
        if is_key || self.hashes.contains(&U256::from_be_slice(&data[WORD..])) {
            self.hashes.insert(keccak256(data).into());
        }
    }

    /// Reject the use of an account without code of its own.
    fn check_code<C: ContextTr<Journal: JournalExt>>(&mut self, context: &C, address: Address) {
        if address == self.sender || context.journal_ref().precompile_addresses().contains(&address)
        {
            return;
        }
        let account = context.journal_ref().evm_state().get(&address);
        let has_code = account.is_some_and(|account| {
            let info = &account.info;
            let is_delegation = info.code.as_ref().is_some_and(|code| code.is_eip7702());
            info.code_hash != KECCAK256_EMPTY && !info.code_hash.is_zero() && !is_delegation
        });
        if !has_code {
            self.violate(format!("Called contract with no code: {address:#x}"));
        }
    }

    fn check_gas(&mut self, result: InstructionResult) {
        if is_out_of_gas(result) {
            self.violate(too_much_gas(self.gas_limit));
        }
    }
}

impl<C> Inspector<C> for RulesInspector
where
    C: LimitedContext + ContextTr<Journal: JournalExt>,
{
    fn step(&mut self, step: &mut Interpreter, _: &mut C) {
        self.check_meter(step);
        if self.is_watching && self.violation.is_none() {
            self.check_opcode(step);
        }
        if self.violation.is_some() {
            step.halt(InstructionResult::Revert);
        }
    }

    fn step_end(&mut self, step: &mut Interpreter, context: &mut C) {
        self.meter.step_end(step.gas.total_gas_spent());
        if let Some(address) = self.reads_code_of.take() {
            self.check_code(context, address);
        }
    }

    fn call(&mut self, context: &mut C, inputs: &mut CallInputs) -> Option<CallOutcome> {
        self.enter(context, inputs.gas_limit);
        // The node itself opens the frame of a step.
        if self.is_watching && context.journal_ref().depth() > 1 {
            self.check_code(context, inputs.bytecode_address);
            if inputs.transfers_value() && inputs.target_address != BOOTLOADER {
                self.violate("Touched disallowed context".into());
            }
        }
        None
    }

    fn call_end(&mut self, context: &mut C, _: &CallInputs, outcome: &mut CallOutcome) {
        self.leave(context, outcome.result.result);
    }

    fn create(&mut self, context: &mut C, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        self.enter(context, inputs.gas_limit());
        None
    }

    fn create_end(&mut self, context: &mut C, _: &CreateInputs, outcome: &mut CreateOutcome) {
        self.leave(context, outcome.result.result);
    }
}

/// Return the text for steps that use more gas than the pool allows.
pub fn too_much_gas(limit: u64) -> String {
    format!("Took too many computational gas, allowed limit: {limit}")
}

fn disallowed_slot(contract: Address, slot: U256) -> String {
    let key = B256::from(slot);
    format!("Touched disallowed storage slots: address {contract:#x}, key: {key:#x}")
}

fn next_opcode(step: &Interpreter) -> Option<u8> {
    let code = step.bytecode.original_byte_slice();
    code.get(step.bytecode.pc() + 1).copied()
}

const fn opens_call(opcode: Option<u8>) -> bool {
    matches!(opcode, Some(CALL | CALLCODE | DELEGATECALL | STATICCALL))
}
