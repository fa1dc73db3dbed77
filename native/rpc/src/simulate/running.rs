//! A running simulation: its current state, and what is left of its limits.

use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, TxKind, U256, address, keccak256};
use revm::context::{BlockEnv, TxEnv as RevmTxEnv};
use revm::context_interface::block::BlobExcessGasAndPrice;

use entresol_core::blobs;
use entresol_core::call::CallRequest;
use entresol_core::evm::env::{Checks, TxEnv};
use entresol_core::evm::execute_with_transfers;
use entresol_core::evm::limits::{LimitReached, Limits};
use entresol_core::evm::{ExecutionError, execute};
use entresol_core::state::State;
use entresol_core::state::remote::mode;

use super::block::{SimulatedBlock, SimulatedTransaction};
use super::plan::{PlannedBlock, plan};
use super::request::{
    AccountOverride, Base, BlockOverrides, FailureTexts, NextBlock, Rejection, Simulation,
    SimulationError,
};
use super::unsigned::{NoTransaction, encode, tx_env, unsigned};

/// The sender may be a contract, since nothing is signed; `validation` decides about the other checks.
const VALIDATING: Checks = Checks { sender_code: false, ..Checks::ALL };
const LENIENT: Checks = Checks { fees: true, balance: true, ..Checks::NONE };

const SYSTEM_ADDRESS: Address = address!("fffffffffffffffffffffffffffffffffffffffe");
const BEACON_ROOTS: Address = address!("000f3df6d732807ef1319fb7b8bb8522d0beac02");
const HISTORY_STORAGE: Address = address!("0000f90827f1c53a10cb7a02335b175320002935");
const SYSTEM_CALL_GAS: u64 = 30_000_000;

/// A running simulation.
pub(super) struct RunningSimulation<'a> {
    simulation: &'a Simulation,
    /// The block that the next one builds on; its overlay has all changes since the base block.
    base: Base<'a>,
    gas_cap: u64,
    gas_left: u64,
}

impl<'a> RunningSimulation<'a> {
    pub(super) const fn new(simulation: &'a Simulation, base: Base<'a>, gas_cap: u64) -> Self {
        Self { simulation, base, gas_cap, gas_left: gas_cap }
    }

    /// Simulate one block on top of the previous one.
    pub(super) fn block(
        &mut self,
        planned: &PlannedBlock<'_>,
    ) -> Result<SimulatedBlock, SimulationError> {
        let next = self.base.chain.next_block(&self.base.header)?;
        self.open(planned, &next);
        self.make_system_calls(&next)?;
        let mut transactions = Vec::new();
        if let Some((index, requested)) = planned.requested {
            for (address, account) in &requested.accounts {
                self.override_account(*address, account)?;
            }
            let mut block_gas_left = self.base.env.block.gas_limit;
            for (position, request) in requested.calls.iter().enumerate() {
                let ran = self.call(request, block_gas_left).map_err(|error| match error {
                    NoResult::Rejected(reason) => {
                        SimulationError::Rejected { block: index, call: position, reason }
                    }
                    NoResult::Failed(error) => error,
                })?;
                block_gas_left = block_gas_left.saturating_sub(ran.result.tx_gas_used());
                transactions.push(ran);
            }
        }
        self.check_deadline()?;
        let changes = self.base.overlay.changes()?;
        let state_root = self.base.chain.state_root(&changes)?;
        let block = SimulatedBlock::new(
            self.base.hash,
            &self.base.env.block,
            state_root,
            &next,
            transactions,
        );
        self.base.hash = block.hash;
        self.base.header = block.header.clone();
        self.base.env.block_hashes.insert(planned.number, block.hash);
        Ok(block)
    }

