"""Bundles of calls, and the state they start from: the parameters of `eth_callMany`."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from entresol.execution.call.bundle import Bundle
from entresol.rpc.jsonrpc.method import Named
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.types.block_id import BlockId
from entresol.rpc.types.call_request import CallObject
from entresol.rpc.types.number import Number
from entresol.rpc.types.overrides import BlockOverride


class TransactionIndex:
    """How many transactions of the block run before the calls: a number, or all of them (`all` or -1)."""

    __slots__ = ("count",)

    json_schema: ClassVar[dict[str, Any]] = {"type": ["integer", "string"]}

    def __init__(self, count: int | None) -> None:
        self.count = count

    @classmethod
    def parse(cls, value: object) -> TransactionIndex:
        """Read a number, hex digits, `all` or -1."""
        return cls(None if value in ("all", -1) else int(Number.parse(value)))


class StateContext(JsonModel, frozen=True, kw_only=True):
    """The state of the first call: after a block, or after some of its transactions."""

    names: ClassVar = Named.CONTEXT

    block_number: Annotated[
        BlockId | None, says("The block after which the calls run; `latest` by default.")
    ] = None
    transaction_index: Annotated[
        TransactionIndex | None,
        says("Before which transaction of the block the calls run; after all of them by default."),
    ] = None


class CallBundle(JsonModel, frozen=True, kw_only=True):
    """Calls, and overrides of their block."""

    transactions: Annotated[list[CallObject], says("The calls, in order.")]
    block_override: Annotated[
        BlockOverride | None, says("What differs in the block of the bundle.")
    ] = None

    def bundle(self) -> Bundle:
        """Return the domain value."""
        block = self.block_override
        return Bundle(
            calls=tuple(transaction.request() for transaction in self.transactions),
            block=None if block is None else block.override(),
        )
