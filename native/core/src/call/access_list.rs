//! `eth_createAccessList`: the accounts and slots that a transaction touches.

use std::collections::{BTreeMap, BTreeSet};

use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, B256};

use super::error::CallError;
use super::output::gas_for;
use super::request::CallRequest;
use super::runs::{check_deadline, spend};
use crate::evm::env::ExecutionEnv;
use crate::evm::inspection::TouchingCall;
use crate::state::State;
use crate::state::remote::rounds;

/// An access list, and what the transaction comes to with it.
#[derive(Debug)]
pub struct CreatedAccessList {
    /// The list, sorted.
    pub access_list: AccessList,
    /// The gas that the transaction uses with it.
    pub gas_used: u64,
    /// Why it fails, if it does.
    pub failure: Option<CallError>,
}

/// Return what `request` touches beside sender, target and precompiles.
///
/// Entries that it already declares stay in the list. An access list changes gas costs, and with them what a contract
/// touches, so the call is repeated until a run touches nothing new.
pub fn create_access_list(
    state: &dyn State,
    mut env: ExecutionEnv,
    request: &CallRequest,
    gas_cap: u64,
) -> Result<CreatedAccessList, CallError> {
    let gas = gas_for(state, request, gas_cap)?;
    let mut touched = Touched::declared(request.access_list.iter().flat_map(|list| &list.0));
    let listed = CallRequest { access_list: Some(AccessList::default()), ..request.clone() };
    listed.prepare(&mut env, gas, 0)?;
    let mut limits = env.limits.clone();
    let mut engine = TouchingCall::new(state, &env);
    loop {
        check_deadline(&env)?;
        let access_list = touched.list();
        let run = engine
            .run(access_list.clone(), limits.clone())
            .map_err(|error| CallError::of_execution(error, &env))?;
        rounds::check()?;
        spend(&mut limits, run.budget_spent);
        if !touched.extend(run.touched) {
            let failure = CallError::of_result(&run.result);
            let gas_used = run.result.tx_gas_used();
            return Ok(CreatedAccessList { access_list, gas_used, failure });
        }
    }
}

/// The accounts and slots that a call touches.
struct Touched(BTreeMap<Address, BTreeSet<B256>>);

impl Touched {
    fn declared<'a>(items: impl Iterator<Item = &'a AccessListItem>) -> Self {
        let mut touched = BTreeMap::<_, BTreeSet<_>>::new();
        for item in items {
            touched.entry(item.address).or_default().extend(item.storage_keys.iter().copied());
        }
        Self(touched)
    }

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
}
