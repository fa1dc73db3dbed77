//! Tracers of call frames: one recording, in the formats of geth, Parity and Otterscan.

use alloy_primitives::map::HashSet;
use alloy_primitives::{Address, Bytes, TxKind, U256};
use alloy_rpc_types_eth::TransactionInfo;
use alloy_rpc_types_trace::filter::TraceFilterMatcher;
use alloy_rpc_types_trace::geth::erc7562::Erc7562Config;
use alloy_rpc_types_trace::geth::{CallConfig, CallFrame, FlatCallConfig};
use alloy_rpc_types_trace::parity::TraceType;
use revm::context_interface::result::ResultAndState;
use revm::interpreter::InstructionResult;
use revm_inspectors::tracing::types::{CallKind, CallTrace, CallTraceNode};
use revm_inspectors::tracing::{TracingInspector, TracingInspectorConfig};
use serde::Serialize;

use super::error::TraceError;
use super::json::encode;
use crate::evm::env::ExecutionEnv;
use crate::state::database::StateDatabase;

/// Where the traced transaction is in the chain.
#[derive(Clone, Copy, Debug, Default)]
pub struct Position {
    /// Its block, and its index there.
    pub info: TransactionInfo,
    /// How many logs the transactions before it in the block have emitted.
    pub first_log: u64,
}

/// A format of call frames.
#[derive(Clone, Debug)]
pub enum FrameFormat {
    /// geth's `callTracer`.
    Calls(CallConfig),
    /// geth's `flatCallTracer`.
    Flat(FlatCallConfig),
    /// geth's `erc7562Tracer`.
    Erc7562(Box<Erc7562Config>),
    /// The frames of `trace_transaction`, those that match a filter.
    Localized(Box<TraceFilterMatcher>),
    /// The result of `trace_replayTransaction`.
    Replay(HashSet<TraceType>),
    /// The result of `ots_traceTransaction`.
    Otterscan,
}

impl FrameFormat {
    /// Return an inspector that records what the format needs.
    pub fn inspector(&self) -> TracingInspector {
        TracingInspector::new(match self {
            Self::Calls(config) => TracingInspectorConfig::from_geth_call_config(config),
            Self::Flat(config) => TracingInspectorConfig::default_parity()
                .set_exclude_precompile_calls(!config.include_precompiles.unwrap_or_default()),
            Self::Erc7562(config) => TracingInspectorConfig::from_geth_erc7562_config(config),
            Self::Localized(_) => TracingInspectorConfig::default_parity(),
            Self::Replay(types) => TracingInspectorConfig::from_parity_config(types),
            Self::Otterscan => {
                TracingInspectorConfig::from_geth_call_config(&CallConfig::default())
            }
        })
    }

    /// Return the trace of an execution that `inspector` has recorded.
    pub fn trace(
        &self,
        inspector: &mut TracingInspector,
        position: Position,
        env: &ExecutionEnv,
        finished: &ResultAndState,
        database: &StateDatabase<'_>,
    ) -> Result<Vec<u8>, TraceError> {
        let gas = finished.result.gas();
        if inspector.traces().nodes()[0].trace.status.is_none() {
            inspector.traces_mut().nodes_mut()[0].trace = rejected_frame(env, gas.tx_gas_used());
        }
        if matches!(self, Self::Calls(_) | Self::Flat(_) | Self::Erc7562(_)) {
            inspector.set_transaction_gas_limit(env.tx.base.gas_limit);
            // The root of one that runs in steps has no caller.
            if env.tx.zk.is_none() {
                inspector.set_transaction_caller(env.tx.base.caller);
            }
        }
        match self {
            Self::Calls(config) => {
                let failure = FailedRoot::take(inspector.traces_mut().nodes_mut(), env);
                number_logs(inspector.traces_mut().nodes_mut(), position.first_log);
                if config.only_top_call.unwrap_or_default() {
                    let logs = &mut inspector.traces_mut().nodes_mut()[0].logs;
                    logs.iter_mut().for_each(|log| log.position = 0);
                }
                let builder = inspector.geth_builder();
                let mut root = builder.geth_call_traces_with_result_gas(*config, *gas);
                if let Some(it) = failure {
                    (root.output, root.error, root.revert_reason) = it.into_parts();
                }
                encode(&root)
            }
            Self::Flat(config) => {
                let converts = config.convert_parity_errors.unwrap_or_default();
                let errors = (!converts).then(|| geth_errors(inspector.traces().nodes()));
                let builder = std::mem::take(inspector).into_parity_builder();
                let builder = builder.with_transaction_gas_used(gas.tx_gas_used());
                let mut frames = builder.into_localized_transaction_traces(position.info);
                let calls = frames.iter_mut().filter(|it| !it.trace.action.is_selfdestruct());
                for (frame, error) in calls.zip(errors.into_iter().flatten()) {
                    frame.trace.error = error;
                }
                encode(&frames)
            }
            Self::Erc7562(config) => {
                let failure = FailedRoot::take(inspector.traces_mut().nodes_mut(), env);
                number_logs(inspector.traces_mut().nodes_mut(), position.first_log);
                let builder = inspector.geth_builder();
                let config = config.as_ref().clone();
                let mut root = builder.geth_erc7562_traces(config, gas.tx_gas_used(), database);
                if let Some(it) = failure {
                    (root.output, root.error, root.revert_reason) = it.into_parts();
                }
                encode(&root)
            }
            Self::Localized(filter) => {
                let builder = std::mem::take(inspector).into_parity_builder();
                let mut frames = builder.into_localized_transaction_traces(position.info);
                frames.retain(|frame| filter.matches(&frame.trace));
                encode(&frames)
            }
            Self::Replay(types) => {
                let builder = std::mem::take(inspector).into_parity_builder();
                let results = builder.into_trace_results_with_state(finished, types, database);
                encode(&results.map_err(TraceError::Provider)?)
            }
            Self::Otterscan => encode(&otterscan(inspector.traces().nodes())),
        }
    }
}

