"""The events on a layer while a test runs a few lines: blocks, events, failures, `console.log`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from web3 import Web3

from entresol.contracts.abi_registry import AbiRegistry, project_abis
from entresol.inprocess.layer_provider import LayerProvider
from entresol.terminal.call_tree import describe_event
from entresol.terminal.formats import MAX_LINE, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hexbytes import HexBytes

MAX_BLOCKS: Final = 1_000
MAX_SHOWN: Final = 50
"""Events that a message shows."""


class Observation:
    """The blocks of a layer from now on, and what contracts print meanwhile.

    Remembers: where it started. Assumes: that the blocks are not reverted before it is read.
    """

    def __init__(self, w3: Web3, abi: Sequence[Any] = ()) -> None:
        self.w3 = w3
        self.abis = AbiRegistry(project_abis)
        self.abis.add([dict(entry) for entry in abi])
        self.first_block = w3.eth.block_number + 1
        provider = w3.provider
        self._console = provider.records.console if isinstance(provider, LayerProvider) else None
        self._console_start = 0 if self._console is None else self._console.total

    @property
    def blocks(self) -> range:
        """The blocks that were sealed since; the last of them, if there are very many."""
        last = self.w3.eth.block_number
        return range(max(self.first_block, last - MAX_BLOCKS + 1), last + 1)

    def failed_transactions(self) -> Iterator[HexBytes]:
        """Yield the transactions in these blocks that have failed."""
        for number in self.blocks:
            block = self.w3.eth.get_block(number)
            for transaction in block["transactions"]:
                assert isinstance(transaction, bytes)
                if not self.w3.eth.get_transaction_receipt(transaction)["status"]:
                    yield transaction

    def describe(self) -> str:
        """Return the events of these blocks, decoded as far as their ABIs are known, and what was printed."""
        blocks = self.blocks
        if not blocks:
            parts = ["no block was sealed meanwhile"]
        else:
            lines = list(self._events(blocks))
            title = (
                f"blocks {blocks[0]} to {blocks[-1]}" if len(blocks) > 1 else f"block {blocks[0]}"
            )
            parts = [f"{title} emitted:", *lines] if lines else [f"{title} emitted nothing"]
        return "\n".join((*parts, *self.printed()))

    def printed(self) -> list[str]:
        """Return what was printed by `console.log`, with a title."""
        lines = [] if self._console is None else self._console.since(self._console_start)
        return (
            ["console.log:", *(f"  {printable(line, MAX_LINE)}" for line in lines)] if lines else []
        )

    def _events(self, blocks: range) -> Iterator[str]:
        found = self.w3.eth.get_logs({"fromBlock": blocks[0], "toBlock": blocks[-1]})
        for entry in found[:MAX_SHOWN]:
            topics = [bytes(topic) for topic in entry["topics"]]
            event = describe_event(self.abis, topics, bytes(entry["data"]))
            yield f"  {entry['address']}: {printable(event, MAX_LINE)}"
        if len(found) > MAX_SHOWN:
            yield f"  … ({len(found) - MAX_SHOWN:,} more)"
