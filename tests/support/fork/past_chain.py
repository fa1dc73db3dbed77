"""A chain of a dozen blocks with calls, logs, failures and creations, to be forked in the middle."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from tests.support.chain.api_client import ApiClient, running_api, send
from tests.support.chain.dev_chain import LOGGER
from tests.support.chain.traced_chain import CODES, FACTORY, INNER, OUTER, REVERTER

ANCHOR: Final = 9


class PastBlocks(NamedTuple):
    """The client of the chain, and the hashes of its transactions by what they do."""

    client: ApiClient
    logged: list[str]
    nested: str
    failed: str
    creating: str
    above: str
    """A transaction above the anchor."""


@contextmanager
def past_blocks() -> Iterator[PastBlocks]:
    """Seal twelve blocks: code, six logs, a nested call, a failure at the anchor, a creation and another log above."""
    with running_api() as client:
        for address, code in CODES.items():
            client("anvil_setCode", str(address), code)
        client("anvil_setBalance", str(OUTER), "0xde0b6b3a7640000")
        client("anvil_mine")
        logged = [send(client, nonce, to=LOGGER, wei=0, data=bytes([nonce])) for nonce in range(6)]
        nested = send(client, 6, to=OUTER, wei=0)
        failed = send(client, 7, to=REVERTER, wei=0)
        creating = send(client, 8, to=FACTORY, wei=0)
        above = send(client, 9, to=LOGGER, wei=0, data=b"above")
        client("anvil_mine")
        yield PastBlocks(client, logged, nested, failed, creating, above)


__all__ = ["ANCHOR", "INNER", "PastBlocks", "past_blocks"]
