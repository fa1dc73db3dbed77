"""The account that pays for what a relay sends: on a chain of this process, or on a remote L1."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from entresol._native import Account, address_of, public_key
from entresol.errors import ExecutionFailed, InvalidTransaction, PoolRejection, RelayRejected
from entresol.execution.calls import CallRequest, estimate_gas
from entresol.execution.evm_env import BlockEnv, EvmEnv
from entresol.execution.limits import CallLimits
from entresol.features.relay.errors import RelayOutOfFunds
from entresol.l1.contracts import failure_reason, read_contract
from entresol.l1.tx_manager import TxManager
from entresol.primitives import abi
from entresol.primitives.transactions import FeeMarketTransaction, sign
from entresol.primitives.values import Address, Hash32
from entresol.state_missing import on_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from entresol.chain.chain import Chain
    from entresol.l1.deployment import SettlementContracts
    from entresol.l1.layer_one import LayerOne
    from entresol.l1.operator import Operator
    from entresol.primitives.base_token import BaseToken
    from entresol.sequencer.sequencer import Sequencer

GAS_LIMIT_PERCENT: Final = 120
"""The gas limit relative to the estimate: the state may change until the transaction is included."""
ESTIMATE_SECONDS: Final = 2.0

_ETHER: Final = 10**18
DEPOSITED: Final = 100 * _ETHER
"""The amount that a deposit brings, in ether, or as much of another token as that costs."""
LOW: Final = _ETHER
"""Below this there is another deposit."""
RETRY_SECONDS: Final = 30.0
_GAS: Final = 300_000
_GAS_PER_PUBDATA: Final = 800
_MAX_L1_GAS: Final = 2_000_000
_COST: Final = "l2TransactionBaseCost(uint256,uint256,uint256,uint256)"
_REQUEST: Final = "requestL2TransactionDirect((uint256,uint256,address,uint256,bytes,uint256,uint256,bytes[],address))"


class RelayCall(NamedTuple):
    """A transaction that a relay wants to send."""

    to: Address
    data: bytes
    value: int = 0


class Outcome(NamedTuple):
    """The end of a transaction, and the gas that it has used."""

    succeeded: bool
    gas_used: int


DROPPED: Final = Outcome(succeeded=False, gas_used=0)
"""A transaction that no block has, nor will have."""


class RelayAccount(Protocol):
    """Estimates, signs and sends transactions of one account.

    `submit` raises `RelayRejected` for what reverts or needs too much gas, and then `RelayOutOfFunds` or
    `OperatorOutOfFunds` for what it cannot pay for.
    """

    @property
    def address(self) -> Address:
        """The account."""

    @property
    def is_busy(self) -> bool:
        """Whether a transaction of before has to be included first."""

    async def balance(self) -> int:
        """Return what it has of what pays for gas."""

    async def submit(self, call: RelayCall, max_gas: int) -> Hash32 | None:
        """Send a transaction that succeeds by its estimate; None if the account is busy."""

    async def outcome(self, transaction: Hash32) -> Outcome | None:
        """Return what became of a transaction; None while it is pending."""


class ChainAccount:
    """An account on a chain of this process; estimates run on a thread."""

    def __init__(self, chain: Chain, sequencer: Sequencer, secret: bytes) -> None:
        self.address = Address(address_of(public_key(secret)))
        self._chain = chain
        self._sequencer = sequencer
        self._secret = secret
        self._rules = chain.rules.evm_rules()

    @property
    def is_busy(self) -> bool:
        """Whether a transaction of before has to be included first: the pool takes many."""
        return False

    async def balance(self) -> int:
        """Return what it has of what pays for gas."""
        return self._balance()

    def _balance(self) -> int:
        return (self._chain.latest.account(self.address) or Account()).balance

    async def submit(self, call: RelayCall, max_gas: int) -> Hash32 | None:
        """Estimate a transaction, sign and send it; the account has to have what its gas may cost."""
        gas = min(await self._estimated(call, max_gas) * GAS_LIMIT_PERCENT // 100, max_gas)
        needed, balance = gas * self._fees()[0] + call.value, self._balance()
        if balance < needed:
            chain_id = self._chain.rules.chain_id
            raise RelayOutOfFunds(self.address.checksummed(), chain_id, balance, needed)
        return self._send(call, gas)

    async def outcome(self, transaction: Hash32) -> Outcome | None:
        """Return what became of a transaction; None while it is pending."""
        blocks = self._chain.blocks
        location = blocks.locate_transaction(transaction)
        if location is None:
            return None if self._chain.is_known(transaction) else DROPPED
        result = blocks.record(location.block_number).results[location.transaction_index]
        return Outcome(result.succeeded, result.gas_used)

    async def _estimated(self, call: RelayCall, max_gas: int) -> int:
        fee, tip = self._fees()
        if self._balance() < max_gas * fee + call.value:
            # It may have enough for what is needed, which says an estimate without a price.
            fee, tip = 0, 0
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
        limits = CallLimits(gas_cap=max_gas, seconds=ESTIMATE_SECONDS)
        try:
            work = partial(estimate_gas, env, request, limits)
            return (await on_thread(work, self._chain.ledger.remote)).gas
        except ExecutionFailed as error:
            raise RelayRejected(failure_reason(error)) from error

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
    """An account on a remote L1, one transaction at a time."""

    def __init__(self, operator: Operator, clock: Callable[[], float] = time.monotonic) -> None:
        self.address = operator.address
        self._operator = operator
        self._transactions = TxManager(operator)
        self._clock = clock
        self._sent: Hash32 | None = None
        # Several chains use it, and two transactions may not have one nonce.
        self._turn = asyncio.Lock()

    @property
    def is_busy(self) -> bool:
        """Whether a transaction of before has to be included first."""
        return self._sent is not None

    async def balance(self) -> int:
        """Return its ether on L1."""
        return await self._operator.balance()

    async def submit(self, call: RelayCall, max_gas: int) -> Hash32 | None:
        """Sign and send a transaction, unless one is pending."""
        async with self._turn:
            if self.is_busy:
                return None
            try:
                signed = await self._operator.sign_call(
                    call.to, call.data, value=call.value, max_gas=max_gas
                )
            except ExecutionFailed as error:
                raise RelayRejected(failure_reason(error)) from error
            await self._transactions.send(signed, self._clock(), max_gas=max_gas)
            self._sent = signed.hash
            return signed.hash

    async def outcome(self, transaction: Hash32) -> Outcome | None:
        """Return what became of a transaction, or of one that has replaced it; None while it is pending."""
        if transaction != self._sent:
            return DROPPED
        transactions = self._transactions
        # Before the receipts: if L1 includes it in between, its receipt is there.
        nonce = await transactions.nonce()
        receipt = await transactions.receipt()
        if receipt is not None:
            return self._finished(Outcome(receipt.succeeded, receipt.gas_used))
        if nonce > transactions.attempts[0].nonce:
            # The key was used elsewhere.
            return self._finished(DROPPED)
        try:
            head = await self._operator.l1.head()
            await transactions.resend("a transaction of the relay", head, self._clock())
        except (ExecutionFailed, RelayRejected):
            # It can be paid for no more, and what would be signed instead fails.
            return self._finished(DROPPED)
        return None

    def _finished(self, outcome: Outcome) -> Outcome:
        self._sent = None
        return outcome


class RelayFunding:
    """Deposits for the relay's account on one L2 when that has little left; its account on L1 has a genesis balance."""

    def __init__(  # noqa: PLR0913 - both layers
        self,
        l1: LayerOne,
        contracts: SettlementContracts,
        base_token: BaseToken,
        chain_id: int,
        *,
        on_l1: ChainAccount,
        on_l2: ChainAccount,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._l1 = l1
        self._contracts = contracts
        self._token = base_token
        self._chain_id = chain_id
        self._on_l1 = on_l1
        self._on_l2 = on_l2
        self._clock = clock
        self._next = 0.0

    async def step(self) -> None:
        """Deposit if there is little left, unless that was done a moment ago."""
        units = self._token.ether_price.units
        if self._clock() < self._next or await self._on_l2.balance() >= units(LOW):
            return
        self._next = self._clock() + RETRY_SECONDS
        price = 2 * (await self._l1.fees()).gas_price
        arguments = (self._chain_id, price, _GAS, _GAS_PER_PUBDATA)
        bridgehub = self._contracts.bridgehub
        cost = int(await read_contract(self._l1, bridgehub, _COST, "uint256", *arguments))
        for call in self._calls(units(DEPOSITED), cost):
            sent = await self._on_l1.submit(call, _MAX_L1_GAS)
            # The next one needs what this one does.
            while sent is not None and await self._on_l1.outcome(sent) is None:
                await self._l1.wait_for_block(RETRY_SECONDS)

    def _calls(self, amount: int, cost: int) -> Iterator[RelayCall]:
        """Yield what a deposit takes: anybody may mint the tokens of the development L1."""
        paid, address = amount + cost, self._on_l1.address
        if not self._token.is_ether:
            token = self._token.l1_address
            yield RelayCall(token, abi.encode_call("mint(address,uint256)", address, paid))
            spender = self._contracts.asset_router
            yield RelayCall(token, abi.encode_call("approve(address,uint256)", spender, paid))
        request: tuple[object, ...] = (
            *(self._chain_id, paid, address, amount, b"", _GAS, _GAS_PER_PUBDATA, [], address),
        )
        value = paid if self._token.is_ether else 0
        yield RelayCall(self._contracts.bridgehub, abi.encode_call(_REQUEST, request), value)
