//! The calls of accounts, paymasters and tokens, encoded.

use alloy_primitives::{B256, Bytes, FixedBytes, U256};
use alloy_sol_types::{SolCall, sol};

use super::zk_tx::ZkTx;
use crate::evm::env::ExecutionEnv;
use crate::typed_data;

sol! {
    /// A transaction as accounts and paymasters are given it; addresses are numbers.
    #[derive(Default)]
    struct Argument {
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

    function validateTransaction(bytes32 txHash, bytes32 suggestedSignedHash, Argument tx);
    function payForTransaction(bytes32 txHash, bytes32 suggestedSignedHash, Argument tx);
    function prepareForPaymaster(bytes32 txHash, bytes32 suggestedSignedHash, Argument tx);
    function executeTransaction(bytes32 txHash, bytes32 suggestedSignedHash, Argument tx);
    function validateAndPayForPaymasterTransaction(
        bytes32 txHash, bytes32 suggestedSignedHash, Argument tx
    );
    function postTransaction(
        bytes context, Argument tx, bytes32 txHash, bytes32 suggestedSignedHash, uint8 result,
        uint256 maxRefundedGas
    );
    function general(bytes input);
    function approvalBased(address token, uint256 minAllowance, bytes innerInput);
    function allowance(address owner, address spender);
    function approve(address spender, uint256 amount);
    error InvalidInput();
    error UnsupportedPaymasterFlow();
}

impl Argument {
    /// Return what was signed, with its signature.
    fn new(signed: typed_data::Transaction, signature: Bytes) -> Self {
        Self {
            txType: signed.txType,
            from: signed.from,
            to: signed.to,
            gasLimit: signed.gasLimit,
            gasPerPubdataByteLimit: signed.gasPerPubdataByteLimit,
            maxFeePerGas: signed.maxFeePerGas,
            maxPriorityFeePerGas: signed.maxPriorityFeePerGas,
            paymaster: signed.paymaster,
            nonce: signed.nonce,
            value: signed.value,
            data: signed.data,
            signature,
            factoryDeps: signed.factoryDeps,
            paymasterInput: signed.paymasterInput,
            ..Self::default()
        }
    }
}

/// A transaction with its hashes, as arguments of calls.
pub struct Arguments {
    hash: B256,
    signed_hash: B256,
    transaction: Argument,
}

impl Arguments {
    /// Return the arguments for the transaction of `env`.
    pub fn new(env: &ExecutionEnv, zk: &ZkTx) -> Self {
        let signed = signed_fields(env, zk);
        let signed_hash = signed.signing_hash(U256::from(env.rules.chain_id));
        let hash = typed_data::transaction_hash(signed_hash, &zk.signature);
        Self { hash, signed_hash, transaction: Argument::new(signed, zk.signature.clone()) }
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

/// Return what the sender of the transaction of `env` has signed.
fn signed_fields(env: &ExecutionEnv, zk: &ZkTx) -> typed_data::Transaction {
    let tx = &env.tx.base;
    typed_data::Transaction {
        txType: U256::from(typed_data::Transaction::TYPE),
        from: tx.caller.into_word().into(),
        to: tx.kind.to().copied().unwrap_or_default().into_word().into(),
        gasLimit: U256::from(tx.gas_limit),
        gasPerPubdataByteLimit: U256::from(zk.gas_per_pubdata_limit),
        maxFeePerGas: U256::from(tx.gas_price),
        maxPriorityFeePerGas: U256::from(zk.max_priority_fee_per_gas),
        paymaster: zk.paymaster.into_word().into(),
        nonce: U256::from(tx.nonce),
        value: tx.value,
        data: tx.data.clone(),
        factoryDeps: zk.factory_dep_hashes.clone(),
        paymasterInput: zk.paymaster_input.clone(),
    }
}

/// A function that takes both hashes and the transaction.
pub trait FromArguments: SolCall {
    /// Return the call.
    fn from_arguments(hash: B256, signed_hash: B256, transaction: Argument) -> Self;
}

macro_rules! from_arguments {
    ($($call:ident),*) => {$(
        impl FromArguments for $call {
            fn from_arguments(hash: B256, signed_hash: B256, transaction: Argument) -> Self {
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