    /// Make the environment that of the next block.
    fn open(&mut self, planned: &PlannedBlock<'_>, next: &NextBlock) {
        let requested = planned.requested.map(|(_, requested)| requested);
        let none = BlockOverrides::default();
        let overrides = requested.map_or(&none, |it| &it.overrides);
        let env = &mut self.base.env;
        let excess_blob_gas = next.excess_blob_gas.unwrap_or_default();
        let price = || {
            let params = blobs::params(env.rules.fork);
            params.map_or(1, |params| blobs::base_fee(&params, excess_blob_gas))
        };
        let base_fee = if self.simulation.validation { next.base_fee } else { 0 };
        env.block = BlockEnv {
            number: U256::from(planned.number),
            timestamp: U256::from(planned.timestamp),
            gas_limit: overrides.gas_limit.unwrap_or(self.base.header.gas_limit),
            beneficiary: overrides.fee_recipient.unwrap_or_default(),
            basefee: overrides.base_fee_per_gas.unwrap_or(base_fee),
            difficulty: U256::ZERO,
            prevrandao: Some(overrides.prev_randao.unwrap_or_default()),
            blob_excess_gas_and_price: Some(BlobExcessGasAndPrice {
                excess_blob_gas,
                blob_gasprice: overrides.blob_base_fee.unwrap_or_else(price),
            }),
            slot_num: 0,
        };
        env.precompiles = requested.map(|it| it.precompiles.clone()).unwrap_or_default();
    }

    /// Call the system contracts that the block's fork has.
    fn make_system_calls(&mut self, next: &NextBlock) -> Result<(), SimulationError> {
        if let Some(root) = next.parent_beacon_block_root {
            self.system_call(BEACON_ROOTS, root)?;
        }
        if next.requests_hash.is_some() {
            self.system_call(HISTORY_STORAGE, self.base.hash)?;
        }
        Ok(())
    }

    fn system_call(&mut self, contract: Address, word: B256) -> Result<(), SimulationError> {
        let Base { overlay, env, .. } = &mut self.base;
        let account = overlay.account(contract)?;
        if account.is_none_or(|account| account.code_hash == KECCAK256_EMPTY) {
            return Ok(());
        }
        env.checks = Checks::NONE;
        env.tx = TxEnv {
            base: RevmTxEnv {
                caller: SYSTEM_ADDRESS,
                gas_limit: SYSTEM_CALL_GAS,
                kind: TxKind::Call(contract),
                data: Bytes::copy_from_slice(word.as_slice()),
                chain_id: Some(env.rules.chain_id),
                ..RevmTxEnv::default()
            },
            keeps_nonce: true,
            ..TxEnv::default()
        };
        // No client pays for it.
        let unlimited = Limits { gas: None, ..env.limits.clone() };
        let limits = std::mem::replace(&mut env.limits, unlimited);
        let ran = execute(overlay, env, None);
        env.limits = limits;
        let ran = ran.map_err(|error| SimulationError::Execution(error, Box::new(env.clone())))?;
        Ok(overlay.apply(&ran.changes)?)
    }

    fn override_account(
        &mut self,
        address: Address,
        requested: &AccountOverride,
    ) -> Result<(), SimulationError> {
        let overlay = &mut self.base.overlay;
        if let Some(nonce) = requested.nonce {
            let account = overlay.account(address)?.unwrap_or_default();
            overlay
                .set_account(address, Some(entresol_core::state::Account { nonce, ..account }))?;
        }
        if let Some(code) = &requested.code {
            overlay.set_code(address, code.clone())?;
        }
        if let Some(balance) = requested.balance {
            let account = overlay.account(address)?.unwrap_or_default();
            let changed = entresol_core::state::Account { balance, ..account };
            overlay.set_account(address, Some(changed))?;
        }
        if let Some(state) = &requested.state {
            let slots = state.iter().map(|(slot, value)| ((*slot).into(), (*value).into()));
            overlay.replace_storage(address, slots)?;
        }
        for (slot, value) in &requested.state_diff {
            overlay.set_slot(address, (*slot).into(), (*value).into())?;
        }
        Ok(())
    }