/// How the root of a transaction that runs in steps has failed.
///
/// The root is not a call: a step that succeeds keeps its logs, also if another one fails. So frames are built as
/// if the root had succeeded.
struct FailedRoot(CallFrame);

impl FailedRoot {
    /// Make the root of a transaction that runs in steps succeed, and return how it has failed.
    fn take(nodes: &mut [CallTraceNode], env: &ExecutionEnv) -> Option<Self> {
        let root = &mut nodes[0];
        if env.tx.zk.is_none() || !root.trace.is_error() {
            return None;
        }
        let failed = root.geth_empty_call_frame(false);
        root.trace.success = true;
        root.trace.status = Some(InstructionResult::Stop);
        Some(Self(failed))
    }

    /// Return the output, the error and the reason of a revert.
    fn into_parts(self) -> (Option<Bytes>, Option<String>, Option<String>) {
        (self.0.output, self.0.error, self.0.revert_reason)
    }
}

/// Drop the logs of frames that failed, and number the others as the receipts of the block do.
fn number_logs(nodes: &mut [CallTraceNode], first: u64) {
    let mut failed = Vec::with_capacity(nodes.len());
    for node in nodes.iter_mut() {
        failed.push(node.trace.is_error() || node.parent.is_some_and(|parent| failed[parent]));
        if failed[failed.len() - 1] {
            node.logs.clear();
        }
    }
    let logs = nodes.iter().flat_map(|node| &node.logs);
    let mut emitted: Vec<u64> = logs.map(|log| log.index).collect();
    emitted.sort_unstable();
    for log in nodes.iter_mut().flat_map(|node| &mut node.logs) {
        log.index = first + emitted.partition_point(|earlier| *earlier < log.index) as u64;
    }
}

/// Return why the frames of a flat trace failed, in geth's words.
fn geth_errors(nodes: &[CallTraceNode]) -> Vec<Option<String>> {
    let frames = nodes.iter().filter(|node| !node.is_precompile());
    frames.map(|node| node.geth_empty_call_frame(false).error).collect()
}

/// The frame of a transaction that could not start.
fn rejected_frame(env: &ExecutionEnv, gas_used: u64) -> CallTrace {
    let tx = &env.tx.base;
    let (kind, address) = match tx.kind {
        TxKind::Call(address) => (CallKind::Call, address),
        TxKind::Create => (CallKind::Create, tx.caller.create(tx.nonce)),
    };
    CallTrace {
        caller: tx.caller,
        address,
        kind,
        value: tx.value,
        data: tx.data.clone(),
        gas_limit: tx.gas_limit,
        gas_used,
        status: Some(InstructionResult::OutOfGas),
        ..CallTrace::default()
    }
}

/// An entry of `ots_traceTransaction`.
#[derive(Serialize)]
struct OtterscanEntry<'a> {
    r#type: &'static str,
    depth: usize,
    from: Address,
    to: Address,
    value: Option<U256>,
    input: &'a Bytes,
    output: &'a Bytes,
}

fn otterscan(nodes: &[CallTraceNode]) -> Vec<OtterscanEntry<'_>> {
    static NOTHING: Bytes = Bytes::new();
    let mut entries = Vec::with_capacity(nodes.len());
    // Self-destructs follow the frames that their contract has called, so they wait for the frame's end.
    let mut destroyed: Vec<&CallTraceNode> = Vec::new();
    let destruction = |node: &CallTraceNode| OtterscanEntry {
        r#type: "SELFDESTRUCT",
        depth: node.trace.depth + 1,
        from: node.trace.selfdestruct_address.unwrap_or_default(),
        to: node.trace.selfdestruct_refund_target.unwrap_or_default(),
        value: node.trace.selfdestruct_transferred_value,
        input: &NOTHING,
        output: &NOTHING,
    };
    for node in nodes {
        let trace = &node.trace;
        while let Some(ended) = destroyed.pop_if(|it| it.trace.depth >= trace.depth) {
            entries.push(destruction(ended));
        }
        let moves_value = !matches!(trace.kind, CallKind::StaticCall | CallKind::DelegateCall);
        entries.push(OtterscanEntry {
            r#type: trace.kind.to_str(),
            depth: trace.depth,
            from: trace.caller,
            to: trace.address,
            value: moves_value.then_some(trace.value),
            input: &trace.data,
            output: &trace.output,
        });
        if trace.is_selfdestruct() {
            destroyed.push(node);
        }
    }
    entries.extend(destroyed.into_iter().rev().map(destruction));
    entries
}
