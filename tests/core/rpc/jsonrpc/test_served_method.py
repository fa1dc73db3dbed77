"""Methods as they are declared, and what those of a node say of the past."""

from __future__ import annotations

from typing import Annotated, Final

import pytest
from msgspec import Raw

from entresol.offload import Offload
from entresol.primitives.values import Data, Hash32, Quantity
from entresol.rpc.jsonrpc.method import Named, Past, ServedBy, method
from entresol.rpc.jsonrpc.served_method import NamedParameter, methods_of, named_by
from entresol.rpc.types.block_id import LATEST, BlockHash, BlockId
from tests.support.declared_results import declared_methods
from tests.support.example_namespace import Toy


def test_a_method_is_named_after_its_function() -> None:
    names = set(methods_of([Toy()]))
    assert {"toy_chainId", "toy_getBalance", "toy_signTypedData_v4"} <= names
    assert "toy_signTypedData" not in names


def test_a_subclass_serves_the_same_under_its_own_prefix() -> None:
    class Other(Toy):
        prefix = "other"

        def chain_id(self) -> Data:  # type: ignore[override]  # no longer marked
            """Return nothing that anybody may ask for."""
            return Data()

    names = set(methods_of([Other()]))
    assert "other_getBalance" in names
    assert "other_chainId" not in names


def test_a_name_is_declared_once() -> None:
    with pytest.raises(TypeError, match="toy_chainId is declared twice"):
        methods_of([Toy(), Toy()])


def test_methods_of_two_chains_share_what_their_signatures_say_and_nothing_else() -> None:
    one, other = (methods_of([Toy()])["toy_getBalance"] for _ in range(2))
    assert one.parameters is other.parameters
    assert one.function != other.function
    assert one.metrics is not other.metrics
    assert one.cached_arguments != other.cached_arguments


class Undeclared:
    prefix = "undeclared"

    @method()
    def what(self, value: Missing) -> int:  # type: ignore[name-defined]  # noqa: F821 - nobody has it
        """Take something that has no type."""
        return int(value)


def test_a_signature_is_read_when_it_is_needed() -> None:
    declared = methods_of([Undeclared()])["undeclared_what"]
    with pytest.raises(NameError, match="Missing"):
        _ = declared.parameters


def test_a_routed_method_calls_its_routes_from_the_inside_out() -> None:
    declared = methods_of([Toy()])["toy_chainId"]
    routed = declared.routed(lambda function: lambda: ("inner", function())).routed(
        lambda function: lambda: ("outer", function())
    )
    assert routed.function() == ("outer", ("inner", declared.function()))
    assert routed.may_be_awaited
    assert not declared.may_be_awaited


class Later:
    prefix = "later"

    @method()
    def sum(self) -> Offload[list[Quantity]]:
        """Return work that a worker does."""
        return Offload(list)

    @method()
    def rendered(self) -> Annotated[Raw, list[Quantity]] | Offload[Raw | None] | None:
        """Return text, now or later, or nothing."""
        return None


def test_a_result_that_comes_later_is_described_by_its_own_type_or_the_model_beside_it() -> None:
    methods = methods_of([Later()])
    assert methods["later_sum"].result == list[Quantity]
    assert methods["later_rendered"].result == list[Quantity] | None


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


_NAMES: Final = {"block", "block_number", "block_hash", "hash", "tx_hash", "number", "newest_block"}
"""How parameters are called that may name a block or a transaction."""


def test_every_method_that_names_a_part_of_history_declares_what_a_fork_does() -> None:
    methods = declared_methods().values()
    undeclared = {
        served.name
        for served in methods
        if served.past is None
        and (served.named or any(parameter.name in _NAMES for parameter in served.parameters))
    }
    assert undeclared == set()
    assert len(methods) > 250


def test_methods_that_ask_the_remote_name_what_they_ask_for_and_never_batches() -> None:
    asking = [
        served for served in declared_methods().values() if served.past not in (None, Past.LOCAL)
    ]
    assert [served.name for served in asking if not served.named] == []
    assert [
        served.name
        for served in asking
        if "Batch" in served.name or "L2ToL1" in served.name or "Proof" in served.name
    ] == ["eth_getProof"]
