//! The unsigned transaction of a simulated call.

use alloy_consensus::transaction::RlpEcdsaEncodableTx;
use alloy_consensus::{
    Transaction, TxEip1559, TxEip2930, TxEip4844, TxEip7702, TxLegacy, Typed2718, TypedTransaction,
};
use alloy_primitives::{Address, Signature, TxKind, U256};
use revm::context::TxEnv;
use revm::context_interface::either::Either;
use revm::primitives::hardfork::SpecId;

use entresol_core::call::CallRequest;
use entresol_core::evm::env::Rules;

/// Why a call is not a transaction.
pub(super) enum NoTransaction {
    NumberTooLarge,
    BlobsCreate,
}

/// Return a call as a transaction; its type is 2 unless a gas price, blobs or authorizations imply another.
pub(super) fn unsigned(
    request: &CallRequest,
    rules: &Rules,
    nonce: u64,
    gas_limit: u64,
) -> Result<TypedTransaction, NoTransaction> {
    let chain_id = request.chain_id.unwrap_or(rules.chain_id);
    let nonce = request.nonce.unwrap_or(nonce);
    let kind = request.to.map_or(TxKind::Create, TxKind::Call);
    let (value, input) = (request.value, request.data.clone());
    if request.gas_price.is_some() || !rules.fork.is_enabled_in(SpecId::LONDON) {
        let gas_price = narrow(request.gas_price)?;
        return Ok(match &request.access_list {
            None => TxLegacy {
                chain_id: Some(chain_id),
                nonce,
                gas_price,
                gas_limit,
                to: kind,
                value,
                input,
            }
            .into(),
            Some(list) => TxEip2930 {
                chain_id,
                nonce,
                gas_price,
                gas_limit,
                to: kind,
                value,
                access_list: list.clone(),
                input,
            }
            .into(),
        });
    }
    let max_fee_per_gas = narrow(request.max_fee_per_gas)?;
    let max_priority_fee_per_gas = narrow(request.max_priority_fee_per_gas)?;
    let access_list = request.access_list.clone().unwrap_or_default();
    if let Some(hashes) = &request.blob_hashes {
        let transaction = TxEip4844 {
            chain_id,
            nonce,
            gas_limit,
            max_fee_per_gas,
            max_priority_fee_per_gas,
            to: request.to.ok_or(NoTransaction::BlobsCreate)?,
            value,
            access_list,
            blob_versioned_hashes: hashes.clone(),
            max_fee_per_blob_gas: narrow(request.max_fee_per_blob_gas)?,
            input,
        };
        return Ok(TypedTransaction::Eip4844(transaction.into()));
    }
    Ok(match &request.authorizations {
        None => TxEip1559 {
            chain_id,
            nonce,
            gas_limit,
            max_fee_per_gas,
            max_priority_fee_per_gas,
            to: kind,
            value,
            access_list,
            input,
        }
        .into(),
        Some(list) => TxEip7702 {
            chain_id,
            nonce,
            gas_limit,
            max_fee_per_gas,
            max_priority_fee_per_gas,
            to: request.to.unwrap_or_default(),
            value,
            access_list,
            authorization_list: list.clone(),
            input,
        }
        .into(),
    })
}

/// Return the bytes of a transaction, with a signature of zeros.
pub(super) fn encode(transaction: &TypedTransaction) -> Vec<u8> {
    let signature = Signature::new(U256::ZERO, U256::ZERO, false);
    let mut out = Vec::with_capacity(256 + transaction.input().len());
    match transaction {
        TypedTransaction::Legacy(it) => it.eip2718_encode(&signature, &mut out),
        TypedTransaction::Eip2930(it) => it.eip2718_encode(&signature, &mut out),
        TypedTransaction::Eip1559(it) => it.eip2718_encode(&signature, &mut out),
        TypedTransaction::Eip4844(it) => it.tx().eip2718_encode(&signature, &mut out),
        TypedTransaction::Eip7702(it) => it.eip2718_encode(&signature, &mut out),
    }
    out
}

/// Return the transaction as the engine takes it.
pub(super) fn tx_env(transaction: &TypedTransaction, sender: Address) -> TxEnv {
    let authorizations = transaction.authorization_list().unwrap_or_default();
    TxEnv {
        tx_type: transaction.ty(),
        caller: sender,
        gas_limit: transaction.gas_limit(),
        gas_price: transaction.max_fee_per_gas(),
        kind: transaction.kind(),
        value: transaction.value(),
        data: transaction.input().clone(),
        nonce: transaction.nonce(),
        chain_id: transaction.chain_id(),
        access_list: transaction.access_list().cloned().unwrap_or_default(),
        gas_priority_fee: transaction.max_priority_fee_per_gas(),
        blob_hashes: transaction.blob_versioned_hashes().unwrap_or_default().to_vec(),
        max_fee_per_blob_gas: transaction.max_fee_per_blob_gas().unwrap_or_default(),
        authorization_list: authorizations.iter().cloned().map(Either::Left).collect(),
    }
}

fn narrow(number: Option<U256>) -> Result<u128, NoTransaction> {
    u128::try_from(number.unwrap_or_default()).map_err(|_| NoTransaction::NumberTooLarge)
}
