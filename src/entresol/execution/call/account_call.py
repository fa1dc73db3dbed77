"""Calls that stand for transactions of contract accounts or with paymasters: estimates and traces run their steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from entresol._native import Checks, TxEnv, ZkFields, execute
from entresol.errors import (
    EstimateRejection,
    MalformedValue,
    PaymasterNotSupported,
    UnserializableCall,
)
from entresol.execution.account_senders import (
    SenderKind,
    has_accounts,
    has_code,
    not_an_account,
    sender_kind,
    set_nonce,
    transaction_count,
)
from entresol.execution.call.call import TRANSFER_GAS, CallRequest, ZkCall
from entresol.execution.evm_env import EvmEnv, overlay_on
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from entresol._native import ExecutionResult, Limits, Tracer

STEPS_MARGIN_PERCENT: Final = 30
"""What is added to an estimate if code of accounts or paymasters has run, which may do more for a signature."""
OWNER_MARGIN: Final = 100_000
"""What is added for a key: zksync-ethers estimates the transaction of a multisig account from its first owner.

It covers up to four signatures, the first use of a nonce, the payment and the call of the target.
"""
NEW_ACCOUNT_GAS: Final = 25_000
"""What a call with value of an account that does not exist costs besides (EIP-161), and a transfer by a key does not."""
_CALL_SHARE: Final = 63
"""A call gets 63 of 64 parts of the gas (EIP-150), so the account needs this part more than its call."""

_DUMMY_SIGNATURE: Final = bytes(64) + b"\x1b"
_CHECKS: Final = Checks(nonce=False, sender_code=False, gas_cap=False)


class AccountCall(NamedTuple):
    """A call that runs in steps: its environment, with the nonce that it names, and what the engine runs."""

    env: EvmEnv
    tx_env: TxEnv

    def run(self, gas: int, limits: Limits | None, tracer: Tracer | None = None) -> ExecutionResult:
        """Run the steps with a gas limit; raise `AccountRejection` if a transaction could not be included."""
        return execute(
            self.env.state,
            self.env.rules,
            self.env.block.native,
            self.tx_env.with_gas_limit(gas),
            checks=_CHECKS,
            limits=limits,
            tracer=tracer,
        )


def account_call(evm_env: EvmEnv, request: CallRequest) -> AccountCall | None:
    """Return the steps of a call, or None if it runs like one of any other type.

    The sender decides, whatever type is given. Its payer has the fee, which is the base fee for any gas limit.
    """
    if not _runs_in_steps(evm_env, request):
        return None
    if request.to is None:
        raise UnserializableCall("toAddressIsNull")
    overlay = overlay_on(evm_env.state)
    nonce = request.nonce
    if nonce is None:
        nonce = transaction_count(overlay, request.sender)
    else:
        set_nonce(overlay, request.sender, nonce)
    return AccountCall(
        EvmEnv(overlay, evm_env.rules, evm_env.block),
        _tx_env(request, request.to, nonce, evm_env.block.base_fee),
    )


def owner_margin(evm_env: EvmEnv, request: CallRequest, gas: int) -> int:
    """Return what an estimate of `gas` needs besides if the sender may be an owner of the real one."""
    state = evm_env.state
    if request.zk is None or not request.zk.has_meta or not has_accounts(state):
        return 0
    if has_code(state, request.sender):
        return 0
    margin = OWNER_MARGIN + -(-(gas - TRANSFER_GAS) // _CALL_SHARE)
    is_new = request.value and request.to is not None and state.account(request.to) is None
    return margin + NEW_ACCOUNT_GAS if is_new else margin


def _runs_in_steps(evm_env: EvmEnv, request: CallRequest) -> bool:
    state, zk = evm_env.state, request.zk
    paymaster = None if zk is None else zk.paymaster
    is_contract = has_code(state, request.sender)
    if paymaster is None and not is_contract:
        return False
    if not has_accounts(state):
        if paymaster is not None:
            raise PaymasterNotSupported(paymaster)
        return False
    if is_contract and sender_kind(state, request.sender) is SenderKind.OTHER:
        if zk is not None:
            raise EstimateRejection(not_an_account())
        # Without anything of type 0x71 it simulates a call of the contract.
        return False
    return True


def _tx_env(request: CallRequest, to: Address, nonce: int, base_fee: int) -> TxEnv:
    zk = request.zk or ZkCall()
    try:
        return TxEnv(
            sender=request.sender,
            gas_limit=0,
            to=to,
            value=request.value,
            data=request.data,
            gas_price=base_fee,
            priority_fee=0,
            nonce=nonce,
            chain_id=request.chain_id,
            published=zk.published,
            zk=ZkFields(
                signature=zk.signature or _DUMMY_SIGNATURE,
                gas_per_pubdata_limit=zk.gas_per_pubdata_limit,
                max_priority_fee_per_gas=min(request.max_priority_fee_per_gas or 0, base_fee),
                paymaster=zk.paymaster or Address.zero(),
                paymaster_input=zk.paymaster_input,
                factory_dep_hashes=zk.factory_dep_hashes,
                mode="estimate",
            ),
        )
    except (OverflowError, ValueError) as error:
        raise MalformedValue("a number of the call is too large for a transaction") from error