    fn call(
        &mut self,
        request: &CallRequest,
        block_gas_left: u64,
    ) -> Result<SimulatedTransaction, NoResult> {
        let account = self.base.overlay.account(request.from).map_err(SimulationError::from)?;
        let gas = self.gas(request, block_gas_left)?;
        let rules = self.base.env.rules;
        let transaction = unsigned(request, &rules, account.unwrap_or_default().nonce, gas)?;
        self.check_deadline()?;
        let Base { overlay, env, .. } = &mut self.base;
        env.tx = TxEnv { base: tx_env(&transaction, request.from), ..TxEnv::default() };
        env.checks = if self.simulation.validation { VALIDATING } else { LENIENT };
        let ran = match self.simulation.trace_transfers {
            false => execute(overlay, env, None).map(|ran| (ran, None)),
            true => execute_with_transfers(overlay, env).map(|(ran, logs)| (ran, Some(logs))),
        };
        let (ran, logs) = ran.map_err(|error| match error {
            ExecutionError::Invalid(_) => {
                NoResult::Rejected(Rejection::Invalid(error, Box::new(env.clone())))
            }
            error => NoResult::Failed(SimulationError::Execution(error, Box::new(env.clone()))),
        })?;
        overlay.apply(&ran.changes).map_err(SimulationError::from)?;
        if let Some(budget) = &mut env.limits.gas {
            *budget = budget.saturating_sub(ran.budget_spent());
        }
        self.gas_left = self.gas_left.saturating_sub(ran.result.tx_gas_used());
        let raw = encode(&transaction);
        let hash = keccak256(&raw);
        let (sender, result) = (request.from, ran.result);
        Ok(SimulatedTransaction { transaction, sender, raw, hash, result, logs })
    }

    /// Return the gas limit of a call: the one it names, or what block and cap have left.
    fn gas(&self, request: &CallRequest, block_gas_left: u64) -> Result<u64, NoResult> {
        if self.gas_left == 0 {
            return Err(SimulationError::GasSpent(self.gas_cap).into());
        }
        let most = match request.gas {
            Some(gas) if gas > block_gas_left => {
                return Err(NoResult::Rejected(Rejection::BlockFull(gas, block_gas_left)));
            }
            Some(gas) => gas,
            None if self.simulation.validation => {
                let cap = self.base.env.rules.transaction_gas_limit();
                block_gas_left.min(cap.unwrap_or(u64::MAX))
            }
            None => block_gas_left,
        };
        Ok(most.min(self.gas_left))
    }

    /// Fail if the time of all calls has passed: one that is short would not notice.
    fn check_deadline(&self) -> Result<(), SimulationError> {
        let env = &self.base.env;
        if env.limits.deadline.is_some_and(|deadline| mode::now() >= deadline) {
            let error = ExecutionError::LimitReached(LimitReached::Deadline);
            return Err(SimulationError::Execution(error, Box::new(env.clone())));
        }
        Ok(())
    }
}

/// Why a call has no result.
enum NoResult {
    Rejected(Rejection),
    Failed(SimulationError),
}

impl From<SimulationError> for NoResult {
    fn from(error: SimulationError) -> Self {
        Self::Failed(error)
    }
}

impl From<NoTransaction> for NoResult {
    fn from(error: NoTransaction) -> Self {
        match error {
            NoTransaction::NumberTooLarge => Self::Failed(SimulationError::CallNumberTooLarge),
            NoTransaction::BlobsCreate => Self::Rejected(Rejection::BlobsCreate),
        }
    }
}

impl Simulation {
    /// Execute the blocks, with `gas_cap` gas for all calls, and return them as JSON.
    pub fn run(
        &self,
        base: Base<'_>,
        gas_cap: u64,
        texts: &FailureTexts,
    ) -> Result<Vec<u8>, SimulationError> {
        let planned = plan(&base.header, base.interval, &self.blocks)?;
        let mut running = RunningSimulation::new(self, base, gas_cap);
        let mut out = Vec::with_capacity(4096 * planned.len());
        out.push(b'[');
        for (index, planned) in planned.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            let block = running.block(planned)?;
            block.put(&mut out, texts, self.full_transactions);
        }
        out.push(b']');
        Ok(out)
    }
}
