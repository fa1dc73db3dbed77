"""Rendered blocks, transactions and receipts as objects that a method changes before it returns them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from entresol.offload import Offload

if TYPE_CHECKING:
    from entresol.primitives.records import BlockRecord
    from entresol.rpc.services.rendered_chain import RenderedChain, Result


class RenderedObjects:
    """Decodes what `RenderedChain` has rendered; for worker threads."""

    def __init__(self, rendered: RenderedChain) -> None:
        self.rendered = rendered

    def block(self, number: int) -> dict[str, Any]:
        """Return a sealed block with the hashes of its transactions."""
        return _decoded(self.rendered.block(number, full=False))

    def transaction(
        self, record: BlockRecord, position: int
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return a sealed transaction and its receipt."""
        transaction_hash = record.transaction_hash(position)
        number = record.header().number
        shown = self.rendered.transaction_at(number, position)
        return _decoded(shown), _decoded(self.rendered.receipt(transaction_hash))


def _decoded(result: Result) -> dict[str, Any]:
    rendered = result.work() if isinstance(result, Offload) else result
    decoded: dict[str, Any] = msgspec.json.decode(rendered or b"{}")
    return decoded
