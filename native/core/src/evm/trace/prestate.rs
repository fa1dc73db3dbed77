//! The prestate tracer: accounts before a transaction, or the difference that it makes.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, KECCAK256_EMPTY};
use alloy_rpc_types_trace::geth::{AccountState, PreStateConfig, PreStateFrame};
use revm::context_interface::result::ResultAndState;
use revm::database_interface::DatabaseRef;
use revm_inspectors::tracing::TracingInspector;
use serde::{Deserialize, Serialize};

use super::error::TraceError;
use crate::state::database::StateDatabase;

/// Options of the prestate tracer.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PrestateOptions {
    #[serde(flatten)]
    base: PreStateConfig,
    /// List accounts that did not exist, too.
    include_empty: Option<bool>,
}

impl PrestateOptions {
    /// Reject options that exclude each other.
    pub fn check(self) -> Result<Self, TraceError> {
        if self.base.is_diff_mode() && self.include_empty.unwrap_or_default() {
            let text = "cannot use diffMode with includeEmpty";
            return Err(TraceError::Tracer(text.into()));
        }
        Ok(self)
    }
}

#[derive(Serialize)]
struct TracedAccount {
    #[serde(flatten)]
    state: AccountState,
    #[serde(rename = "codeHash", skip_serializing_if = "Option::is_none")]
    code_hash: Option<B256>,
}

#[derive(Serialize)]
struct Difference {
    post: BTreeMap<Address, TracedAccount>,
    pre: BTreeMap<Address, TracedAccount>,
}

/// Return the trace of an execution on `database` that ended in `finished`.
pub fn prestate(
    options: PrestateOptions,
    finished: &ResultAndState,
    database: &StateDatabase<'_>,
) -> Result<Vec<u8>, TraceError> {
    // The frame depends on the states only, so nothing has to be recorded.
    let frame = TracingInspector::default()
        .geth_builder()
        .geth_prestate_traces(finished, &options.base, database)
        .map_err(TraceError::Provider)?;
    let encoded = match frame {
        PreStateFrame::Default(mut frame) => {
            if options.include_empty.unwrap_or_default() {
                add_empty(&mut frame.0, options, finished);
            }
            serde_json::to_vec(&before(frame.0, database)?)
        }
        PreStateFrame::Diff(frame) => {
            let pre = before(frame.pre, database)?;
            let post = after(frame.post, &pre, finished);
            serde_json::to_vec(&Difference { post, pre })
        }
    };
    encoded.map_err(|error| TraceError::Tracer(error.to_string()))
}

fn add_empty(
    accounts: &mut BTreeMap<Address, AccountState>,
    options: PrestateOptions,
    finished: &ResultAndState,
) {
    for (address, account) in &finished.state {
        accounts.entry(*address).or_insert_with(|| {
            let mut empty = AccountState::from_account_info(0, Default::default(), None);
            if options.base.storage_enabled() {
                let slots = account.storage.iter();
                empty.storage =
                    slots.map(|(key, slot)| ((*key).into(), slot.original_value.into())).collect();
            }
            empty
        });
    }
}

type Accounts = BTreeMap<Address, TracedAccount>;

fn before(
    accounts: BTreeMap<Address, AccountState>,
    database: &StateDatabase<'_>,
) -> Result<Accounts, TraceError> {
    let add_hash = |(address, state)| {
        let account = database.basic_ref(address).map_err(TraceError::Provider)?;
        let code_hash = account.map(|account| account.code_hash).filter(has_code);
        Ok((address, TracedAccount { state, code_hash }))
    };
    accounts.into_iter().map(add_hash).collect()
}

fn after(
    accounts: BTreeMap<Address, AccountState>,
    before: &Accounts,
    finished: &ResultAndState,
) -> Accounts {
    let add_hash = |(address, state)| {
        let previous = before.get(&address).and_then(|account| account.code_hash);
        let code_hash = finished.state.get(&address).map(|account| account.info.code_hash);
        let code_hash = code_hash.filter(has_code).filter(|hash| Some(*hash) != previous);
        (address, TracedAccount { state, code_hash })
    };
    accounts.into_iter().map(add_hash).collect()
}

fn has_code(hash: &B256) -> bool {
    *hash != KECCAK256_EMPTY && !hash.is_zero()
}
