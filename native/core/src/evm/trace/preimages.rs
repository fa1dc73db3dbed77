//! Preimages of the hashes that a program computes.

use std::collections::BTreeMap;

use alloy_primitives::{B256, Bytes, keccak256};
use revm::Inspector;
use revm::bytecode::opcode::KECCAK256;
use revm::interpreter::Interpreter;
use revm::interpreter::interpreter_types::{Jumps, MemoryTr};

/// Records what `KECCAK256` hashes, by hash.
#[derive(Debug, Default)]
pub struct PreimageRecorder {
    /// Preimages by hash.
    pub preimages: BTreeMap<B256, Bytes>,
    operands: Option<(usize, usize)>,
    /// The bytes of all preimages.
    pub size: usize,
}

impl<C> Inspector<C> for PreimageRecorder {
    fn step(&mut self, step: &mut Interpreter, _: &mut C) {
        self.operands = None;
        if step.bytecode.opcode() == KECCAK256
            && let (Ok(offset), Ok(size)) = (step.stack.peek(0), step.stack.peek(1))
        {
            // Operands too large for memory fail the step.
            self.operands = usize::try_from(offset).ok().zip(usize::try_from(size).ok());
        }
    }

    fn step_end(&mut self, step: &mut Interpreter, _: &mut C) {
        let Some((offset, size)) = self.operands.take() else { return };
        let Some(end) = offset.checked_add(size).filter(|end| *end <= step.memory.size()) else {
            return;
        };
        let preimage = Bytes::copy_from_slice(&step.memory.slice(offset..end));
        self.size += preimage.len();
        self.preimages.insert(keccak256(&preimage), preimage);
    }
}
