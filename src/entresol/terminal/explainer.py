"""The interface of a feature that explains transactions and calls in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from msgspec import Raw

    from entresol.contracts.abi_registry import AbiRegistry
    from entresol.execution.call_frames import CallFrame
    from entresol.execution.tracing import SealedBlock
    from entresol.primitives.values import Address

AskNode: TypeAlias = "Callable[[str, Sequence[Raw]], Awaitable[Raw]]"
"""Sends a request to the node, by method and parameters, and returns its result; null if it fails."""


class NamedContract(NamedTuple):
    """A contract as the log shows it."""

    name: str | None
    """None if it is not known."""
    abis: AbiRegistry
    """The ABIs that decode its data: its own first, if it is known."""


class ContractNames(Protocol):
    """Finds the contracts of a state; on a thread, since files may have to be read."""

    def at(self, account: str) -> NamedContract:
        """Return the contract that an account is."""

    def created(self, code: bytes) -> NamedContract:
        """Return the contract that a code creates, with its arguments."""

    def of_frame(self, frame: CallFrame) -> NamedContract:
        """Return the contract whose code a frame runs; one that was created counts from then on."""


class Explainer(Protocol):
    """Explains transactions and calls in the log; without one, they are decoded by the ABIs that are known."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to explain by at the moment."""

    def names(self, others: AbiRegistry, code_of: Callable[[Address], bytes]) -> ContractNames:
        """Return the names of the contracts with some codes; other data is decoded by the ABIs `others`."""

    def failed_transaction(self, block: SealedBlock, index: int, seconds: float) -> Sequence[str]:
        """Return where the transaction at `index` of a block failed, without the reason; on a thread."""

    async def failed_call(self, params: Sequence[Raw], ask: AskNode) -> Sequence[str]:
        """Return why and where a call fails that has the parameters of `eth_call`."""
