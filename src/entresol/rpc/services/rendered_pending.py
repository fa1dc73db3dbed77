"""The pending block, rendered as RPC methods return it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from entresol.offload import POLICY, Offload
from entresol.rpc.jsonrpc.cooperative import cooperatively
from entresol.rpc.render.blocks import (
    full_transactions,
    header_json,
    pending_block_json,
    transaction_hashes,
)
from entresol.rpc.render.hex import raw

if TYPE_CHECKING:
    from msgspec import Raw

    from entresol.execution.block_executor import ExecutedBlock


class RenderedPending:
    """The pending block of one chain, as clients see it.

    Remembers: the block rendered last, as long as `build` returns the same one.
    """

    def __init__(self, chain_id: int, build: Callable[[], ExecutedBlock]) -> None:
        self._chain_id = chain_id
        self._build = build
        self._rendered: ExecutedBlock | None = None
        self._json: dict[bool, Raw] = {}

    def block(self, *, full: bool) -> Raw | Offload[Raw]:
        """Return the block, with full transactions or their hashes."""
        executed = self._build()
        if executed is not self._rendered:
            self._rendered, self._json = executed, {}
        cache = self._json
        if full in cache:
            return cache[full]

        def work() -> Raw:
            cache[full] = rendered = self._render(executed, full=full)
            return rendered

        return work() if len(executed.transactions) <= POLICY.rendered_items else Offload(work)

    def header(self) -> Raw:
        """Return the header of the block."""
        return raw(header_json(self._build().header, None))

    def transaction_count(self) -> int:
        """Return how many transactions the block has."""
        return len(self._build().transactions)

    def _render(self, executed: ExecutedBlock, *, full: bool) -> Raw:
        record = executed.record
        transactions = (
            cooperatively(full_transactions(record, self._chain_id, None))
            if full
            else transaction_hashes(record)
        )
        return raw(pending_block_json(record, executed.header, transactions))
