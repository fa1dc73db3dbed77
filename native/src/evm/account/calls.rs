//! The calls of accounts, paymasters and tokens, encoded.

use alloy_primitives::{Address, B256, Bytes, FixedBytes, U256};
use alloy_sol_types::{SolCall, sol};

use super::ZkTx;
use crate::evm::env::ExecutionEnv;
use crate::typed_data;

sol! {
    /// A transaction as accounts and paymasters are given it; addresses are numbers.
    #[derive(Default)]
    struct Transaction {
        uint256 txType;
        uint256 from;
        uint256 to;
        uint256 gasLimit;
        uint256 gasPerPubdataByteLimit;
        uint256 maxFeePerGas;
        uint256 maxPriorityFeePerGas;
        uint256 paymaster;
        uint256 nonce;
        uint256 value;
        uint256[4] reserved;
        bytes data;
        bytes signature;
        bytes32[] factoryDeps;
        bytes paymasterInput;
        bytes reservedDynamic;
    }

    function validateTransaction(bytes32 txHash, bytes32 suggestedSignedHash, Transaction tx);
    function payForTransaction(bytes32 txHash, bytes32 suggestedSignedHash, Transaction tx);
    function prepareForPaymaster(bytes32 txHash, bytes32 suggestedSignedHash, Transaction tx);
    function executeTransaction(bytes32 txHash, bytes32 suggestedSignedHash, Transaction tx);
    function validateAndPayForPaymasterTransaction(
        bytes32 txHash, bytes32 suggestedSignedHash, Transaction tx
    );
    function postTransaction(
        bytes context, Transaction tx, bytes32 txHash, bytes32 suggestedSignedHash, uint8 result,
        uint256 maxRefundedGas
    );
    function general(bytes input);
    function approvalBased(address token, uint256 minAllowance, bytes innerInput);
    function allowance(address owner, address spender);
    function approve(address spender, uint256 amount);
    error InvalidInput();
    error UnsupportedPaymasterFlow();
}

/// A transaction with its hashes, as arguments of calls.
pub struct Arguments {
    hash: B256,
    signed_hash: B256,
    transaction: Transaction,
}

impl Arguments {
    /// Return the arguments for the transaction of `env`.
    pub fn new(env: &ExecutionEnv, zk: &ZkTx) -> Self {
        let (signed_hash, hash) = super::hashes(env, zk);
        let tx = &env.tx.base;
        let number = |address: Address| U256::from_be_bytes(address.into_word().0);
        let transaction = Transaction {
            txType: U256::from(typed_data::Transaction::TYPE),
            from: number(tx.caller),
            to: number(tx.kind.to().copied().unwrap_or_default()),
            gasLimit: U256::from(tx.gas_limit),
            gasPerPubdataByteLimit: U256::from(zk.gas_per_pubdata_limit),
            maxFeePerGas: U256::from(tx.gas_price),
            maxPriorityFeePerGas: U256::from(zk.max_priority_fee_per_gas),
            paymaster: number(zk.paymaster),
            nonce: U256::from(tx.nonce),
            value: tx.value,
            data: tx.data.clone(),
            signature: zk.signature.clone(),
            factoryDeps: zk.factory_dep_hashes.clone(),
            paymasterInput: zk.paymaster_input.clone(),
            ..Transaction::default()
        };
        Self { hash, signed_hash, transaction }
    }

    /// Return the calldata of a function that takes both hashes and the transaction.
    pub fn encode<C: FromArguments>(&self) -> Bytes {
        C::from_arguments(self.hash, self.signed_hash, self.transaction.clone()).abi_encode().into()
    }

    /// Return the calldata of `postTransaction`.
    pub fn encode_post(&self, context: Bytes, is_success: bool, gas_left: u64) -> Bytes {
        let call = postTransactionCall {
            context,
            tx: self.transaction.clone(),
            txHash: self.hash,
            suggestedSignedHash: self.signed_hash,
            result: is_success.into(),
            maxRefundedGas: U256::from(gas_left),
        };
        call.abi_encode().into()
    }
}

/// A function that takes both hashes and the transaction.
pub trait FromArguments: SolCall {
    /// Return the call.
    fn from_arguments(hash: B256, signed_hash: B256, transaction: Transaction) -> Self;
}

macro_rules! from_arguments {
    ($($call:ident),*) => {$(
        impl FromArguments for $call {
            fn from_arguments(hash: B256, signed_hash: B256, transaction: Transaction) -> Self {
                Self { txHash: hash, suggestedSignedHash: signed_hash, tx: transaction }
            }
        }
    )*};
}
from_arguments!(
    validateTransactionCall,
    payForTransactionCall,
    prepareForPaymasterCall,
    executeTransactionCall,
    validateAndPayForPaymasterTransactionCall
);

/// Return the word by which a function agrees: its own selector.
pub fn magic<C: SolCall>() -> B256 {
    let mut word = B256::ZERO;
    word[..4].copy_from_slice(&C::SELECTOR);
    word
}

/// Return the first word of what a call has returned.
pub fn first_word(output: &[u8]) -> Option<B256> {
    output.first_chunk::<32>().copied().map(FixedBytes)
}
