//! What takes long without a loop or a call: precompiles, and instructions that handle much data or read the state.
//!
//! Gas is a poor measure of time. A loop takes about a nanosecond for a unit of gas, a hash of much data 14, a
//! precompile up to 72 (`benchmarks/bench_work.py`). So what takes much longer than two nanoseconds for its gas has
//! a surcharge, which counts against the limit of an execution ([`super::limits`]) and against nothing else.

use alloy_primitives::Address;
use revm::primitives::hardfork::SpecId;

/// What a word of an instruction's data costs.
#[derive(Clone, Copy, Debug)]
pub struct WordPrice {
    /// In gas.
    pub gas: u64,
    /// In gas of other instructions that take as long, beyond its own.
    pub surcharge: u64,
    /// How many words are handled at once.
    pub block: u64,
}

/// Hashed.
pub const HASH: WordPrice = WordPrice { gas: 6, surcharge: 36, block: 4 };
/// Copied.
pub const COPY: WordPrice = WordPrice { gas: 3, surcharge: 0, block: 1 };
/// Logged.
pub const LOG: WordPrice = WordPrice { gas: 256, surcharge: 0, block: 1 };
/// Copied, analysed, and with CREATE2 hashed.
pub const INIT_CODE: WordPrice = WordPrice { gas: 2, surcharge: 20, block: 1 };

