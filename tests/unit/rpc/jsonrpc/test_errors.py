"""The table of error codes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import entresol.rpc.jsonrpc.dispatch  # noqa: F401  # every error of this layer is defined now
from entresol.errors import (
    DevnetError,
    EntresolError,
    ExecutionReverted,
    GasLimitExceeded,
    InsufficientFunds,
    NonceTooLow,
    SimulatedNumberTooLow,
    TimestampTooHigh,
    TooManyToSeal,
)
from entresol.primitives.values import Quantity
from entresol.rpc.jsonrpc.errors import CODES, code_of, error_object_of


def kinds(root: type[EntresolError]) -> list[type[EntresolError]]:
    return [kind for child in root.__subclasses__() for kind in (child, *kinds(child))]


def test_every_expected_error_has_a_code() -> None:
    unmapped = {kind for kind in kinds(EntresolError) if not set(kind.__mro__) & CODES.keys()}
    assert unmapped - {DevnetError, *kinds(DevnetError)} == set()


@pytest.mark.parametrize("kind", [Exception, EntresolError, KeyError])
def test_any_other_exception_is_a_bug(kind: type[Exception]) -> None:
    assert code_of(kind) == -32603


def test_a_revert_reason_may_be_no_valid_text() -> None:
    failure = error_object_of(ExecutionReverted(b"", "\ud800"), "eth_call")
    assert failure.message == "execution reverted: ?"


@pytest.mark.parametrize(
    "kind",
    [
        GasLimitExceeded,
        InsufficientFunds,
        NonceTooLow,
        SimulatedNumberTooLow,
        TimestampTooHigh,
        TooManyToSeal,
    ],
)
def test_numbers_are_reported_in_decimal_however_they_were_sent(
    kind: Callable[[int, int], Exception],
) -> None:
    text = str(kind(Quantity(21_000), Quantity(30_000)))
    assert "21000" in text
    assert "30000" in text
    assert "0x" not in text
