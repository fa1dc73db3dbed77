//! A transaction that runs in steps: what its steps share.

use alloy_primitives::Address;
use revm::interpreter::InitialAndFloorGas;

use crate::evm::account::calls::Arguments;
use crate::evm::account::zk_tx::{Sender, ZkTx};
use crate::evm::engine::EngineEvm;
use crate::evm::env::ExecutionEnv;

/// A transaction that runs in steps.
pub struct Steps<'s, 'a, I, F> {
    pub(super) evm: &'s mut EngineEvm<'a, I>,
    pub(super) env: &'s ExecutionEnv,
    /// The fields of type 0x71.
    pub zk: &'s ZkTx,
    /// Who sends the transaction.
    pub sender: Address,
    pub(super) kind: Sender,
    pub(super) frames: F,
    pub(super) arguments: Arguments,
    pub(super) intrinsic: InitialAndFloorGas,
    pub(super) gas_left: u64,
    pub(super) refund: i64,
    /// What is left of the gas that is allowed before the execution: the sender's, and the paymaster's.
    pub(super) allowance: Option<[u64; 2]>,
    /// The gas that those steps have used, as far as it is metered.
    pub(super) worked: u64,
}
