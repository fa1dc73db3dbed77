//! Calls that stand for transactions of contract accounts or with paymasters: estimates and traces run their steps.

use alloy_primitives::{Address, B256, Bytes, TxKind, U256};
use revm::bytecode::Bytecode;
use revm::context::{TransactionType, TxEnv as RevmTxEnv};

use super::error::CallError;
use super::request::{CallRequest, PAID};
use super::smallest_gas::TRANSFER_GAS;
use crate::evm::account::rejection::Rejection;
use crate::evm::account::sender::{has_code, is_contract_account, transaction_count};
use crate::evm::account::system_contracts::{
    NONCE_HOLDER, account_slot, is_enabled, with_min_nonce,
};
use crate::evm::account::zk_tx::{Mode, ZkTx};
use crate::evm::env::{ExecutionEnv, TxEnv};
use crate::state::{Account, ProviderError, State};

/// What is added to an estimate if code of accounts or paymasters has run, which may do more for a signature.
pub(super) const STEPS_MARGIN_PERCENT: u64 = 30;
/// What is added for a key: zksync-ethers estimates the transaction of a multisig account from its first owner.
///
/// It covers up to four signatures, the first use of a nonce, the payment and the call of the target.
const OWNER_MARGIN: u64 = 100_000;
/// What a call with value of an account that does not exist costs besides (EIP-161), and a transfer by a key does not.
const NEW_ACCOUNT_GAS: u64 = 25_000;
/// A call gets 63 of 64 parts of the gas (EIP-150), so the account needs this part more than its call.
const CALL_SHARE: u64 = 63;
/// The most gas for a byte of pubdata, if a call does not say.
const DEFAULT_GAS_PER_PUBDATA: u64 = 50_000;

const DUMMY_SIGNATURE: [u8; 65] = {
    let mut signature = [0; 65];
    signature[64] = 0x1b;
    signature
};

/// A call that runs in steps, with the nonce that it names.
pub(super) struct AccountCall {
    tx: TxEnv,
    nonce: Option<(Address, SenderNonce)>,
}

/// The next nonce of a sender, where its kind has it.
#[derive(Clone, Copy)]
enum SenderNonce {
    OfKey(u64),
    OfContract { slot: U256, value: U256 },
}

impl AccountCall {
    /// Return the steps of a call, or None if it runs like one of any other type.
    ///
    /// The sender decides, whatever type is given. Its payer has the fee, which is the base fee for any gas limit.
    pub(super) fn of(
        state: &dyn State,
        env: &ExecutionEnv,
        request: &CallRequest,
    ) -> Result<Option<Self>, CallError> {
        if !runs_in_steps(state, request)? {
            return Ok(None);
        }
        let to = request.to.ok_or(CallError::NoTarget)?;
        let next = match request.nonce {
            None => transaction_count(state, request.from)?,
            Some(nonce) => U256::from(nonce),
        };
        let nonce = match request.nonce {
            None => None,
            Some(nonce) => Some((request.from, sender_nonce(state, request.from, nonce)?)),
        };
        let base_fee = env.block.basefee;
        let zk = zk_fields(request, base_fee)?;
        let tx = TxEnv {
            base: RevmTxEnv {
                tx_type: TransactionType::Eip1559.into(),
                caller: request.from,
                gas_price: base_fee.into(),
                gas_priority_fee: Some(0),
                kind: TxKind::Call(to),
                value: request.value,
                data: request.data.clone(),
                nonce: u64::try_from(next).map_err(|_| CallError::NumberTooLarge)?,
                chain_id: Some(request.chain_id.unwrap_or(env.rules.chain_id)),
                ..RevmTxEnv::default()
            },
            published: request.published(),
            zk: Some(Box::new(zk)),
            ..TxEnv::default()
        };
        Ok(Some(Self { tx, nonce }))
    }

    /// Return the environment of the steps, with this gas limit.
    pub(super) fn env(&self, env: ExecutionEnv, gas_limit: u64) -> ExecutionEnv {
        let mut tx = self.tx.clone();
        tx.base.gas_limit = gas_limit;
        ExecutionEnv { tx, checks: PAID, ..env }
    }

    /// Return the state that the steps run on.
    pub(super) const fn state<'a>(&self, state: &'a dyn State) -> SenderState<'a> {
        match self.nonce {
            None => SenderState { state, sender: Address::ZERO, nonce: None, balance: None },
            Some((sender, nonce)) => {
                SenderState { state, sender, nonce: Some(nonce), balance: None }
            }
        }
    }
}

/// A state whose sender has another nonce or balance.
pub(super) struct SenderState<'a> {
    state: &'a dyn State,
    sender: Address,
    nonce: Option<SenderNonce>,
    balance: Option<U256>,
}

