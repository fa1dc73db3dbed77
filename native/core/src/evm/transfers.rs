//! Records transfers of ETH among the logs of a run, as `traceTransfers` of `eth_simulateV1` asks for.

use alloy_primitives::{Address, B256, Log, LogData, U256, b256};
use revm::Inspector;
use revm::context_interface::{ContextTr, JournalTr};
use revm::interpreter::{
    CallInputs, CallOutcome, CallScheme, CreateInputs, CreateOutcome, InterpreterTypes,
};

/// The address that the synthetic logs name as their emitter.
const ETHER: Address = Address::repeat_byte(0xee);
/// The first topic of `Transfer(address,address,uint256)`.
const TRANSFER: B256 = b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");

/// The logs and the transfers so far; those of frames that fail are forgotten.
#[derive(Debug, Default)]
pub(super) struct TransferLogs {
    pub(super) logs: Vec<Log>,
    /// How many there were when each of the open frames began.
    marks: Vec<usize>,
}

impl TransferLogs {
    fn transfer(&mut self, from: Address, to: Address, value: U256) {
        if value.is_zero() {
            return;
        }
        let topics = vec![TRANSFER, from.into_word(), to.into_word()];
        let data = value.to_be_bytes_vec().into();
        self.logs.push(Log { address: ETHER, data: LogData::new_unchecked(topics, data) });
    }

    fn open(&mut self) {
        self.marks.push(self.logs.len());
    }

    fn close(&mut self, succeeded: bool) {
        let mark = self.marks.pop().unwrap_or_default();
        if !succeeded {
            self.logs.truncate(mark);
        }
    }
}

impl<CTX: ContextTr, INTR: InterpreterTypes> Inspector<CTX, INTR> for TransferLogs {
    fn log(&mut self, _context: &mut CTX, log: Log) {
        self.logs.push(log);
    }

    fn call(&mut self, _context: &mut CTX, inputs: &mut CallInputs) -> Option<CallOutcome> {
        self.open();
        // Calls of the other kinds carry a value that is not transferred.
        if inputs.scheme == CallScheme::Call {
            let value = inputs.transfer_value().unwrap_or_default();
            self.transfer(inputs.transfer_from(), inputs.transfer_to(), value);
        }
        None
    }

    fn call_end(&mut self, _context: &mut CTX, _inputs: &CallInputs, outcome: &mut CallOutcome) {
        self.close(outcome.result.is_ok());
    }

    fn create(&mut self, context: &mut CTX, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        self.open();
        let caller = inputs.caller();
        if let Ok(account) = context.journal_mut().load_account(caller) {
            let created = inputs.created_address(account.data.info.nonce);
            self.transfer(caller, created, inputs.value());
        }
        None
    }

    fn create_end(
        &mut self,
        _context: &mut CTX,
        _inputs: &CreateInputs,
        outcome: &mut CreateOutcome,
    ) {
        self.close(outcome.result.is_ok());
    }

    fn selfdestruct(&mut self, contract: Address, target: Address, value: U256) {
        self.transfer(contract, target, value);
    }
}
