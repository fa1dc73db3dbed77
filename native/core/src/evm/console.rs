//! Calls of `console.log`, as contracts make them to be seen by a developer.
//!
//! Hardhat's and Foundry's libraries call an address without code, and ignore the result. Every call
//! frame passes [`super::precompiles::Precompiles`], so one comparison of addresses finds them, without an inspector.

use alloy_primitives::{Address, Bytes, address};

/// The address that contracts call: `console.log` in ASCII.
pub const ADDRESS: Address = address!("000000000000000000636F6e736F6c652e6c6f67");

/// Calls that are recorded of one execution.
const MAX_CALLS: usize = 1_000;

/// Bytes that are recorded of one execution.
const MAX_BYTES: usize = 64 << 10;

/// The calls of one execution, in order, those of failed frames too.
#[derive(Clone, Debug, Default)]
pub struct ConsoleCalls {
    /// The data of each call: a selector and arguments.
    pub recorded: Vec<Bytes>,
    /// How many further calls were not recorded.
    pub dropped: u64,
    bytes: usize,
}

impl ConsoleCalls {
    /// Return whether a call with so many bytes is to be recorded, and count it.
    pub fn admit(&mut self, size: usize) -> bool {
        // Once one is dropped, so are the others: a gap would go unnoticed.
        let has_room =
            self.dropped == 0 && self.recorded.len() < MAX_CALLS && self.bytes + size <= MAX_BYTES;
        if has_room {
            self.bytes += size;
        } else {
            self.dropped += 1;
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evm::execute;
    use crate::testing::{World, transaction};
    use revm::bytecode::opcode::{
        CALL, CALLER, GAS, JUMP, JUMPDEST, MSTORE, POP, PUSH0, PUSH1, PUSH2, PUSH20, REVERT,
        STATICCALL,
    };

    /// Call the console with `size` bytes of memory, of which the first word is 0x2a.
    fn log(size: u16) -> Vec<u8> {
        let [high, low] = size.to_be_bytes();
        let mut code =
            vec![PUSH1, 0x2a, PUSH0, MSTORE, PUSH0, PUSH0, PUSH2, high, low, PUSH0, PUSH20];
        code.extend(ADDRESS);
        code.extend([GAS, STATICCALL, POP]);
        code
    }

    fn logged(code: &[u8]) -> ConsoleCalls {
        let (_, snapshot) = World::with_contract(code).snapshot();
        execute(snapshot.as_ref(), &transaction(0), None).unwrap().console
    }

    #[test]
    fn a_call_is_recorded_with_its_data() {
        let console = logged(&log(32));
        assert_eq!(console.recorded.len(), 1);
        assert_eq!(console.recorded[0].len(), 32);
        assert_eq!(console.recorded[0][31], 0x2a);
    }

    #[test]
    fn a_call_is_recorded_even_if_the_execution_fails() {
        let code = [log(32), vec![PUSH0, PUSH0, REVERT]].concat();
        assert_eq!(logged(&code).recorded.len(), 1);
    }

    #[test]
    fn calls_beyond_the_limits_are_only_counted() {
        let mut code = vec![JUMPDEST];
        code.extend(log(32));
        code.extend([PUSH0, JUMP]);
        let console = logged(&code);
        assert_eq!(console.recorded.len(), MAX_CALLS);
        assert!(console.dropped > 0);
        let console = logged(&[log(0x8000), log(0x8000), log(1)].concat());
        assert_eq!((console.recorded.len(), console.dropped), (2, 1));
    }

    #[test]
    fn other_calls_are_not_recorded() {
        assert!(
            logged(&[PUSH0, PUSH0, PUSH0, PUSH0, PUSH0, CALLER, GAS, CALL]).recorded.is_empty()
        );
    }
}
