"""What developers do to a chain of their own: move the time, seal blocks, go back, edit accounts."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from entresol.errors import InvalidInterval, TimestampTooLow
from entresol.primitives.values import Address, Data, Hash32, Quantity, Quantity64
from entresol.rpc.method import method
from entresol.rpc.numbers import Number

if TYPE_CHECKING:
    from entresol.chain.chain import Chain


class Evm:
    """The methods that ganache began and everybody has."""

    prefix = "evm"

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    @method()
    def snapshot(self) -> Quantity:
        """Remember the chain as it is, and return a number to go back by."""
        return Quantity(self._chain.checkpoint())

    @method()
    def revert(self, snapshot: Number) -> bool:
        """Make the chain what it was, and return whether that snapshot existed."""
        return self._chain.restore(snapshot)

    @method(TimestampTooLow)
    def mine(self, timestamp: Number | None = None) -> Quantity:
        """Seal a block, at a given time if one is given."""
        if timestamp is not None:
            self._chain.clock.order(timestamp, self._chain.head.timestamp)
        self._chain.seal()
        return Quantity(0)

    @method()
    def increase_time(self, seconds: Number) -> Quantity:
        """Move the time forward, and return by how much it is moved in all."""
        return Quantity(self._chain.clock.increase(seconds))

    @method(TimestampTooLow)
    def set_next_block_timestamp(self, timestamp: Number) -> None:
        """Give the next block this timestamp."""
        self._chain.clock.order(timestamp, self._chain.head.timestamp)

    @method()
    def set_automine(self, enabled: bool) -> None:
        """Seal transactions as they come, or only on request."""
        if enabled:
            self._chain.schedule.seal_at_once()
            self._chain.seal_waiting()
        else:
            self._chain.schedule.seal_on_request()

    @method(InvalidInterval)
    def set_interval_mining(self, seconds: Number) -> None:
        """Seal a block every so many seconds; 0 seals on request."""
        if seconds:
            self._chain.schedule.seal_every(float(seconds), time.monotonic())
        else:
            self._chain.schedule.seal_on_request()


class Anvil:
    """The methods by which anvil edits accounts."""

    prefix = "anvil"

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

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

    @method()
    def mine(self, blocks: Number | None = None, interval: Number | None = None) -> None:
        """Seal some blocks, so many seconds apart."""
        for already in range(1 if blocks is None else blocks):
            # The first one comes at the time it is, which may have been moved.
            if interval and already:
                parent = self._chain.head.timestamp
                self._chain.clock.order(parent + interval, parent)
            self._chain.seal()


class Hardhat(Anvil):
    """The same by Hardhat's name."""

    prefix = "hardhat"
