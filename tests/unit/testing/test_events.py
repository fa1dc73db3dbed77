"""Assertions on events, and what they show when they fail."""

from __future__ import annotations

from typing import Any

import pytest
from web3 import Web3

from entresol.testing import emitted


def send(*calls: Any) -> None:
    for call in calls:
        call.transact()


def test_an_event_is_found_with_its_arguments(token: Any, l2: Web3) -> None:
    alice, bob = list(l2.eth.accounts)[:2]
    with emitted(token.events.Transfer, to=bob.lower(), value=lambda it: it > 4) as found:
        token.functions.transfer(bob, 5).transact()
    assert (found.args["from"], found.args["value"], len(found.events)) == (alice, 5, 1)


def test_a_missing_event_shows_what_was_emitted(token: Any, l2: Web3) -> None:
    alice, bob = list(l2.eth.accounts)[:2]
    with pytest.raises(AssertionError) as raised, emitted(token.events.Transfer, value=6):
        send(token.functions.transfer(bob, 5), token.functions.approve(bob, 7))
    assert str(raised.value).splitlines() == [
        "Transfer(value=6) was not emitted",
        "  one was, but value is 5, expected 6",
        "blocks 3 to 4 emitted:",
        f"  {token.address}: Transfer(from: {alice}, to: {bob}, value: 5)",
        f"  {token.address}: Approval(owner: {alice}, spender: {bob}, value: 7)",
    ]


def test_events_of_before_do_not_count(token: Any, l2: Web3) -> None:
    token.functions.transfer(list(l2.eth.accounts)[1], 5).transact()
    with (
        pytest.raises(AssertionError, match="Transfer was not emitted\nno block was sealed"),
        emitted(token.events.Transfer),
    ):
        pass


def test_an_argument_that_does_not_exist_is_named(token: Any) -> None:
    with (
        pytest.raises(TypeError, match="Transfer has no argument 'amount'; it has: from, to, valu"),
        emitted(token.events.Transfer, amount=5),
    ):
        pass
