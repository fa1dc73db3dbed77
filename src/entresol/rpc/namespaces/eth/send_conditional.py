"""`eth_sendRawTransactionConditional` (EIP-7796): submit what is included only while conditions hold."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Self

import msgspec

from entresol.chain.mempool.validation import check_raw
from entresol.errors import (
    ConditionNotMet,
    InvalidTransaction,
    MalformedValue,
    PoolRejection,
    TooManyConditions,
)
from entresol.offload import started
from entresol.primitives.transactions import Transaction, decode
from entresol.primitives.transactions.conditions import TransactionConditions
from entresol.primitives.values import Address, Data, Hash32
from entresol.rpc.jsonrpc.codec import convert
from entresol.rpc.jsonrpc.method import Order, ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.types.number import HexOrInteger, Number
from entresol.state_missing import retried

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.rpc.threads.client_threads import Threads
    from entresol.sequencer.account_validations import AccountValidations
    from entresol.sequencer.submission import Submission


_NONE: Final = TransactionConditions()
MAX_CONDITIONS: Final = 256
"""How many slots a transaction may depend on: they are read once more by each block that would include it."""


class KnownSlots:
    """Slots of an account with their values."""

    __slots__ = ("slots",)

    json_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "additionalProperties": {"type": "string", "pattern": "^0x[0-9a-fA-F]{64}$"},
    }

    def __init__(self, slots: tuple[tuple[Hash32, Hash32], ...]) -> None:
        self.slots = slots

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read slots with their values; a storage root is not known within a block."""
        if isinstance(value, str):
            raise MalformedValue(
                "a storage root is not known while a block is built: name the slots with their values"
            )
        slots = convert(value, dict[str, Hash32])
        return cls(
            tuple(
                (Hash32(HexOrInteger.parse(it).to_bytes(32)), known) for it, known in slots.items()
            )
        )


class KnownAccounts:
    """Slots of accounts with their values, and how many there are; what is too much is only counted."""

    __slots__ = ("count", "slots")

    json_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "additionalProperties": KnownSlots.json_schema,
    }

    def __init__(self, count: int, slots: tuple[tuple[Address, Hash32, Hash32], ...]) -> None:
        self.count = count
        self.slots = slots

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read accounts; one without slots counts as one slot."""
        if isinstance(value, dict):
            sizes = (len(it) if isinstance(it, dict) else 1 for it in value.values())
            count = sum(max(size, 1) for size in sizes)
            if count > MAX_CONDITIONS:
                return cls(count, ())
        accounts = convert(value, dict[str, KnownSlots])
        slots = [(Address.parse(key), *pair) for key, it in accounts.items() for pair in it.slots]
        return cls(len(slots), tuple(slots))


class ConditionsObject(JsonModel, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bounds of the block that includes a transaction, and what it reads before.

    A member that nobody holds is an error: a transaction would be sent without the condition that its sender meant.
    """

    known_accounts: Annotated[
        KnownAccounts | None, says("Slots with their values, by account.")
    ] = None
    block_number_min: Annotated[Number | None, says("The least number of the block.")] = None
    block_number_max: Annotated[Number | None, says("Its largest number.")] = None
    timestamp_min: Annotated[Number | None, says("The earliest time of the block.")] = None
    timestamp_max: Annotated[Number | None, says("Its latest time.")] = None

    def conditions(self) -> TransactionConditions | None:
        """Return the domain value; None if there are none."""
        known = self.known_accounts
        if known is not None and known.count > MAX_CONDITIONS:
            raise TooManyConditions(known.count, MAX_CONDITIONS)
        found = TransactionConditions(
            block_number_min=self.block_number_min,
            block_number_max=self.block_number_max,
            timestamp_min=self.timestamp_min,
            timestamp_max=self.timestamp_max,
            slots=() if known is None else known.slots,
        )
        return None if found == _NONE else found


class EthSendConditional:
    """Transactions that are included only while conditions hold."""

    prefix = "eth"

    def __init__(
        self,
        chain: Chain,
        submission: Submission,
        validations: AccountValidations,
        threads: Threads,
    ) -> None:
        self._chain = chain
        self._submission = submission
        self._validations = validations
        self._threads = threads

    @method(
        InvalidTransaction,
        ConditionNotMet,
        PoolRejection,
        TooManyConditions,
        order=Order.IN_TURN,
        served_by=ServedBy.PRODUCER,
    )
    def send_raw_transaction_conditional(
        self, tx_bytes: Data, conditions: ConditionsObject | None = None
    ) -> Hash32 | Awaitable[Hash32]:
        """Submit a signed transaction that is included only in a block that meets conditions; return its hash.

        They are checked for the next block at once, and again for each block that would include it: then it is dropped. A
        slot is compared after the transactions before it. They stay if its block is reverted, and in a cluster.
        """
        wanted = None if conditions is None else conditions.conditions()
        if wanted is None:
            return self._submission.submit(bytes(tx_bytes))
        raw = bytes(tx_bytes)
        check_raw(raw, self._chain.pool.rules)
        self._validations.check_raw(raw)
        return started(self._send(raw, wanted))

    async def _send(self, raw: bytes, conditions: TransactionConditions) -> Hash32:
        # Proofs of blobs take some milliseconds.
        decoded = await self._threads.run(partial(decode, raw))
        transaction = msgspec.structs.replace(decoded, conditions=conditions)
        async with self._submission.turn(transaction.sender):
            await retried(partial(self._check, transaction, conditions))
            await self._validations.validate(transaction)
            response = await self._submission.send(transaction)
        return await response

    def _check(self, transaction: Transaction, conditions: TransactionConditions) -> None:
        chain = self._chain
        block = chain.ledger.next_block_env(chain.next_block.timestamp())
        conditions.check(block.number, block.timestamp, chain.latest.slot)
        chain.pool.check(transaction)
