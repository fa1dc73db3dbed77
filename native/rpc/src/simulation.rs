//! `eth_simulateV1` of plain calls: parse the payload, and execute its blocks on top of the last block.
//!
//! Overrides, validation, traced transfers and failing calls are left to Python.

use std::fmt;

use alloy_primitives::{Address, B256, U256};
use revm::context::TransactionType;
use revm::context_interface::result::ExecutionResult as RevmResult;
use revm::primitives::hardfork::SpecId;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use entresol_core::call::CallRequest;
use entresol_core::evm::env::{Checks, ExecutionEnv};
use entresol_core::evm::limits::LimitReached;
use entresol_core::evm::{ExecutionError, execute};
use entresol_core::state::State;
use entresol_core::state::changes::Changes;
use entresol_core::state::overlay::Overlay;

use super::block::{Block, parse_block};
use super::call::{Outcome, PlainCall};
use super::simulated_block::{SimulatedBlock, SimulatedTransaction};

/// The checks of a call without `validation`.
const LENIENT: Checks = Checks { fees: true, balance: true, ..Checks::NONE };
/// The size of a block with a call and a log, as JSON.
const BLOCK_BYTES: usize = 4096;
/// The seconds between blocks.
const INTERVAL: u64 = 1;

/// The calls of each block.
#[derive(Debug, PartialEq, Eq)]
pub struct Simulation(Vec<BlockCalls>);

/// The calls of a block.
#[derive(Debug, Default, PartialEq, Eq)]
struct BlockCalls(Vec<PlainCall>);

impl Simulation {
    /// Parse the parameters; None if they are not plain, or name a block other than the last one.
    pub fn parse(params: &str) -> Option<Self> {
        let Params(simulation, block) = serde_json::from_str(params).ok()?;
        let is_plain = !simulation.0.is_empty() && parse_block(block)? == Block::Latest;
        is_plain.then_some(simulation)
    }

    /// The number of blocks and calls.
    pub fn items(&self) -> usize {
        self.0.iter().map(|block| 1 + block.0.len()).sum()
    }

    /// Execute the blocks, with `gas_cap` gas for all calls, and return them as JSON.
    pub fn run(&self, base: Base<'_>, gas_cap: u64) -> Outcome {
        if !base.env.rules.fork.is_enabled_in(SpecId::LONDON) {
            return Outcome::Other;
        }
        let mut running = RunningSimulation { base, gas_left: gas_cap };
        let mut out = Vec::with_capacity(BLOCK_BYTES * self.0.len());
        out.push(b'[');
        for (index, block) in self.0.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            match running.block(&block.0) {
                Ok(block) => block.put(&mut out),
                Err(outcome) => return outcome,
            }
        }
        out.push(b']');
        Outcome::Result(out, 0)
    }
}

/// The block that a simulation builds on; it is that of the last simulated one afterwards.
pub struct Base<'a> {
    /// The state after it, with all changes since the last block of the chain.
    pub overlay: Overlay,
    /// Its environment.
    pub env: ExecutionEnv,
    /// Its hash.
    pub hash: B256,
    /// Returns the state root after changes since the last block of the chain; None if that fails.
    pub state_root: &'a dyn Fn(&Changes) -> Option<B256>,
}

struct RunningSimulation<'a> {
    base: Base<'a>,
    gas_left: u64,
}

