"""What methods declare of the past: the chain below a fork."""

from __future__ import annotations

import asyncio
from typing import Annotated, Final

from entresol.node.config.schema import NodeConfig
from entresol.node.recipes.ecosystem import ecosystem
from entresol.primitives.values import Hash32
from entresol.rpc.jsonrpc.method import Method, ServedBy, method, methods_of
from entresol.rpc.jsonrpc.past import Named, NamedParameter, Past, named_by
from entresol.rpc.types.block_id import LATEST, BlockId
from entresol.rpc.types.history import BlockHash

_NAMES: Final = {"block", "block_number", "block_hash", "hash", "tx_hash", "number", "newest_block"}
"""How parameters are called that may name a block or a transaction."""


def _methods() -> list[Method]:
    node = ecosystem(NodeConfig())
    try:
        return [it for served in node.services for it in served.api.dispatcher.methods.values()]
    finally:
        asyncio.run(node.stop())


def test_every_method_that_names_a_part_of_history_declares_what_a_fork_does() -> None:
    methods = _methods()
    undeclared = {
        it.name
        for it in methods
        if it.past is None
        and (it.named is not None or any(one.name in _NAMES for one in it.parameters))
    }
    assert undeclared == set()
    assert len(methods) > 400


def test_what_asks_the_remote_names_what_it_asks_for() -> None:
    unnamed = {it.name for it in _methods() if it.past not in (None, Past.LOCAL) and not it.named}
    assert unnamed == set()


def test_batches_are_never_asked_of_the_remote() -> None:
    asked = {it.name for it in _methods() if it.past not in (None, Past.LOCAL)}
    assert {it for it in asked if "Batch" in it or "L2ToL1" in it or "Proof" in it} == {
        "eth_getProof"
    }


class _Example:
    prefix = "x"

    @method(served_by=ServedBy.REPLICA, past=Past.REMOTE)
    def by_hash(self, full: bool, wanted: BlockHash) -> bool:
        return full and bool(wanted)

    @method(served_by=ServedBy.REPLICA, past=Past.STATE)
    def by_block(self, block: BlockId = LATEST) -> str:
        return str(block)


def test_a_parameter_names_a_block_by_its_type_or_its_annotation() -> None:
    methods = methods_of([_Example()])
    assert methods["x_byHash"].named == NamedParameter(1, Named.BLOCK_HASH)
    assert methods["x_byBlock"].named == NamedParameter(0, Named.BLOCK)
    assert methods["x_byHash"].parameters[1].hint is Hash32
    assert named_by(BlockId | None) == (BlockId | None, Named.BLOCK)
    assert named_by(Annotated[int, "other"]) == (Annotated[int, "other"], None)


def test_a_routed_method_is_another_one() -> None:
    plain = methods_of([_Example()])["x_byBlock"]
    routed = plain.routed(lambda function: lambda *arguments: "routed " + function(*arguments))
    assert routed.function(LATEST) == "routed latest"
    assert plain.function(LATEST) == "latest"
    assert routed.may_be_awaited
    assert not plain.may_be_awaited