/// Return how many units of gas of other instructions take as long as one of the precompile at `address`.
pub fn precompile_factor(address: &Address, fork: SpecId) -> u64 {
    let [first @ .., high, low] = address.as_slice() else { return 1 };
    if first.iter().any(|byte| *byte != 0) {
        return 1;
    }
    match u16::from_be_bytes([*high, *low]) {
        // The recovery of an address.
        1 => 6,
        // Sums, and a copy.
        2..=4 => 1,
        // Modular exponentiation, which was too cheap before EIP-7883.
        5 if fork.is_enabled_in(SpecId::OSAKA) => 3,
        5 => 40,
        // Curve bn254.
        6..=8 => 7,
        // BLAKE2, and the evaluation of a polynomial.
        9 | 10 => 5,
        // Curve BLS12-381.
        11..=17 => 9,
        // Signatures of curve P-256.
        256 => 18,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evm::limits::{LimitReached, Limits};
    use crate::evm::precompiles::addresses;
    use crate::evm::{ExecutionError, ExecutionResult, execute};
    use crate::testing::{CONTRACT, World, transaction};
    use alloy_primitives::{TxKind, U256, address};
    use revm::bytecode::opcode::*;

    const BLAKE2F: Address = address!("0000000000000000000000000000000000000009");
    const MODEXP: Address = address!("0000000000000000000000000000000000000005");
    const ROUNDS: u64 = 1_000_000;

    fn run(
        code: &[u8],
        to: Address,
        data: Vec<u8>,
        gas: Option<u64>,
    ) -> Result<ExecutionResult, ExecutionError> {
        let (_, snapshot) = World::with_contract(code).snapshot();
        let mut env = transaction(0);
        env.checks.gas_cap = false;
        env.checks.balance = false;
        env.tx.base.kind = TxKind::Call(to);
        env.tx.base.gas_limit = 50_000_000;
        env.tx.base.data = data.into();
        env.limits = Limits { gas, ..Limits::default() };
        execute(snapshot.as_ref(), &env, None)
    }

    fn is_stopped(code: &[u8], to: Address, data: Vec<u8>, gas: u64) -> bool {
        match run(code, to, data, Some(gas)) {
            Ok(_) => false,
            Err(ExecutionError::LimitReached(LimitReached::Gas)) => true,
            Err(other) => panic!("{other}"),
        }
    }

    fn blake2f(rounds: u64) -> Vec<u8> {
        let mut data = (rounds as u32).to_be_bytes().to_vec();
        data.extend([7; 64 + 128 + 16]);
        data.push(1);
        data
    }

    /// Passes its call data to a precompile.
    fn forwarder(to: Address) -> Vec<u8> {
        let mut code = vec![CALLDATASIZE, PUSH0, PUSH0, CALLDATACOPY];
        code.extend([PUSH0, PUSH0, CALLDATASIZE, PUSH0, PUSH20]);
        code.extend(to);
        code.extend([GAS, STATICCALL, RETURNDATASIZE, PUSH0, PUSH0, RETURNDATACOPY]);
        code.extend([RETURNDATASIZE, PUSH0, RETURN]);
        code
    }

    #[test]
    fn a_precompile_beyond_the_limit_does_not_start() {
        assert!(is_stopped(&[], BLAKE2F, blake2f(ROUNDS), ROUNDS));
        assert!(is_stopped(&forwarder(BLAKE2F), CONTRACT, blake2f(ROUNDS), ROUNDS));
    }

    #[test]
    fn a_precompile_within_the_limit_has_the_same_result() {
        for (code, to) in [(Vec::new(), BLAKE2F), (forwarder(BLAKE2F), CONTRACT)] {
            let free = run(&code, to, blake2f(ROUNDS), None).unwrap();
            let limited = run(&code, to, blake2f(ROUNDS), Some(10 * ROUNDS)).unwrap();
            assert_eq!(free.result, limited.result);
            assert_eq!(free.result.output().unwrap().len(), 64);
            assert_eq!(free.surcharge, limited.surcharge);
            assert!(free.surcharge >= 4 * ROUNDS && free.surcharge < 5 * ROUNDS);
        }
    }

    #[test]
    fn a_precompile_that_fails_has_the_same_result() {
        let data = blake2f(ROUNDS)[1..].to_vec();
        for (code, to) in [(Vec::new(), BLAKE2F), (forwarder(BLAKE2F), CONTRACT)] {
            let free = run(&code, to, data.clone(), None).unwrap();
            let limited = run(&code, to, data.clone(), Some(1 << 40)).unwrap();
            assert_eq!(free.result, limited.result);
        }
    }

    #[test]
    fn a_precompile_without_its_gas_fails_within_the_limit() {
        // The contract leaves it a thousand gas.
        let mut code = forwarder(BLAKE2F);
        let gas = code.iter().position(|byte| *byte == GAS).unwrap();
        code.splice(gas..=gas, [PUSH2, 0x03, 0xe8]);
        assert!(!is_stopped(&code, CONTRACT, blake2f(ROUNDS), 200_000));
    }

    #[test]
    fn calls_of_precompiles_count_together() {
        let mut code = Vec::new();
        for _ in 0..100 {
            code.extend(&forwarder(BLAKE2F)[..32]);
            code.push(POP);
        }
        assert!(!is_stopped(&code, CONTRACT, blake2f(1_000), 1_000_000));
        assert!(is_stopped(&code, CONTRACT, blake2f(1_000), 400_000));
    }

    #[test]
    fn a_passed_deadline_stops_before_a_precompile() {
        let (_, snapshot) = World::with_contract(&[]).snapshot();
        let mut env = transaction(0);
        env.tx.base.kind = TxKind::Call(BLAKE2F);
        env.limits.deadline = Some(std::time::Instant::now());
        let error = execute(snapshot.as_ref(), &env, None).unwrap_err();
        assert!(matches!(error, ExecutionError::LimitReached(LimitReached::Deadline)));
    }

    #[test]
    fn hashes_in_straight_code_stop_at_the_limit() {
        let hash: &[u8] = &[PUSH3, 0, 0xff, 0xff, PUSH0, KECCAK256, POP];
        assert!(is_stopped(&hash.repeat(1_000), CONTRACT, Vec::new(), 200_000));
        assert!(!is_stopped(hash, CONTRACT, Vec::new(), 200_000));
    }

    #[test]
    fn one_hash_beyond_the_limit_does_not_start() {
        let hash: &[u8] = &[PUSH3, 0x3f, 0xff, 0xff, PUSH0, KECCAK256, POP];
        assert!(is_stopped(hash, CONTRACT, Vec::new(), 1_000_000));
    }

    #[test]
    fn copies_logs_and_reads_in_straight_code_stop_at_the_limit() {
        for repeated in [
            &[PUSH2, 0xff, 0xff, PUSH0, PUSH0, CALLDATACOPY][..],
            &[PUSH2, 0xff, 0xff, PUSH0, PUSH0, CODECOPY],
            &[PUSH2, 0xff, 0xff, PUSH0, PUSH0, MCOPY],
            &[PUSH2, 0xff, 0xff, PUSH0, PUSH0, ADDRESS, EXTCODECOPY],
            &[PUSH2, 0xff, 0xff, PUSH0, LOG0],
            &[PUSH2, 0xc0, 0, PUSH0, PUSH0, CREATE, POP],
            &[PUSH0, NOT, DUP1, EXP, POP],
            &[PC, SLOAD, POP],
            &[PC, PC, SSTORE],
            &[PC, PC, TSTORE, PC, PC, TSTORE, PC, PC, TSTORE],
            &[PC, BALANCE, POP],
            &[PC, EXTCODESIZE, POP],
            &[PC, EXTCODEHASH, POP],
        ] {
            assert!(
                is_stopped(&repeated.repeat(1_000), CONTRACT, Vec::new(), 200_000),
                "{repeated:?}"
            );
        }
    }

    #[test]
    fn every_precompile_has_a_factor() {
        let cheap: Vec<_> = addresses(SpecId::OSAKA)
            .iter()
            .filter(|address| precompile_factor(address, SpecId::OSAKA) == 1)
            .map(|address| U256::from_be_slice(address.as_slice()).to::<u64>())
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect();
        assert_eq!(cheap, [2, 3, 4]);
        assert_eq!(precompile_factor(&CONTRACT, SpecId::OSAKA), 1);
        assert!(
            precompile_factor(&MODEXP, SpecId::PRAGUE) > precompile_factor(&MODEXP, SpecId::OSAKA)
        );
    }
}
