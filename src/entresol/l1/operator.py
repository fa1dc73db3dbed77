"""The operator: the L1 account that signs the node's own transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

import msgspec

from entresol._native import address_of, public_key
from entresol.chain.mempool.validation import SCHEDULES, intrinsic_gas
from entresol.errors import LayerOneMismatch, LayerOneRejected, OperatorOutOfFunds, RelayRejected
from entresol.l1.fee_limits import FeeLimits, TxFees
from entresol.primitives.batches import SettlementStep
from entresol.primitives.transactions import FeeMarketTransaction, decode, sign
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.l1.layer_one import LayerOne


ALL_STEPS: Final = tuple(SettlementStep)

_FLAGS: Final = {
    SettlementStep.COMMIT: "--operator-key",
    SettlementStep.PROVE: "--prove-key",
    SettlementStep.EXECUTE: "--execute-key",
}


class OperatorKey(msgspec.Struct, frozen=True):
    """A private key, and the steps that it signs; its account has nonces and a balance of its own."""

    secret: Hash32
    steps: tuple[SettlementStep, ...] = ALL_STEPS

    @property
    def address(self) -> Address:
        """The account of the key."""
        return Address(address_of(public_key(self.secret)))

    @property
    def name(self) -> str:
        """The account in messages, by what it does if it does not do everything."""
        if self.steps == ALL_STEPS:
            return "the operator"
        return f"the operator that {self.describe(lambda step: f'{step.name.lower()}s')}"

    @property
    def flag(self) -> str:
        """The flag that sets the key."""
        return _FLAGS[self.steps[0]]

    def describe(self, name: Callable[[SettlementStep], str]) -> str:
        """Return the names of the steps in a sentence."""
        *names, last = map(name, self.steps)
        return f"{', '.join(names)} and {last}" if names else last

    def __repr__(self) -> str:
        """Return it without the secret."""
        return f"OperatorKey({self.address}, {self.describe(lambda step: step.name.lower())})"


class OperatorKeys(msgspec.Struct, frozen=True):
    """The distinct keys of an operator, the one that commits first; it also deploys."""

    keys: tuple[OperatorKey, ...]

    @classmethod
    def of(cls, commit: Hash32, prove: Hash32 | None = None, execute: Hash32 | None = None) -> Self:
        """Return the keys of the steps; a step without one has the key that commits."""
        steps: dict[Hash32, tuple[SettlementStep, ...]] = {}
        for step, given in zip(SettlementStep, (commit, prove, execute), strict=True):
            secret = commit if given is None else given
            steps[secret] = (*steps.get(secret, ()), step)
        return cls(tuple(OperatorKey(*item) for item in steps.items()))

    @property
    def deployer(self) -> OperatorKey:
        """The key that deploys the contracts, administers the chain and commits."""
        return self.keys[0]


# The gas limit relative to the estimate: the state may change until the transaction is included.
GAS_LIMIT_PERCENT: Final = 130

MAX_TRANSACTION_GAS: Final = 1 << 24
"""The gas limit of a transaction that L1 takes (EIP-7825)."""
MAX_GAS: Final = 1 << 28
"""The highest estimate that is believed; blocks of public networks have less."""

_LEAST_SCHEDULE: Final = SCHEDULES["london"]
"""Every fork with this type of transaction takes at least this."""

_ALREADY_SENT: Final = ("underpriced", "nonce too low", "already known", "already imported")


class SignedTransaction(msgspec.Struct, frozen=True):
    """A signed transaction: its nonce, hash and raw bytes."""

    nonce: int
    hash: Hash32
    raw: bytes

    @property
    def payload(self) -> FeeMarketTransaction:
        """The payload that was signed."""
        payload = decode(self.raw).payload
        assert isinstance(payload, FeeMarketTransaction)
        return payload

    @property
    def fees(self) -> TxFees:
        """Its fee cap and tip."""
        payload = self.payload
        return TxFees(payload.max_fee_per_gas, payload.max_priority_fee_per_gas)

    @property
    def max_cost(self) -> int:
        """The balance that L1 requires of the sender, in wei."""
        payload = self.payload
        return payload.gas_limit * payload.max_fee_per_gas + payload.value


class ReplacementLimited(msgspec.Struct, frozen=True):
    """Why no replacement was signed: the limit that no valid one fits in."""

    limit: str


class Operator:
    """Signs and sends transactions of one account, within limits of their fees; `TxManager` follows what was sent.

    Remembers: nothing; the nonce is the account's on L1, since it has no pending transaction. Assumes: the chain id
    of L1 never changes; without one, the first that L1 says counts. Fails: with `LayerOneMismatch`, before anything is
    signed, if L1 says another chain id, or a nonce or an estimate that cannot be right.
    """

    def __init__(
        self,
        l1: LayerOne,
        secret: bytes,
        limits: FeeLimits | None = None,
        name: str = "the operator",
        *,
        chain_id: int | None = None,
    ) -> None:
        self.l1 = l1
        self._chain_id = chain_id
        self.name = name
        """Its name in messages."""
        self._secret = secret
        self.limits = limits or FeeLimits()
        self.address = Address(address_of(public_key(secret)))

    async def balance(self) -> int:
        """Return the balance of the account in wei."""
        return await self.l1.balance(self.address)

    async def nonce(self) -> int:
        """Return the nonce of the account's next transaction."""
        return await self.l1.nonce(self.address)

    async def sign_call(
        self,
        to: Address | None,
        data: bytes,
        *,
        value: int = 0,
        block: Hash32 | None = None,
        max_gas: int | None = None,
    ) -> SignedTransaction:
        """Sign a call, or a creation if `to` is None, to follow the latest block or another one.

        Raises `ExecutionFailed` if it would revert, `RelayRejected` if it needs more gas than `max_gas`, `L1FeeTooHigh`
        or `OperatorOutOfFunds` if the fees of L1 are too high.
        """
        call = FeeMarketTransaction(
            chain_id=await self.checked_chain_id(),
            nonce=await self._next_nonce(block),
            max_priority_fee_per_gas=0,
            max_fee_per_gas=0,
            gas_limit=0,
            to=to,
            value=value,
            data=data,
        )
        payload = await self.estimated(call, block, max_gas)
        return self._sign_with(payload, await self._affordable_fees(payload.gas_limit))

    async def sign_again(
        self, unsendable: SignedTransaction, block: Hash32 | None = None, max_gas: int | None = None
    ) -> SignedTransaction:
        """Sign a transaction that L1 cannot include anew: the same call and nonce, with current gas and fees."""
        chain_id = await self.checked_chain_id()
        call = msgspec.structs.replace(unsendable.payload, chain_id=chain_id)
        payload = await self.estimated(call, block, max_gas)
        return self._sign_with(payload, await self._affordable_fees(payload.gas_limit))

    async def sign_replacement(
        self, stuck: SignedTransaction
    ) -> SignedTransaction | ReplacementLimited:
        """Sign the same transaction with a higher fee, or return what limits it."""
        await self.checked_chain_id()
        payload, fees = stuck.payload, self.limits.plausible(await self.l1.fees())
        ceiling = self.limits.ceiling(fees, await self.balance() // payload.gas_limit)
        replacement = self.limits.replacement(stuck.fees, fees, ceiling)
        if replacement is None:
            return ReplacementLimited(ceiling.limit)
        return self._sign_with(payload, replacement)

    async def checked_chain_id(self) -> int:
        """Return the chain id of L1; raises `LayerOneMismatch` if L1 says another one now."""
        found = await self.l1.chain_id()
        if self._chain_id is None:
            self._chain_id = found
        if found != self._chain_id:
            raise LayerOneMismatch(
                f"{self.l1.name} has the chain id {found}, and this chain settles on {self._chain_id}: "
                "nothing is signed for it"
            )
        return found

    def is_valid(self, signed: SignedTransaction) -> bool:
        """Return whether an L1 with the right chain id could include a transaction at all."""
        payload = signed.payload
        is_ours = self._chain_id is None or payload.chain_id == self._chain_id
        return is_ours and payload.gas_limit >= intrinsic_gas(payload, _LEAST_SCHEDULE)

    async def estimated(
        self, payload: FeeMarketTransaction, block: Hash32 | None = None, max_gas: int | None = None
    ) -> FeeMarketTransaction:
        """Return a payload with a gas limit by L1's estimate; raises `LayerOneMismatch` if that cannot be right."""
        gas = await self.l1.estimate_gas(self.address, payload.to, payload.data, block=block)
        least = intrinsic_gas(payload, _LEAST_SCHEDULE)
        if not least <= gas <= MAX_GAS:
            raise LayerOneMismatch(
                f"{self.l1.name} estimates {gas} gas for a transaction that needs from {least} to {MAX_GAS}"
            )
        if max_gas is not None and gas > max_gas:
            raise RelayRejected(f"it needs {gas:,} gas, and may use {max_gas:,} (--relay-max-gas)")
        # One that needs nearly all that a transaction may have must not ask for more.
        most = max(gas, MAX_TRANSACTION_GAS) if max_gas is None else max_gas
        return msgspec.structs.replace(payload, gas_limit=min(gas * GAS_LIMIT_PERCENT // 100, most))

    async def send(self, signed: SignedTransaction) -> None:
        """Send a transaction; succeeds if L1 has it, or another one with its nonce."""
        try:
            await self.l1.send(signed.raw)
        except LayerOneRejected as error:
            if not any(text in error.message.lower() for text in _ALREADY_SENT):
                raise

    async def _next_nonce(self, block: Hash32 | None) -> int:
        """Return the nonce after a block; raises `LayerOneMismatch` if L1 has not got so far by now.

        A transaction with a later nonce would stay in L1's pool, and be included when nobody expects it.
        """
        nonce = await self.l1.nonce(self.address, block)
        last = nonce if block is None else await self.l1.nonce(self.address)
        if nonce > last:
            raise LayerOneMismatch(
                f"the next nonce of {self.name} on {self.l1.name} is {nonce}, and {last} a moment later"
            )
        return nonce

    async def _affordable_fees(self, gas_limit: int) -> TxFees:
        """Return the fees of a new transaction, with a lower fee cap if the balance requires it."""
        current, balance = self.limits.plausible(await self.l1.fees()), await self.balance()
        fees = self.limits.first(current)
        max_fee = min(fees.max_fee, balance // gas_limit)
        if max_fee < min(fees.max_fee, current.gas_price):
            needed = gas_limit * current.gas_price
            raise OperatorOutOfFunds(f"{self.name}, {self.address.checksummed()},", balance, needed)
        return TxFees(max_fee, min(fees.tip, max_fee))

    def _sign_with(self, payload: FeeMarketTransaction, fees: TxFees) -> SignedTransaction:
        payload = msgspec.structs.replace(
            payload, max_fee_per_gas=fees.max_fee, max_priority_fee_per_gas=fees.tip
        )
        transaction = sign(payload, self._secret)
        return SignedTransaction(payload.nonce, transaction.hash, transaction.raw)
