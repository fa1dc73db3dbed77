"""The account that pays for what a relay sends: on a chain of this process, or on a remote L1."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from entresol._native import Account, address_of, public_key
from entresol.errors import (
    EntresolError,
    ExecutionFailed,
    InvalidTransaction,
    PoolRejection,
    RelayOutOfFunds,
    RelayRejected,
    RemoteFailed,
)
from entresol.execution.call.call import CallRequest
from entresol.execution.call.estimate_gas import estimate_gas
from entresol.execution.call.limits import CallLimits
from entresol.execution.evm_env import BlockEnv, EvmEnv
from entresol.l1.custom_errors import failure_reason
from entresol.l1.operator import ReplacementLimited
from entresol.primitives.transactions import FeeMarketTransaction, sign
from entresol.primitives.values import Address, Hash32
from entresol.state_missing import on_thread

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.l1.operator import Operator, SignedTransaction
    from entresol.sequencer.sequencer import Sequencer

GAS_LIMIT_PERCENT: Final = 120
"""The gas limit relative to the estimate: the state may change until the transaction is included."""
ESTIMATE_SECONDS: Final = 2.0
REPLACED_AFTER_SECONDS: Final = 60.0
"""How long a transaction may be pending on a remote L1 before it is sent with a higher fee."""


class RelayCall(NamedTuple):
    """A transaction that a relay wants to send."""

    to: Address
    data: bytes
    value: int = 0


class RelayAccount(Protocol):
    """Estimates, signs and sends transactions of one account.

    `submit` raises `RelayRejected` for what reverts or needs too much gas, and `RelayOutOfFunds`.
    """

    @property
    def address(self) -> Address:
        """The account."""

    async def submit(self, call: RelayCall, max_gas: int) -> Hash32 | None:
        """Send a transaction that succeeds by its estimate; None if one of before has to be included first."""

    async def outcome(self, transaction: Hash32) -> bool | None:
        """Return whether a transaction has succeeded; None while it is pending."""


class ChainAccount:
    """An account on a chain of this process; estimates run on a thread.

    Remembers: nothing; nonces are those of the pool. Assumes: the event loop whose thread changes the chain.
    """

    def __init__(self, chain: Chain, sequencer: Sequencer, secret: bytes) -> None:
        self.address = Address(address_of(public_key(secret)))
        self._chain = chain
        self._sequencer = sequencer
        self._secret = secret
        self._rules = chain.rules.evm_rules()

    def balance(self) -> int:
        """Return what it has of what pays for gas."""
        return (self._chain.latest.account(self.address) or Account()).balance

    async def submit(self, call: RelayCall, max_gas: int) -> Hash32 | None:
        """Estimate a transaction, sign and send it; the account has to have what its gas may cost."""
        fee, tip = self._fees()
        needed, balance = max_gas * fee + call.value, self.balance()
        if balance < needed:
            chain_id = self._chain.rules.chain_id
            raise RelayOutOfFunds(self.address.checksummed(), chain_id, balance, needed)
        env = EvmEnv(self._chain.latest, self._rules, BlockEnv.of(self._chain.head))
        # At its price, which a contract might ask for.
        request = CallRequest(
            sender=self.address,
            to=call.to,
            data=call.data,
            value=call.value,
            gas=max_gas,
            max_fee_per_gas=fee,
            max_priority_fee_per_gas=tip,
        )
        gas = await self._estimated(env, request, max_gas)
        return self._send(call, min(gas * GAS_LIMIT_PERCENT // 100, max_gas))

    async def outcome(self, transaction: Hash32) -> bool | None:
        """Return whether a transaction has succeeded; None while it is pending, False if it was dropped."""
        blocks = self._chain.blocks
        location = blocks.locate_transaction(transaction)
        if location is None:
            return None if self._chain.is_known(transaction) else False
        return blocks.record(location.block_number).results[location.transaction_index].succeeded

    async def _estimated(self, env: EvmEnv, request: CallRequest, max_gas: int) -> int:
        limits = CallLimits(gas_cap=max_gas, seconds=ESTIMATE_SECONDS)
        try:
            work = partial(estimate_gas, env, request, limits)
            return (await on_thread(work, self._chain.ledger.remote)).gas
        except ExecutionFailed as error:
            raise RelayRejected(failure_reason(error)) from error
        except RemoteFailed:
            # Nobody has rejected it.
            raise
        except EntresolError as error:
            raise RelayRejected(str(error)) from error

    def _fees(self) -> tuple[int, int]:
        # The estimate is as of the last block, whose price may have been higher.
        last = self._chain.head.base_fee_per_gas
        tip = self._chain.rules.suggested_tip
        return 2 * max(last, self._chain.next_base_fee()) + tip, tip

    def _send(self, call: RelayCall, gas: int) -> Hash32:
        # No await from here on: another transaction of the account would take the nonce.
        fee, tip = self._fees()
        payload = FeeMarketTransaction(
            chain_id=self._chain.rules.chain_id,
            nonce=self._chain.pool.next_nonce(self.address),
            max_priority_fee_per_gas=tip,
            max_fee_per_gas=fee,
            gas_limit=gas,
            to=call.to,
            value=call.value,
            data=call.data,
        )
        transaction = sign(payload, self._secret)
        try:
            self._chain.add(transaction)
        except (InvalidTransaction, PoolRejection) as error:
            raise RelayRejected(str(error)) from error
        self._sequencer.include(transaction.hash, lambda _error: None)
        return transaction.hash


class RemoteAccount:
    """An account on a remote L1, one transaction at a time.

    Remembers: the pending transaction, and since when. Persists: nothing: what was sent twice reverts in its estimate.
    """

    def __init__(self, operator: Operator) -> None:
        self.address = operator.address
        self._operator = operator
        self._pending: dict[Hash32, SignedTransaction] = {}
        self._replaced_at = 0.0

    async def submit(self, call: RelayCall, max_gas: int) -> Hash32 | None:
        """Sign and send a transaction, unless one is pending."""
        if self._pending:
            return None
        try:
            signed = await self._operator.sign_call(call.to, call.data, value=call.value)
        except ExecutionFailed as error:
            raise RelayRejected(failure_reason(error)) from error
        if signed.payload.gas_limit > max_gas * GAS_LIMIT_PERCENT // 100:
            raise RelayRejected(f"it needs more than {max_gas:,} gas (--relay-max-gas)")
        await self._operator.send(signed)
        self._pending = {signed.hash: signed}
        self._replaced_at = time.monotonic() + REPLACED_AFTER_SECONDS
        return signed.hash

    async def outcome(self, transaction: Hash32) -> bool | None:
        """Return whether a transaction, or one that has replaced it, has succeeded."""
        for it in tuple(self._pending):
            receipt = await self._operator.l1.receipt(it)
            if receipt is not None:
                self._pending = {}
                return receipt.succeeded
        if transaction not in self._pending:
            return False
        if time.monotonic() > self._replaced_at:
            await self._replace(list(self._pending.values())[-1])
        return None

    async def _replace(self, stuck: SignedTransaction) -> None:
        self._replaced_at = time.monotonic() + REPLACED_AFTER_SECONDS
        signed = await self._operator.sign_replacement(stuck)
        if isinstance(signed, ReplacementLimited):
            return
        await self._operator.send(signed)
        self._pending[signed.hash] = signed
