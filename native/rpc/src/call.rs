//! The plain spelling of a call object, and what calls come to as JSON.
//!
//! Other members and other spellings are read by Python; either way `entresol_core::call` executes.

use std::fmt;

use alloy_primitives::U256;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use entresol_core::call::{
    self, CallError, CallRequest, CreatedAccessList, EstimateOptions, L1Bounds, Logged,
};
use entresol_core::evm::console::ConsoleCalls;
use entresol_core::evm::env::ExecutionEnv;
use entresol_core::state::State;

use super::hex::{parse_address, parse_data, put_data, put_number, quantity, render, render_data};

/// How a call ended.
#[derive(Debug)]
pub enum Outcome {
    /// With this result, as JSON, after so much gas.
    Result(Vec<u8>, u64),
    /// It failed.
    Failure(CallError),
    /// With an access list, though the call fails with it.
    Listed(CreatedAccessList),
    /// It needs more gas than it may use here.
    BudgetSpent,
    /// It is left to Python, which reports what it logged to the console.
    Other,
}

impl From<CallError> for Outcome {
    fn from(error: CallError) -> Self {
        if error.is_budget_spent() { Self::BudgetSpent } else { Self::Failure(error) }
    }
}

/// Return the output of a call, as JSON.
pub fn call(state: &dyn State, env: ExecutionEnv, request: &CallRequest, gas_cap: u64) -> Outcome {
    let Logged { result, console } = call::call(state, env, request, gas_cap);
    match result {
        _ if !is_silent(&console) => Outcome::Other,
        Ok(called) => Outcome::Result(render_data(&called.output), called.gas_spent),
        Err(error) => error.into(),
    }
}

/// Return the gas that a call needs, as JSON.
pub fn estimate_gas(
    state: &dyn State,
    env: ExecutionEnv,
    request: &CallRequest,
    options: EstimateOptions,
) -> Outcome {
    let Logged { result, console } = call::estimate_gas(state, env, request, options);
    match result {
        _ if !is_silent(&console) => Outcome::Other,
        Ok(estimate) => Outcome::Result(render(U256::from(estimate.gas)), estimate.gas),
        Err(error) => error.into(),
    }
}

/// Return what a call touches, as JSON.
pub fn create_access_list(
    state: &dyn State,
    env: ExecutionEnv,
    request: &CallRequest,
    gas_cap: u64,
) -> Outcome {
    match call::create_access_list(state, env, request, gas_cap) {
        Ok(created) if created.failure.is_some() => Outcome::Listed(created),
        Ok(created) => Outcome::Result(render_access_list(&created, None), created.gas_used),
        Err(error) => error.into(),
    }
}

/// Return the gas limit of a priority transaction, as JSON.
pub fn estimate_l1_to_l2(
    state: &dyn State,
    env: ExecutionEnv,
    request: &CallRequest,
    bounds: L1Bounds,
) -> Outcome {
    match call::estimate_l1_to_l2(state, env, request, bounds) {
        Ok(gas) => Outcome::Result(render(U256::from(gas)), gas),
        Err(error) => error.into(),
    }
}

/// Render an access list, with the text of its failure if there is one.
pub fn render_access_list(created: &CreatedAccessList, error: Option<&str>) -> Vec<u8> {
    let CreatedAccessList { access_list, gas_used, .. } = created;
    let slots: usize = access_list.0.iter().map(|item| 1 + item.storage_keys.len()).sum();
    let mut out = Vec::with_capacity(128 + 128 * slots);
    out.extend_from_slice(b"{\"accessList\":[");
    for (index, item) in access_list.0.iter().enumerate() {
        out.extend_from_slice(if index == 0 { b"{\"address\":" } else { b",{\"address\":" });
        put_data(&mut out, item.address.as_slice());
        out.extend_from_slice(b",\"storageKeys\":[");
        for (index, slot) in item.storage_keys.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            put_data(&mut out, slot.as_slice());
        }
        out.extend_from_slice(b"]}");
    }
    out.extend_from_slice(b"],\"gasUsed\":");
    put_number(&mut out, *gas_used);
    if let Some(text) = error {
        out.extend_from_slice(b",\"error\":");
        serde_json::to_writer(&mut out, text).expect("a text is written to memory");
    }
    out.push(b'}');
    out
}

fn is_silent(console: &ConsoleCalls) -> bool {
    console.recorded.is_empty() && console.dropped == 0
}

/// The parameters of a method that takes a call and a block.
#[derive(Deserialize)]
pub struct CallParams<'a>(pub PricedCall, #[serde(borrow, default)] pub Option<&'a str>);

/// A call object in the plain spelling: without a price, with a target.
#[derive(Debug, PartialEq, Eq)]
pub struct PlainCall(pub CallRequest);

/// A call object in the plain spelling, with all that wallets know of a transaction.
#[derive(Debug, PartialEq, Eq)]
pub struct PricedCall(pub CallRequest);

impl<'a> Deserialize<'a> for PlainCall {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(CallVisitor { may_have_price: false }).map(Self)
    }
}

impl<'a> Deserialize<'a> for PricedCall {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(CallVisitor { may_have_price: true }).map(Self)
    }
}

struct CallVisitor {
    may_have_price: bool,
}

impl<'a> Visitor<'a> for CallVisitor {
    type Value = CallRequest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plain call object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut members: A) -> Result<CallRequest, A::Error> {
        let (mut from, mut gas, mut value, mut data, mut kind) = (None, None, None, None, None);
        let (mut nonce, mut chain_id) = (None, None);
        let mut call = CallRequest::default();
        while let Some((key, text)) = members.next_entry::<&str, &str>()? {
            let is_new = match key {
                "from" => put(&mut from, parse_address(text)),
                "to" => put(&mut call.to, parse_address(text)),
                "gas" => put(&mut gas, quantity(text, 16)),
                "value" => put(&mut value, quantity(text, 64)),
                // Both at once are left to Python, which compares them.
                "data" | "input" => put(&mut data, parse_data(text)),
                _ if !self.may_have_price => false,
                "gasPrice" => put(&mut call.gas_price, quantity(text, 64)),
                "maxFeePerGas" => put(&mut call.max_fee_per_gas, quantity(text, 64)),
                "maxPriorityFeePerGas" => {
                    put(&mut call.max_priority_fee_per_gas, quantity(text, 64))
                }
                "nonce" => put(&mut nonce, quantity(text, 16)),
                "chainId" => put(&mut chain_id, quantity(text, 16)),
                // Others stand for more than what their members say.
                "type" => {
                    put(&mut kind, Some(text).filter(|it| ["0x0", "0x1", "0x2"].contains(it)))
                }
                _ => false,
            };
            if !is_new {
                return Err(A::Error::custom("a member that is not plain"));
            }
        }
        if call.to.is_none() {
            return Err(A::Error::custom("creates a contract"));
        }
        if call.gas_price.is_some() {
            // It takes precedence, as clients mean it.
            call.max_fee_per_gas = None;
            call.max_priority_fee_per_gas = None;
        }
        let narrow = |number: Option<U256>| number.map(|number| number.to());
        Ok(CallRequest {
            from: from.unwrap_or_default(),
            gas: narrow(gas),
            value: value.unwrap_or_default(),
            data: data.unwrap_or_default(),
            nonce: narrow(nonce),
            chain_id: narrow(chain_id),
            ..call
        })
    }
}

/// Put `value`, if there is one and it is the first.
fn put<T>(place: &mut Option<T>, value: Option<T>) -> bool {
    value.is_some() && place.replace(value.expect("checked")).is_none()
}
