//! `eth_createAccessList`: the accounts and slots that a call touches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::{Address, B256};
use revm::context::TransactionType;

use super::call::{Call, Outcome, prepare, run_with};
use super::hex::{put_data, put_number};
use crate::evm::env::ExecutionEnv;
use crate::evm::trace::{Position, Tracer};
use crate::state::State;

static ACCESS_LIST_TRACER: LazyLock<Tracer> = LazyLock::new(|| {
    Tracer::parse(br#"{"tracer": "accessListTracer"}"#, Position::default())
        .expect("a known tracer")
});

/// Return what a call touches beside sender, target and precompiles, and the gas that it uses with that list.
///
/// A list changes gas costs, and with them what a contract touches, so the call is repeated until a run
/// touches nothing new.
pub fn access_list(state: &dyn State, mut env: ExecutionEnv, call: &Call, gas_cap: u64) -> Outcome {
    let gas = call.gas.map_or(gas_cap, |gas| gas.min(gas_cap));
    prepare(&mut env, call, gas, 0);
    env.tx.base.tx_type = TransactionType::Eip2930.into();
    let mut touched = Touched::default();
    loop {
        env.tx.base.access_list = touched.list();
        let result = match run_with(state, &env, Some(&ACCESS_LIST_TRACER)) {
            Ok(Some(result)) => result,
            Ok(None) => return Outcome::Other,
            Err(error) => return Outcome::of_error(&error),
        };
        let trace = result.trace.as_deref().map_or(&b"[]"[..], Vec::as_slice);
        let Ok(found) = serde_json::from_slice::<Vec<AccessListItem>>(trace) else {
            return Outcome::Other;
        };
        let spent = result.result.gas().total_gas_spent();
        if !touched.extend(found) {
            return Outcome::Result(touched.render(result.result.tx_gas_used()), spent);
        }
        if let Some(budget) = &mut env.limits.gas {
            *budget = budget.saturating_sub(spent);
        }
    }
}

/// The accounts and slots that a call touches.
#[derive(Default)]
struct Touched(BTreeMap<Address, BTreeSet<B256>>);

impl Touched {
    /// Add what a run touched; return whether any of it is new.
    fn extend(&mut self, items: Vec<AccessListItem>) -> bool {
        let before = self.len();
        for item in items {
            self.0.entry(item.address).or_default().extend(item.storage_keys);
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
        out.extend_from_slice(b",\"error\":null}");
        out
    }
}
