"""The `hardhat_` namespace: state edits, mining and impersonation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.chain.mining import MiningMode
from entresol.errors import AccountsLocked, MalformedValue, TimestampTooHigh, TooManyToSeal
from entresol.primitives.values import Address, Data, Hash32, Quantity, Quantity64
from entresol.rpc.jsonrpc.method import method
from entresol.rpc.namespaces.dev.mining import block_count, sliced
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.chain.dev.keyring import Keyring

MAX_CODE_BYTES: Final = 2 * 1024 * 1024
"""How long code set by hand may be: as long as a factory dependency, 85 times what a transaction deploys."""


class Hardhat:
    """The `hardhat_` namespace; `anvil_` has the same methods."""

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

    @method(ordered=True)
    def set_code(self, address: Address, code: Data) -> None:
        """Set the code of an account, of at most 2 MiB."""
        if len(code) > MAX_CODE_BYTES:
            problem = f"code has at most {MAX_CODE_BYTES} bytes, got {len(code)}"
            raise MalformedValue(problem, field="code")
        self._chain.edit(address, lambda state: state.set_code(address, bytes(code)))

    @method()
    def set_storage_at(self, address: Address, slot: Quantity, value: Hash32) -> bool:
        """Set a storage slot of an account."""
        key = slot.to_bytes(32)
        self._chain.edit(address, lambda state: state.set_slot(address, key, value))
        return True

    @method(TimestampTooHigh, TooManyToSeal)
    async def mine(self, blocks: Number | None = None, interval: Number | None = None) -> None:
        """Seal blocks, with timestamps `interval` seconds apart."""
        async for already in sliced(block_count(blocks)):
            # The first one has the time of the clock, which may have been moved.
            if interval and already:
                parent = self._chain.head.timestamp
                self._chain.clock.set_next_timestamp(parent + interval, parent)
            self._chain.seal()

    @method()
    def get_automine(self) -> bool:
        """Return whether a block is sealed for each transaction."""
        return self._chain.schedule.mode is MiningMode.AUTO

    @method(AccountsLocked)
    def impersonate_account(self, address: Address) -> None:
        """Let `eth_sendTransaction` send from an account without its key."""
        self._keyring.impersonate(address)

    @method()
    def stop_impersonating_account(self, address: Address) -> None:
        """Stop impersonating an account."""
        self._keyring.stop_impersonating(address)

    @method(AccountsLocked)
    def auto_impersonate_account(self, enabled: bool) -> None:
        """Enable or disable `eth_sendTransaction` from any account without its key."""
        self._keyring.impersonate_all(enabled=enabled)
