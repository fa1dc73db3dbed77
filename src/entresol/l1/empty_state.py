"""Execute transactions of a deployment in this process, on a state without accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol._native import Account, BlockEnv, Checks, Overlay, Rules, Snapshot, TxEnv, execute

if TYPE_CHECKING:
    from entresol._native import ExecutionResult
    from entresol.primitives.values import Address

_GAS: Final = 100_000_000
_UNCHECKED: Final = Checks(
    base_fee=False, fees=False, balance=False, nonce=False, sender_code=False, gas_cap=False
)
_GENESIS: Final = BlockEnv(number=0, timestamp=0, gas_limit=_GAS)


class _EmptyState:
    """A state without accounts."""

    def account(self, address: bytes) -> Account | None:  # noqa: ARG002 - the engine's interface
        return None

    def code(self, code_hash: bytes) -> bytes:  # noqa: ARG002
        return b""

    def slot(self, address: bytes, slot: bytes) -> bytes:  # noqa: ARG002
        return b""

    def block_hash(self, number: int) -> bytes:  # noqa: ARG002
        return bytes(32)


def empty_overlay() -> Overlay:
    """Return an overlay on a state without accounts."""
    return Overlay(Snapshot(_EmptyState()))


def run_unchecked(
    overlay: Overlay, rules: Rules, sender: Address, to: Address | None, data: bytes
) -> ExecutionResult:
    """Execute a transaction, whose sender needs no funds; the caller applies its changes."""
    message = TxEnv(sender=sender, gas_limit=_GAS, to=to, data=data, gas_price=0)
    return execute(overlay, rules, _GENESIS, message, checks=_UNCHECKED)
