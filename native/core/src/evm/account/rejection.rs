//! Why a transaction of an account or with a paymaster cannot be included.

use std::borrow::Cow;

use alloy_primitives::{Bytes, hex};
use alloy_sol_types::{Revert, SolError};
use revm::interpreter::InstructionResult;

/// The step that a transaction did not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The fields alone.
    Form,
    /// The sender is neither a key nor an account.
    Sender,
    /// `validateTransaction`, and the nonce.
    Validation,
    /// `payForTransaction`.
    Payment,
    /// `prepareForPaymaster`, or the approval of a key account.
    Preparation,
    /// `validateAndPayForPaymasterTransaction`.
    Paymaster,
    /// The fee that has arrived.
    Charge,
    /// The rules of the pool.
    Rules,
}

impl Step {
    /// The name that Python knows.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Form => "form",
            Self::Sender => "sender",
            Self::Validation => "validation",
            Self::Payment => "payment",
            Self::Preparation => "preparation",
            Self::Paymaster => "paymaster",
            Self::Charge => "charge",
            Self::Rules => "rules",
        }
    }
}

/// What was wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The callee reverted with these bytes, or halted and returned none.
    Reverted(Bytes),
    /// In these words.
    Reason(Cow<'static, str>),
}

/// Why a transaction cannot be included: nobody pays, and nothing changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The step that it did not pass.
    pub step: Step,
    /// What was wrong.
    pub cause: Cause,
    /// Whether the paymaster has let it fail, and not the sender.
    pub is_paymasters: bool,
    /// The gas that calls have used, for which nobody pays.
    pub gas: u64,
}

/// How much of a revert an error repeats.
const MAX_SHOWN: usize = 4_096;

/// A step has used up all gas.
pub const NO_GAS: &str = "Not enough gas for transaction validation";

impl Rejection {
    /// Say what was wrong.
    pub fn new(step: Step, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::of(step, Cause::Reason(reason.into()))
    }

    /// Say that the sender has code, and is not an account.
    pub fn not_an_account() -> Self {
        Self::new(Step::Sender, "invalid sender. can't start a transaction from a non-account")
    }

    /// Return this rejection, for which the paymaster is responsible.
    pub fn of_paymaster(self) -> Self {
        Self { is_paymasters: true, ..self }
    }

    const fn of(step: Step, cause: Cause) -> Self {
        Self { step, cause, is_paymasters: matches!(step, Step::Paymaster), gas: 0 }
    }

    /// Return what was wrong in words: a revert's own, or its bytes.
    pub fn reason(&self) -> String {
        let output = match &self.cause {
            Cause::Reason(reason) => return reason.clone().into_owned(),
            Cause::Reverted(output) => output,
        };
        if let Ok(revert) = Revert::abi_decode(output) {
            return shortened(&revert.reason);
        }
        let selector = hex::encode(&output[..output.len().min(4)]);
        let shown = hex::encode(&output[..output.len().min(MAX_SHOWN)]);
        let more = if output.len() > MAX_SHOWN { "…" } else { "" };
        format!("Error function_selector = 0x{selector}, data = 0x{shown}{more}")
    }

    /// Return what the callee has reverted with.
    pub const fn reverted(step: Step, output: Bytes) -> Self {
        Self::of(step, Cause::Reverted(output))
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        None => text.into(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Return whether a frame has used up its gas.
pub const fn is_out_of_gas(result: InstructionResult) -> bool {
    matches!(
        result,
        InstructionResult::OutOfGas
            | InstructionResult::MemoryOOG
            | InstructionResult::MemoryLimitOOG
            | InstructionResult::PrecompileOOG
            | InstructionResult::InvalidOperandOOG
            | InstructionResult::ReentrancySentryOOG
    )
}
