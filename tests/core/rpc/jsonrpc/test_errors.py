"""The error object that a client receives of an exception."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec
import pytest

from entresol.errors import (
    EngineError,
    EntresolError,
    ExecutionReverted,
    InsufficientFunds,
    InvalidTransaction,
    NonceTooLow,
    NotSupported,
    SimulatedNumberTooLow,
    StoreFailed,
    TransactionRuleBroken,
    UnknownBlock,
)
from entresol.primitives.values import Quantity
from entresol.rpc.jsonrpc.errors import JSON_RPC, ErrorObject, error_object_of


class Undecided(InvalidTransaction):
    """An error that is declared here and nowhere else."""

    rpc_code = -32999
    rpc_text = "undecided"
    simulation_code = -38999

    @property
    def rpc_data(self) -> str:
        """The subject of the decision."""
        return "all of it"


def test_an_error_needs_no_more_than_its_class() -> None:
    assert error_object_of(Undecided(), "eth_call") == ErrorObject(-32999, "undecided", "all of it")


@pytest.mark.parametrize("kind", [Exception, EntresolError, KeyError, EngineError, StoreFailed])
def test_an_exception_without_a_code_is_a_bug(kind: type[Exception]) -> None:
    failure = error_object_of(kind("secret"), "eth_call")
    assert (failure.code, failure.message) == (-32603, "Internal error")
    assert "secret" not in str(failure.data)


def test_an_error_with_the_code_of_internal_ones_says_what_it_is() -> None:
    failure = error_object_of(NotSupported("forks"), "anvil_reset")
    assert failure == ErrorObject(-32603, "Not implemented: forks")


def test_a_text_for_clients_stands_for_that_of_the_error() -> None:
    failure = error_object_of(UnknownBlock(7), "eth_call")
    message = "Block with such an ID doesn't exist yet"
    assert failure == ErrorObject(-32602, message, "there is no block with the number 7")


def test_a_revert_reason_may_be_no_valid_text() -> None:
    failure = error_object_of(ExecutionReverted(b"", "\ud800"), "eth_call")
    assert failure.message == "execution reverted: ?"


@pytest.mark.parametrize(
    "kind",
    [
        partial(TransactionRuleBroken, "above block gas limit"),
        InsufficientFunds,
        NonceTooLow,
        SimulatedNumberTooLow,
    ],
)
def test_numbers_are_reported_in_decimal_however_they_were_sent(
    kind: Callable[[int, int], Exception],
) -> None:
    text = str(kind(Quantity(21_000), Quantity(30_000)))
    assert "21000" in text
    assert "30000" in text
    assert "0x" not in text


@pytest.mark.parametrize(
    "body",
    [JSON_RPC.malformed, JSON_RPC.rate_limited, JSON_RPC.too_large % 7, JSON_RPC.internal_error],
)
def test_errors_of_the_server_are_json_rpc(body: bytes) -> None:
    response = msgspec.json.decode(body)
    assert (response["jsonrpc"], response["id"]) == ("2.0", None)
    assert set(response["error"]) >= {"code", "message"}
