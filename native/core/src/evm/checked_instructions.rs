//! Instructions that check the limits of an execution before they run.
//!
//! Loops and calls make an execution long, so `JUMPDEST` and the instructions that open a frame check the
//! limits; so does what takes long by itself: see [`super::work`]. The code size bounds everything between
//! two checks: a `JUMPDEST` that uses little gas after the last one makes none.

use revm::bytecode::opcode::*;
use revm::context_interface::{ContextTr, JournalTr};
use revm::handler::instructions::EthInstructions;
use revm::interpreter::instructions::{arithmetic, contract, control, host, memory, system};
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::{Instruction, InstructionContext, InstructionExecResult};

use super::limits::{LimitedContext, halt};
use super::work::{COPY, HASH, INIT_CODE, LOG, WordPrice};

/// Make loop and call instructions check the limits, and those that take long.
pub fn check_limits<C: LimitedContext>(instructions: &mut EthInstructions<EthInterpreter, C>) {
    let table = instructions.instruction_table_mut();
    table[JUMPDEST as usize] = Instruction::new(checked_jumpdest::<C>);
    table[CALL as usize] = Instruction::new(checked_call::<CALL, C>);
    table[CALLCODE as usize] = Instruction::new(checked_call::<CALLCODE, C>);
    table[DELEGATECALL as usize] = Instruction::new(checked_call::<DELEGATECALL, C>);
    table[STATICCALL as usize] = Instruction::new(checked_call::<STATICCALL, C>);
    table[CREATE as usize] = Instruction::new(checked_create::<false, C>);
    table[CREATE2 as usize] = Instruction::new(checked_create::<true, C>);
    check_long_work(table);
}

/// Make the instructions check the limits that take long by themselves.
fn check_long_work<C: LimitedContext>(table: &mut [Instruction<EthInterpreter, C>; 256]) {
    let mut set = |opcode: u8, checked: fn(Step<'_, C>) -> InstructionExecResult| {
        table[opcode as usize] = Instruction::new(checked);
    };
    set(KECCAK256, |step| after_words(step, 1, HASH, system::keccak256));
    set(CALLDATACOPY, |step| after_words(step, 2, COPY, system::calldatacopy));
    set(CODECOPY, |step| after_words(step, 2, COPY, system::codecopy));
    set(RETURNDATACOPY, |step| after_words(step, 2, COPY, system::returndatacopy));
    set(MCOPY, |step| after_words(step, 2, COPY, memory::mcopy));
    set(EXTCODECOPY, |step| after_words(step, 3, COPY, host::extcodecopy));
    set(LOG0, |step| after_words(step, 1, LOG, host::log::<0, C>));
    set(LOG1, |step| after_words(step, 1, LOG, host::log::<1, C>));
    set(LOG2, |step| after_words(step, 1, LOG, host::log::<2, C>));
    set(LOG3, |step| after_words(step, 1, LOG, host::log::<3, C>));
    set(LOG4, |step| after_words(step, 1, LOG, host::log::<4, C>));
    set(EXP, |step| after_check(step, arithmetic::exp));
    set(SLOAD, |step| after_check(step, host::sload));
    set(SSTORE, |step| after_check(step, host::sstore));
    set(TSTORE, |step| after_check(step, host::tstore));
    set(BALANCE, |step| after_check(step, host::balance));
    set(EXTCODESIZE, |step| after_check(step, host::extcodesize));
    set(EXTCODEHASH, |step| after_check(step, host::extcodehash));
    set(BLOCKHASH, |step| after_check(step, host::blockhash));
}

/// An instruction as it is about to run.
type Step<'a, C> = InstructionContext<'a, C, EthInterpreter>;

fn checked_jumpdest<C: LimitedContext>(step: Step<'_, C>) -> InstructionExecResult {
    let gas_left = step.interpreter.gas.remaining();
    if step.host.chain_mut().is_jump_checked(gas_left) {
        let (depth, gas) = position(&step);
        let checked = step.host.chain_mut().check_jumps(depth, gas);
        checked.map_err(|limit| halt(step.host, limit))?;
    }
    control::jumpdest(step)
}

fn checked_call<const KIND: u8, C: LimitedContext>(mut step: Step<'_, C>) -> InstructionExecResult {
    check(&mut step)?;
    enter(&mut step);
    contract::call::<KIND, _, _>(step)
}

fn checked_create<const IS_CREATE2: bool, C: LimitedContext>(
    mut step: Step<'_, C>,
) -> InstructionExecResult {
    check_words(&mut step, 2, INIT_CODE)?;
    enter(&mut step);
    contract::create::<IS_CREATE2, _, _>(step)
}

/// Check the limits before an instruction.
fn check<C: LimitedContext>(step: &mut Step<'_, C>) -> InstructionExecResult {
    let (depth, gas) = position(step);
    step.host.chain_mut().check(depth, gas).map_err(|limit| halt(step.host, limit))
}

/// Check the limits before an instruction that finds the length of its data at `length_at` on the stack.
fn check_words<C: LimitedContext>(
    step: &mut Step<'_, C>,
    length_at: usize,
    price: WordPrice,
) -> InstructionExecResult {
    let (depth, gas) = position(step);
    let length: u64 = step.interpreter.stack.peek(length_at).unwrap_or_default().saturating_to();
    let checked = step.host.chain_mut().check_words(depth, gas, length.div_ceil(32), price);
    checked.map_err(|limit| halt(step.host, limit))
}

fn enter<C: LimitedContext>(step: &mut Step<'_, C>) {
    let (depth, gas) = position(step);
    step.host.chain_mut().enter(depth, gas);
}

/// Return the depth of the frame, from 0, and the gas that it has used.
fn position<C: LimitedContext>(step: &Step<'_, C>) -> (usize, u64) {
    (step.host.journal().depth().saturating_sub(1), step.interpreter.gas.total_gas_spent())
}

/// Run an instruction after a check of the limits.
#[inline(always)]
fn after_check<'a, C: LimitedContext>(
    mut step: Step<'a, C>,
    run: impl FnOnce(Step<'a, C>) -> InstructionExecResult,
) -> InstructionExecResult {
    check(&mut step)?;
    run(step)
}

/// Run an instruction after a check of the limits that counts its data, whose length is at `length_at` on the stack.
#[inline(always)]
fn after_words<'a, C: LimitedContext>(
    mut step: Step<'a, C>,
    length_at: usize,
    price: WordPrice,
    run: impl FnOnce(Step<'a, C>) -> InstructionExecResult,
) -> InstructionExecResult {
    check_words(&mut step, length_at, price)?;
    run(step)
}
