//! `eth_createAccessList`: the accounts and slots that a call touches.

use std::collections::{BTreeMap, BTreeSet};

use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, B256};
use revm::context::TransactionType;

use entresol_core::evm::env::ExecutionEnv;
use entresol_core::evm::inspection::TouchingCall;
use entresol_core::state::State;

use super::call::{Call, Outcome, is_plain, prepare};
use super::hex::{put_data, put_number};

/// Return what a call touches beside sender, target and precompiles, and the gas that it uses with that list.
///
/// A list changes gas costs, and with them what a contract touches, so the call is repeated until a run
/// touches nothing new.
pub fn access_list(state: &dyn State, mut env: ExecutionEnv, call: &Call, gas_cap: u64) -> Outcome {
    let gas = call.gas.map_or(gas_cap, |gas| gas.min(gas_cap));
    prepare(&mut env, call, gas, 0);
    env.tx.base.tx_type = TransactionType::Eip2930.into();
    let mut limits = env.limits.clone();
    let mut engine = TouchingCall::new(state, &env);
    let mut touched = Touched::default();
    loop {
        let run = match engine.run(touched.list(), limits.clone()) {
            Ok(run) => run,
            Err(error) => return Outcome::of_error(&error),
        };
        if !is_plain(&run.result, &run.console) {
            return Outcome::Other;
        }
        let spent = run.result.gas().total_gas_spent();
        if !touched.extend(run.touched) {
            return Outcome::Result(touched.render(run.result.tx_gas_used()), spent);
        }
        if let Some(budget) = &mut limits.gas {
            *budget = budget.saturating_sub(run.budget_spent);
        }
    }
}

/// The accounts and slots that a call touches.
#[derive(Default)]
struct Touched(BTreeMap<Address, BTreeSet<B256>>);

impl Touched {
    /// Add what a run touched; return whether any of it is new.
    fn extend(&mut self, items: HashMap<Address, BTreeSet<B256>>) -> bool {
        let before = self.len();
        for (address, slots) in items {
            self.0.entry(address).or_default().extend(slots);
        }
        self.len() > before
    }

    fn len(&self) -> usize {
        self.0.values().map(|slots| 1 + slots.len()).sum()
    }

    fn list(&self) -> AccessList {
        let item = |(address, slots): (&Address, &BTreeSet<B256>)| AccessListItem {
            address: *address,
            storage_keys: slots.iter().copied().collect(),
        };
        AccessList(self.0.iter().map(item).collect())
    }

    fn render(&self, gas_used: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(128 + 128 * self.len());
        out.extend_from_slice(b"{\"accessList\":[");
        for (index, (address, slots)) in self.0.iter().enumerate() {
            out.extend_from_slice(if index == 0 { b"{\"address\":" } else { b",{\"address\":" });
            put_data(&mut out, address.as_slice());
            out.extend_from_slice(b",\"storageKeys\":[");
            for (index, slot) in slots.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                put_data(&mut out, slot.as_slice());
            }
            out.extend_from_slice(b"]}");
        }
        out.extend_from_slice(b"],\"gasUsed\":");
        put_number(&mut out, gas_used);
        out.push(b'}');
        out
    }
}
