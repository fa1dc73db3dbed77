"""`entresol_getOpenTransfers`: what it takes, and what it responds."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from entresol.primitives.values import Hash32
from entresol.rollup.open_transfers import Transfer, TransferPage
from entresol.rpc.namespaces.transfers import EntresolTransfers
from tests.support.rpc_client import NamespaceClient

NAME = Hash32(b"\x11" * 32)


class FakeIndex:
    """An index with one page."""

    def __init__(self, transfers: Sequence[Transfer] = (), following: bytes | None = None) -> None:
        self.found = TransferPage(list(transfers), following)
        self.asked: list[tuple[bytes, int]] = []
        self.bundle_problem = {NAME: "it reverts"}.get

    async def page(self, after: bytes, limit: int) -> TransferPage:
        """Return the page, whatever is wanted."""
        self.asked.append((after, limit))
        return self.found


def transfer(**changes: object) -> Transfer:
    withdrawal = Transfer(
        kind="withdrawal",
        status="claimable",
        transaction=NAME,
        index=1,
        block=300,
        batch=2,
        problem="it reverts",
    )
    return msgspec.structs.replace(withdrawal, **changes)


def test_a_transfer_has_what_a_proof_is_requested_by() -> None:
    client = NamespaceClient(EntresolTransfers(FakeIndex([transfer()])))
    assert client("entresol_getOpenTransfers") == {
        "transfers": [
            {
                "kind": "withdrawal",
                "status": "claimable",
                "transactionHash": str(NAME),
                "index": "0x1",
                "blockNumber": "0x12c",
                "l1BatchNumber": "0x2",
                "problem": "it reverts",
            }
        ],
        "next": None,
    }


def test_what_is_in_no_block_has_none() -> None:
    pending = transfer(kind="deposit", status="pending", block=None, batch=None)
    client = NamespaceClient(EntresolTransfers(FakeIndex([pending])))
    (found,) = client("entresol_getOpenTransfers")["transfers"]
    assert found["blockNumber"] is found["l1BatchNumber"] is None


def test_a_cursor_leads_to_the_next_page() -> None:
    index = FakeIndex(following=bytes(12))
    client = NamespaceClient(EntresolTransfers(index))
    cursor = client("entresol_getOpenTransfers", None, 7)["next"]
    client("entresol_getOpenTransfers", cursor)
    assert index.asked == [(b"", 7), (bytes(12), 100)]


@pytest.mark.parametrize("params", [(None, 0), (None, 101), ("0x" + "00" * 13,), ("next",)])
def test_a_limit_or_a_cursor_that_is_none_is_rejected(params: tuple[object, ...]) -> None:
    client = NamespaceClient(EntresolTransfers(FakeIndex()))
    assert client.error("entresol_getOpenTransfers", *params).code == -32602


def test_a_bundle_has_the_reason_of_the_relay() -> None:
    client = NamespaceClient(EntresolTransfers(FakeIndex()))
    assert client("entresol_getBundleProblem", str(NAME)) == "it reverts"
    assert client("entresol_getBundleProblem", "0x" + "22" * 32) is None