impl<'a> SenderState<'a> {
    /// Return a state whose sender can pay for everything, without that anything overflows.
    pub(super) fn rich(state: &'a dyn State, sender: Address) -> Self {
        Self { state, sender, nonce: None, balance: Some(U256::ONE << 255) }
    }
}

impl State for SenderState<'_> {
    fn account(&self, address: Address) -> Result<Option<Account>, ProviderError> {
        let found = self.state.account(address)?;
        let nonce = match self.nonce {
            Some(SenderNonce::OfKey(nonce)) => Some(nonce),
            _ => None,
        };
        if address != self.sender || (nonce.is_none() && self.balance.is_none()) {
            return Ok(found);
        }
        let mut account = found.unwrap_or_default();
        account.nonce = nonce.unwrap_or(account.nonce);
        account.balance = self.balance.unwrap_or(account.balance);
        Ok(Some(account).filter(|account| !account.is_empty()))
    }

    fn code(&self, hash: B256) -> Result<Bytecode, ProviderError> {
        self.state.code(hash)
    }

    fn slot(&self, address: Address, slot: U256) -> Result<U256, ProviderError> {
        match self.nonce {
            Some(SenderNonce::OfContract { slot: at, value })
                if address == NONCE_HOLDER && slot == at =>
            {
                Ok(value)
            }
            _ => self.state.slot(address, slot),
        }
    }

    fn block_hash(&self, number: u64) -> Result<B256, ProviderError> {
        self.state.block_hash(number)
    }
}

fn sender_nonce(
    state: &dyn State,
    sender: Address,
    nonce: u64,
) -> Result<SenderNonce, ProviderError> {
    if !is_contract_account(state, sender)? {
        return Ok(SenderNonce::OfKey(nonce));
    }
    let slot = account_slot(sender);
    let value = with_min_nonce(state.slot(NONCE_HOLDER, slot)?, nonce);
    Ok(SenderNonce::OfContract { slot, value })
}

fn runs_in_steps(state: &dyn State, request: &CallRequest) -> Result<bool, CallError> {
    let paymaster = request.zk.as_ref().and_then(|zk| zk.paymaster);
    let is_contract = has_code(state, request.from)?;
    if paymaster.is_none() && !is_contract {
        return Ok(false);
    }
    if !is_enabled(state)? {
        return paymaster.map_or(Ok(false), |it| Err(CallError::PaymasterNotSupported(it)));
    }
    if is_contract && !is_contract_account(state, request.from)? {
        // Without anything of type 0x71 it simulates a call of the contract.
        return match request.zk {
            None => Ok(false),
            Some(_) => Err(CallError::Rejected(Rejection::not_an_account())),
        };
    }
    Ok(true)
}

fn zk_fields(request: &CallRequest, base_fee: u64) -> Result<ZkTx, CallError> {
    let tip = request.max_priority_fee_per_gas.unwrap_or_default().min(U256::from(base_fee));
    let dummy = Bytes::from_static(&DUMMY_SIGNATURE);
    let fields = ZkTx {
        signature: dummy.clone(),
        gas_per_pubdata_limit: DEFAULT_GAS_PER_PUBDATA,
        max_priority_fee_per_gas: tip.to(),
        mode: Mode::Estimate,
        ..ZkTx::default()
    };
    let Some(zk) = request.zk.as_deref() else { return Ok(fields) };
    Ok(ZkTx {
        paymaster: zk.paymaster.unwrap_or_default(),
        paymaster_input: zk.paymaster_input.clone(),
        signature: if zk.signature.is_empty() { dummy } else { zk.signature.clone() },
        gas_per_pubdata_limit: zk.gas_per_pubdata_limit,
        factory_dep_hashes: zk.factory_dep_hashes.clone(),
        ..fields
    })
}

/// Return what an estimate of `gas` needs besides if the sender may be an owner of the real one.
pub(super) fn owner_margin(
    state: &dyn State,
    request: &CallRequest,
    gas: u64,
) -> Result<u64, ProviderError> {
    if !request.zk.as_ref().is_some_and(|zk| zk.has_meta) || !is_enabled(state)? {
        return Ok(0);
    }
    if has_code(state, request.from)? {
        return Ok(0);
    }
    let margin = OWNER_MARGIN + gas.saturating_sub(TRANSFER_GAS).div_ceil(CALL_SHARE);
    let is_new = match request.to {
        Some(to) if !request.value.is_zero() => state.account(to)?.is_none(),
        _ => false,
    };
    Ok(if is_new { margin + NEW_ACCOUNT_GAS } else { margin })
}
