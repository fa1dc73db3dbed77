//! What is simulated, on which block, and why it is not.

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bytes, U256};

use entresol_core::call::CallRequest;
use entresol_core::evm::ExecutionError;
use entresol_core::evm::env::ExecutionEnv;
use entresol_core::evm::limits::LimitReached;
use entresol_core::evm::precompiles::MovedPrecompiles;
use entresol_core::state::ProviderError;
use entresol_core::state::changes::Changes;
use entresol_core::state::overlay::Overlay;

/// The codes and texts of calls that fail, which are Python's.
#[derive(Clone, Debug)]
pub struct FailureTexts {
    /// The code of a revert.
    pub revert_code: i32,
    /// The text of a revert without a reason.
    pub reverted: String,
    /// What precedes the reason of a revert.
    pub reverted_because: String,
    /// The code of a halt.
    pub halt_code: i32,
}

/// What is simulated.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Simulation {
    /// The blocks.
    pub blocks: Vec<BlockCalls>,
    /// Whether transactions are validated as in a block.
    pub validation: bool,
    /// Whether transfers of ETH appear among the logs.
    pub trace_transfers: bool,
    /// Whether transactions are objects instead of hashes.
    pub full_transactions: bool,
}

/// A requested block.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct BlockCalls {
    /// Its calls.
    pub calls: Vec<CallRequest>,
    /// Overrides of accounts, in order.
    pub accounts: Vec<(Address, AccountOverride)>,
    /// Precompiles that they move or replace.
    pub precompiles: MovedPrecompiles,
    /// Overrides of the block.
    pub overrides: BlockOverrides,
}

/// Overrides of an account.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct AccountOverride {
    /// The balance.
    pub balance: Option<U256>,
    /// The nonce.
    pub nonce: Option<u64>,
    /// The code.
    pub code: Option<Bytes>,
    /// All of its storage.
    pub state: Option<Vec<(B256, B256)>>,
    /// Some of its slots.
    pub state_diff: Vec<(B256, B256)>,
}

/// Overrides of a block.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct BlockOverrides {
    /// The number.
    pub number: Option<U256>,
    /// The time.
    pub time: Option<U256>,
    /// The gas limit.
    pub gas_limit: Option<u64>,
    /// Who gets the fees.
    pub fee_recipient: Option<Address>,
    /// The random value.
    pub prev_randao: Option<B256>,
    /// The base fee.
    pub base_fee_per_gas: Option<u64>,
    /// The base fee of blob gas.
    pub blob_base_fee: Option<u128>,
}

/// What a block gets from its chain.
#[derive(Clone, Copy, Debug, Default)]
pub struct NextBlock {
    /// The base fee of a block that is validated.
    pub base_fee: u64,
    /// The root of the withdrawals, from Shanghai on.
    pub withdrawals_root: Option<B256>,
    /// The excess of blob gas, from Cancun on.
    pub excess_blob_gas: Option<u64>,
    /// The root of the beacon block, from Cancun on.
    pub parent_beacon_block_root: Option<B256>,
    /// The hash of the requests, from Prague on.
    pub requests_hash: Option<B256>,
}

/// The chain that a simulation builds on.
pub trait BaseChain {
    /// Return what the block after `parent` gets.
    fn next_block(&self, parent: &Header) -> Result<NextBlock, ProviderError>;

    /// Return the state root after changes since the base block.
    fn state_root(&self, changes: &Changes) -> Result<B256, ProviderError>;
}

/// The block that a simulation builds on.
pub struct Base<'a> {
    /// Its header.
    pub header: Header,
    /// Its hash.
    pub hash: B256,
    /// The state after it.
    pub overlay: Overlay,
    /// The rules, and the limits of all calls together.
    pub env: ExecutionEnv,
    /// The seconds between blocks, unless a block overrides its time.
    pub interval: u64,
    /// Its chain.
    pub chain: &'a dyn BaseChain,
}

/// Why there is no simulation.
#[derive(Debug)]
pub enum SimulationError {
    /// It has no blocks.
    Empty,
    /// It has more blocks than allowed.
    TooLong(U256, u64),
    /// The number of a block is not above that of the block before it.
    NumberTooLow(U256, u64),
    /// The number of a block has more than 64 bits.
    NumberTooLarge,
    /// The time of a block is not above that of the block before it.
    TimeTooLow(U256, u64),
    /// The time of a block has more than 64 bits.
    TimeTooLarge(U256),
    /// The calls have used up the gas of all.
    GasSpent(u64),
    /// A number of a call is too large for a transaction.
    CallNumberTooLarge,
    /// No block could include a call.
    Rejected {
        /// The position of the block in the request.
        block: usize,
        /// The position of the call in the block.
        call: usize,
        /// Why.
        reason: Rejection,
    },
    /// An execution has no result, for a reason that is not the call's.
    Execution(ExecutionError, Box<ExecutionEnv>),
    /// The chain or its state could not be read.
    Provider(ProviderError),
}

/// Why no block could include a call.
#[derive(Debug)]
pub enum Rejection {
    /// Its gas limit is above what the block has left.
    BlockFull(u64, u64),
    /// A blob transaction cannot create.
    BlobsCreate,
    /// It is invalid in this environment.
    Invalid(ExecutionError, Box<ExecutionEnv>),
}

impl SimulationError {
    /// Whether it needs more gas than it may use here.
    pub const fn is_budget_spent(&self) -> bool {
        matches!(self, Self::Execution(ExecutionError::LimitReached(LimitReached::Gas), _))
    }
}

impl From<ProviderError> for SimulationError {
    fn from(error: ProviderError) -> Self {
        Self::Provider(error)
    }
}

impl Simulation {
    /// The number of blocks and calls.
    pub fn items(&self) -> usize {
        self.blocks.iter().map(|block| 1 + block.calls.len()).sum()
    }
}