impl RunningSimulation<'_> {
    fn block(&mut self, calls: &[PlainCall]) -> Result<SimulatedBlock, Outcome> {
        self.open_block().ok_or(Outcome::Other)?;
        let mut transactions = Vec::with_capacity(calls.len());
        let mut block_gas_left = self.base.env.block.gas_limit;
        for call in calls {
            let transaction = self.call(&call.0, block_gas_left)?;
            block_gas_left -= transaction.result.tx_gas_used();
            transactions.push(transaction);
        }
        let changes = self.base.overlay.changes().map_err(|_| Outcome::Other)?;
        let state_root = (self.base.state_root)(&changes).ok_or(Outcome::Other)?;
        let block =
            SimulatedBlock::new(self.base.hash, &self.base.env.block, state_root, transactions);
        self.base.hash = block.hash;
        self.base.env.block_hashes.insert(block.number(), block.hash);
        Ok(block)
    }

    /// Make the environment that of the next block.
    fn open_block(&mut self) -> Option<()> {
        let block = &mut self.base.env.block;
        let number = u64::try_from(block.number).ok()?.checked_add(1)?;
        let timestamp = u64::try_from(block.timestamp).ok()?.checked_add(INTERVAL)?;
        block.number = U256::from(number);
        block.timestamp = U256::from(timestamp);
        block.beneficiary = Address::ZERO;
        block.basefee = 0;
        block.difficulty = U256::ZERO;
        block.prevrandao = Some(B256::ZERO);
        Some(())
    }

    fn call(
        &mut self,
        call: &CallRequest,
        block_gas_left: u64,
    ) -> Result<SimulatedTransaction, Outcome> {
        if self.gas_left == 0 || call.gas.is_some_and(|gas| gas > block_gas_left) {
            return Err(Outcome::Other);
        }
        let Base { overlay, env, .. } = &mut self.base;
        let gas = call.gas.unwrap_or(block_gas_left).min(self.gas_left);
        call.prepare(env, gas, 0)?;
        env.checks = LENIENT;
        let account = overlay.account(env.tx.base.caller).map_err(|_| Outcome::Other)?;
        env.tx.base.nonce = account.unwrap_or_default().nonce;
        env.tx.base.tx_type = TransactionType::Eip1559.into();
        env.tx.base.gas_priority_fee = Some(0);
        let ran = execute(overlay, env, None).map_err(|error| match error {
            ExecutionError::LimitReached(LimitReached::Gas) => Outcome::BudgetSpent,
            _ => Outcome::Other,
        })?;
        if !matches!(ran.result, RevmResult::Success { .. }) {
            return Err(Outcome::Other);
        }
        overlay.apply(&ran.changes).map_err(|_| Outcome::Other)?;
        if let Some(budget) = &mut env.limits.gas {
            *budget = budget.saturating_sub(ran.budget_spent());
        }
        self.gas_left = self.gas_left.saturating_sub(ran.result.tx_gas_used());
        Ok(SimulatedTransaction::new(&env.tx.base, ran.result))
    }
}

/// The parameters of the method.
#[derive(Deserialize)]
struct Params<'a>(Simulation, #[serde(borrow, default)] Option<&'a str>);

impl<'a> Deserialize<'a> for Simulation {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(SimulationVisitor)
    }
}

struct SimulationVisitor;

impl<'a> Visitor<'a> for SimulationVisitor {
    type Value = Simulation;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plain simulation")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut members: A) -> Result<Simulation, A::Error> {
        let mut blocks = None;
        while let Some(key) = members.next_key::<&str>()? {
            let is_plain = match key {
                "blockStateCalls" => blocks.replace(members.next_value()?).is_none(),
                "validation" | "traceTransfers" | "returnFullTransactions" => {
                    !members.next_value::<bool>()?
                }
                _ => false,
            };
            if !is_plain {
                return Err(A::Error::custom("a member that is not plain"));
            }
        }
        Ok(Simulation(blocks.unwrap_or_default()))
    }
}

impl<'a> Deserialize<'a> for BlockCalls {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(BlockCallsVisitor)
    }
}

struct BlockCallsVisitor;

impl<'a> Visitor<'a> for BlockCallsVisitor {
    type Value = BlockCalls;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the calls of a block")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut members: A) -> Result<BlockCalls, A::Error> {
        let mut calls = None;
        while let Some(key) = members.next_key::<&str>()? {
            if key != "calls" || calls.replace(members.next_value()?).is_some() {
                return Err(A::Error::custom("a member that is not plain"));
            }
        }
        Ok(BlockCalls(calls.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calls_without_overrides_on_the_last_block_are_plain() {
        let call = r#"{"to":"0x1111111111111111111111111111111111111111"}"#;
        let blocks = format!(r#"[{{"calls":[{call},{call}]}},{{}}]"#);
        let items = |params: &str| Simulation::parse(params).map(|it| it.items());
        assert_eq!(items(&format!(r#"[{{"blockStateCalls":{blocks}}}]"#)), Some(4));
        let options = r#""validation":false,"traceTransfers":false"#;
        let optional = format!(r#"[{{"blockStateCalls":{blocks},{options}}},"latest"]"#);
        assert_eq!(items(&optional), Some(4));
        for params in [
            r#"[{"blockStateCalls":[]}]"#.into(),
            r#"[[[{"calls":[]}]]]"#.into(),
            format!(r#"[{{"blockStateCalls":{blocks}}},"0x1"]"#),
            format!(r#"[{{"blockStateCalls":{blocks},"validation":true}}]"#),
            format!(r#"[{{"blockStateCalls":{blocks},"blockStateCalls":{blocks}}}]"#),
            format!(r#"[{{"blockStateCalls":[{{"calls":[{call}],"stateOverrides":{{}}}}]}}]"#),
        ] {
            assert_eq!(items(&params), None, "{params}");
        }
    }
}
