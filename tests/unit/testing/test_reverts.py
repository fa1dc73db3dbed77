"""Assertions on reverts, and what they show when they fail."""

from __future__ import annotations

from typing import Any

import pytest
from web3 import Web3
from web3.exceptions import Web3RPCError

from entresol.primitives import abi
from entresol.testing import reverted
from tests.support.evm.console import console_call, logging_code

TOO_MUCH = 1_000


def reverting(data: bytes, *prints: str) -> bytes:
    """Return code that prints texts by `console.log`, and reverts with data."""
    words = [data[start : start + 32].ljust(32, b"\0") for start in range(0, len(data), 32)]
    stores = " ".join(f"0x{word.hex()} {32 * number} mstore" for number, word in enumerate(words))
    calls = (console_call("log(string)", it) for it in prints)
    return logging_code(*calls, then=f"{stores} {len(data)} 0 revert")


def call(l2: Web3, code: bytes) -> None:
    l2.eth.call({"data": Web3.to_hex(code)})


ERROR = abi.selector("Error(string)") + abi.encode("(string)", ("too late",))
PANIC = abi.selector("Panic(uint256)") + abi.encode("(uint256)", (0x11,))


def test_a_custom_error_is_decoded(token: Any, l2: Web3) -> None:
    alice, bob = list(l2.eth.accounts)[:2]
    with reverted(token, "InsufficientBalance", needed=TOO_MUCH, owner=alice.lower()) as failure:
        token.functions.transfer(bob, TOO_MUCH).transact()
    assert failure.reason == "InsufficientBalance"
    assert (failure.args["balance"], failure.args["needed"]) == (100, TOO_MUCH)
    assert failure.text == f"InsufficientBalance(owner: {alice}, balance: 100, needed: 1000)"


@pytest.mark.parametrize("gas", [{}, {"gas": 100_000}], ids=["estimated", "in a block"])
def test_another_error_is_shown_decoded(token: Any, l2: Web3, gas: dict[str, int]) -> None:
    alice, bob = list(l2.eth.accounts)[:2]
    with (
        pytest.raises(AssertionError) as raised,
        reverted(token, "InsufficientAllowance", needed=5),
    ):
        token.functions.transfer(bob, TOO_MUCH).transact(gas)
    shown = f"InsufficientBalance(owner: {alice}, balance: 100, needed: 1000)"
    assert str(raised.value) == f"reverted with {shown}, expected InsufficientAllowance(needed=5)"


@pytest.mark.parametrize(
    ("data", "reason", "args"),
    [
        (ERROR, "too late", {}),
        (PANIC, "Panic", {"code": 0x11}),
        (b"", None, {}),
        (b"\x01\x02\x03\x04", None, {}),
    ],
    ids=["a text", "a panic", "nothing", "something unknown"],
)
def test_a_revert_without_a_contract_is_known(
    l2: Web3, data: bytes, reason: str | None, args: dict[str, int]
) -> None:
    with reverted(l2, reason, **args) as failure:
        call(l2, reverting(data))
    assert failure.data == data


def test_what_was_printed_is_shown(l2: Web3) -> None:
    with pytest.raises(AssertionError) as raised, reverted(l2, "too early"):
        call(l2, reverting(ERROR, "it is noon"))
    assert str(raised.value).splitlines() == [
        "reverted with too late, expected too early",
        "console.log:",
        "  [L2 eth_call] it is noon",
    ]


def test_other_errors_are_not_hidden(l2: Web3) -> None:
    with pytest.raises(Web3RPCError, match="transaction type not supported"), reverted(l2):
        l2.eth.send_raw_transaction(b"\x12\x34")
    with pytest.raises(ZeroDivisionError), reverted(l2):
        _ = 1 / 0


def test_an_argument_that_does_not_exist_is_named(token: Any, l2: Web3) -> None:
    with (
        pytest.raises(TypeError, match="InsufficientBalance has no argument 'amount'"),
        reverted(token, "InsufficientBalance", amount=5),
    ):
        token.functions.transfer(list(l2.eth.accounts)[1], TOO_MUCH).call()
