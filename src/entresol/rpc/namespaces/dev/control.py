"""What developers do to a chain of their own: move the time, seal blocks, go back, edit accounts."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, ClassVar, Final

from entresol.chain.mining import MiningMode
from entresol.errors import (
    AccountsLocked,
    InvalidInterval,
    TimestampTooHigh,
    TimestampTooLow,
    TooManyToSeal,
)
from entresol.primitives.values import Address, Data, Hash32, Quantity, Quantity64
from entresol.rpc.jsonrpc.codec import JsonModel, convert
from entresol.rpc.jsonrpc.method import method
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from entresol.chain.chain import Chain
    from entresol.chain.dev.checkpoints import Checkpoints
    from entresol.chain.dev.keyring import Keyring


TURN_BLOCKS: Final = 8
"""How many blocks are sealed before others get an answer."""

MOST_BLOCKS: Final = 100_000
"""How many blocks one request may ask for: half a minute's work, where nobody could stop it."""


def count_of(blocks: int | None) -> int:
    """Return how many blocks to seal: one, unless another number is given."""
    count = 1 if blocks is None else blocks
    if count > MOST_BLOCKS:
        raise TooManyToSeal(count, MOST_BLOCKS)
    return count


async def turns(count: int) -> AsyncIterator[int]:
    """Count, and let others have their turn in between."""
    for number in range(count):
        if number and number % TURN_BLOCKS == 0:
            await asyncio.sleep(0)
        yield number


class MineOptions(JsonModel, frozen=True, kw_only=True):
    """How many blocks to seal, and when the first of them is."""

    timestamp: Number | None = None
    blocks: Number | None = None


class MineRequest:
    """What `evm_mine` is given: a timestamp, or an object of options."""

    __slots__ = ("options",)

    json_schema: ClassVar[dict[str, Any]] = {"type": ["object", "string", "integer"]}

    def __init__(self, options: MineOptions) -> None:
        self.options = options

    @classmethod
    def parse(cls, value: object) -> MineRequest:
        """Read either form."""
        if isinstance(value, dict):
            return cls(convert(value, MineOptions))
        return cls(MineOptions(timestamp=Number.parse(value)))


class TimeTravel:
    """Going back and forth in time."""

    def __init__(self, chain: Chain, checkpoints: Checkpoints) -> None:
        self._chain = chain
        self._checkpoints = checkpoints

    @method()
    def snapshot(self) -> Quantity:
        """Remember the chain as it is, and return a number to go back by.

        Of a development pair both layers are remembered, whichever is asked.
        """
        return Quantity(self._checkpoints.take())

    @method()
    def revert(self, snapshot: Number) -> bool:
        """Make the chain what it was, and return whether that snapshot existed."""
        return self._checkpoints.restore(snapshot)

    @method(TimestampTooHigh)
    def increase_time(self, seconds: Number) -> Quantity:
        """Move the time forward, and return by how much it is moved in all."""
        return Quantity(self._chain.clock.increase(seconds))

    @method(TimestampTooHigh)
    def set_time(self, timestamp: Number) -> Quantity:
        """Let it be this time now, and return by how much that is later than it was."""
        clock = self._chain.clock
        before = clock.now()
        clock.set_time(timestamp)
        return Quantity(max(timestamp - before, 0))

    @method(TimestampTooLow, TimestampTooHigh)
    def set_next_block_timestamp(self, timestamp: Number) -> None:
        """Give the next block this timestamp."""
        self._chain.clock.set_next_timestamp(timestamp, self._chain.head.timestamp)

    @method()
    def set_automine(self, enabled: bool) -> None:
        """Seal transactions as they come, or only on request."""
        if enabled:
            self._chain.schedule.seal_at_once()
            self._chain.seal_pending()
        else:
            self._chain.schedule.seal_on_request()

    @method(InvalidInterval)
    def set_interval_mining(self, seconds: Number) -> None:
        """Seal a block every so many seconds; 0 seals on request."""
        if seconds:
            self._chain.schedule.seal_every(float(seconds), time.monotonic())
        else:
            self._chain.schedule.seal_on_request()


class Evm(TimeTravel):
    """The methods that ganache began and everybody has."""

    prefix = "evm"

    @method(TimestampTooLow, TimestampTooHigh, TooManyToSeal)
    async def mine(self, options: MineRequest | None = None) -> Quantity:
        """Seal a block, at a given time if one is given, or several by `{timestamp, blocks}`."""
        wanted = MineOptions() if options is None else options.options
        count = count_of(wanted.blocks)
        if wanted.timestamp is not None:
            self._chain.clock.set_next_timestamp(wanted.timestamp, self._chain.head.timestamp)
        async for _ in turns(count):
            self._chain.seal()
        return Quantity(0)


class Hardhat:
    """The methods by which Hardhat edits accounts, and acts for them."""

    prefix = "hardhat"

    def __init__(self, chain: Chain, keyring: Keyring) -> None:
        self._chain = chain
        self._keyring = keyring

    @method()
    def set_balance(self, address: Address, balance: Quantity) -> None:
        """Set the balance of an account."""
        self._chain.edit(address, lambda state: state.set_balance(address, balance))

    @method()
    def set_nonce(self, address: Address, nonce: Quantity64) -> None:
        """Set the nonce of an account."""
        self._chain.edit(address, lambda state: state.set_nonce(address, nonce))

    @method()
    def set_code(self, address: Address, code: Data) -> None:
        """Set the code of an account."""
        self._chain.edit(address, lambda state: state.set_code(address, bytes(code)))

    @method()
    def set_storage_at(self, address: Address, slot: Quantity, value: Hash32) -> bool:
        """Write one storage slot of an account."""
        key = slot.to_bytes(32)
        self._chain.edit(address, lambda state: state.set_slot(address, key, value))
        return True

    @method(TimestampTooHigh, TooManyToSeal)
    async def mine(self, blocks: Number | None = None, interval: Number | None = None) -> None:
        """Seal some blocks, so many seconds apart."""
        async for already in turns(count_of(blocks)):
            # The first one comes at the time it is, which may have been moved.
            if interval and already:
                parent = self._chain.head.timestamp
                self._chain.clock.set_next_timestamp(parent + interval, parent)
            self._chain.seal()

    @method()
    def get_automine(self) -> bool:
        """Return whether transactions are sealed as they come."""
        return self._chain.schedule.mode is MiningMode.AUTO

    @method(AccountsLocked)
    def impersonate_account(self, address: Address) -> None:
        """Let `eth_sendTransaction` send from an account without its key."""
        self._keyring.impersonate(address)

    @method()
    def stop_impersonating_account(self, address: Address) -> None:
        """Ask for the key of an account again."""
        self._keyring.stop_impersonating(address)

    @method(AccountsLocked)
    def auto_impersonate_account(self, enabled: bool) -> None:
        """Let `eth_sendTransaction` send from any account without its key, or no longer."""
        self._keyring.impersonate_all(enabled=enabled)


class Anvil(Hardhat, TimeTravel):
    """The same by anvil's names, which has time travel under its own as well."""

    prefix = "anvil"

    def __init__(self, chain: Chain, keyring: Keyring, checkpoints: Checkpoints) -> None:
        Hardhat.__init__(self, chain, keyring)
        TimeTravel.__init__(self, chain, checkpoints)

    @method()
    def get_interval_mining(self) -> int | None:
        """Return how many seconds apart blocks are sealed, or null if not by the time."""
        schedule = self._chain.schedule
        return int(schedule.interval_seconds) if schedule.mode is MiningMode.INTERVAL else None
